"""Sliding windows with an aggregate: one accumulator for each slice, none for each window.

Overlapping windows share their records. Time is cut into slices whose length is the greatest
common divisor of the windows' size and slide; a record is added to the accumulator of its slice
alone, and the slices of a window are merged when it fires. So results are those of the general
operator for every aggregate whose `merge` is associative and commutative, as it must be: records
are combined in the order of their slices rather than of their arrival.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import repeat
from operator import length_hint
from typing import Any

from headrace.core.functions import AggregateFunction
from headrace.core.operator import (
    EVENT_TIME,
    MAX_TIMESTAMP,
    MIN_TIMESTAMP,
    PROCESSING_TIME,
    Batch,
    Context,
)
from headrace.core.state import MapStateDescriptor, ValueStateDescriptor
from headrace.core.types import Types
from headrace.core.user_code import RecordFailure
from headrace.core.window_assigners import missing_timestamp
from headrace.core.windows import TimeWindow
from headrace.operators.windows.contents import INTERNAL, something
from headrace.operators.windows.firing import Firing
from headrace.operators.windows.panes import PaneOperator
from headrace.operators.windows.slices import (
    NEVER,
    CacheProof,
    KeySlices,
    SliceMerger,
    SlidingGrid,
    owned,
)

_SLICES: MapStateDescriptor[int, Any] = MapStateDescriptor(INTERNAL + "slices", Types.LONG())
"""By the start of the slice: its accumulator."""
_FIRED: ValueStateDescriptor[int] = ValueStateDescriptor(INTERNAL + "slices-fired", Types.LONG())
_AGAIN: MapStateDescriptor[int, Any] = MapStateDescriptor(INTERNAL + "slices-again", Types.LONG())
"""By the end of the window: what came for it after the clock had fired it."""
_NEAR_THE_END = MAX_TIMESTAMP // 2


class SlicedWindowOperator(PaneOperator):
    """Sliding windows of event or processing time with an aggregate and their own trigger.

    A key has one timer, for the next of its windows that has records; with allowed lateness also
    one for the next window to be dropped.
    """

    def __init__(
        self, grid: SlidingGrid, aggregate: AggregateFunction, firing: Firing, *,
        event_time: bool = True, lateness_ms: int = 0, late_tag: str | None = None,
    ):  # fmt: skip
        # By the clock nothing can be late.
        super().__init__(firing, lateness_ms=lateness_ms if event_time else 0, late_tag=late_tag)
        self.grid = grid
        self.aggregate = aggregate
        self.domain = EVENT_TIME if event_time else PROCESSING_TIME

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._slices = ctx.keyed_state(_SLICES)
        self._merger = SliceMerger(self.aggregate, self._slices, self.grid)
        self._known: dict[Any, KeySlices] = {}
        self._proof = CacheProof(ctx)
        if self.domain == PROCESSING_TIME:
            self._fired = ctx.keyed_state(_FIRED)
            self._again = ctx.keyed_state(_AGAIN)
        self._plain = self.firing.__class__ is Firing

    def end_batch(self) -> None:
        self._proof.renew()

    def _key_slices(self, key: Any) -> KeySlices:
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = KeySlices(sorted(self._slices.keys()))
        return found

    def _trust_memory(self) -> None:
        if not self._proof.checked and not self._proof.holds():
            self._known.clear()

    # Records.

    def receive(self, side: int, batch: Batch) -> None:
        self._trust_memory()
        assert batch.keys is not None
        values = iter(batch.values)
        try:
            if self.domain == EVENT_TIME:
                self._add_timed(batch.keys, values, batch.timestamps)
            else:
                self._add_now(batch.keys, values)
        except RecordFailure:
            raise
        except Exception as error:
            at = len(batch.values) - length_hint(values) - 1
            raise RecordFailure(error, "add", batch.values[at], batch.keys[at]) from error
        self.flush()

    def _add_timed(
        self, keys: list[Any], values: Iterator[Any], stamps: list[int | None] | None
    ) -> None:
        # The hot loop: every name is local, and nothing is called that need not be.
        scope, watermark, grid = self.ctx.scope, self.ctx.watermark, self.grid
        offset, length, gaps = grid.offset, grid.slice_length, grid.slide > grid.size
        get, put, add = self._slices.get, self._slices.put, self.aggregate.add
        for key, value, stamp in zip(keys, values, stamps or repeat(None), strict=False):
            scope.key = key
            if stamp is None or stamp <= watermark:
                self._add_late(key, value, stamp)
                continue
            start = stamp - (stamp - offset) % length
            accumulator = get(start)
            if accumulator is None:
                if gaps and not grid.ends_of(stamp):
                    self.reject(value, stamp, late=False)
                    continue
                if stamp > _NEAR_THE_END:
                    end = grid.ends_of(stamp)[0]
                    self.check_end(TimeWindow(end - grid.size, end))
                accumulator = self.aggregate.create_accumulator()
                end = grid.first_end(start)
                self._begin_slice(key, start, end, end)
            new = add(value, accumulator)
            if new is None:
                something(new, "add")
            put(start, new)

    def _add_late(self, key: Any, value: Any, stamp: int | None) -> None:
        """Add a record behind the watermark: some of its windows have fired, some are gone."""
        if stamp is None or stamp == MIN_TIMESTAMP:
            raise missing_timestamp(value)
        watermark, lateness = self.ctx.watermark, self.lateness_ms
        kept = [end for end in self.grid.ends_of(stamp) if end - 1 + lateness > watermark]
        if kept:
            to_come = [end for end in kept if end - 1 > watermark]
            self._add(key, value, stamp, to_come[-1] if to_come else None, kept[-1])
            for end in kept[len(to_come) :]:
                self._emit(key, end, self._all_of(key, end))
        else:
            self.reject(value, stamp, late=self.is_late(stamp))

    def _add_now(self, keys: list[Any], values: Iterator[Any]) -> None:
        scope, grid, clock = self.ctx.scope, self.grid, self.ctx.processing_time
        for key, value in zip(keys, values, strict=False):
            scope.key = key
            now, fired = clock(), self._fired.value()
            to_come: Sequence[int] = grid.ends_of(now)
            if fired is not None and now <= fired:
                # The clock stands still or went back: a window that has fired begins anew.
                for end in to_come:
                    if end - 1 <= fired:
                        self._add_again(end, value)
                to_come = [end for end in to_come if end - 1 > fired]
            if to_come:
                self._add(key, value, now, to_come[-1], to_come[-1])
            elif not grid.ends_of(now):
                self.reject(value, None, late=False)

    def _add_again(self, end: int, value: Any) -> None:
        accumulator = self._again.get(end)
        if accumulator is None:
            accumulator = self.aggregate.create_accumulator()
            self.ctx.timers.register(PROCESSING_TIME, end - 1)
        self._again.put(end, something(self.aggregate.add(value, accumulator), "add"))

    def _add(self, key: Any, value: Any, stamp: int, fires: int | None, drops: int) -> None:
        """Add a record to its slice, of which one window is the next to fire, one to be dropped."""
        start = stamp - (stamp - self.grid.offset) % self.grid.slice_length
        accumulator = self._slices.get(start)
        if accumulator is None:
            accumulator = self.aggregate.create_accumulator()
            self._begin_slice(key, start, fires, drops)
        self._slices.put(start, something(self.aggregate.add(value, accumulator), "add"))
        known = self._known.get(key)
        if known is not None and known.covered is not None and start < known.covered:
            known.forget()

    def _begin_slice(self, key: Any, start: int, fires: int | None, drops: int) -> None:
        slices = self._key_slices(key)
        at = bisect_left(slices.starts, start)
        if slices.starts[at : at + 1] != [start]:  # it is there if `add` has returned None
            slices.starts.insert(at, start)
        if fires is not None and fires <= slices.fire_at:
            slices.fire_at = fires - 1
            self.ctx.timers.register(self.domain, slices.fire_at)
        if self.lateness_ms and drops + self.lateness_ms <= slices.drop_at:
            slices.drop_at = drops - 1 + self.lateness_ms
            self.ctx.timers.register(self.domain, slices.drop_at)

    # Windows.

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        self._trust_memory()
        end, lateness = timestamp + 1, self.lateness_ms
        if domain == PROCESSING_TIME and self._again.contains(end):
            self._emit(key, end, self._again.get(end))
            self._again.remove(end)
            self._clear(key, end)
            self.flush()
            return
        slices = self._key_slices(key)
        if end > slices.fired and (not lateness or self.grid.is_end(end)):
            self._fire(key, slices, end)
        if lateness and self.grid.is_end(end - lateness):
            self._drop(key, slices, end - lateness)
        self.flush()
        if not slices.starts:
            del self._known[key]
        if domain == PROCESSING_TIME:
            self._fired.update(timestamp) if slices.starts else self._fired.clear()

    def _fire(self, key: Any, slices: KeySlices, end: int) -> None:
        """Fire the window that ends at `end`, and those after it that are due as well.

        So a watermark that passes many windows wakes a key once. Only where a window function
        could tell must they wait for windows that are dropped in between.
        """
        in_turn = self.domain == PROCESSING_TIME or (self.lateness_ms and not self._plain)
        until = end - 1 if in_turn else self.ctx.watermark
        emit, clears = self._emit, not self._plain and not self.lateness_ms
        try:
            for fired, accumulator in self._merger.panes(slices, end, until):
                slices.fired = fired
                emit(key, fired, accumulator)
                if clears:
                    self._clear(key, fired)
        except RecordFailure:
            raise
        except Exception as error:
            raise self._failure(error, "merge", key, end) from error
        if slices.fire_at != NEVER:
            self.ctx.timers.register(self.domain, slices.fire_at)
        if not self.lateness_ms:
            self._remove(slices, slices.fired)

    def _drop(self, key: Any, slices: KeySlices, end: int) -> None:
        """The window that ends at `end` is over, with all the lateness allowed."""
        starts = slices.starts
        if bisect_left(starts, end - self.grid.size) < bisect_left(starts, end):
            self._clear(key, end)
        self._remove(slices, end)
        slices.drop_at = NEVER
        if starts:
            following = max(end + self.grid.slide, self.grid.first_end(starts[0]))
            slices.drop_at = following - 1 + self.lateness_ms
            self.ctx.timers.register(self.domain, slices.drop_at)

    def _remove(self, slices: KeySlices, end: int) -> None:
        """Forget the slices that are in no window after the one that ends at `end`."""
        over = bisect_left(slices.starts, end - self.grid.size + self.grid.slide)
        for start in slices.starts[:over]:
            self._slices.remove(start)
        del slices.starts[:over]

    def _all_of(self, key: Any, end: int) -> Any:
        starts = self._key_slices(key).starts
        first = bisect_left(starts, end - self.grid.size)
        try:
            return self._merger.once(starts[first : bisect_left(starts, end)])
        except Exception as error:
            raise self._failure(error, "merge", key, end) from error

    def _emit(self, key: Any, end: int, accumulator: Any) -> None:
        try:
            result = self.aggregate.get_result(something(accumulator, "merge"))
        except Exception as error:
            raise self._failure(error, "get_result", key, end) from error
        if result is None:
            return
        if self._plain:
            result = owned(result)
            self.out.append(result)
            self.out_stamps.append(end - 1)
            return
        window = TimeWindow(end - self.grid.size, end)
        self.ctx.window_scope.key = (key, window)
        self.fire(key, window, result)

    def _clear(self, key: Any, end: int) -> None:
        if not self._plain:
            window = TimeWindow(end - self.grid.size, end)
            self.ctx.window_scope.key = (key, window)
            self.firing.clear(key, window)

    def _failure(self, error: Exception, call: str, key: Any, end: int) -> RecordFailure:
        window = TimeWindow(end - self.grid.size, end)
        return RecordFailure(error, call, f"the contents of {window}", key)
