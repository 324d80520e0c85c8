"""Rows to CSV bytes and back, one row at a time."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headrace.core.basic_types import BasicType, BasicTypeInfo
from headrace.core.coercion import row_parts
from headrace.core.printing import java_text
from headrace.core.rows import Row
from headrace.core.serialization import DeserializationSchema, SerializationSchema
from headrace.core.types import RowTypeInfo, TypeInformation
from headrace.errors import TypeMismatch
from headrace.formats.bad_lines import bad_line
from headrace.formats.csv_columns import CsvColumns
from headrace.formats.csv_dialect import CsvDialect, CsvRecords
from headrace.formats.row_types import require_row_type
from headrace.formats.text_values import element_type, is_bytes

__all__ = ["CsvRowDeserializationSchema", "CsvRowSerializationSchema"]


class CsvRowDeserializationSchema(DeserializationSchema):
    """Reads a line of CSV as a row."""

    def __init__(self, row_type: RowTypeInfo, dialect: CsvDialect, ignore_parse_errors: bool):
        self._row_type = row_type
        self._dialect = dialect
        self._ignore_parse_errors = ignore_parse_errors
        self._columns: CsvColumns | None = None

    def deserialize(self, message: bytes) -> Row | None:
        """The row; with errors ignored, None for a line that is no row at all."""
        if self._columns is None:
            self._columns = CsvColumns(self._row_type, self._dialect)
        text = message.decode("utf-8", errors="replace")
        try:
            fields = next(CsvRecords(io.StringIO(text, newline=""), self._dialect), None)
            reason = "it is empty"
        except csv.Error as error:
            fields, reason = None, str(error)
        if fields is None:
            if self._ignore_parse_errors:
                return None
            raise bad_line("CSV", text, reason)
        if self._ignore_parse_errors:
            return self._columns.lenient_row(fields)
        return self._columns.row(fields, text)

    def get_produced_type(self) -> TypeInformation:
        return self._row_type

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_columns": None}

    class Builder:
        """Settings of the schema."""

        def __init__(self, type_info: TypeInformation):
            self._row_type = require_row_type(type_info, "CsvRowDeserializationSchema")
            self._dialect = CsvDialect()
            self._ignore_parse_errors = False

        def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            return self._change(delimiter=delimiter)

        def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchema.Builder:
            return self._change(comments=allow_comments)

        def set_array_element_delimiter(
            self, delimiter: str
        ) -> CsvRowDeserializationSchema.Builder:
            return self._change(array_delimiter=delimiter)

        def set_quote_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            return self._change(quote=c)

        def set_escape_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            return self._change(escape=c)

        def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchema.Builder:
            return self._change(null_literal=null_literal)

        def set_ignore_parse_errors(
            self, ignore_parse_errors: bool
        ) -> CsvRowDeserializationSchema.Builder:
            """Fields that cannot be read become null, lines that are no row become None."""
            self._ignore_parse_errors = ignore_parse_errors
            return self

        def build(self) -> CsvRowDeserializationSchema:
            CsvColumns(self._row_type, self._dialect)  # a type that has no text fails here
            return CsvRowDeserializationSchema(
                self._row_type, self._dialect, self._ignore_parse_errors
            )

        def _change(self, **settings: Any) -> CsvRowDeserializationSchema.Builder:
            self._dialect = replace(self._dialect, **settings)
            return self


class CsvRowSerializationSchema(SerializationSchema):
    """Writes a row as a line of CSV."""

    def __init__(
        self, row_type: RowTypeInfo, dialect: CsvDialect,
        array_delimiters: Mapping[str, str] | None = None,
    ):  # fmt: skip
        self._row_type = row_type
        self._dialect = dialect
        own = array_delimiters or {}
        self._delimiters = [own.get(name, dialect.array_delimiter) for name in row_type.names()]

    def serialize(self, value: Any) -> bytes:
        kinds = self._row_type.field_types
        _, values = row_parts(self._row_type.names(), value)
        if len(values) != len(kinds):
            raise TypeMismatch(
                f"the row {value!r} has {len(values)} fields, the CSV schema {len(kinds)}"
            )
        fields = map(_field, values, kinds, self._delimiters)
        return self._dialect.join(fields).encode()

    class Builder:
        """Settings of the schema."""

        def __init__(self, type_info: TypeInformation):
            self._row_type = require_row_type(type_info, "CsvRowSerializationSchema")
            self._dialect = CsvDialect()

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            return self._change(delimiter=c)

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            return self._change(line_end=delimiter)

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            return self._change(array_delimiter=delimiter)

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            return self._change(quote=None)

        def set_quote_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            return self._change(quote=c)

        def set_escape_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            return self._change(escape=c)

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            return self._change(null_literal=s)

        def build(self) -> CsvRowSerializationSchema:
            return CsvRowSerializationSchema(self._row_type, self._dialect)

        def _change(self, **settings: Any) -> CsvRowSerializationSchema.Builder:
            self._dialect = replace(self._dialect, **settings)
            return self


_TEXTS = {BasicType.STRING, BasicType.CHAR}


def _field(value: Any, kind: TypeInformation, delimiter: str) -> tuple[str | None, bool]:
    text = _field_text(value, kind, delimiter)
    return text, not isinstance(kind, BasicTypeInfo) or kind.basic_type in _TEXTS


def _field_text(value: Any, kind: TypeInformation, delimiter: str) -> str | None:
    """The text of a field; the parts of arrays and rows stand side by side."""
    if value is None:
        return None
    if is_bytes(kind):
        return base64.b64encode(value).decode("ascii")
    if isinstance(kind, RowTypeInfo):
        _, values = row_parts(kind.names(), value)
        parts = zip(values, kind.field_types, strict=True)
        return delimiter.join(_field_text(item, part, delimiter) or "" for item, part in parts)
    element = element_type(kind)
    if element is not None:
        return delimiter.join(_field_text(item, element, delimiter) or "" for item in value)
    return java_text(value, kind)
