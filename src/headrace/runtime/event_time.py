"""How far event time has come, by what the splits of the sources report.

What a split reports travels as its progress: the watermark, and when the split was last heard of.
A split that has been silent for longer than its strategy allows is idle: it holds nobody back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from headrace.core.operator import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.core.state import MapState

Progress = tuple[int, int]
"""Watermark and last sign of life, by the wall clock.

The time is 0 where idleness plays no part, and negative when the split called itself idle then.
"""

Watermarks = dict[int, dict[str, Progress]]
"""For each origin (a source or assigner) the progress of each of its splits."""

ANY_SPLIT = ""
"""The split of a source whose parts are read within one micro-batch and then gone."""

PASSING = "~"
"""Before the name of a split that exists for one micro-batch only."""

UNHEARD = "?"
"""Stands for an origin nothing was heard of yet, so that it can be idle from the start."""


def later(one: Progress, other: Progress) -> Progress:
    """What is known of a split after both reports; watermarks never go back."""
    return max(one[0], other[0]), max(one[1], other[1], key=lambda heard: (abs(heard), heard))


def merge_watermarks(into: Watermarks, news: Mapping[int, Mapping[str, Progress]]) -> None:
    """Take in newer reports."""
    for origin, splits in news.items():
        known = into.setdefault(origin, {})
        for split, progress in splits.items():
            known[split] = later(known[split], progress) if split in known else progress


class EventTime:
    """The reports a task has heard of so far, and what follows from them.

    The reports are state, for time must not go back after a failure.
    """

    def __init__(
        self, table: MapState[int, dict[str, Progress]], idle_after: Mapping[int, int],
        clock: Callable[[], int],
    ):  # fmt: skip
        self._table = table
        self._idle_after = idle_after
        """By origin, after how many milliseconds a silent split of it is idle."""
        self._clock = clock

    def reports(self) -> Watermarks:
        return dict(self._table.items())

    def take_in(self, news: Mapping[int, Mapping[str, Progress]]) -> None:
        for origin, splits in news.items():
            before = self._table.get(origin) or {}
            known = {origin: dict(before)}
            merge_watermarks(known, {origin: splits})
            if known[origin] != before:
                if len(known[origin]) > 1:
                    known[origin].pop(UNHEARD, None)
                self._table.put(origin, known[origin])

    def expect(self, channels: Mapping[int, Iterable[str]]) -> None:
        """Splits that will report in this micro-batch: until they do, they hold time back."""
        for origin, names in channels.items():
            known = dict(self._table.get(origin) or {})
            new = [name for name in names if name not in known]
            if new:
                if any(name.startswith(PASSING) for name in new):
                    known.pop(ANY_SPLIT, None)
                known.pop(UNHEARD, None)
                self._table.put(origin, {**known, **dict.fromkeys(new, (MIN_TIMESTAMP, 0))})

    def forget_passing(self) -> None:
        """The micro-batch is over: splits that were read in it alone are read to their end."""
        for origin, splits in list(self._table.items()):
            passing = [split for split in splits if split.startswith(PASSING)]
            if passing:
                rest = {split: progress for split, progress in splits.items()
                        if split not in passing}  # fmt: skip
                ended = [splits[split] for split in passing]
                known = {origin: {ANY_SPLIT: rest.pop(ANY_SPLIT, ended[0])}}
                for progress in ended:
                    merge_watermarks(known, {origin: {ANY_SPLIT: progress}})
                self._table.put(origin, {**rest, **known[origin]})

    def start(self, origins: Iterable[int]) -> None:
        """Begin to wait for origins that may turn out to be idle from the start."""
        for origin in origins:
            if origin in self._idle_after and not self._table.get(origin):
                self._table.put(origin, {UNHEARD: (MIN_TIMESTAMP, self._clock())})

    def watermark(self, origins: Iterable[int]) -> int:
        """How far time has come for an operator behind these origins.

        The least of all that are active; when all are idle, the furthest of them.
        """
        active: list[int] = []
        idle: list[int] = []
        for origin in origins:
            watermark, is_idle = self._of(origin)
            (idle if is_idle else active).append(watermark)
        return min(active) if active else max(idle, default=MIN_TIMESTAMP)

    def _of(self, origin: int) -> tuple[int, bool]:
        splits = self._table.get(origin)
        if not splits:
            return MIN_TIMESTAMP, False
        active = [watermark for watermark, heard in splits.values()
                  if not self._is_idle(origin, watermark, heard)]  # fmt: skip
        if active:
            return min(active), False
        return max(watermark for watermark, _ in splits.values()), True

    def _is_idle(self, origin: int, watermark: int, heard: int) -> bool:
        if heard < 0:
            return True
        timeout = self._idle_after.get(origin)
        return timeout is not None and watermark != MAX_TIMESTAMP and (
            self._clock() - heard >= timeout
        )  # fmt: skip

    def next_idle_time(self) -> int | None:
        """When the next split will be idle unless it is heard of."""
        now = self._clock()
        deadlines = [
            heard + timeout
            for origin, timeout in self._idle_after.items()
            for watermark, heard in (self._table.get(origin) or {}).values()
            if heard > 0 and watermark != MAX_TIMESTAMP and heard + timeout > now
        ]
        return min(deadlines, default=None)
