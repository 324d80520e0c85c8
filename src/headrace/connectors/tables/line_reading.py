"""Files of lines as frames: csv and json, with what to do with lines that are no rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.connectors.tables.file_paths import shown_path
from headrace.connectors.tables.raising import raised
from headrace.connectors.tables.text_columns import TextColumns, sql_text
from headrace.core.logical_types import CHARACTERS, STRING, Field, LogicalType
from headrace.spark.native.types import quoted, spark_type

FAIL, SKIP, DEAD_LETTER, NULL_FIELDS = "fail", "skip", "dead-letter", "null-fields"
BAD_COLUMNS: tuple[LogicalType, ...] = (STRING, STRING, STRING)
"""Of checked rows: the reason, the line and the file come after the columns."""
_BAD = "_bad"
_LONGEST_SHOWN = 500
_HINT = (
    "Correct the data or the declared types, or set 'bad-rows' = 'skip' or 'dead-letter' to go on "
    "without such rows."
)


@dataclass(frozen=True)
class LineFormat:
    """How lines are cut into texts, and what those mean.

    CSV is cut by Spark's own reader, which is the fastest. It does not keep a line whose texts are
    no values, so where bad rows are kept, lines are read and cut by a function, as JSON is.
    """

    name: str
    columns: TextColumns
    parsing: dict[str, str] = field(default_factory=dict)
    """Options of Spark's reader, from_csv or from_json."""
    bad_rows: str = FAIL
    dead_letters: str | None = None
    all_fields_required: bool = False
    """Of JSON: whether an object without a field is no row."""
    multi_line: bool = False
    """Of CSV: whether a record may span lines, so that a file is read by one task."""
    legacy: bool = False
    """Of CSV: whether nothing is NULL where it is no text, and what is too much is left out."""

    @property
    def checked(self) -> bool:
        """Whether bad rows go their own way."""
        return self.bad_rows in (SKIP, DEAD_LETTER)

    def _by_reader(self, every: Sequence[Field]) -> bool:
        # To Spark's reader a line without any text is no line; in one column it is a text.
        several = len(every) > 1 or self.multi_line
        return self.name == "csv" and not self.checked and several

    def rows(
        self, reader: Any, path: str | list[str], fields: Sequence[Field], place: Sequence[str]
    ) -> Any:
        """A frame of texts, with what `place` adds of the file; rows that must not be there are
        refused or left out."""
        schema = ", ".join(
            f"{self._key(at, each)} {self.columns.text_type(each.type)}"
            for at, each in enumerate(fields)
        )
        schema += f", {_BAD} STRING"
        options = {**self.parsing, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": _BAD}
        if self._by_reader(fields):
            multi_line = str(self.multi_line).lower()
            read = reader.format("csv").options(**options, multiLine=multi_line).schema(schema)
            frame = read.load(path).selectExpr("*", *place)
            return frame.filter(self._shaped(fields))
        ends = {key: value for key, value in options.items() if key == "lineSep"}
        lines = reader.format("text").options(**ends).load(path)
        if self.name == "json":
            lines = lines.filter("trim(value) <> ''")
        elif "comment" in options:
            lines = lines.filter("NOT startswith(ltrim(value), '#')")
        row = f"from_{self.name}(value, {sql_text(schema)}, {_map(options)}) AS _row"
        frame = lines.selectExpr(row, "value AS _line", *place)
        return frame if self.checked else frame.filter(self._shaped(fields))

    def _key(self, at: int, column: Field) -> str:
        """What the reader calls a column; in JSON that is the field's name."""
        return quoted(column.name) if self.name == "json" else f"t{at}"

    def _text(self, at: int, every: Sequence[Field]) -> str:
        """The text of a column, NULL where it stands for NULL."""
        key = self._key(at, every[at])
        if self.name == "json":
            return f"_row.{key}"
        row = "" if self._by_reader(every) else "_row."
        # Spark takes an empty field for NULL; in Flink it is a text like others.
        text = f"coalesce({row}{key}, '')"
        if self.bad_rows == NULL_FIELDS:
            text = f"IF({row}{_BAD} IS NULL, {text}, {row}{key})"
        null = self.columns.null_literal
        if self.legacy and not isinstance(every[at].type, CHARACTERS):
            null = ""
        return text if null is None else f"nullif({text}, {sql_text(null)})"

    def _shaped(self, every: Sequence[Field]) -> str:
        """Whether a line has the texts of a row; ends the query where it must have them."""
        if self._by_reader(every):
            # Spark refuses queries that look at nothing but bad rows.
            bad, line = _BAD, f"concat({_BAD}, coalesce(left(t0, 0), ''))"
        else:
            bad, line = f"_row.{_BAD}", "_line"
        if self.legacy:
            whole = f"{bad} IS NULL OR NOT ({self._not_longer(line, every)})"
            said = failure(self.name, self._shape(every), line)
            return whole if self.bad_rows == NULL_FIELDS else f"IF({whole}, TRUE, {said})"
        if self.bad_rows != NULL_FIELDS:
            cases = self._missing(every)
            wrong = f"{bad} IS NOT NULL{''.join(f' OR {each}' for each, _ in cases)}"
            said = _case([(f"{bad} IS NOT NULL", self._shape(every)), *cases])
            return f"IF({wrong}, {failure(self.name, said, line)}, TRUE)"
        if self.name == "csv":
            return f"{bad} IS NULL OR {self._not_longer(line, every)}"
        kind = "schema_of_variant(try_parse_json(_line))"
        many = f"{kind} LIKE 'ARRAY<OBJECT%'"
        said = failure(self.name, sql_text("an array of rows must be on lines of its own"), line)
        return (
            f"IF({bad} IS NULL, TRUE, IF({many}, {said}, coalesce({kind} LIKE 'OBJECT%', FALSE)))"
        )

    def _not_longer(self, line: str, every: Sequence[Field]) -> str:
        """As Flink has it: of too few fields the others are NULL, too many are no row."""
        wider = ", ".join(f"f{at} STRING" for at in range(len(every) + 1))
        last = f"from_csv({line}, {sql_text(wider)}, {_map(self.parsing)}).f{len(every)}"
        return f"{last} IS NULL"

    def _shape(self, every: Sequence[Field]) -> str:
        if self.name == "csv":
            quotes = "" if self.multi_line else " (one that spans lines needs 'csv.multi-line')"
            return sql_text(f"it does not have {len(every)} fields{quotes}")
        return sql_text(
            "it is no JSON object whose arrays, rows, maps and decimals are the table's"
        )

    def _missing(self, every: Sequence[Field]) -> list[tuple[str, str]]:
        if not self.all_fields_required:
            return []
        keys = "json_object_keys(_line)"
        return [
            (f"NOT array_contains({keys}, {sql_text(each.name)})",
             sql_text(f"field {each.name} is missing"))
            for each in every
        ]  # fmt: skip

    def outputs(self, every: Sequence[Field]) -> dict[str, str]:
        """The typed columns by name, of a frame of texts."""
        return {each.name: self._output(at, every) for at, each in enumerate(every)}

    def _output(self, at: int, every: Sequence[Field]) -> str:
        column = every[at]
        text, type = self._text(at, every), column.type
        value = self.columns.value(text, type)
        bad = None if self.bad_rows != FAIL else self.columns.bad(text, type)
        if bad is not None:
            said = self.columns.reason(column.name, text, type)
            raised = failure(self.name, said, None if self._by_reader(every) else "_line")
            if self.columns.is_scalar(type):
                value = f"coalesce({value}, IF({text} IS NULL, NULL, {raised}))"
            else:
                value = f"IF({bad}, {raised}, {value})"
        return f"CAST({value} AS {spark_type(type)}) AS {quoted(column.name)}"

    def reason(self, every: Sequence[Field], wanted: Collection[str]) -> str:
        """Of checked rows: why a line is no row; NULL if it is one."""
        shape = f"_row.{_BAD} IS NOT NULL"
        if self.name == "csv" and len(every) > 1:
            shape += " OR _line = ''"
        shape = f"_row IS NULL OR {shape}" if self.name == "json" else shape
        cases = [(shape, self._shape(every)), *self._missing(every)]
        for at, each in enumerate(every):
            text = self._text(at, every)
            bad = self.columns.bad(text, each.type) if each.name in wanted else None
            if bad is not None:
                cases.append((bad, self.columns.reason(each.name, text, each.type)))
        return _case(cases)


def _map(options: dict[str, str]) -> str:
    return f"map({', '.join(f'{sql_text(k)}, {sql_text(v)}' for k, v in options.items())})"


def _case(cases: Sequence[tuple[str, str]]) -> str:
    return f"CASE {' '.join(f'WHEN {when} THEN {then}' for when, then in cases)} END"


def failure(format_name: str, reason: str, line: str | None) -> str:
    """Ends the query with an error that the driver gives to the user as it is."""
    start = sql_text(f"cannot read {format_name.upper()} of ")
    shown = "" if line is None else f", ': ', substring({line}, 1, {_LONGEST_SHOWN})"
    said = f"concat({start}, {shown_path('_path')}, ': ', {reason}{shown})"
    return raised(said, _HINT)
