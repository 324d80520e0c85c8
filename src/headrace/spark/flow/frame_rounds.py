"""Sources that Spark reads itself, round by round."""

from __future__ import annotations

import time
from collections.abc import Collection

from pyspark.sql import DataFrame, SparkSession

from headrace.core.source import FrameSpec, TextFilesSpec
from headrace.errors import Unsupported
from headrace.plan.physical import Vertex
from headrace.runtime.flow.fed import READ
from headrace.runtime.flow.gate import SourceReach
from headrace.runtime.flow.messages import TaskId
from headrace.runtime.flow.round_sources import Portion, Positions, RoundSource
from headrace.runtime.flow.splits import is_within, records_within
from headrace.spark.flow.frames import Frames

_LOOK_EVERY = 0.2
"""Seconds between two looks into a folder: each is a list of all its files."""


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
        self._bounded = vertex.source.bounded
        self._frames = Frames(spark, vertex, vertex.source)
        self._positions = dict(saved)
        self._most = files_per_batch
        self._begun = {
            split: records_within(at) for split, (_, at) in saved.items() if is_within(at)
        }
        """Files of which a part was read, and how many rows: in real time a checkpoint may be
        inside of one."""
        self._found: list[str] = list(self._begun)
        """Files, or the table, that nobody has read to their end."""
        self._look_at = 0.0
        self._chosen: list[str] = []

    def has_news(self, waiting: Collection[str]) -> bool:
        if self.over:
            return False
        if not self._found and time.monotonic() >= self._look_at:
            self._found = [split for split in self._frames.splits() if split not in self._positions]
            self._look_at = time.monotonic() + _LOOK_EVERY
        return bool(self._found) or self._bounded

    def hand_over(self, limit: int | None, waiting: Collection[str]) -> dict[TaskId, Portion]:
        self.has_news(waiting)
        self._chosen = self._found[: self._most]
        self._found = self._found[len(self._chosen) :]
        self._positions.update((split, [None, READ]) for split in self._chosen)
        self.reach = SourceReach(len(self._chosen))
        self.over = self._bounded and not self._found and not self._begun
        return dict.fromkeys(self.tasks, Portion()) if self._chosen else {}

    def chosen_rows(self) -> DataFrame | None:
        """The rows of what was handed over last, in as many partitions as there are tasks at most;
        None: there are none. To be asked once a round."""
        chosen, self._chosen = self._chosen, []
        begun = {split: self._begun.pop(split) for split in chosen if split in self._begun}
        others = [split for split in chosen if split not in begun]
        parts = [self._frames.rows(others)] if others else []
        if begun:
            parts.append(self._frames.rows_after(begun))
        if not parts:
            return None
        frame = parts[0] if len(parts) == 1 else parts[0].unionAll(parts[1])
        return frame.coalesce(len(self.tasks))

    def positions(self) -> Positions:
        return dict(self._positions)
