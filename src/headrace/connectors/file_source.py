"""Reading files: a fixed set of them, or those that appear in a folder."""

from __future__ import annotations

import codecs

from headrace.connectors.argument_checks import require_instance, require_path
from headrace.connectors.whole_files import WholeFiles
from headrace.core.source import SourceSpec, SplitSpec, TextFilesSpec
from headrace.core.time import Duration
from headrace.core.types import TypeInformation
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported
from headrace.formats.stream_format import (
    BinaryFormat,
    BulkFormat,
    FileFormat,
    LineFormat,
    LinesOfFile,
    StreamFormat,
)
from headrace.origin import calling_origin

__all__ = [
    "FileEnumeratorProvider",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
]


class FileEnumeratorProvider:
    """Which files are read and whether one may be read in parts."""

    def __init__(self, splittable: bool):
        self.splittable = splittable

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        return FileEnumeratorProvider(splittable=True)

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        return FileEnumeratorProvider(splittable=False)


class FileSplitAssignerProvider:
    """Which reader gets which part; Spark places tasks near their data by itself."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        return FileSplitAssignerProvider()


def _checked(paths: tuple[str, ...]) -> tuple[str, ...]:
    if not paths:
        raise InvalidArgument("a file source needs at least one path", origin=calling_origin())
    for path in paths:
        require_path(path, "a file source")
    return paths


class FileSource:
    """Reads files; built with `for_record_stream_format(...)...build()`."""

    def __init__(
        self,
        stream_format: StreamFormat | BulkFormat,
        paths: tuple[str, ...],
        discovery_interval: Duration | None = None,
    ):
        self.stream_format = stream_format
        self.paths = paths
        self.discovery_interval = discovery_interval
        self.origin = calling_origin()

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> FileSourceBuilder:
        require_instance(
            stream_format,
            StreamFormat,
            "for_record_stream_format",
            hint="StreamFormat.text_line_format() reads lines.",
        )
        return FileSourceBuilder(stream_format, _checked(paths))

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat, *paths: str) -> FileSourceBuilder:
        require_instance(
            bulk_format,
            BulkFormat,
            "for_bulk_file_format",
            hint="ParquetColumnarRowInputFormat(row_type=…) reads Parquet.",
        )
        return FileSourceBuilder(bulk_format, _checked(paths))

    def spec(self) -> SourceSpec:
        """How the engine reads this source."""
        watch = self.discovery_interval is not None
        match self.stream_format:
            # Spark's reader of lines gives the bytes of any other character set as they are.
            case LineFormat() as lines if codecs.lookup(lines.charset).name != "utf-8":
                whole_lines = LinesOfFile(lines)
                return SplitSpec(WholeFiles(whole_lines, self.paths, watch, self.origin))
            case LineFormat() as lines:
                decode = None if type(lines).decode is LineFormat.decode else lines.decode
                return TextFilesSpec(self.paths, watch, decode, lines.charset)
            case FileFormat() | BinaryFormat() as whole:
                return SplitSpec(WholeFiles(whole, self.paths, watch, self.origin))
            case other:
                raise TypeMismatch(
                    f"{type(other).__name__} must extend LineFormat or FileFormat",
                    origin=self.origin,
                )

    def produced_type(self) -> TypeInformation | None:
        return self.stream_format.produced_type()


class FileSourceBuilder:
    """Settings of a FileSource."""

    def __init__(self, stream_format: StreamFormat | BulkFormat, paths: tuple[str, ...]):
        self._format = stream_format
        self._paths = paths
        self._discovery_interval: Duration | None = None

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """Keep running, and read files as they appear under the paths."""
        require_instance(
            discovery_interval,
            Duration,
            "monitor_continuously",
            hint="Duration.of_seconds(1), for example.",
        )
        if discovery_interval.nanos <= 0:
            raise InvalidArgument(
                f"the discovery interval must be positive, but is {discovery_interval}",
                origin=calling_origin(),
            )
        self._discovery_interval = discovery_interval
        return self

    def process_static_file_set(self) -> FileSourceBuilder:
        """Read the files that are there when the job starts, then end; the default."""
        self._discovery_interval = None
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Only the splittable default: how lines are cut into tasks is Spark's choice."""
        require_instance(file_enumerator, FileEnumeratorProvider, "set_file_enumerator")
        if not file_enumerator.splittable:
            raise Unsupported(
                "this file enumerator cannot be used: Spark decides how files are split",
                origin=calling_origin(),
                hint="Give the source a parallelism of 1 to read each file in order.",
            )
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        require_instance(split_assigner, FileSplitAssignerProvider, "set_split_assigner")
        return self

    def build(self) -> FileSource:
        return FileSource(self._format, self._paths, self._discovery_interval)
