"""Tables of files: of columns, of lines, of messages."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.connectors.tables.bad_rows import DeadLetters, GoodRows
from headrace.connectors.tables.file_formats import TableFormat, table_format
from headrace.connectors.tables.file_paths import (
    DEFAULT_PARTITION,
    METADATA,
    absolute_path,
    check_there,
    local_file,
    metadata_text,
    partition_text,
    shown_path,
)
from headrace.connectors.tables.file_writer import RowFileOperator, row_file_operator
from headrace.connectors.tables.line_reading import (
    BAD_COLUMNS,
    DEAD_LETTER,
    LineFormat,
)
from headrace.connectors.tables.message_files import MESSAGE_COLUMNS, MessageFiles, bad_messages
from headrace.connectors.tables.options import Options
from headrace.core.logical_types import CHARACTERS, Field, LogicalType, RowType
from headrace.core.source import FrameSpec, OnDriver
from headrace.core.table_connector import (
    APPEND,
    LEGACY_CSV,
    METADATA_PREFIX,
    BadRows,
    CatalogTable,
    ChangelogMode,
    TableConnector,
    TableSink,
    TableSource,
)
from headrace.errors import InvalidArgument, Unsupported
from headrace.spark.flow.frames import exactly
from headrace.spark.native.types import quoted, spark_type

VALUE_PREFIX = "value."
"""Begins the names of metadata that messages have, as Flink's connectors name them."""


