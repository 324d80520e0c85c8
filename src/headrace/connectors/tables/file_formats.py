"""The formats of a table's files, with their options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headrace.connectors.tables.file_paths import absolute_path
from headrace.connectors.tables.line_reading import (
    DEAD_LETTER,
    FAIL,
    NULL_FIELDS,
    SKIP,
    LineFormat,
)
from headrace.connectors.tables.message_formats import json_form, message_format
from headrace.connectors.tables.options import Options
from headrace.connectors.tables.text_columns import LegacyTexts, TextColumns, written
from headrace.core.logical_types import (
    BINARIES,
    CHARACTERS,
    NUMERIC,
    BooleanType,
    DateType,
    Field,
    LogicalType,
    RowType,
    TimestampType,
    TimeType,
)
from headrace.core.table_connector import LEGACY_CSV
from headrace.errors import InvalidArgument, Unsupported
from headrace.formats.csv_dialect import CsvDialect
from headrace.formats.messages.message_format import MessageFormat
from headrace.formats.table_texts import JsonForm
from headrace.spark.native.types import quoted

_LONGEST_LINE_END = 2
_LEGACY_TYPES = (*CHARACTERS, *NUMERIC, BooleanType, DateType, TimeType, TimestampType)
_NOWHERE = "\x00"
"""A text that no field has: where there is no literal for NULL, no text means NULL."""


@dataclass(frozen=True)
class TableFormat:
    """One format with its options."""

    name: str
    spark_name: str
    lines: LineFormat | None = None
    """How its lines are read; None where Spark's reader gives values of the right types."""
    reading: dict[str, str] = field(default_factory=dict)
    writing: dict[str, str] = field(default_factory=dict)
    dialect: CsvDialect = field(default_factory=CsvDialect)
    json: JsonForm = field(default_factory=JsonForm)
    charset: str = "UTF-8"
    native_writer: bool = True
    messages: MessageFormat | None = None
    """Of formats that only Python knows: what is on each line, or in whole files of Avro."""
    bad_rows: str = FAIL
    """Of messages: what becomes of those that are no rows."""
    dead_letters: str | None = None

    def written(self, fields: Sequence[Field]) -> list[str] | None:
        """Columns as Spark's writer must get them; None if it cannot write them as Flink does."""
        if not self.native_writer:
            return None
        found = [self._written(quoted(each.name), each.type) for each in fields]
        texts = [text for text in found if text is not None]
        if len(texts) < len(found):
            return None
        return [f"{text} AS {quoted(each.name)}" for text, each in zip(texts, fields, strict=True)]

    def _written(self, name: str, type: LogicalType) -> str | None:
        if self.lines is None:
            return name
        return written(name, type, self.dialect.array_delimiter if self.name == "csv" else None)


def table_format(options: Options, row: RowType) -> TableFormat:
    """The format a table's options ask for; `row` are the columns in the files."""
    name = options.required("format")
    make = _FORMATS.get(name)
    if make is None:
        raise InvalidArgument(
            f"there is no format '{name}' for files",
            hint=f"There are: {', '.join(each for each in _FORMATS if each != LEGACY_CSV)}.",
        )
    return make(options, row)


def bad_row_options(options: Options, ignores: bool) -> tuple[str, str | None]:
    """What to do with bad rows, and where they go."""
    wanted = options.choice("bad-rows", (FAIL, SKIP, DEAD_LETTER), FAIL)
    path = options.text("bad-rows.path")
    if wanted == DEAD_LETTER and path is None:
        raise InvalidArgument(
            "'bad-rows' = 'dead-letter' needs a folder", hint="Add 'bad-rows.path' = '…'."
        )
    if path is not None and wanted != DEAD_LETTER:
        raise InvalidArgument(
            "'bad-rows.path' is only for 'bad-rows' = 'dead-letter'",
            hint="Set that, or leave the path out.",
        )
    if ignores and wanted != FAIL:
        raise InvalidArgument(
            f"'ignore-parse-errors' and 'bad-rows' = '{wanted}' exclude each other",
            hint="The first makes bad values NULL, the second takes whole rows out.",
        )
    return (NULL_FIELDS if ignores else wanted), None if path is None else absolute_path(path)


def _csv(options: Options, row: RowType) -> TableFormat:
    delimiter = options.character("csv.field-delimiter", ",") or ","
    quote = options.character("csv.quote-character", '"')
    if options.flag("csv.disable-quote-character"):
        quote = None
    escape = options.character("csv.escape-character")
    null = options.text("csv.null-literal")
    arrays = options.text("csv.array-element-delimiter", ";") or ";"
    comments = options.flag("csv.allow-comments")
    options.flag("csv.write-bigdecimal-in-scientific-notation", True)
    multi_line = options.flag("csv.multi-line")
    bad_rows, path = bad_row_options(options, options.flag("csv.ignore-parse-errors"))
    if multi_line and bad_rows in (SKIP, DEAD_LETTER):
        raise Unsupported(
            f"'csv.multi-line' and 'bad-rows' = '{bad_rows}' cannot be had together",
            hint="Bad rows are taken out line by line.",
        )
    shape = {"sep": delimiter, "quote": quote or _NOWHERE, "escape": escape or quote or _NOWHERE}
    parsing = {
        **shape,
        "nullValue": _NOWHERE,
        "emptyValue": "",
        **({"comment": "#"} if comments else {}),
    }
    texts = TextColumns(flat=True, delimiter=arrays, null_literal=null)
    return TableFormat(
        "csv", "csv", LineFormat("csv", texts, parsing, bad_rows, path, multi_line=multi_line),
        writing={**shape, "nullValue": null or "", "emptyValue": ""},
        dialect=CsvDialect(delimiter, quote, escape, null, array_delimiter=arrays),
    )  # fmt: skip


