"""Files of lines as frames: csv and json, with what to do with lines that are no rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from headrace.connectors.tables.text_columns import TextColumns, sql_text
from headrace.core.logical_types import STRING, Field, LogicalType
from headrace.spark.failures import FAILURE_MARK
from headrace.spark.native.types import quoted, spark_type

FAIL, SKIP, DEAD_LETTER, NULL_FIELDS = "fail", "skip", "dead-letter", "null-fields"
BAD_COLUMNS: tuple[LogicalType, ...] = (STRING, STRING, STRING)
"""Of checked rows: the reason, the line and the file come after the columns."""
_BAD = "_bad"
_HINT = (
    "Correct the data or the declared types, or set 'bad-rows' = 'skip' or 'dead-letter' to go on "
    "without such rows."
)


@dataclass(frozen=True)
class LineFormat:
    """How lines are cut into texts, and what those mean."""

    name: str
    columns: TextColumns
    parsing: dict[str, str] = field(default_factory=dict)
    """Options of Spark's from_csv or from_json."""
    bad_rows: str = FAIL
    dead_letters: str | None = None
    all_fields_required: bool = False
    """Of JSON: whether an object without a field is no row."""
    multi_line: bool = False
    """Of CSV: whether a record may span lines, so that a file is read by one task."""

    @property
    def checked(self) -> bool:
        """Whether bad rows go their own way."""
        return self.bad_rows in (SKIP, DEAD_LETTER)

    def rows(self, reader: Any, path: str, fields: Sequence[Field], place: Sequence[str]) -> Any:
        """A frame of `_row`, the texts of a row, `_line` and `_file`, and of what `place` adds."""
        texts = [f"{quoted(each.name)} {self.columns.text_type(each.type)}" for each in fields]
        schema = ", ".join([*texts, f"{_BAD} STRING"])
        options = {
            **self.parsing,
            "mode": "PERMISSIVE",
            "columnNameOfCorruptRecord": _BAD,
        }
        if self.multi_line:
            read = reader.format("csv").options(**options, multiLine="true").schema(schema)
            names = ", ".join(quoted(each.name) for each in fields)
            line = f"coalesce({_BAD}, concat_ws({sql_text(self.parsing['sep'])}, {names}))"
            row = f"struct({names}, {_BAD}) AS _row"
            return read.load(path).selectExpr(row, f"{line} AS _line", *place)
        lines = reader.format("text").load(path)
        if self.name == "json":
            lines = lines.filter("trim(value) <> ''")
        elif "comment" in self.parsing:
            lines = lines.filter("NOT startswith(ltrim(value), '#')")
        pairs = ", ".join(f"{sql_text(k)}, {sql_text(v)}" for k, v in options.items())
        row = f"from_{self.name}(value, {sql_text(schema)}, map({pairs})) AS _row"
        return lines.selectExpr(row, "value AS _line", *place)

    def outputs(self, fields: Sequence[Field]) -> list[str]:
        """The typed columns, of `_row`."""
        return [
            f"CAST({self.columns.value(_text(each), each.type)} AS {spark_type(each.type)})"
            f" AS {quoted(each.name)}"
            for each in fields
        ]

    def reason(self, every: Sequence[Field], wanted: Sequence[Field]) -> str:
        """Why a line is no row; NULL if it is one."""
        cases = [f"WHEN {self._misshapen(every)} THEN {self._shape(every)}"]
        if self.all_fields_required:
            cases += [_missing(each.name) for each in wanted]
        for each in wanted:
            bad = self.columns.bad(_text(each), each.type)
            if bad is not None:
                said = self.columns.reason(each.name, _text(each), each.type)
                cases.append(f"WHEN {bad} THEN {said}")
        return f"CASE {' '.join(cases)} END"

    def lenient(self, every: Sequence[Field]) -> str:
        """Whether a line counts where values that cannot be read are NULL: if it is a row at all."""
        if self.name == "csv":
            # With too few fields the others are NULL, with too many it is no row.
            return f"_row.{_BAD} IS NULL OR {self._not_longer(every)}"
        return "schema_of_variant(try_parse_json(_line)) LIKE 'OBJECT%'"

    def _not_longer(self, every: Sequence[Field]) -> str:
        pairs = ", ".join(f"{sql_text(k)}, {sql_text(v)}" for k, v in self.parsing.items())
        wider = ", ".join(f"f{at} STRING" for at in range(len(every) + 1))
        last = f"from_csv(_line, {sql_text(wider)}, map({pairs})).f{len(every)}"
        return f"{last} IS NULL"

    def _misshapen(self, every: Sequence[Field]) -> str:
        """Whether a line has not even the texts of a row."""
        bad = f"_row IS NULL OR _row.{_BAD} IS NOT NULL"
        return f"{bad} OR _line = ''" if self.name == "csv" and len(every) > 1 else bad

    def _shape(self, every: Sequence[Field]) -> str:
        if self.name == "csv":
            return sql_text(f"it does not have {len(every)} fields")
        return sql_text("it is no JSON object with the table's arrays, maps and rows")


def _text(column: Field) -> str:
    return f"_row.{quoted(column.name)}"


def _missing(name: str) -> str:
    known = f"array_contains(json_object_keys(_line), {sql_text(name)})"
    return f"WHEN NOT {known} THEN {sql_text(f'field {name} is missing')}"


def failing(reason: str, format_name: str) -> str:
    """A condition that holds for rows, and for others ends the query with an error that the driver
    gives to the user as it is."""
    said = (
        f"concat({sql_text(f'cannot read the {format_name.upper()} line ')}, "
        f"substring(_line, 1, 500), ' of ', _file, ': ', {reason})"
    )
    fields = (
        f"named_struct('kind', 'TypeMismatch', 'message', {said}, 'hint', {sql_text(_HINT)}, "
        "'origin', array())"
    )
    packed = f"base64(CAST(to_json({fields}) AS BINARY))"
    error = f"raise_error(concat({sql_text(FAILURE_MARK + ' ')}, {packed}))"
    return f"IF({reason} IS NULL, TRUE, {error})"
