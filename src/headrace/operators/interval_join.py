"""Joining two keyed streams on how far apart their records are in event time.

Every record waits in its side's buffer for as long as a partner that is not late can come; a
record that arrives looks for partners in the other side's buffer.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from headrace.core.isolation import FROZEN, isolated
from headrace.core.join_functions import ProcessJoinFunction
from headrace.core.operator import EVENT_TIME, MAX_TIMESTAMP, MIN_TIMESTAMP, Batch, Context
from headrace.core.output_tag import OutputTag
from headrace.core.state import MapState, MapStateDescriptor
from headrace.core.types import Types
from headrace.core.user_code import RecordFailure
from headrace.errors import InvalidGraph
from headrace.operators.base import FunctionOperator, SideOutputs, Stamps

LATE_RECORDS = "numLateRecordsDropped"
_STATES: tuple[MapStateDescriptor[int, list[Any]], ...] = (
    MapStateDescriptor("left-buffer", Types.LONG(), Types.LIST(Types.PICKLED_BYTE_ARRAY())),
    MapStateDescriptor("right-buffer", Types.LONG(), Types.LIST(Types.PICKLED_BYTE_ARRAY())),
)
_DEAD_AT_MOST = 64


@dataclass(frozen=True, slots=True)
class Interval:
    """How much later than a left record its right partners may be; both ends belong to it."""

    lower: int
    upper: int

    def seen_from(self, side: int) -> tuple[int, int]:
        """How much later than a record of a side its partners may be."""
        return (self.lower, self.upper) if side == 0 else (-self.upper, -self.lower)


class _Times:
    """The times one key has records at, in order; the earliest go first."""

    __slots__ = ("_start", "_times")

    def __init__(self, times: Iterable[int]):
        self._times = sorted(times)
        self._start = 0

    def add(self, time: int) -> None:
        insort(self._times, time, self._start)

    def remove(self, time: int) -> None:
        at = bisect_left(self._times, time, self._start)
        if at > self._start:
            del self._times[at]
            return
        # Taking the first out of a long list would move all the others each time.
        self._start += 1
        if 2 * self._start > len(self._times) + _DEAD_AT_MOST:
            del self._times[: self._start]
            self._start = 0

    def between(self, first: int, last: int) -> list[int]:
        begin = bisect_left(self._times, first, self._start)
        return self._times[begin : bisect_right(self._times, last, begin)]


class _Buffer:
    """The records of one side that wait for partners, by key and time.

    State holds them by time; their order is kept beside it, for the keys that are searched, until
    the end of the micro-batch, since state may be replaced between two of them.
    """

    def __init__(self, state: MapState[int, list[Any]], wait: int):
        self._state = state
        self._wait = wait
        self._ordered: dict[Any, _Times] = {}

    def add(self, key: Any, time: int, value: Any) -> int:
        """Keep a record; says until when."""
        together = self._state.get(time)
        if together is None:
            together = []
            if key in self._ordered:
                self._ordered[key].add(time)
        together.append(value)
        self._state.put(time, together)
        return min(time + self._wait, MAX_TIMESTAMP)

    def between(self, key: Any, first: int, last: int) -> Iterator[tuple[int, list[Any]]]:
        """The records of a span of time, with their time, in its order."""
        times = self._ordered.get(key)
        if times is None:
            times = self._ordered[key] = _Times(self._state.keys())
        for time in times.between(first, last):
            yield time, self._state.get(time) or []

    def expire(self, key: Any, now: int) -> None:
        """Forget the records that were kept until now."""
        if now == MAX_TIMESTAMP:
            self._state.clear()
            self._ordered.pop(key, None)
            return
        time = now - self._wait
        if self._state.contains(time):
            self._state.remove(time)
            if key in self._ordered:
                self._ordered[key].remove(time)

    def forget_order(self) -> None:
        self._ordered.clear()


class _PairContext(ProcessJoinFunction.Context):
    """The context of one pair; one object, moved from pair to pair."""

    def __init__(self) -> None:
        self.left = self.right = MIN_TIMESTAMP

    def get_left_timestamp(self) -> int:
        return self.left

    def get_right_timestamp(self) -> int:
        return self.right

    def get_timestamp(self) -> int:
        return max(self.left, self.right)


class IntervalJoinOperator(FunctionOperator):
    """Hands each pair of records within the interval to a ProcessJoinFunction."""

    def __init__(
        self, function: ProcessJoinFunction[Any, Any, Any], interval: Interval,
        late_tags: tuple[OutputTag | None, OutputTag | None] = (None, None),
    ):  # fmt: skip
        super().__init__(function, keyed=True)
        self._interval = interval
        self._late_tags = late_tags

    def open(self, ctx: Context) -> None:
        self._context = _PairContext()
        self._sides = SideOutputs()
        self._dropped = ctx.metrics.counter(LATE_RECORDS)
        self._buffers = tuple(
            _Buffer(ctx.keyed_state(state), max(0, self._interval.seen_from(side)[1]))
            for side, state in enumerate(_STATES)
        )
        super().open(ctx)

    def receive(self, side: int, batch: Batch) -> None:
        out: list[Any] = []
        out_stamps: Stamps = []
        ctx, ours = self.ctx, self._buffers[side]
        watermark, scope, register = ctx.watermark, ctx.scope, ctx.timers.register
        assert batch.keys is not None
        stamps = batch.timestamps or [None] * len(batch.values)
        for key, value, stamp in zip(batch.keys, batch.values, stamps, strict=True):
            if stamp is None or stamp == MIN_TIMESTAMP:
                raise RecordFailure(_no_timestamp(side), "interval_join", value, key)
            if stamp < watermark:
                self._late(side, value, stamp)
                continue
            scope.key = key
            register(EVENT_TIME, ours.add(key, stamp, value))
            self._join(side, key, value, stamp, out, out_stamps)
        if out:
            ctx.emit(out, out_stamps)
        self._sides.flush(ctx)

    def _late(self, side: int, value: Any, stamp: int) -> None:
        tag = self._late_tags[side]
        if tag is None:
            self._dropped.inc()
        else:
            self._sides.add((tag, value), stamp)

    def _join(
        self, side: int, key: Any, value: Any, stamp: int, out: list[Any], out_stamps: Stamps
    ) -> None:
        """Hand a record's pairs to the function, those with the earliest partner first."""
        earliest, latest = self._interval.seen_from(side)
        context, process = self._context, self.function.process_element
        found = self._buffers[1 - side].between(key, stamp + earliest, stamp + latest)
        for time, partners in found:
            context.left, context.right = (stamp, time) if side == 0 else (time, stamp)
            for partner in partners:
                pair = (value, partner) if side == 0 else (partner, value)
                try:
                    self._take(process(*pair, context), max(stamp, time), out, out_stamps)
                except Exception as error:
                    raise RecordFailure(error, "process_element", pair, key) from error

    def _take(
        self, produced: Iterable[Any] | None, stamp: int, out: list[Any], out_stamps: Stamps
    ) -> None:
        if produced is None:
            return
        for item in produced:
            if item.__class__ is tuple and len(item) == 2 and item[0].__class__ is OutputTag:
                self._sides.add(item, stamp)
                continue
            # The buffers keep the records, which may be part of a result.
            kept = self.reuses_objects or item.__class__ in FROZEN
            out.append(item if kept else isolated(item))
            out_stamps.append(stamp)

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        # What is due on either side at this time is known from the time alone.
        for buffer in self._buffers:
            buffer.expire(key, timestamp)

    def end_batch(self) -> None:
        for buffer in self._buffers:
            buffer.forget_order()


def _no_timestamp(side: int) -> InvalidGraph:
    return InvalidGraph(
        f"a record of the {('left', 'right')[side]} stream of an interval join has no timestamp",
        hint="Call assign_timestamps_and_watermarks(...) on both streams before key_by(...).",
    )
