"""Parquet files as a source's format, and records of Avro's in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet

from headrace.core import logical_types as lt
from headrace.core.bulk_writing import BulkWriter, BulkWriterFactory
from headrace.core.stream_types import logical_type_of_stream
from headrace.core.table_columns import arrow_type, from_arrow
from headrace.core.table_values import IN_STREAMS, row_maker
from headrace.core.types import TypeInformation
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.formats.avro_records import (
    AvroSchema,
    GenericRecordAvroTypeInfo,
    row_type_of_schema,
)
from headrace.formats.row_types import require_row_type
from headrace.formats.stream_format import BinaryFormat, BulkFormat, StreamFormat
from headrace.origin import calling_origin

__all__ = ["AvroParquetReaders", "AvroParquetWriters", "ParquetColumnarRowInputFormat"]

_ROWS_AT_ONCE = 2048


class ParquetColumnarRowInputFormat(BulkFormat):
    """Reads the columns of a row type; one that a file does not have is NULL."""

    def __init__(
        self,
        row_type: Any,
        hadoop_config: object = None,
        batch_size: int = _ROWS_AT_ONCE,
        is_utc_timestamp: bool = False,
        is_case_sensitive: bool = True,
    ):
        self._type = require_row_type(row_type, "ParquetColumnarRowInputFormat")
        if batch_size < 1:
            raise InvalidArgument(
                f"the batch size must be positive, but is {batch_size}", origin=calling_origin()
            )
        self._batch_size = batch_size
        self._case_sensitive = is_case_sensitive

    def produced_type(self) -> TypeInformation:
        return self._type

    def read(self, file: BinaryIO, path: str) -> Iterator[Any]:
        row = logical_type_of_stream(self._type)
        assert isinstance(row, lt.RowType)
        make = row_maker(row, IN_STREAMS)
        with _parquet(file, path) as source:
            held = {self._key(name): name for name in source.schema_arrow.names}
            names = [held.get(self._key(name)) for name in row.names]
            wanted = [name for name in names if name is not None]
            for batch in source.iter_batches(self._batch_size, columns=wanted):
                columns = [
                    _column(batch, name, type, path)
                    for name, type in zip(names, row.types, strict=True)
                ]
                yield from map(make, zip(*columns, strict=True))

    def _key(self, name: str) -> str:
        return name if self._case_sensitive else name.lower()


def _parquet(file: BinaryIO, path: str) -> Any:
    try:
        return pyarrow.parquet.ParquetFile(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise TypeMismatch(f"{path} is no Parquet file: {error}") from None


def _column(batch: pa.RecordBatch, name: str | None, type: lt.LogicalType, path: str) -> list[Any]:
    if name is None:
        return [None] * batch.num_rows
    found = batch.column(batch.schema.get_field_index(name))
    target = arrow_type(type)
    try:
        if target is not None and not isinstance(type, lt.TimeType | lt.TimestampType):
            found = found.cast(target)
        return from_arrow(found, type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, AttributeError):
        raise TypeMismatch(
            f"the column {name!r} of {path} is of type {found.type}, not {type}",
            hint="Declare the type that the file has.",
        ) from None


class _ParquetRecords(StreamFormat, BinaryFormat):
    """Rows of a Parquet file as dictionaries of a schema's fields."""

    def __init__(self, schema: AvroSchema):
        self._schema = schema

    def produced_type(self) -> TypeInformation:
        return GenericRecordAvroTypeInfo(self._schema)

    def read(self, file: BinaryIO, path: str) -> Iterator[Any]:
        wanted = dict(_fields(self._schema))
        with _parquet(file, path) as source:
            held = [name for name in wanted if name in source.schema_arrow.names]
            for batch in source.iter_batches(_ROWS_AT_ONCE, columns=held):
                for record in batch.to_pylist(maps_as_pydicts="strict"):
                    yield {name: record.get(name) for name in wanted}


def _fields(schema: AvroSchema) -> list[tuple[str, lt.LogicalType]]:
    row = row_type_of_schema(schema.parsed)
    return [(field.name, field.type) for field in row.fields]


class AvroParquetReaders:
    """Formats of Parquet files whose records are Avro's."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> StreamFormat:
        """Records are dictionaries of the schema's fields."""
        return _ParquetRecords(schema)


class _ParquetFiles(BulkWriterFactory[Any]):
    concatenable = False

    def __init__(self, schema: AvroSchema):
        self._schema = schema
        self._arrow()  # a type that has no column fails here

    def _arrow(self) -> pa.Schema:
        return pa.schema([pa.field(name, _arrow(type)) for name, type in _fields(self._schema)])

    def create(self, out: BinaryIO) -> BulkWriter[Any]:
        return _RecordWriter(out, self._arrow())


def _arrow(type: lt.LogicalType) -> pa.DataType:
    if isinstance(type, lt.TimeType):
        return pa.time32("ms") if type.precision <= 3 else pa.time64("us")
    if isinstance(type, lt.RowType):
        return pa.struct([pa.field(field.name, _arrow(field.type)) for field in type.fields])
    if isinstance(type, lt.ArrayType):
        return pa.list_(_arrow(type.element))
    if isinstance(type, lt.MapType):
        return pa.map_(pa.string(), _arrow(type.value))
    return arrow_type(type)


class _RecordWriter(BulkWriter[Any]):
    """Gathers records, for columns are written many values at a time."""

    def __init__(self, out: BinaryIO, schema: pa.Schema):
        self._file = pyarrow.parquet.ParquetWriter(out, schema)
        self._schema = schema
        self._records: list[Any] = []

    def add_element(self, element: Any) -> None:
        self._records.append(element)
        if len(self._records) >= _ROWS_AT_ONCE * 8:
            self.flush()

    def flush(self) -> None:
        records, self._records = self._records, []
        if not records:
            return
        try:
            table = pa.Table.from_pylist(records, self._schema)
        except (pa.ArrowInvalid, pa.ArrowTypeError, AttributeError) as error:
            raise TypeMismatch(f"a record is not of the Avro schema: {error}") from None
        self._file.write_table(table)

    def finish(self) -> None:
        self.flush()
        self._file.close()

    def abandon(self) -> None:
        self._file.is_open = False


class AvroParquetWriters:
    """Factories for Parquet files of records."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory[Any]:
        """For dictionaries of a schema."""
        return _ParquetFiles(schema)
