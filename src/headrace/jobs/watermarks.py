"""How far a job's event time has come, and who holds it back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from headrace.core.operator import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.event_time import Progress, later

_REPRESENTABLE = 253_402_300_799_999


@dataclass(frozen=True, slots=True)
class SplitProgress:
    """What is known of one split of a source, or of one subtask that assigns timestamps."""

    source: str
    split: str
    watermark: int
    since: int
    """When the watermark came to where it is, by the clock of the driver, in milliseconds."""
    last_record: int | None
    """When the last record came; None if none has."""
    idle: bool


@dataclass(frozen=True, slots=True)
class OperatorTime:
    """The event time of one operator."""

    operator: str
    watermark: int
    held_back_by: SplitProgress | None
    """The split with the least watermark of those that count; None when none has reported."""
    splits: tuple[SplitProgress, ...]

    def __str__(self) -> str:
        text = f"{self.operator}: {shown_time(self.watermark)}"
        slowest = self.held_back_by
        if slowest is None:
            waiting = "no source has reported a watermark" if not self.splits else "all are idle"
            return f"{text}; {waiting}"
        if slowest.watermark == MAX_TIMESTAMP:
            return f"{text}; all input has been read"
        part = f", split {slowest.split!r}" if slowest.split else ""
        since = datetime.fromtimestamp(slowest.since / 1000, UTC)
        return (f"{text}; held back by {slowest.source!r}{part} at "
                f"{shown_time(slowest.watermark)} since {since:%H:%M:%S} UTC")  # fmt: skip


class WatermarkBoard:
    """Gathers what splits report, with the time by the driver's clock."""

    def __init__(self, plan: PhysicalPlan, clock: Callable[[], int] | None = None):
        self._plan = plan
        self._clock = clock or (lambda: time.time_ns() // 1_000_000)
        self._splits: dict[int, dict[str, tuple[int, int, int]]] = {}
        """By origin and split: watermark, since when, last sign of life."""

    def take_in(self, origin: int, splits: Mapping[str, Progress]) -> None:
        now = self._clock()
        known = self._splits.setdefault(origin, {})
        for split, (watermark, heard) in splits.items():
            before = known.get(split)
            if before is None:
                known[split] = (watermark, now, heard)
            else:
                newest, heard = later((before[0], before[2]), (watermark, heard))
                known[split] = (newest, now if newest > before[0] else before[1], heard)

    def watermark(self, origin: int, split: str) -> int:
        return self._splits.get(origin, {}).get(split, (MIN_TIMESTAMP, 0, 0))[0]

    def progress_of(self, origins: Iterable[int]) -> list[SplitProgress]:
        return [
            self._progress(self._plan.vertices[origin], split)
            for origin in origins for split in self._splits.get(origin, {})
        ]  # fmt: skip

    def _progress(self, vertex: Vertex, split: str) -> SplitProgress:
        watermark, since, heard = self._splits[vertex.id][split]
        timeout = vertex.operator.idle_after_ms if vertex.operator is not None else None
        silent = timeout is not None and self._clock() - heard >= timeout
        idle = heard < 0 or (silent and watermark != MAX_TIMESTAMP)
        return SplitProgress(
            self._source_of(vertex), split, watermark, since, abs(heard) or None, idle
        )

    def _source_of(self, vertex: Vertex) -> str:
        """The source whose records get their time there, or else the operator itself."""
        feeding = (source.name for source in self._plan.sources
                   if any(edge.target == vertex.id for edge in source.edges))  # fmt: skip
        return next(feeding, vertex.name)

    def report(self, watermarks: Mapping[int, int]) -> list[OperatorTime]:
        """The time of each operator, given the watermarks its subtasks see."""
        found = []
        for id, watermark in watermarks.items():
            vertex = self._plan.vertices[id]
            if vertex.source is not None:
                continue  # time begins after it, where timestamps are assigned
            splits = self.progress_of(vertex.watermark_origins)
            going_on = [split for split in splits if split.watermark != MAX_TIMESTAMP]
            active = [split for split in going_on or splits if not split.idle]
            slowest = min(active, key=lambda split: split.watermark, default=None)
            found.append(OperatorTime(vertex.name, watermark, slowest, tuple(splits)))
        return found


def shown_time(timestamp: int) -> str:
    """A watermark for people."""
    if timestamp == MIN_TIMESTAMP:
        return "no watermark yet"
    if timestamp == MAX_TIMESTAMP:
        return "the end of time"
    if 0 <= timestamp <= _REPRESENTABLE:
        return datetime.fromtimestamp(timestamp / 1000, UTC).isoformat(timespec="milliseconds")
    return str(timestamp)
