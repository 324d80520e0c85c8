"""Rows of a stream into files that appear whole and once."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet

from headrace.connectors.file_sink import FileSink
from headrace.connectors.output_files import BucketAssigner, OutputFileConfig
from headrace.connectors.tables.file_formats import TableFormat
from headrace.core.bulk_writing import BulkWriter, BulkWriterFactory
from headrace.core.logical_types import ArrayType, LogicalType, RowType
from headrace.core.operator import Batch
from headrace.core.table_columns import to_arrow
from headrace.formats.csv_dialect import CsvDialect
from headrace.formats.table_texts import csv_text, json_value
from headrace.operators.sinks import WriteOperator

if TYPE_CHECKING:
    from headrace.connectors.tables.filesystem import FileTableSink

_ROWS_AT_ONCE = 10_000


class RowFileOperator(WriteOperator):
    """Writes rows without their kind: a table of files takes inserts only."""

    def receive(self, side: int, batch: Batch) -> None:
        super().receive(side, Batch([row[1:] for row in batch.values], batch.timestamps))


def row_file_operator(table: FileTableSink) -> RowFileOperator:
    """The operator that writes a table's rows."""
    keys = tuple(table.row.names.index(key) for key in table.partition_keys)
    writers = RowWriters(table.format, table.row, keys)
    suffix = OutputFileConfig("part", f".{table.format.name}")
    folders = PartitionFolders(table.partition_keys, [table.row.types[at] for at in keys], keys)
    Path(table.path.removeprefix("file://")).mkdir(parents=True, exist_ok=True)
    sink = (
        FileSink.for_bulk_format(table.path, writers)
        .with_bucket_assigner(folders)
        .with_output_file_config(suffix)
        .build()
    )
    return RowFileOperator(sink)


class PartitionFolders(BucketAssigner):
    """Folders day=…/hour=… by the values of the partition columns."""

    def __init__(self, names: Sequence[str], types: Sequence[LogicalType], columns: Sequence[int]):
        self._parts = [
            (name, csv_text(type), column)
            for name, type, column in zip(names, types, columns, strict=True)
        ]

    def bucket_id(self, element: Any, timestamp: int | None) -> str:
        folders = []
        for name, text, column in self._parts:
            value = element[column]
            shown = "__HIVE_DEFAULT_PARTITION__" if value is None else text(value)
            folders.append(f"{name}={_escaped(shown)}")
        return "/".join(folders)


def _escaped(text: str) -> str:
    """Characters that a path cannot have, as Hive and Spark write them."""
    return "".join(f"%{ord(char):02X}" if char in '/\\:*?"<>|%=#{}[]^' or char < " " else char
                   for char in text)  # fmt: skip


class RowWriters(BulkWriterFactory[Any]):
    """Makes the writer of each file; values of partition columns are in the folder's name."""

    def __init__(self, format: TableFormat, row: RowType, partition: Sequence[int]):
        self.format = format
        self.columns = [at for at in range(len(row.fields)) if at not in partition]
        self.row = RowType(tuple(row.fields[at] for at in self.columns))

    def create(self, out: BinaryIO) -> BulkWriter[Any]:
        if self.format.name in ("parquet", "orc"):
            return _ColumnWriter(out, self.format.name, self.row, self.columns)
        return _LineWriter(out, _line_maker(self.format, self.row), self.columns)


def _line_maker(format: TableFormat, row: RowType) -> Callable[[list[Any]], str]:
    if format.name == "raw":
        return lambda values: f"{'' if values[0] is None else values[0]}\n"
    if format.name == "json":
        parts = [(field.name, json_value(field.type)) for field in row.fields]
        return lambda values: json.dumps(
            {name: None if value is None else part(value)
             for (name, part), value in zip(parts, values, strict=True)},
            ensure_ascii=False, separators=(",", ":"),
        ) + "\n"  # fmt: skip
    dialect = CsvDialect(
        format.delimiter, format.quote, format.escape, format.null_literal,
        array_delimiter=format.array_delimiter,
    )  # fmt: skip
    texts = [csv_text(type, format.array_delimiter) for type in row.types]
    quotes = [_may_need_quotes(type) for type in row.types]
    return lambda values: dialect.join(
        (None if value is None else text(value), quote)
        for value, text, quote in zip(values, texts, quotes, strict=True)
    )


def _may_need_quotes(type: LogicalType) -> bool:
    return isinstance(type, ArrayType) or csv_text(type) is str


class _LineWriter(BulkWriter[Any]):
    def __init__(self, out: BinaryIO, line: Callable[[list[Any]], str], columns: list[int]):
        self._write, self._line, self._columns = out.write, line, columns

    def add_element(self, element: Any) -> None:
        data = self._line([element[at] for at in self._columns]).encode()
        self._write(data)
        self.written += len(data)

    def finish(self) -> None:
        """Every line is complete."""


class _ColumnWriter(BulkWriter[Any]):
    """Gathers rows, for columns are written many values at a time."""

    def __init__(self, out: BinaryIO, format: str, row: RowType, columns: list[int]):
        self._row, self._columns = row, columns
        self._rows: list[Any] = []
        self._schema = self._table([]).schema
        if format == "parquet":
            self._file: Any = pa.parquet.ParquetWriter(out, self._schema)
        else:
            self._file = pa.orc.ORCWriter(out)

    def _table(self, rows: list[Any]) -> pa.Table:
        arrays = [
            to_arrow([row[at] for row in rows], type)
            for at, type in zip(self._columns, self._row.types, strict=True)
        ]
        return pa.Table.from_arrays(arrays, names=list(self._row.names))

    def add_element(self, element: Any) -> None:
        self._rows.append(element)
        if len(self._rows) >= _ROWS_AT_ONCE:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            rows, self._rows = self._rows, []
            table = self._table(rows)
            write = getattr(self._file, "write_table", self._file.write)
            write(table)

    def finish(self) -> None:
        self.flush()
        self._file.close()
