"""Sources that Spark reads itself, round by round: tables of files, and files that only Spark can
open."""

from __future__ import annotations

import re
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession

from headrace.core.source import FrameSpec, TextFilesSpec
from headrace.errors import SourceUnavailable, Unsupported
from headrace.plan.physical import Vertex
from headrace.runtime.flow.gate import SourceReach
from headrace.runtime.flow.messages import TaskId
from headrace.runtime.flow.round_sources import Portion, Positions, RoundSource

_LOOK_EVERY = 0.2
"""Seconds between two looks into a folder: each is a list of all its files."""
_WHOLE = "all"
"""The one split of a table that is not made of files."""
_READ = 1


class FrameRounds(RoundSource):
    """The files of a source, each of them a split; or a table that is read as one."""

    is_fed = True

    def __init__(
        self,
        spark: SparkSession,
        vertex: Vertex,
        tasks: list[TaskId],
        saved: Positions,
        files_per_batch: int | None,
    ):
        super().__init__(vertex, tasks)
        if not isinstance(vertex.source, FrameSpec | TextFilesSpec):
            raise Unsupported(f"{vertex.name!r} cannot be read as a stream", origin=vertex.origin)
        self._spark = spark
        self._spec: FrameSpec | TextFilesSpec = vertex.source
        self._positions = dict(saved)
        self._most = files_per_batch
        self._found: list[str] = []
        """Files, or the table, that nobody has read yet."""
        self._look_at = 0.0
        self._chosen: list[str] = []

    def has_news(self, waiting: Collection[str]) -> bool:
        if self.over:
            return False
        if not self._found and time.monotonic() >= self._look_at:
            self._found = [split for split in self._splits() if split not in self._positions]
            self._look_at = time.monotonic() + _LOOK_EVERY
        return bool(self._found) or self._spec.bounded

    def _splits(self) -> list[str]:
        if isinstance(self._spec, FrameSpec) and not self._spec.by_files:
            return [_WHOLE]
        found = [local_path(uri) for uri in self._frame(None).inputFiles()]
        return sorted(found, key=_written)

    def _frame(self, files: list[str] | None) -> DataFrame:
        if isinstance(self._spec, FrameSpec):
            found: DataFrame = self._spec.frame.value(self._spark, files)
            return found
        return read_lines(self._spark, self.vertex, self._spec, files)

    def hand_over(self, limit: int | None, waiting: Collection[str]) -> dict[TaskId, Portion]:
        self.has_news(waiting)
        self._chosen = self._found[: self._most]
        self._found = self._found[len(self._chosen) :]
        self._positions.update((split, [None, _READ]) for split in self._chosen)
        self.reach = SourceReach(len(self._chosen))
        self.over = self._spec.bounded and not self._found
        return dict.fromkeys(self.tasks, Portion()) if self._chosen else {}

    def chosen_rows(self) -> DataFrame | None:
        """The rows of what was handed over last, in as many partitions as there are tasks at most;
        None: there are none. To be asked once a round."""
        chosen, self._chosen = self._chosen, []
        if not chosen:
            return None
        return self._frame(None if chosen == [_WHOLE] else chosen).coalesce(len(self.tasks))

    def positions(self) -> Positions:
        return dict(self._positions)


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