@dataclass(frozen=True)
class FileTableSource(TableSource):
    """Files of a folder; watched for more where there is a monitor interval."""

    path: str
    row: RowType
    format: TableFormat
    partition_keys: tuple[str, ...] = ()
    watched: bool = False
    outputs: tuple[tuple[bool, str], ...] | None = None
    """What is read: pairs of whether it is metadata, and its name. None: the table's columns."""
    default_partition: str = DEFAULT_PARTITION
    name_pattern: str | None = None
    by_files: bool = True

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        return not self.watched

    @property
    def changelog(self) -> ChangelogMode:  # type: ignore[override]
        messages = self.format.messages
        return APPEND if messages is None else messages.changelog

    def native(self, session: Any, files: list[str] | None = None) -> Any:
        lines = self.format.lines
        if self.format.messages is not None or (lines is not None and lines.checked):
            return None
        return self._frame(session, files)

    def reader(self) -> FrameSpec | None:
        if self.format.messages is not None:
            others = tuple(type for _, type, _ in self._beside())
            return FrameSpec(
                OnDriver(self._frame),
                (*MESSAGE_COLUMNS, *others),
                self.bounded,
                self.path,
                by_files=True,
            )
        lines = self.format.lines
        if lines is None or not lines.checked:
            return None
        own = dict(zip(self.row.names, self.row.types, strict=True))
        types: list[LogicalType] = [
            METADATA[name] if of_file else own[name] for of_file, name in self._wanted()
        ]
        frame = OnDriver(self._frame)
        return FrameSpec(frame, (*types, *BAD_COLUMNS), self.bounded, self.path, by_files=True)

    def bad_rows(self, name: str) -> BadRows | None:
        if self.format.messages is not None:
            return bad_messages(self._message_files(), name, self.format.dead_letters)
        lines = self.format.lines
        if lines is None or not lines.checked:
            return None
        if lines.bad_rows != DEAD_LETTER:
            return BadRows(GoodRows(name, "skipped"))
        assert lines.dead_letters is not None
        outcome = f"kept in {lines.dead_letters}"
        return BadRows(GoodRows(name, outcome), DeadLetters(name, lines.dead_letters))

    def _wanted(self) -> tuple[tuple[bool, str], ...]:
        if self.outputs is not None:
            return self.outputs
        return tuple((False, name) for name in self.row.names)

    def _frame(self, session: Any, files: list[str] | None) -> Any:
        check_there(self.path, watched=self.watched)
        reader = session.read.option("recursiveFileLookup", "true")
        reader = reader.options(**self.format.reading)
        if self.name_pattern is not None:
            reader = reader.option("pathGlobFilter", self.name_pattern)
        if files is not None:
            reader = exactly(reader)
        path = self.path if files is None else files
        if self.format.messages is not None:
            return self._of_messages(reader, path)
        lines = self.format.lines
        if lines is not None:
            return self._of_lines(lines, reader, path)
        return self._of_columns(reader.format(self.format.spark_name), path)

    def _beside(self) -> list[tuple[str, LogicalType, str]]:
        """Of messages: what is read of a file's path and not of its messages, with its type and
        as Spark SQL."""
        types = dict(zip(self.row.names, self.row.types, strict=True))
        partitions = self._partitions()
        found = [
            (name, METADATA[name], metadata_text(name))
            for of_file, name in self._wanted()
            if of_file and name in METADATA
        ]
        return found + [
            (name, types[name], partitions[name])
            for of_file, name in self._wanted()
            if not of_file and name in partitions
        ]

    def _message_files(self) -> MessageFiles:
        assert self.format.messages is not None
        held = [each for each in self._in_files() if (False, each.name) in self._wanted()]
        keys = [name for of_file, name in self._wanted() if of_file and name not in METADATA]
        places = [(False, each.name) for each in held] + [(True, key) for key in keys]
        places += [(name in METADATA, name) for name, _, _ in self._beside()]
        return MessageFiles(
            self.format.messages,
            RowType(tuple(held)),
            tuple(key.removeprefix(VALUE_PREFIX) for key in keys),
            tuple(places.index(wanted) for wanted in self._wanted()),
            self.format.spark_name == "binaryFile",
            self.format.bad_rows,
        )

    def _of_messages(self, reader: Any, path: str | list[str]) -> Any:
        rows = reader.format(self.format.spark_name).load(path)
        line = "CAST(NULL AS BINARY)"
        if self.format.spark_name == "text":
            line, rows = "CAST(value AS BINARY)", rows.filter("trim(value) <> ''")
        others = [f"{text} AS _o{at}" for at, (_, _, text) in enumerate(self._beside())]
        return rows.selectExpr(f"{line} AS _message", "_metadata.file_path AS _path", *others)

    def _in_files(self) -> list[Field]:
        return [each for each in self.row.fields if each.name not in self.partition_keys]

    def _of_columns(self, reader: Any, path: str | list[str]) -> Any:
        if self.format.name == "raw":
            [column] = self._in_files()
            texts = {column.name: f"CAST({self._raw_line(column)} AS {spark_type(column.type)})"}
        else:
            held = [f"{quoted(each.name)} {spark_type(each.type)}" for each in self._in_files()]
            reader = reader.schema(", ".join(held))
            texts = {each.name: quoted(each.name) for each in self._in_files()}
        texts |= self._partitions()
        chosen = [
            f"{metadata_text(name)} AS {_of_file(name)}"
            if of_file
            else f"{texts[name]} AS {quoted(name)}"
            for of_file, name in self._wanted()
        ]
        return reader.load(path).selectExpr(*chosen)

    def _raw_line(self, column: Field) -> str:
        """A line as text; Spark's reader gives the bytes of any character set as they are."""
        charset = self.format.charset.upper()
        if charset in ("UTF-8", "UTF8") or not isinstance(column.type, CHARACTERS):
            return "value"
        if charset not in _CHARSETS:
            raise Unsupported(
                f"files in {self.format.charset!r} cannot be read line by line",
                hint=f"Convert them to UTF-8; {' and '.join(_CHARSETS)} can be read, too.",
            )
        return f"decode(CAST(value AS BINARY), '{charset}')"

    def _partitions(self) -> dict[str, str]:
        types = dict(zip(self.row.names, self.row.types, strict=True))
        return {
            name: partition_text(name, types[name], self.default_partition)
            for name in self.partition_keys
        }

    def _of_lines(self, lines: LineFormat, reader: Any, path: str | list[str]) -> Any:
        partitions = self._partitions()
        place = {f"_p{at}": text for at, text in enumerate(partitions.values())}
        place |= {
            f"_m{at}": metadata_text(name)
            for at, (of_file, name) in enumerate(self._wanted()) if of_file
        }  # fmt: skip
        # Made readable only where it is shown: that costs more than reading a row.
        place["_path"] = "_metadata.file_path"
        in_files = self._in_files()
        named = [f"{text} AS {name}" for name, text in place.items()]
        rows = lines.rows(reader, path, in_files, named)
        typed = lines.outputs(in_files)
        typed |= {name: f"_p{at} AS {quoted(name)}" for at, name in enumerate(partitions)}
        outputs = [
            f"_m{at} AS {_of_file(name)}" if of_file else typed[name]
            for at, (of_file, name) in enumerate(self._wanted())
        ]
        if lines.checked:
            wanted = {name for of_file, name in self._wanted() if not of_file}
            return _with_reasons(rows, outputs, lines.reason(in_files, wanted))
        return rows.selectExpr(*outputs)

    def with_projection(self, columns: tuple[int, ...]) -> TableSource:
        wanted = self._wanted()
        return replace(self, outputs=tuple(wanted[at] for at in columns))

    def metadata(self) -> Mapping[str, Any]:
        messages = self.format.messages
        own = {} if messages is None else messages.metadata()
        return {**METADATA, **{VALUE_PREFIX + key: type for key, type in own.items()}}

    def with_metadata(self, keys: tuple[str, ...]) -> TableSource:
        return replace(self, outputs=(*self._wanted(), *((True, key) for key in keys)))


def _with_reasons(rows: Any, outputs: list[str], reason: str) -> Any:
    """A frame of the columns, and of BAD_COLUMNS: of good rows these are NULL."""
    names = [f"c{at}" for at in range(len(outputs))]
    frame = rows.selectExpr(*outputs, f"{reason} AS _reason", "_line", "_path")
    shown = [f"IF(_reason IS NULL, NULL, {text})" for text in ("_line", shown_path("_path"))]
    return frame.toDF(*names, "_reason", "_line", "_path").selectExpr(*names, "_reason", *shown)


def _of_file(key: str) -> str:
    return quoted(METADATA_PREFIX + key)


