"""Tables of files: csv, json, parquet, orc, raw, read and written by Spark itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headrace.connectors.tables.file_formats import TableFormat, table_format
from headrace.connectors.tables.file_writer import RowFileOperator, row_file_operator
from headrace.connectors.tables.options import Options
from headrace.core.logical_types import STRING, RowType
from headrace.core.table_connector import CatalogTable, TableConnector, TableSink, TableSource
from headrace.errors import SourceUnavailable
from headrace.spark.native.types import quoted, spark_type
from headrace.spark.stream_inputs import FILES_PER_BATCH

_METADATA = {
    "file.path": "_metadata.file_path",
    "file.name": "_metadata.file_name",
    "file.size": "_metadata.file_size",
    "file.modification-time": "_metadata.file_modification_time",
}


@dataclass(frozen=True)
class FileTableSource(TableSource):
    """Files of a folder; watched for more where there is a monitor interval."""

    path: str
    row: RowType
    format: TableFormat
    partition_keys: tuple[str, ...] = ()
    watched: bool = False
    wanted: tuple[str, ...] | None = None
    metadata_keys: tuple[str, ...] = ()
    charset: str = "UTF-8"

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        return not self.watched

    def native(self, session: Any, streaming: bool) -> Any:
        self._check_path()
        reader = session.readStream if streaming else session.read
        reader = reader.format(self.format.spark_name).options(**self.format.reading)
        if not self.partition_keys:
            reader = reader.option("recursiveFileLookup", "true")
        files = session.conf.get(FILES_PER_BATCH, None) if streaming else None
        if files is not None:
            reader = reader.option("maxFilesPerTrigger", files)
        schema = ", ".join(
            f"{quoted(field.name)} {self.format.column_type(field.type)}"
            for field in self.row.fields
        )
        if self.format.has_schema:
            reader = reader.schema(schema)
        frame = reader.load(self.path)
        outputs = [
            f"{self.format.read_column(quoted(field.name), field.type)} AS {quoted(field.name)}"
            for field in self.row.fields
            if self.wanted is None or field.name in self.wanted
        ]
        if self.wanted is not None:
            order = {name: at for at, name in enumerate(self.wanted)}
            names = [field.name for field in self.row.fields if field.name in order]
            outputs = [outputs[names.index(name)] for name in self.wanted]
        extra = [f"{_METADATA[key]} AS {quoted(key)}" for key in self.metadata_keys]
        return frame.selectExpr(*outputs, *extra)

    def _check_path(self) -> None:
        local = self.path.removeprefix("file://")
        if "://" not in local and "*" not in local and not Path(local).exists():
            raise SourceUnavailable(
                f"there is no file or folder {self.path}",
                hint="Check the option 'path'; a relative one starts at the folder you run in.",
            )

    def with_projection(self, columns: tuple[int, ...]) -> TableSource:
        names = self.wanted or self.row.names
        return replace(self, wanted=tuple(names[at] for at in columns))

    def metadata(self) -> Mapping[str, Any]:
        return dict.fromkeys(_METADATA, STRING)

    def with_metadata(self, keys: tuple[str, ...]) -> TableSource:
        return replace(self, metadata_keys=keys)


@dataclass(frozen=True)
class FileTableSink(TableSink):
    """Files in a folder; of a stream they appear whole and once."""

    path: str
    row: RowType
    format: TableFormat
    partition_keys: tuple[str, ...] = ()
    overwrite: bool = False
    rolling: Mapping[str, str] | None = None

    def native(self, frame: Any) -> Callable[[], None] | None:
        if not self.format.writes_natively:
            return None
        texts = [self.format.write_column(quoted(field.name), field.type)
                 for field in self.row.fields]  # fmt: skip
        named = [f"{text} AS {quoted(field.name)}"
                 for text, field in zip(texts, self.row.fields, strict=True)]  # fmt: skip
        writer = frame.selectExpr(*named).write.format(self.format.spark_name)
        writer = writer.options(**self.format.writing)
        writer = writer.mode("overwrite" if self.overwrite else "append")
        # Of a partitioned table only partitions that get rows are replaced.
        writer = writer.option("partitionOverwriteMode", "dynamic")
        if self.partition_keys:
            writer = writer.partitionBy(*self.partition_keys)
        return lambda: writer.save(self.path)

    def overwriting(self) -> TableSink:
        return replace(self, overwrite=True)

    def operator(self) -> RowFileOperator:
        return row_file_operator(self)


@dataclass(frozen=True)
class FileSystemConnector(TableConnector):
    identifier: str = "filesystem"

    def source(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSource:
        given = Options(self.identifier, options)
        monitor = given.duration_ms("source.monitor-interval")
        source = FileTableSource(
            given.required("path"), row, table_format(given, row), table.partition_keys,
            watched=monitor is not None,
        )  # fmt: skip
        self._check_types(row)
        self._ignored(given)
        given.done()
        return source

    def sink(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSink:
        given = Options(self.identifier, options)
        rolling = {**given.starting_with("sink.rolling-policy."), **given.starting_with("auto-")}
        sink = FileTableSink(
            given.required("path"), row, table_format(given, row), table.partition_keys,
            rolling=rolling,
        )  # fmt: skip
        self._check_types(row)
        given.duration_ms("source.monitor-interval")
        self._ignored(given)
        given.done()
        return sink

    def _check_types(self, row: RowType) -> None:
        for field in row.fields:
            spark_type(field.type)

    def _ignored(self, given: Options) -> None:
        """Options of the other direction: one table may be read and written."""
        for prefix in ("sink.", "auto-", "partition.", "source.", "compaction."):
            given.starting_with(prefix)
