"""How Spark reads and writes the formats of a table's files."""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.connectors.tables.options import Options
from headrace.core.logical_types import (
    BINARIES,
    CHARACTERS,
    ArrayType,
    LocalZonedTimestampType,
    LogicalType,
    RowType,
    TimestampType,
    TimeType,
)
from headrace.errors import InvalidArgument, Unsupported
from headrace.spark.native.types import spark_type

_MIDNIGHT = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
_NOWHERE = "\x00"
"""A text that no field has: where there is no literal for NULL, no text means NULL."""


@dataclass(frozen=True)
class TableFormat:
    """One format with its options."""

    name: str
    spark_name: str
    reading: dict[str, str] = field(default_factory=dict)
    writing: dict[str, str] = field(default_factory=dict)
    has_schema: bool = True
    textual: bool = False
    """Whether values are texts in the files, so that Spark must be told how to read some."""
    array_delimiter: str = ";"
    null_literal: str | None = None
    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    writes_natively: bool = True

    def column_type(self, type: LogicalType) -> str:
        """The type of the column in the file, in Spark's words."""
        return "STRING" if self._read_as_text(type) else spark_type(type)

    def _read_as_text(self, type: LogicalType) -> bool:
        if not self.textual:
            return False
        if isinstance(type, (TimeType, *BINARIES)):
            return True
        return self.name == "csv" and isinstance(type, ArrayType | RowType)

    def read_column(self, name: str, type: LogicalType) -> str:
        """From the file's column to the table's."""
        if not self._read_as_text(type):
            return name
        return self._parsed(name, type)

    def _parsed(self, text: str, type: LogicalType) -> str:
        match type:
            case TimeType():
                moment = f"CAST(concat('1970-01-01 ', {text}) AS TIMESTAMP_NTZ)"
                return f"CAST(timestampdiff(MILLISECOND, {_MIDNIGHT}, {moment}) AS INT)"
            case ArrayType(element=element):
                parts = f"split({text}, '{self.array_delimiter}')"
                return f"transform({parts}, x -> {self._parsed('x', element)})"
            case RowType(fields=fields):
                parts = ", ".join(
                    f"'{inner.name}', "
                    + self._parsed(f"split({text}, '{self.array_delimiter}')[{at}]", inner.type)
                    for at, inner in enumerate(fields)
                )
                return f"IF({text} IS NULL, NULL, named_struct({parts}))"
        if isinstance(type, BINARIES):
            return f"unbase64({text})"
        return f"CAST({text} AS {spark_type(type)})"

    def write_column(self, name: str, type: LogicalType) -> str:
        """From the table's column to the file's."""
        if not self.textual:
            return name
        match type:
            case TimeType():
                return (
                    f"date_format({_MIDNIGHT} + make_dt_interval(0, 0, 0, {name} / 1000.0), "
                    "'HH:mm:ss')"
                )
            case TimestampType():
                return f"CAST({name} AS STRING)"
            case LocalZonedTimestampType():
                utc = f"to_utc_timestamp({name}, current_timezone())"
                return f"concat(CAST({utc} AS STRING), 'Z')"
            case ArrayType() if self.name == "csv":
                return f"array_join(transform({name}, x -> CAST(x AS STRING)), "\
                       f"'{self.array_delimiter}')"  # fmt: skip
        if isinstance(type, BINARIES):
            return f"base64({name})"
        return name


def table_format(options: Options, row: RowType) -> TableFormat:
    """The format a table's options ask for."""
    name = options.required("format")
    make = _FORMATS.get(name)
    if make is None:
        raise InvalidArgument(
            f"there is no format '{name}' for files", hint=f"There are: {', '.join(_FORMATS)}."
        )
    return make(options, row)


def _csv(options: Options, row: RowType) -> TableFormat:
    delimiter = (options.text("csv.field-delimiter", ",") or ",").encode().decode("unicode_escape")
    quote = None if options.flag("csv.disable-quote-character") else (
        options.text("csv.quote-character", '"')
    )  # fmt: skip
    escape = options.text("csv.escape-character")
    null = options.text("csv.null-literal")
    lenient = options.flag("csv.ignore-parse-errors")
    comments = options.flag("csv.allow-comments")
    shape = {"sep": delimiter, "quote": quote or _NOWHERE, "escape": escape or quote or _NOWHERE}
    reading = {
        **shape,
        "mode": "PERMISSIVE" if lenient else "FAILFAST",
        "nullValue": _NOWHERE if null is None else null,
        "emptyValue": "",
        **({"comment": "#"} if comments else {}),
    }
    writing = {**shape, "nullValue": null or "", "emptyValue": ""}
    return TableFormat(
        "csv", "csv", reading, writing, textual=True, delimiter=delimiter, quote=quote,
        escape=escape, null_literal=null,
        array_delimiter=options.text("csv.array-element-delimiter", ";") or ";",
    )  # fmt: skip


def _json(options: Options, row: RowType) -> TableFormat:
    lenient = options.flag("json.ignore-parse-errors")
    if options.flag("json.fail-on-missing-field"):
        raise Unsupported(
            "'json.fail-on-missing-field' = 'true': Spark reads a missing field as NULL",
            hint="Filter rows where the field IS NULL instead.",
        )
    options.choice("json.timestamp-format.standard", ("SQL", "ISO-8601"), "SQL")
    for name in ("json.map-null-key.mode", "json.map-null-key.literal",
                 "json.encode.decimal-as-plain-number", "json.encode.ignore-null-fields"):  # fmt: skip
        options.text(name)
    return TableFormat(
        "json", "json", {"mode": "DROPMALFORMED" if lenient else "FAILFAST"},
        {"ignoreNullFields": "false"}, textual=True,
    )  # fmt: skip


def _raw(options: Options, row: RowType) -> TableFormat:
    charset = options.text("raw.charset", "UTF-8") or "UTF-8"
    options.text("raw.endianness")
    if len(row.fields) != 1 or not isinstance(row.types[0], CHARACTERS):
        raise Unsupported(
            "a table of format 'raw' in files has one column of type STRING",
            hint="Each line of a file is a row.",
        )
    return TableFormat("raw", "text", {"encoding": charset}, {"encoding": charset})


def _columnar(name: str) -> TableFormat:
    return TableFormat(name, name)


_FORMATS = {
    "csv": _csv,
    "json": _json,
    "raw": _raw,
    "parquet": lambda options, row: _with_prefix(options, "parquet"),
    "orc": lambda options, row: _with_prefix(options, "orc"),
}


def _with_prefix(options: Options, name: str) -> TableFormat:
    options.starting_with(f"{name}.")
    return _columnar(name)
