"""Messages of json, csv and raw: each is one row, inserted, or an array of them in JSON."""

from __future__ import annotations

import csv
import io
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from headrace.core.logical_types import (
    BINARIES,
    CHARACTERS,
    INTEGERS,
    ArrayType,
    BigIntType,
    BooleanType,
    DoubleType,
    FloatType,
    IntType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    SmallIntType,
    TinyIntType,
)
from headrace.core.table_connector import INSERT
from headrace.errors import Unsupported
from headrace.formats.csv_dialect import CsvDialect, CsvRecords
from headrace.formats.json_objects import object_reader, object_writer
from headrace.formats.messages.json_values import (
    JsonStrictness,
    parse_objects,
    read_field,
    row_reader,
)
from headrace.formats.messages.message_format import (
    BadMessage,
    Change,
    Decode,
    Encode,
    MessageFormat,
)
from headrace.formats.messages.text_values import ReadText, text_reader
from headrace.formats.table_texts import JsonForm, csv_text, json_text, needs_no_quotes

__all__ = ["CsvMessages", "JsonMessages", "RawMessages"]

_RAW_NUMBERS: dict[type[LogicalType], str] = {
    TinyIntType: "b",
    SmallIntType: "h",
    IntType: "i",
    BigIntType: "q",
    FloatType: "f",
    DoubleType: "d",
    BooleanType: "?",
}


@dataclass(frozen=True)
class JsonMessages(MessageFormat):
    """A JSON object with the columns as its fields, or an array of such."""

    name: str = "json"
    reading: JsonStrictness = field(default_factory=JsonStrictness)
    form: JsonForm = field(default_factory=JsonForm)

    def decoder(self, row: RowType, metadata: tuple[str, ...] = ()) -> Decode:
        how = self.reading
        read = object_reader(
            [read_field(each, how) for each in row.fields], needs_all=how.missing_fields_fail
        )
        look_again = self._by_field(row)

        def decode(message: bytes) -> list[Change]:
            try:
                return [(INSERT, *read(message))]
            except (ValueError, RecursionError):
                return look_again(message)

        return decode

    def _by_field(self, row: RowType) -> Decode:
        """Reads what is not as simple, and says what is wrong."""
        read = row_reader(row.fields, self.reading)
        ignores = self.reading.bad_fields_are_null

        def decode(message: bytes) -> list[Change]:
            if not ignores:
                return [(INSERT, *read(each)) for each in parse_objects(message)]
            try:
                found = parse_objects(message)
            except BadMessage:
                return []
            return [change for each in found for change in _row_or_nothing(read, each)]

        return decode

    def encoder(self, row: RowType) -> Encode:
        kinds = [_written_as_it_is(type) for type in row.types]
        write = object_writer(
            row.names, kinds, json_text(row, self.form), skips_nulls=self.form.ignores_null_fields
        )
        return lambda change: write(change[1:])