def _legacy_csv(options: Options, row: RowType) -> TableFormat:
    """Of tables with 'connector.type'; what Spark's reader cannot do is refused."""
    delimiter = options.character("format.field-delimiter", ",") or ","
    quote = options.character("format.quote-character")
    comment = options.character("format.comment-prefix")
    ends = options.text("format.line-delimiter", "\n") or "\n"
    header = options.flag("format.ignore-first-line")
    for each in row.types:
        if not isinstance(each, _LEGACY_TYPES):
            raise Unsupported(f"older options of CSV have no form for {each}")
    if len(ends) > _LONGEST_LINE_END or (
        (header or comment not in (None, "#")) and len(row.fields) == 1
    ):
        raise Unsupported(
            "such lines cannot be read: one or two characters end a line; a table of one column "
            "has no header, nor comments that begin with other signs than #",
            hint="Write the files in another form, or read them with a DataStream.",
        )
    ignores = options.flag("format.ignore-parse-errors")
    shape = {"sep": delimiter, "quote": quote or _NOWHERE, "escape": quote or _NOWHERE}
    parsing = {
        **shape,
        "nullValue": _NOWHERE,
        "emptyValue": "",
        "lineSep": ends,
        "header": str(header).lower(),
        **({"comment": comment} if comment else {}),
    }
    if ends == "\n":
        del parsing["lineSep"]  # then a line may also end as on Windows
    lines = LineFormat(
        "csv", LegacyTexts(flat=True), parsing, NULL_FIELDS if ignores else FAIL, legacy=True
    )
    return TableFormat(
        "csv",
        "csv",
        lines,
        writing={**shape, "nullValue": "", "emptyValue": ""},
        dialect=CsvDialect(delimiter, quote, None, None),
    )


def _json(options: Options, row: RowType) -> TableFormat:
    ignores = options.flag("json.ignore-parse-errors")
    required = options.flag("json.fail-on-missing-field")
    if ignores and required:
        raise InvalidArgument(
            "'json.fail-on-missing-field' and 'json.ignore-parse-errors' exclude each other"
        )
    options.flag("json.decode.json-parser.enabled", True)
    form = json_form(options.below("json."))
    bad_rows, path = bad_row_options(options, ignores)
    return TableFormat(
        "json", "json",
        LineFormat(
            "json", TextColumns(flat=False), {"allowSingleQuotes": "false"}, bad_rows, path,
            all_fields_required=required,
        ),
        writing={"ignoreNullFields": str(form.ignores_null_fields).lower()}, json=form,
        native_writer=not form.iso_timestamps,
    )  # fmt: skip


def _raw(options: Options, row: RowType) -> TableFormat:
    charset = options.text("raw.charset", "UTF-8") or "UTF-8"
    options.choice("raw.endianness", ("big-endian", "little-endian"), "big-endian")
    if len(row.fields) != 1 or not isinstance(row.types[0], (*CHARACTERS, *BINARIES)):
        raise Unsupported(
            "a table of format 'raw' in files has one column of type STRING or BYTES",
            hint="Each line of a file is a row; read it as STRING and use CAST.",
        )
    return TableFormat(
        "raw", "text", reading={"encoding": charset}, writing={"encoding": charset},
        charset=charset, native_writer=isinstance(row.types[0], CHARACTERS),
    )  # fmt: skip


def _messages(options: Options, row: RowType) -> TableFormat:
    made = message_format(options, row)
    ignores = getattr(made, "ignores_errors", False)
    bad_rows, path = bad_row_options(options, ignores)
    return TableFormat(
        made.name,
        "binaryFile" if made.name == "avro" else "text",
        native_writer=False,
        messages=made,
        bad_rows=FAIL if ignores else bad_rows,
        dead_letters=path,
    )


def _without_files(options: Options, row: RowType) -> TableFormat:
    raise Unsupported(
        f"format '{options.required('format')}' cannot be had in files: nothing says where a "
        "message ends",
        hint="Use 'avro', whose files hold their schema, or a connector of messages.",
    )


def _columnar(name: str) -> Callable[[Options, RowType], TableFormat]:
    def make(options: Options, row: RowType) -> TableFormat:
        own = {f"{name}.{key}": value for key, value in options.starting_with(f"{name}.").items()}
        return TableFormat(name, name, writing=own)

    return make


_FORMATS: dict[str, Callable[[Options, RowType], TableFormat]] = {
    "csv": _csv,
    LEGACY_CSV: _legacy_csv,
    "json": _json,
    "raw": _raw,
    "parquet": _columnar("parquet"),
    "orc": _columnar("orc"),
    "avro": _messages,
    "debezium-json": _messages,
    "canal-json": _messages,
    "maxwell-json": _messages,
    "ogg-json": _messages,
    "avro-confluent": _without_files,
    "debezium-avro-confluent": _without_files,
    "protobuf": _without_files,
}
