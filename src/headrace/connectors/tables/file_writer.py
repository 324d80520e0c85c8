"""Rows of a stream into files that appear whole and once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet

from headrace.connectors.file_sink import FileSink
from headrace.connectors.output_files import BucketAssigner, OutputFileConfig
from headrace.connectors.tables.file_formats import TableFormat
from headrace.connectors.tables.file_paths import escaped_folder, local_file
from headrace.core.bulk_writing import BulkWriter, BulkWriterFactory
from headrace.core.logical_types import (
    BINARIES,
    ArrayType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
)
from headrace.core.operator import Batch
from headrace.core.table_columns import to_arrow
from headrace.errors import Unsupported
from headrace.formats.messages.avro_formats import AvroMessages
from headrace.formats.messages.message_format import MessageFormat
from headrace.formats.table_texts import csv_text, json_text, needs_no_quotes
from headrace.operators.sinks import WriteOperator

if TYPE_CHECKING:
    from headrace.connectors.tables.filesystem import FileTableSink

_ROWS_AT_ONCE = 10_000


class RowFileOperator(WriteOperator):
    """Writes rows without their kind: most tables of files take inserts only."""

    def receive(self, side: int, batch: Batch) -> None:
        super().receive(side, Batch([row[1:] for row in batch.values], batch.timestamps))


class ChangeFileOperator(RowFileOperator):
    """Writes rows with their kind, which comes after the columns."""

    def receive(self, side: int, batch: Batch) -> None:
        rows = [(*row[1:], row[0]) for row in batch.values]
        WriteOperator.receive(self, side, Batch(rows, batch.timestamps))


def row_file_operator(table: FileTableSink) -> RowFileOperator:
    """The operator that writes a table's rows."""
    keys = tuple(table.row.names.index(key) for key in table.partition_keys)
    writers = RowWriters(table.format, table.row, keys)
    suffix = OutputFileConfig("part", f".{table.format.name}")
    folders = PartitionFolders(
        table.partition_keys, [table.row.types[at] for at in keys], keys, table.default_partition
    )
    if table.format.name == "orc" and any(map(_is_of_time, table.row.types)):
        raise Unsupported(
            "a stream cannot write timestamps to ORC files: Spark would not read them",
            hint="Use 'format' = 'parquet'.",
        )
    local = local_file(table.path)
    if local is None:
        raise Unsupported(
            f"the stream cannot be written to {table.path}: only to folders that all workers see",
            hint="Give a local path.",
        )
    local.mkdir(parents=True, exist_ok=True)
    sink = (
        FileSink.for_bulk_format(str(local), writers)
        .with_bucket_assigner(folders)
        .with_output_file_config(suffix)
        .build()
    )
    messages = table.format.messages
    changes = messages is not None and not messages.changelog.insert_only
    return ChangeFileOperator(sink) if changes else RowFileOperator(sink)


def _is_of_time(type: LogicalType) -> bool:
    match type:
        case TimestampType() | LocalZonedTimestampType():
            return True
        case ArrayType(element=element) | MultisetType(element=element):
            return _is_of_time(element)
        case MapType(key=key, value=value):
            return _is_of_time(key) or _is_of_time(value)
        case RowType(fields=fields):
            return any(_is_of_time(field.type) for field in fields)
    return False


class PartitionFolders(BucketAssigner):
    """Folders day=…/hour=… by the values of the partition columns."""

    def __init__(
        self, names: Sequence[str], types: Sequence[LogicalType], columns: Sequence[int],
        default: str,
    ):  # fmt: skip
        self._default = default
        self._parts = [
            (name, csv_text(type), column)
            for name, type, column in zip(names, types, columns, strict=True)
        ]

    def bucket_id(self, element: Any, timestamp: int | None) -> str:
        folders = []
        for name, text, column in self._parts:
            value = element[column]
            shown = self._default if value is None else text(value)
            folders.append(f"{name}={escaped_folder(shown)}")
        return "/".join(folders)


class RowWriters(BulkWriterFactory[Any]):
    """Makes the writer of each file; values of partition columns are in the folder's name."""

    def __init__(self, format: TableFormat, row: RowType, partition: Sequence[int]):
        self.format = format
        self.columns = [at for at in range(len(row.fields)) if at not in partition]
        self.row = RowType(tuple(row.fields[at] for at in self.columns))

    def create(self, out: BinaryIO) -> BulkWriter[Any]:
        messages = self.format.messages
        if isinstance(messages, AvroMessages):
            return _PickedWriter(messages.file_writer(self.row, out), self.columns)
        if messages is not None:
            return _LineWriter(out, _message_line(messages, self.row), [*self.columns, -1])
        if self.format.name in ("parquet", "orc"):
            return _ColumnWriter(out, self.format.name, self.row, self.columns)
        return _LineWriter(out, _line_maker(self.format, self.row), self.columns)


def _line_maker(format: TableFormat, row: RowType) -> Callable[[list[Any]], bytes]:
    if format.name == "raw":
        return _raw_line(format, row)
    if format.name == "json":
        text = json_text(row, format.json)
        return lambda values: f"{text(values)}\n".encode()
    dialect = format.dialect
    null = dialect.null_literal or ""
    texts = [csv_text(type, dialect.array_delimiter, null) for type in row.types]
    quotes = [not needs_no_quotes(type) for type in row.types]
    return lambda values: dialect.join(
        (None if value is None else text(value), quote)
        for value, text, quote in zip(values, texts, quotes, strict=True)
    ).encode()


def _message_line(messages: MessageFormat, row: RowType) -> Callable[[list[Any]], bytes]:
    encode = messages.encoder(row)
    return lambda values: encode((values[-1], *values[:-1])) + b"\n"


def _raw_line(format: TableFormat, row: RowType) -> Callable[[list[Any]], bytes]:
    if isinstance(row.types[0], BINARIES):
        return lambda values: (values[0] or b"") + b"\n"
    return lambda values: f"{'' if values[0] is None else values[0]}\n".encode(format.charset)


class _LineWriter(BulkWriter[Any]):
    def __init__(self, out: BinaryIO, line: Callable[[list[Any]], bytes], columns: list[int]):
        self._write, self._line, self._columns = out.write, line, columns

    def add_element(self, element: Any) -> None:
        data = self._line([element[at] for at in self._columns])
        self._write(data)
        self.written += len(data)

    def finish(self) -> None:
        """Every line is complete."""


class _PickedWriter(BulkWriter[Any]):
    """Writes some of the columns by another writer."""

    def __init__(self, inner: BulkWriter[Any], columns: list[int]):
        self._inner, self._columns = inner, columns

    def add_element(self, element: Any) -> None:
        self._inner.add_element(tuple(element[at] for at in self._columns))

    def flush(self) -> None:
        self._inner.flush()

    def finish(self) -> None:
        self._inner.finish()


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
