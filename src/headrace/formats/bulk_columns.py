"""Writing Parquet and ORC files."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet

from headrace.core.bulk_writing import BulkWriter, BulkWriterFactory, RowDataBulkWriterFactory
from headrace.core.types import RowTypeInfo
from headrace.formats.arrow_values import arrow_schema, record_batch
from headrace.formats.row_types import require_row_type

__all__ = ["OrcBulkWriters", "ParquetBulkWriters"]

_ROWS_AT_ONCE = 10_000
_ROW_GROUP_BYTES = 64 << 20
"""Rows of so many bytes in memory are written as a row group, or a stripe."""


class _Tables(Protocol):
    """A file that takes tables."""

    is_open: bool

    def write(self, table: pa.Table, /) -> None: ...

    def close(self) -> None: ...


class ColumnarFactory(RowDataBulkWriterFactory):
    """Files of columns, for rows of one type."""

    concatenable = False

    def __init__(self, row_type: RowTypeInfo):
        super().__init__(row_type)
        arrow_schema(row_type)  # a type that has no columns fails here

    def create(self, out: BinaryIO) -> BulkWriter[Any]:
        schema = arrow_schema(self._row_type)
        return _ColumnWriter(self._row_type, schema, self.open(out, schema))

    @abstractmethod
    def open(self, out: BinaryIO, schema: pa.Schema) -> _Tables:
        """A new file."""

    @abstractmethod
    def tables(self, path: Path) -> Any:
        """What a file holds, in pieces that fit into memory."""

    def merge(self, inputs: list[Path], out: BinaryIO) -> None:
        """Rows of small files come to lie in common row groups."""
        schema = arrow_schema(self._row_type)
        file = self.open(out, schema)
        waiting: list[pa.Table] = []
        for table in (table for path in inputs for table in self.tables(path)):
            waiting.append(table.cast(schema))
            if sum(each.nbytes for each in waiting) >= _ROW_GROUP_BYTES:
                file.write(pa.concat_tables(waiting))
                waiting = []
        if waiting:
            file.write(pa.concat_tables(waiting))
        file.close()


class _ColumnWriter(BulkWriter[Any]):
    """Gathers rows, for columns are written many values at a time."""

    def __init__(self, row_type: RowTypeInfo, schema: pa.Schema, file: _Tables):
        self._row_type = row_type
        self._schema = schema
        self._file = file
        self._rows: list[Any] = []
        self._batches: list[pa.RecordBatch] = []
        self._size = 0

    def add_element(self, element: Any) -> None:
        self._rows.append(element)
        if len(self._rows) >= _ROWS_AT_ONCE:
            self._to_columns()
            if self._size >= _ROW_GROUP_BYTES:
                self.flush()

    def _to_columns(self) -> None:
        if self._rows:
            self._batches.append(record_batch(self._rows, self._row_type, self._schema))
            self._size += self._batches[-1].nbytes
            self._rows = []

    def flush(self) -> None:
        """A row group of what is there."""
        self._to_columns()
        if self._batches:
            self._file.write(pa.Table.from_batches(self._batches))
        self._batches, self._size = [], 0

    def finish(self) -> None:
        self.flush()
        self._file.close()

    def abandon(self) -> None:
        # Arrow's writers end their files themselves when they are collected as garbage.
        self._file.is_open = False


class ParquetFactory(ColumnarFactory):
    """Parquet files."""

    def __init__(self, row_type: RowTypeInfo, compression: str):
        super().__init__(row_type)
        self._compression = compression

    def open(self, out: BinaryIO, schema: pa.Schema) -> _Tables:
        writer: _Tables = pyarrow.parquet.ParquetWriter(out, schema, compression=self._compression)
        return writer

    def tables(self, path: Path) -> Any:
        with pyarrow.parquet.ParquetFile(path) as file:
            for number in range(file.num_row_groups):
                yield file.read_row_group(number)


class OrcFactory(ColumnarFactory):
    """ORC files."""

    def open(self, out: BinaryIO, schema: pa.Schema) -> _Tables:
        writer: _Tables = pyarrow.orc.ORCWriter(out)
        return writer

    def tables(self, path: Path) -> Any:
        file = pyarrow.orc.ORCFile(path)
        for number in range(file.nstripes):
            yield pa.Table.from_batches([file.read_stripe(number)])


class ParquetBulkWriters:
    """Factories for Parquet files."""

    @staticmethod
    def for_row_type(
        row_type: Any, hadoop_config: object = None, utc_timestamp: bool = False,
        compression: str = "snappy",
    ) -> BulkWriterFactory[Any]:  # fmt: skip
        """For rows of a type, `DataTypes.ROW([fields])` or `Types.ROW_NAMED([names], [types])`.

        Timestamps are written as they are, without a time zone, in microseconds; the Hadoop
        configuration is not needed.
        """
        return ParquetFactory(require_row_type(row_type, "ParquetBulkWriters"), compression)


class OrcBulkWriters:
    """Factories for ORC files."""

    @staticmethod
    def for_row_type(
        row_type: Any, writer_properties: object = None, hadoop_config: object = None
    ) -> BulkWriterFactory[Any]:
        """For rows of a type, `DataTypes.ROW([fields])` or `Types.ROW_NAMED([names], [types])`;
        the settings of Java's writer are not needed."""
        return OrcFactory(require_row_type(row_type, "OrcBulkWriters"))
