"""Writing files of lines: text, CSV, JSON."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from headrace.core.bulk_writing import (
    BulkWriter,
    BulkWriterFactory,
    RowDataBulkWriterFactory,
    concatenate,
)
from headrace.core.serialization import Encoder, SerializationSchema
from headrace.core.types import PickledBytesTypeInfo, TypeInformation
from headrace.formats.csv_rows import CsvRowSerializationSchema
from headrace.formats.csv_schema import CsvSchema
from headrace.formats.json_values import compact_json, json_text

__all__ = ["CsvBulkWriters", "EncodedLines", "JsonBulkWriters"]


class LineWriter(BulkWriter[Any]):
    """Writes each record as soon as it comes."""

    def __init__(self, out: BinaryIO, line: Callable[[Any], bytes]):
        self._write = out.write
        self._line = line

    def add_element(self, element: Any) -> None:
        line = self._line(element)
        self._write(line)
        self.written += len(line)

    def finish(self) -> None:
        """Every line is complete."""


class EncodedLines(BulkWriterFactory[Any]):
    """Lines by an encoder, or by a serialization schema."""

    def __init__(
        self, encoder: Encoder | SerializationSchema, type_info: TypeInformation | None = None
    ):
        self._encoder = encoder
        self._type_info = type_info

    def with_type(self, type_info: TypeInformation | None) -> BulkWriterFactory[Any]:
        return EncodedLines(self._encoder, type_info)

    def create(self, out: BinaryIO) -> BulkWriter[Any]:
        encoder, type_info = self._encoder, self._type_info
        if isinstance(encoder, Encoder):
            charset = encoder.charset_name
            return LineWriter(
                out, lambda value: f"{encoder.encode(value, type_info)}\n".encode(charset)
            )
        serialize = encoder.serialize

        def line(value: Any) -> bytes:
            text = serialize(value)
            return text if text.endswith(b"\n") else text + b"\n"

        return LineWriter(out, line)


class CsvFactory(RowDataBulkWriterFactory):
    """CSV files, each with a header if the schema says so."""

    def __init__(self, schema: CsvSchema):
        super().__init__(schema.row_type())
        self._schema = schema
        self._rows = CsvRowSerializationSchema(
            schema.row_type(), schema.dialect, dict(schema.array_delimiters)
        )
        self.concatenable = not schema.use_header

    def create(self, out: BinaryIO) -> BulkWriter[Any]:
        out.write(self._header())
        return LineWriter(out, self._rows.serialize)

    def _header(self) -> bytes:
        if not self._schema.use_header:
            return b""
        return self._schema.dialect.join((name, True) for name, _ in self._schema.columns).encode()

    def merge(self, inputs: list[Path], out: BinaryIO) -> None:
        header = self._header()
        out.write(header)
        concatenate(inputs, out, skip=len(header))


class CsvBulkWriters:
    """Factories for CSV files."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> BulkWriterFactory[Any]:
        return CsvFactory(schema)


class JsonFactory(BulkWriterFactory[Any]):
    """A JSON text on each line."""

    def __init__(self, type_info: TypeInformation | None):
        self._type_info = type_info

    def with_type(self, type_info: TypeInformation | None) -> BulkWriterFactory[Any]:
        return self if self._type_info is not None else JsonFactory(type_info)

    def create(self, out: BinaryIO) -> BulkWriter[Any]:
        kind = self._type_info
        if kind is None or isinstance(kind, PickledBytesTypeInfo):
            return LineWriter(out, lambda value: f"{compact_json(value)}\n".encode())
        return LineWriter(out, lambda value: f"{json_text(value, kind)}\n".encode())


class JsonBulkWriters:
    """Factories for files of JSON lines."""

    @staticmethod
    def for_type(type_info: TypeInformation | None = None) -> BulkWriterFactory[Any]:
        """For records of a type, or of the type that the stream has."""
        return JsonFactory(type_info)
