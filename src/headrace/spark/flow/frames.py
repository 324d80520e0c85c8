"""What Spark reads itself for the tasks of a stream: tables, and files that only Spark can open.

Files are splits, in both modes, and a split of which only a part was read goes on behind as many
rows. For that, a file must give its rows in the same order whenever it is read. It does: Spark cuts
files into equal parts and a rest, sorts parts by their size, and one task that reads them all
meets those of a file in order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headrace.core.source import FrameSpec, TextFilesSpec
from headrace.errors import SourceUnavailable
from headrace.plan.physical import Vertex
from headrace.runtime.flow.fed import WHOLE
from headrace.spark.worker import ArrowFunction

_FILE = "input_file_name() AS _file"


class Frames:
    """The DataFrames of one source."""

    def __init__(self, spark: SparkSession, vertex: Vertex, spec: FrameSpec | TextFilesSpec):
        self.vertex = vertex
        self.spark = spark
        self._spec = spec
        self.by_files = not isinstance(spec, FrameSpec) or spec.by_files

    def splits(self) -> list[str]:
        """The files there are now, in the order they were written; or the table, which is one."""
        if not self.by_files:
            return [WHOLE]
        found = [local_path(uri) for uri in self._frame(None).inputFiles()]
        return sorted(found, key=_written)

    def rows(self, splits: list[str]) -> DataFrame:
        """All rows of some splits."""
        return self._frame(splits if self.by_files else None)

    def ordered_rows(self, splits: list[str]) -> DataFrame:
        """All rows of some splits in one partition, each with its file in one column more."""
        frame = self.rows(splits)
        named = frame.selectExpr("*", _FILE if self.by_files else f"'{WHOLE}' AS _file")
        return named.coalesce(1)

    def rows_after(self, skips: Mapping[str, int]) -> DataFrame:
        """What is left of some splits of which so many rows were read."""
        frame = self.ordered_rows(list(skips))
        return frame.mapInArrow(_skipping(dict(skips)), StructType(frame.schema.fields[:-1]))

    def _frame(self, files: list[str] | None) -> DataFrame:
        if isinstance(self._spec, FrameSpec):
            found: DataFrame = self._spec.frame.value(self.spark, files)
            return found
        return read_lines(self.spark, self.vertex, self._spec, files)


class InputFailed(Exception):
    """Spark could not read what it was to hand over, and says itself why."""


def given_rows(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What Spark hands over."""
    try:
        yield from rows
    except pa.ArrowInvalid as error:  # the stream ends in the middle
        raise InputFailed from error


def rows_by_split(
    rows: Iterator[pa.RecordBatch], skips: dict[str, int]
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Rows of `ordered_rows` by split, and of each only those behind the first ones."""
    left = dict(skips)
    names: dict[str, str] = {}
    for batch in rows:
        files = batch.column(batch.num_columns - 1)
        own = batch.select(list(range(batch.num_columns - 1)))
        for uri, start, end in _runs(files):
            split = names.setdefault(uri, local_path(uri))
            skipped = min(left.get(split, 0), end - start)
            if skipped:
                left[split] -= skipped
            if start + skipped < end:
                yield split, own.slice(start + skipped, end - start - skipped)


def _runs(files: pa.Array) -> Iterator[tuple[str, int, int]]:
    """From where to where rows are of the same file."""
    runs = files.dictionary_encode()
    if len(runs.dictionary) == 1:
        yield runs.dictionary[0].as_py(), 0, len(files)
        return
    numbers, start = runs.indices.to_pylist(), 0
    for at in range(1, len(numbers) + 1):
        if at == len(numbers) or numbers[at] != numbers[start]:
            yield runs.dictionary[numbers[start]].as_py(), start, at
            start = at


def _skipping(skips: dict[str, int]) -> ArrowFunction:
    def run(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _, batch in rows_by_split(given_rows(rows), skips):
            yield batch

    return run


def local_path(uri: str) -> str:
    """A file's address as a path, if it is on a file system of this machine."""
    return re.sub("^file:/+", "/", unquote(uri))


def _written(path: str) -> tuple[int, str]:
    """Files in the order they were written, as far as that can be seen."""
    try:
        return Path(path).stat().st_mtime_ns, path
    except OSError:
        return 0, path


def read_lines(
    spark: SparkSession, vertex: Vertex, spec: TextFilesSpec, files: list[str] | None = None
) -> DataFrame:
    """The lines of files; `files`: of only these."""
    # As Flink does, also what lies in folders inside a folder.
    reader = spark.read.option("encoding", spec.charset).option("recursiveFileLookup", "true")
    if files is not None:
        reader = exactly(reader)
    try:
        return reader.text(list(spec.paths) if files is None else files)
    except Exception as error:
        if "PATH_NOT_FOUND" in str(error) or "does not exist" in str(error):
            raise SourceUnavailable(
                f"{vertex.name!r}: there is no file or folder {', '.join(spec.paths)}",
                origin=vertex.origin,
                hint="Check the path; a relative one starts at the folder you run in.",
            ) from None
        raise


def exactly(reader: Any) -> Any:
    """The reader for paths that are no patterns, whatever signs are in them."""
    return reader.option("__globPaths__", "false")
