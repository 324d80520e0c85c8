"""What Flink's documentation says windows do, restated over a whole input in plain Python.

Nothing of headrace is used here. An input is a sequence of steps: a record arrives, or the
watermark advances. The rules, each of them once:

* A record belongs to the windows its assigner names. Sessions that touch become one.
* A window ends at its last millisecond. It is kept for the allowed lateness after that.
* A record none of whose windows is kept any more is late: it goes aside, or is counted.
* Triggers say when a window is evaluated; purging empties it, but does not end it.
* What a trigger sets while timers fire is looked at when all that were due have fired.
* A result's timestamp is the last millisecond of its window.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

FOREVER = 2**63 - 1
NOTHING_YET = -(2**63)

Window = tuple[int, int]
"""The first millisecond, and the one after the last."""
GLOBAL: Window = (NOTHING_YET, FOREVER)
Part = tuple[Any, ...]
"""A name and its numbers: ("sliding", 10, 5, 0)."""


class Record(NamedTuple):
    key: str
    number: int
    time: int


class Pane(NamedTuple):
    """One evaluation of one window: its numbers in the order they are kept in."""

    key: str
    window: Window
    numbers: tuple[int, ...]
    watermark: int
    evaluation: int
    """How often the window had been evaluated before."""
    moment: tuple[int, int, int]
    """Two panes of a key with the same moment have no defined order."""

    @property
    def timestamp(self) -> int:
        return last_millisecond(self.window)


@dataclass(frozen=True)
class Spec:
    """A windowed stream, as data."""

    assigner: Part
    trigger: Part = ("default",)
    purging: bool = False
    evictor: Part | None = None
    lateness: int = 0

    @property
    def merges(self) -> bool:
        return self.assigner[0] in ("session", "dynamic session")


@dataclass
class Contents:
    """What is kept for one window of one key."""

    records: list[Record] = field(default_factory=list)
    timers: set[int] = field(default_factory=set)
    evaluations: int = 0
    count: int = 0
    next_fire: int | None = None
    reference: Record | None = None


def last_millisecond(window: Window) -> int:
    return FOREVER if window == GLOBAL else window[1] - 1


def assigned(assigner: Part, record: Record) -> list[Window]:
    match assigner:
        case ("tumbling", size, offset):
            start = record.time - (record.time - offset) % size
            return [(start, start + size)]
        case ("sliding", size, slide, offset):
            newest = record.time - (record.time - offset) % slide
            starts = range(newest, record.time - size, -slide)
            return [(start, start + size) for start in starts]
        case ("session", gap):
            return [(record.time, record.time + gap)]
        case ("dynamic session",):
            return [(record.time, record.time + dynamic_gap(record.number))]
        case _:
            return [GLOBAL]


def dynamic_gap(number: int) -> int:
    return number % 7 + 1


def kept(evictor: Part, records: list[Record]) -> list[Record]:
    """The records an evictor leaves."""
    match evictor:
        case ("count", limit, _):
            return records[-limit:]
        case (_, span, _):
            newest = max(record.time for record in records)
            return [record for record in records if record.time > newest - span]
    raise AssertionError(evictor)


class Oracle:
    """Goes through the steps; `panes`, `late` and `watermark` are what there is to see."""

    def __init__(self, spec: Spec):
        self.spec = spec
        self.watermark = NOTHING_YET
        self.panes: list[Pane] = []
        self.late: list[Record] = []
        self._open: dict[tuple[str, Window], Contents] = {}
        self._step = 0

    def run(self, steps: Iterable[Record | int]) -> Oracle:
        """Take a record, or a watermark, after the other; then the input ends."""
        for step in (*steps, FOREVER):
            self.take(step)
        return self

    def take(self, step: Record | int) -> None:
        self._step += 1
        if isinstance(step, Record):
            self._arrive(step)
        elif step > self.watermark:
            self._advance(step)

    def _arrive(self, record: Record) -> None:
        accepted = False
        for window in assigned(self.spec.assigner, record):
            if self.spec.merges:
                window = self._joined(record.key, window)
            if self._event_time and self._end_of_keeping(window) <= self.watermark:
                continue
            accepted = True
            contents = self._open.setdefault((record.key, window), Contents())
            contents.records.append(record)
            if self._fires_on_record(window, contents, record):
                self._evaluate(record.key, window, contents, 0, len(self.panes))
            if self._event_time:
                contents.timers.add(self._end_of_keeping(window))
        is_late = self._event_time and record.time + self.spec.lateness <= self.watermark
        if not accepted and is_late:
            self.late.append(record)

    def _advance(self, watermark: int) -> None:
        self.watermark = watermark
        rounds = 0
        while due := sorted((time, *place) for place, contents in self._open.items()
                            for time in contents.timers if time <= watermark):  # fmt: skip
            rounds += 1
            for time, key, window in due:
                self._open[key, window].timers.discard(time)
            for time, key, window in due:
                if (contents := self._open.get((key, window))) is not None:
                    self._fire(key, window, contents, time, rounds)

    def _fire(self, key: str, window: Window, contents: Contents, time: int, turn: int) -> None:
        if self._fires_at(window, contents, time):
            self._evaluate(key, window, contents, turn, time)
        if self._event_time and time == self._end_of_keeping(window):
            del self._open[key, window]

    @property
    def _event_time(self) -> bool:
        return self.spec.assigner[0] != "global"

    def _end_of_keeping(self, window: Window) -> int:
        return last_millisecond(window) + self.spec.lateness

    def _joined(self, key: str, new: Window) -> Window:
        """The session a new one becomes part of; the ones it connects are replaced by it."""
        touching = [window for owner, window in self._open
                    if owner == key and window[0] <= new[1] and new[0] <= window[1]]  # fmt: skip
        starts, ends = zip(new, *touching, strict=True)
        whole = (min(starts), max(ends))
        if touching and touching != [whole]:
            parts = [self._open.pop((key, window)) for window in touching]
            self._open[key, whole] = self._merged(whole, parts)
        return whole

    def _merged(self, window: Window, parts: Sequence[Contents]) -> Contents:
        merged = Contents(
            [record for part in parts for record in part.records],
            count=sum(part.count for part in parts),
            next_fire=min((p.next_fire for p in parts if p.next_fire is not None), default=None),
        )
        if self.spec.trigger[0] == "default" and last_millisecond(window) > self.watermark:
            merged.timers.add(last_millisecond(window))
        if merged.next_fire is not None:
            merged.timers.add(merged.next_fire)
        return merged

    def _fires_on_record(self, window: Window, contents: Contents, record: Record) -> bool:
        ended = last_millisecond(window) <= self.watermark
        match self.spec.trigger:
            case ("default",):
                if not ended and window != GLOBAL:
                    contents.timers.add(last_millisecond(window))
                return ended and window != GLOBAL
            case ("count", limit):
                contents.count += 1
                full = contents.count >= limit
                contents.count = 0 if full else contents.count
                return bool(full)
            case ("continuous", interval):
                if ended:
                    return True
                contents.timers.add(last_millisecond(window))
                if contents.next_fire is None:
                    self._fire_next(window, contents, record.time - record.time % interval)
                return False
            case _:
                return self._moved_on(contents, record)

    def _fire_next(self, window: Window, contents: Contents, since: int) -> None:
        contents.next_fire = min(since + self.spec.trigger[1], last_millisecond(window))
        contents.timers.add(contents.next_fire)

    def _moved_on(self, contents: Contents, record: Record) -> bool:
        before = contents.reference
        if before is None:
            contents.reference = record
            return False
        fires = bool(abs(record.number - before.number) > self.spec.trigger[1])
        if fires:
            contents.reference = record
        return fires

    def _fires_at(self, window: Window, contents: Contents, time: int) -> bool:
        kind = self.spec.trigger[0]
        if kind in ("default", "continuous") and time == last_millisecond(window):
            return window != GLOBAL
        if kind == "continuous" and time == contents.next_fire:
            self._fire_next(window, contents, time)
            return True
        return False

    def _evaluate(
        self, key: str, window: Window, contents: Contents, turn: int, moment: int
    ) -> None:
        if not contents.records:
            return
        evictor = self.spec.evictor
        if evictor is not None and not evictor[2]:
            contents.records = kept(evictor, contents.records)
        numbers = tuple(record.number for record in contents.records)
        when = (self._step, turn, moment)
        pane = Pane(key, window, numbers, self.watermark, contents.evaluations, when)
        self.panes.append(pane)
        contents.evaluations += 1
        if evictor is not None and evictor[2]:
            contents.records = kept(evictor, contents.records)
        if self.spec.purging:
            contents.records = []
