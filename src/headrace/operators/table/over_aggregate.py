"""OVER windows in the order of time: each row is emitted once, with what its frame comes to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import AggregateCall
from headrace.core.logical_types import LogicalType
from headrace.core.operator import EVENT_TIME, MAX_TIMESTAMP, PROCESSING_TIME, Batch, Context
from headrace.core.state import (
    MapState,
    MapStateDescriptor,
    S,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from headrace.core.table_connector import INSERT
from headrace.core.types import Types
from headrace.core.user_code import RecordFailure
from headrace.operators.interval_join import LATE_RECORDS
from headrace.operators.table.deduplicate import check_addition
from headrace.operators.table.keyed_changes import NANOS_PER_MS, Row, TableOperator, with_ttl
from headrace.operators.table.over_calls import OverCalls, OverKept
from headrace.operators.table.state_types import row_state_type

ROWS, RANGE = "rows", "range"
_KEPT = Types.TUPLE([Types.PICKLED_BYTE_ARRAY(), Types.PICKLED_BYTE_ARRAY()])
"""Every call keeps something else."""
_TIDIED_AT: ValueStateDescriptor[int] = ValueStateDescriptor("tidied-at", Types.LONG())


class _OverOperator(TableOperator):
    """What both time domains share: the frame, its state, and moving it on."""

    keyed = True

    def __init__(
        self, types: Sequence[LogicalType], calls: Sequence[AggregateCall], *,
        order: Sequence[int], unit: str, preceding: int | None, ttl_ms: int | None,
    ):  # fmt: skip
        self.types = tuple(types)
        self.unit = unit
        self.preceding = preceding
        # Rows leave a span of time by themselves; if they expired, they would never be taken out of
        # what the calls keep.
        self.ttl_ms = None if self._leaves_by_time else ttl_ms
        self._calls = OverCalls(calls, types, order, retracts=preceding is not None)

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._calls.open(ctx)
        row_type = row_state_type(self.types)

        def state(descriptor: StateDescriptor[S]) -> S:
            return ctx.keyed_state(with_ttl(descriptor, self.ttl_ms))

        self._kept: ValueState[OverKept] = state(ValueStateDescriptor("kept", _KEPT))
        self._last_rows: ValueState[list[Row]] = state(
            ValueStateDescriptor("last-rows", Types.LIST(row_type))
        )
        self._by_time: MapState[int, list[Row]] = state(
            MapStateDescriptor("frame-rows", Types.LONG(), Types.LIST(row_type))
        )

    def close(self) -> None:
        self._calls.close()

    def _move_on(self, time: int, rows: Sequence[Row], out: list[Row]) -> None:
        """Rows of the current key have come that are all of one time, which is the latest."""
        calls, kept = self._calls, self._kept.value() or self._calls.create()
        if self.unit == ROWS:
            results = self._results_by_rows(kept, rows)
        else:
            if self.preceding is not None:
                self._leave(kept, time - self.preceding)
                self._by_time.put(time, [*(self._by_time.get(time) or ()), *rows])
            results = calls.results_of_peers(kept, rows)
        self._kept.update(kept)
        out += [(INSERT, *row[1:], *more) for row, more in zip(rows, results, strict=True)]

    def _results_by_rows(self, kept: OverKept, rows: Sequence[Row]) -> list[tuple[Any, ...]]:
        calls = self._calls
        if self.preceding is None:
            results = []
            for row in rows:
                calls.add(kept, row)
                results.append(calls.results(kept))
            return results
        frame, results = self._last_rows.value() or [], []
        for row in rows:
            frame.append(row)
            calls.add(kept, row)
            if len(frame) > self.preceding + 1:
                calls.by_frame.retract(kept[1], frame.pop(0))
            results.append(calls.results(kept))
        self._last_rows.update(frame)
        return results

    def _leave(self, kept: OverKept, first: int) -> None:
        """Rows before a time are not in the frame any more."""
        for time in list(self._by_time.keys()):
            if time >= first:
                break
            for row in self._by_time.get(time) or ():
                self._calls.by_frame.retract(kept[1], row)
            self._by_time.remove(time)

    def _tidy(self, first: int) -> None:
        """Forget the frame if all rows are before a time and calls need no earlier rows."""
        kept = self._kept.value()
        if kept is None:
            return
        self._leave(kept, first)
        if self._by_time.is_empty() and not self._calls.by_row.calls:
            self._kept.clear()
        else:
            self._kept.update(kept)

    @property
    def _leaves_by_time(self) -> bool:
        return self.unit == RANGE and self.preceding is not None


class RowtimeOverOperator(_OverOperator):
    """In the order of a column of event time: rows wait until the watermark has passed them.

    `preceding` None is unbounded; for "range" it is in milliseconds. Late rows are dropped and
    counted. What is late follows Flink: with a bounded frame a row may come after the watermark if
    no timer of its key has passed it; the timers that tidy up a span of time count, too, until all
    is forgotten.
    """

    def __init__(
        self, types: Sequence[LogicalType], calls: Sequence[AggregateCall], *, rowtime: int,
        unit: str = RANGE, preceding: int | None = None, ttl_ms: int | None = None,
    ):  # fmt: skip
        super().__init__(
            types, calls, order=(rowtime,), unit=unit, preceding=preceding, ttl_ms=ttl_ms
        )
        self.time = self.rowtime = rowtime

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._dropped = ctx.metrics.counter(LATE_RECORDS)
        waiting: MapStateDescriptor[int, list[Row]] = MapStateDescriptor(
            "waiting-rows", Types.LONG(), Types.LIST(row_state_type(self.types))
        )
        self._waiting = ctx.keyed_state(waiting)
        reached: ValueStateDescriptor[int] = ValueStateDescriptor("reached", Types.LONG())
        self._reached = ctx.keyed_state(with_ttl(reached, self.ttl_ms))
        self._tidied_at = ctx.keyed_state(_TIDIED_AT)

    def receive(self, side: int, batch: Batch) -> None:
        assert batch.keys is not None
        at, scope, register = self.rowtime + 1, self.ctx.scope, self.ctx.timers.register
        for key, row in zip(batch.keys, batch.values, strict=True):
            scope.key = key
            try:
                check_addition(row)
                stamp = row[at] // NANOS_PER_MS
            except Exception as error:
                raise RecordFailure(error, "OVER", row, key) from error
            if self._is_late(stamp):
                self._dropped.inc()
                continue
            rows = self._waiting.get(stamp)
            if rows is None:
                rows = []
                register(EVENT_TIME, stamp)
            rows.append(row)
            self._waiting.put(stamp, rows)
            if self._leaves_by_time:
                self._tidy_after(stamp)

    def _tidy_after(self, stamp: int) -> None:
        """See to it that all is forgotten once no row's frame reaches back to this time."""
        assert self.preceding is not None
        due = self._tidied_at.value()
        if due is None or due < stamp + self.preceding + 1:
            due = min(stamp + self.preceding * 3 // 2 + 1, MAX_TIMESTAMP)
            self._tidied_at.update(due)
            self.ctx.timers.register(EVENT_TIME, due)

    def _is_late(self, stamp: int) -> bool:
        if self.preceding is None:
            return stamp <= self.ctx.watermark
        reached = self._reached.value()
        return reached is not None and stamp <= reached

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        due = self._tidied_at.value()
        if due is not None and due <= timestamp < MAX_TIMESTAMP:
            for state in (self._waiting, self._by_time, self._kept, self._reached, self._tidied_at):
                state.clear()
            return
        rows = self._waiting.get(timestamp)
        out: list[Row] = []
        try:
            if rows is not None:
                self._waiting.remove(timestamp)
                self._move_on(timestamp, rows, out)
        except Exception as error:
            raise RecordFailure(error, "OVER", rows[-1] if rows else None, key) from error
        if self.preceding is not None:
            self._reached.update(timestamp)
        self.emit_rows(out)


class ProctimeOverOperator(_OverOperator):
    """In the order of arrival.

    Only frames that are a span of time must wait: rows of the same millisecond belong together.
    `order` is the column of processing time.
    """

    def __init__(
        self, types: Sequence[LogicalType], calls: Sequence[AggregateCall], *,
        order: Sequence[int] = (), unit: str = RANGE, preceding: int | None = None,
        ttl_ms: int | None = None, time: int | None = None,
    ):  # fmt: skip
        super().__init__(types, calls, order=order, unit=unit, preceding=preceding, ttl_ms=ttl_ms)
        self.time = time

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        waiting: MapStateDescriptor[int, list[Row]] = MapStateDescriptor(
            "waiting-rows", Types.LONG(), Types.LIST(row_state_type(self.types))
        )
        self._waiting = ctx.keyed_state(waiting)

    def receive(self, side: int, batch: Batch) -> None:
        assert batch.keys is not None
        out: list[Row] = []
        now, scope = self.ctx.processing_time(), self.ctx.scope
        waits = self._leaves_by_time
        for key, row in zip(batch.keys, batch.values, strict=True):
            scope.key = key
            try:
                check_addition(row)
                if waits:
                    self._wait(now, row)
                else:
                    self._move_on(now, (row,), out)
            except Exception as error:
                raise RecordFailure(error, "OVER", row, key) from error
        self.emit_rows(out)

    def _wait(self, now: int, row: Row) -> None:
        rows = self._waiting.get(now)
        if rows is None:
            rows = []
            self.ctx.timers.register(PROCESSING_TIME, now + 1)
            # The clock may never show the next millisecond if the input ends.
            self.ctx.timers.register(EVENT_TIME, MAX_TIMESTAMP)
        rows.append(row)
        self._waiting.put(now, rows)

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        out: list[Row] = []
        assert self.preceding is not None
        try:
            for time in sorted(self._waiting.keys()):
                if time < timestamp:
                    rows = self._waiting.get(time) or []
                    self._waiting.remove(time)
                    self._move_on(time, rows, out)
                    if domain == PROCESSING_TIME:
                        gone = time + self.preceding + 2
                        self.ctx.timers.register(PROCESSING_TIME, gone)
            self._tidy(timestamp - 1 - self.preceding)
        except Exception as error:
            raise RecordFailure(error, "OVER", key=key) from error
        self.emit_rows(out)
