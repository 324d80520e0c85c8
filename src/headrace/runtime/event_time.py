"""How far event time has come, by what the splits of the sources report.

What a split reports travels as its progress: the watermark, and when the split was last heard of.
A split that has been silent for longer than its strategy allows is idle: it holds nobody back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from headrace.core.operator import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.core.state import MapState

Progress = tuple[int, int]
"""Watermark and last sign of life, by the wall clock.

The time is 0 where idleness plays no part, and negative when the split called itself idle then.
"""

Watermarks = dict[int, dict[str, Progress]]
"""For each origin (a source or assigner) the progress of each of its splits."""

ANY_SPLIT = ""
"""The split of a source whose parts are read within one round and then gone."""

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
        self, table: MapState[int, dict[str, Progress]], reached: MapState[int, int],
        idle_after: Mapping[int, int], clock: Callable[[], int],
    ):  # fmt: skip
        self._table = table
        self._kept = reached
        self._reached: dict[int, int] = {}
        """How far each origin has come: a split that appears or comes back takes nothing back."""
        self._idle_after = idle_after
        """By origin, after how many milliseconds a silent split of it is idle."""
        self._clock = clock
        self._now = clock()
        self.resting: Mapping[int, int | None] = {}
        """Origins whose splits come and go, with the time after which they are idle, if there is
        one: a sender that calls itself idle has only read all there was."""

    def look_at_clock(self) -> None:
        """Until it is asked again, all answers are as of now, and so agree with each other."""
        self._now = self._clock()

    def reports(self) -> Watermarks:
        return dict(self._table.items())

    def knows(self, origin: int, split: str) -> bool:
        return split in (self._table.get(origin) or ())

    def take_in(self, news: Mapping[int, Mapping[str, Progress]]) -> bool:
        """Hear reports; says whether any of them is news."""
        changed = False
        for origin, splits in news.items():
            known = self._table.get(origin) or {}
            newer = {}
            for split, progress in splits.items():
                before = known.get(split)
                after = progress if before is None else later(before, progress)
                if after != before:
                    newer[split] = after
            if newer:
                known.update(newer)
                if len(known) > 1:
                    known.pop(UNHEARD, None)
                self._table.put(origin, known)
                changed = True
        return changed

    def keep(self) -> None:
        """Make it state how far the origins have come."""
        for origin, reached in self._reached.items():
            if self._kept.get(origin) != reached:
                self._kept.put(origin, reached)

    def restore(self) -> None:
        """After state was restored, the origins are where they were."""
        self._reached = dict(self._kept.items())

    def expect_only(self, channels: Mapping[int, Iterable[str]]) -> None:
        """Who reports of the origins from now on; what others have reported counts no more."""
        for origin, names in channels.items():
            known = self._table.get(origin) or {}
            self._table.put(origin, {name: known.get(name, (MIN_TIMESTAMP, 0)) for name in names})

    def forget_splits(self, origin: int) -> None:
        """Others may report of an origin's splits from now on: each is where all of them were."""
        known = self._table.get(origin) or {}
        self._table.put(origin, dict.fromkeys(known, (self.reached(origin), 0)))

    @property
    def now(self) -> int:
        return self._now

    def knows_any(self, origin: int) -> bool:
        """Whether anything was ever heard of an origin."""
        return bool(self._table.get(origin))

    def reached(self, origin: int) -> int:
        """How far an origin has come before it ended."""
        return self._reached.get(origin, MIN_TIMESTAMP)

    def start(self, origins: Iterable[int]) -> None:
        """Begin to wait for origins that may turn out to be idle from the start."""
        for origin in origins:
            if origin in self._idle_after and not self._table.get(origin):
                self._table.put(origin, {UNHEARD: (MIN_TIMESTAMP, max(1, self._now))})

    def watermark(self, origins: Collection[int]) -> int:
        """How far time has come for an operator behind these origins."""
        if len(origins) == 1:
            [origin] = origins
            return self.of_origin(origin)[0]
        return least([self.of_origin(origin) for origin in origins])[0]

    def progress(self, origin: int) -> Progress:
        """What this task makes of an origin's reports, for those who do not hear them."""
        watermark, idle = self.of_origin(origin)
        splits = self._table.get(origin) or {}
        if not any(heard for _, heard in splits.values()):
            return watermark, 0
        now = max(1, self._now)
        return watermark, -now if idle else now

    def of_origin(self, origin: int) -> tuple[int, bool]:
        """How far an origin has come, and whether it is idle."""
        splits = self._table.get(origin)
        if not splits:
            return MIN_TIMESTAMP, False
        if len(splits) == 1:
            [(watermark, heard)] = splits.values()
            idle = heard != 0 and self._is_idle(origin, heard)
        else:
            watermark, idle = least([
                (watermark, heard != 0 and self._is_idle(origin, heard))
                for watermark, heard in splits.values()
            ])  # fmt: skip
        if watermark == MAX_TIMESTAMP:
            return watermark, False
        if idle and origin in self.resting:
            idle = self._has_rested_long(self.resting[origin], splits.values())
        reached = self._reached.get(origin, MIN_TIMESTAMP)
        if watermark > reached:
            self._reached[origin] = watermark
            return watermark, idle
        return reached, idle

    def _has_rested_long(self, timeout: int | None, splits: Iterable[Progress]) -> bool:
        last = max(abs(heard) for _, heard in splits)
        return timeout is not None and self._now - last >= timeout

    def _is_idle(self, origin: int, heard: int) -> bool:
        timeout = self._idle_after.get(origin)
        return heard < 0 or (timeout is not None and self._now - heard >= timeout)

    def next_idle_time(self) -> int | None:
        """When the next split will be idle unless it is heard of."""
        if not self._idle_after:
            return None
        deadlines = [
            heard + timeout
            for origin, timeout in self._idle_after.items()
            for watermark, heard in (self._table.get(origin) or {}).values()
            if heard > 0 and watermark != MAX_TIMESTAMP and heard + timeout > self._now
        ]
        for origin, rest in self.resting.items():
            last = max(
                (abs(heard) for _, heard in (self._table.get(origin) or {}).values()), default=0
            )
            if rest is not None and last and last + rest > self._now:
                deadlines.append(last + rest)
        return min(deadlines, default=None)


def least(watermarks: Sequence[tuple[int, bool]]) -> tuple[int, bool]:
    """The least watermark of those that are active; when all are idle, the furthest of them.

    What has come to its end plays no part while others have not: they may only be idle.
    """
    going_on = [each for each in watermarks if each[0] != MAX_TIMESTAMP]
    active = [watermark for watermark, idle in going_on if not idle]
    if active:
        return min(active), False
    if going_on:
        return max(watermark for watermark, _ in going_on), True
    return (MAX_TIMESTAMP if watermarks else MIN_TIMESTAMP), False