@dataclass(frozen=True)
class CsvMessages(MessageFormat):
    """A line of CSV."""

    name: str = "csv"
    dialect: CsvDialect = field(default_factory=CsvDialect)
    ignores_errors: bool = False

    def decoder(self, row: RowType, metadata: tuple[str, ...] = ()) -> Decode:
        readers = [(each.name, self._reader(each.type)) for each in row.fields]

        def decode(message: bytes) -> list[Change]:
            try:
                return [(INSERT, *self._values(self._fields(message, len(readers)), readers))]
            except BadMessage:
                if self.ignores_errors:
                    return []
                raise

        return decode

    def _fields(self, message: bytes, width: int) -> list[str]:
        try:
            found = next(CsvRecords(io.StringIO(message.decode(), newline=""), self.dialect), None)
        except (csv.Error, UnicodeDecodeError) as error:
            raise BadMessage(f"it is no line of CSV ({error})") from None
        found = found or [""]
        if len(found) > width or (len(found) < width and not self.ignores_errors):
            raise BadMessage(f"it does not have {width} fields")
        return found

    def _values(self, texts: list[str], readers: list[tuple[str, ReadText]]) -> list[Any]:
        values: list[Any] = [None] * len(readers)
        for at, (text, (name, read)) in enumerate(zip(texts, readers, strict=False)):
            try:
                values[at] = None if text == self.dialect.null_literal else read(text)
            except BadMessage as error:
                if not self.ignores_errors:
                    raise BadMessage(f"column {name}: {error}") from None
        return values

    def _reader(self, type: LogicalType) -> ReadText:
        split = self.dialect.array_delimiter
        match type:
            case MapType() | MultisetType():
                raise Unsupported(f"CSV has no form for {type}", hint="Use another format: json.")
            case ArrayType(element=element):
                part = self._part(element)
                return lambda text: tuple(map(part, text.split(split))) if text else ()
            case RowType(types=types):
                return _parts(type, [self._part(each) for each in types], split)
        return text_reader(type)

    def _part(self, type: LogicalType) -> ReadText:
        read, null = self._reader(type), self.dialect.null_literal
        return lambda text: None if text == null else read(text)

    def encoder(self, row: RowType) -> Encode:
        dialect = self.dialect
        null = dialect.null_literal or ""
        texts = [csv_text(type, dialect.array_delimiter, null) for type in row.types]
        quotes = [not needs_no_quotes(type) for type in row.types]

        def encode(change: Change) -> bytes:
            parts = zip(change[1:], texts, quotes, strict=True)
            line = dialect.join((None if v is None else text(v), quote) for v, text, quote in parts)
            return line.removesuffix(dialect.line_end).encode()

        return encode


def _written_as_it_is(column: LogicalType) -> type | None:
    """Of which class a column's values are that JSON shows without a change."""
    if isinstance(column, CHARACTERS):
        return str
    if isinstance(column, INTEGERS):
        return int
    return bool if isinstance(column, BooleanType) else None


def _row_or_nothing(read: Callable[[Any], tuple[Any, ...]], value: Any) -> list[Change]:
    try:
        return [(INSERT, *read(value))]
    except BadMessage:
        return []


def _parts(type: LogicalType, readers: list[ReadText], split: str) -> ReadText:
    def row(text: str) -> tuple[Any, ...]:
        texts = text.split(split)
        if len(texts) != len(readers):
            raise BadMessage(f"{text!r} is no {type}")
        return tuple(read(part) for read, part in zip(readers, texts, strict=True))

    return row


@dataclass(frozen=True)
class RawMessages(MessageFormat):
    """The bytes of one value: a message is the only column."""

    name: str = "raw"
    charset: str = "UTF-8"
    big_endian: bool = True

    def decoder(self, row: RowType, metadata: tuple[str, ...] = ()) -> Decode:
        read, _ = self._forms(row)
        return lambda message: [(INSERT, read(message))]

    def encoder(self, row: RowType) -> Encode:
        _, write = self._forms(row)
        return lambda change: b"" if change[1] is None else write(change[1])

    def _forms(self, row: RowType) -> tuple[Callable[[bytes], Any], Callable[[Any], bytes]]:
        if len(row.fields) != 1:
            raise Unsupported(
                f"a table of format 'raw' has one column, not {len(row.fields)}",
                hint="Leave the others out, or use another format.",
            )
        [type] = row.types
        if isinstance(type, BINARIES):
            return bytes, bytes
        if isinstance(type, CHARACTERS):
            charset = self.charset
            return lambda m: m.decode(charset, "replace"), lambda text: text.encode(charset)
        code = next((code for kind, code in _RAW_NUMBERS.items() if isinstance(type, kind)), None)
        if code is None:
            raise Unsupported(f"format 'raw' has no form for {type}", hint="Use STRING or BYTES.")
        number = struct.Struct((">" if self.big_endian else "<") + code)

        def read(message: bytes) -> Any:
            if len(message) != number.size:
                raise BadMessage(f"it has {len(message)} bytes, {type} has {number.size}")
            return number.unpack(message)[0]

        return read, number.pack