@dataclass(frozen=True)
class FileTableSink(TableSink):
    """Files in a folder; of a stream they appear whole and once."""

    path: str
    row: RowType
    format: TableFormat
    partition_keys: tuple[str, ...] = ()
    overwrite: bool = False
    default_partition: str = DEFAULT_PARTITION
    legacy: bool = False
    """Whether it writes to a new place, or in place of what is there."""

    def accepts(self, wanted: ChangelogMode) -> ChangelogMode:
        messages = self.format.messages
        if messages is None or wanted.insert_only:
            return APPEND
        return messages.changelog

    def native(self, frame: Any) -> Callable[[], None] | None:
        texts = self.format.written(self.row.fields)
        if texts is None:
            return None
        writer = frame.selectExpr(*texts).write.format(self.format.spark_name)
        writer = writer.options(**self.format.writing)
        writer = writer.mode("overwrite" if self.overwrite else "append")
        if self.partition_keys:
            # As Flink does: only partitions that get rows are replaced.
            writer = writer.option("partitionOverwriteMode", "dynamic")
            writer = writer.partitionBy(*self.partition_keys)
        return lambda: writer.save(self.path)

    def prepare(self) -> None:
        place = local_file(self.path)
        if not self.legacy or place is None or not place.exists():
            return
        if not self.overwrite:
            raise InvalidArgument(
                f"there is a file or folder {place} already",
                hint="'format.write-mode' = 'OVERWRITE' replaces it.",
            )
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()

    def overwriting(self) -> TableSink:
        return replace(self, overwrite=True)

    def operator(self) -> RowFileOperator:
        return row_file_operator(self)


_CHARSETS = ("US-ASCII", "ISO-8859-1")
"""Beside UTF-8, of those that Spark decodes the ones in which a byte is a character."""
_SINK_OPTIONS = (
    "auto-compaction",
    "compaction.file-size",
    "compaction.parallelism",
    "partition.time-extractor.class",
    "partition.time-extractor.kind",
    "partition.time-extractor.timestamp-formatter",
    "partition.time-extractor.timestamp-pattern",
    "sink.partition-commit.delay",
    "sink.partition-commit.policy.class",
    "sink.partition-commit.policy.class.parameters",
    "sink.partition-commit.policy.kind",
    "sink.partition-commit.success-file.name",
    "sink.partition-commit.trigger",
    "sink.partition-commit.watermark-time-zone",
    "sink.rolling-policy.check-interval",
    "sink.rolling-policy.file-size",
    "sink.rolling-policy.rollover-interval",
    "sink.shuffle-by-partition.enable",
)
_FLINK_SOURCE_OPTIONS = ("source.report-statistics",)


@dataclass(frozen=True)
class FileSystemConnector(TableConnector):
    identifier: str = "filesystem"

    def source(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSource:
        given = Options(self.identifier, options)
        given.known(*_SINK_OPTIONS)
        common = self._common(given, table, row)
        return FileTableSource(
            watched=self._watched(given),
            name_pattern=self._pattern(given),
            **self._done(given, common),
        )

    def sink(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSink:
        given = Options(self.identifier, options)
        self._refuse(given)
        given.known(*_SINK_OPTIONS)
        common = self._common(given, table, row)
        self._watched(given)
        self._pattern(given)
        if given.text("format") == LEGACY_CSV:
            modes = ("OVERWRITE", "NO_OVERWRITE")
            overwrite = given.choice("format.write-mode", modes, modes[1]) == modes[0]
            given.whole("format.num-files")
            common |= {"overwrite": overwrite, "legacy": True}
        return FileTableSink(**self._done(given, common))

    def _refuse(self, given: Options) -> None:
        if given.starting_with("sink.partition-commit."):
            raise Unsupported(
                "'sink.partition-commit…': there is nobody to tell that a partition is complete",
                hint="Leave these options out: files appear whole and once anyway.",
            )
        if given.flag("auto-compaction"):
            raise Unsupported(
                "'auto-compaction' cannot be had for tables",
                hint="Write a DataStream with FileSink's enable_compact(), or read the small "
                "files and write them again.",
            )

    def _common(self, given: Options, table: CatalogTable, row: RowType) -> dict[str, Any]:
        """What both directions have: one table may be read and written."""
        for column in row.fields:
            spark_type(column.type)
        in_files = tuple(each for each in row.fields if each.name not in table.partition_keys)
        return {
            "path": absolute_path(given.required("path")),
            "row": row,
            "format": table_format(given, RowType(in_files)),
            "partition_keys": table.partition_keys,
            "default_partition": given.text("partition.default-name") or DEFAULT_PARTITION,
        }

    def _watched(self, given: Options) -> bool:
        for name in _FLINK_SOURCE_OPTIONS:
            given.text(name)
        return given.duration_ms("source.monitor-interval") is not None

    def _pattern(self, given: Options) -> str | None:
        return given.text("source.path.name-pattern")

    def _done(self, given: Options, common: dict[str, Any]) -> dict[str, Any]:
        given.done()
        return common
