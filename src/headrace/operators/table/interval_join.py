"""Joins of rows whose times are not further apart than an interval.

Each side remembers its rows until no partner can come any more; of outer joins a row that has had
none by then comes out with NULLs. A row that is late is itself remembered only while a partner may
come, and meets who is remembered, unless all its partners were past when the other side was last
looked through, as in Flink.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import Expression
from headrace.core.logical_types import LogicalType
from headrace.core.operator import (
    EVENT_TIME,
    MAX_TIMESTAMP,
    MIN_TIMESTAMP,
    PROCESSING_TIME,
    Batch,
    Context,
)
from headrace.core.state import MapStateDescriptor
from headrace.core.table_connector import INSERT
from headrace.core.types import Types
from headrace.core.user_code import RecordFailure
from headrace.operators.interval_join import Interval
from headrace.operators.table.hashable_rows import Values
from headrace.operators.table.join_condition import JoinCondition, SideTypes
from headrace.operators.table.keyed_changes import NANOS_PER_MS, Row, TableOperator
from headrace.operators.table.state_types import values_state_type
from headrace.operators.table.window_spec import missing_time

Waiting = list[tuple[Values, bool]]
_STATES = ("left-waiting", "right-waiting")
"""By time: the rows, each with whether it has met a partner."""
_CLEANING: MapStateDescriptor[int, int] = MapStateDescriptor("cleaning", Types.LONG(), Types.LONG())
"""By side: when its rows are looked through next."""


class IntervalJoinOperator(TableOperator):
    """left.time + lower <= right.time <= left.time + upper, in milliseconds, and a condition.

    `types` are those of both sides' columns, `times` say which ones are their time attributes;
    None: the clock decides. Columns: left, then right. The rows of each side are only ever added
    to. Where rows are past, those of other times are looked through again after `bunch_ms` at the
    earliest.
    """

    keyed = True

    def __init__(
        self, kind: str, types: SideTypes, times: tuple[int, int] | None, lower: int, upper: int,
        condition: Expression | None = None, *, null_safe: tuple[bool, ...] = (),
        time: int | None = None, bunch_ms: int = 0,
    ):  # fmt: skip
        self.outer = (kind in ("left", "full"), kind in ("right", "full"))
        self.times = times
        self.interval = Interval(lower, upper)
        self.condition = JoinCondition(condition, null_safe)
        self.domain = PROCESSING_TIME if times is None else EVENT_TIME
        self.time = time
        self._is_empty = lower > upper
        self._slack = bunch_ms
        self.watermark_delay_ms = self._delay()
        self.types = types
        self._nulls = ((None,) * len(types[0]), (None,) * len(types[1]))

    def _delay(self) -> int:
        """How far behind the watermark a result may come: as far as its older row lies behind the
        other one, or as long as a row that is padded has waited."""
        if self.times is None or self._is_empty:
            return 0
        late = max(0, -self.interval.lower, self.interval.upper)
        return late + self._slack + 1 if any(self.outer) else late

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._condition = self.condition.open(ctx)
        self._waiting = tuple(
            ctx.keyed_state(_waiting_rows(name, types))
            for name, types in zip(_STATES, self.types, strict=True)
        )
        self._cleaning = ctx.keyed_state(_CLEANING)
        # By side, of all keys: up to which time rows are past. Flink does not save it either.
        self._past = [MIN_TIMESTAMP, MIN_TIMESTAMP]

    def close(self) -> None:
        self.condition.close()

    def _now(self) -> int:
        return self.ctx.watermark if self.times else self.ctx.processing_time()

    def _kept_until(self, side: int, time: int) -> int:
        """The last moment at which a partner that is not late may come."""
        return time + self.interval.seen_from(side)[1]

    def receive(self, side: int, batch: Batch) -> None:
        out: list[Row] = []
        now, scope = self._now(), self.ctx.scope
        at = None if self.times is None else self.times[side] + 1
        key = row = None
        assert batch.keys is not None
        try:
            for key, row in zip(batch.keys, batch.values, strict=True):
                scope.key = key
                if at is not None and row[at] is None:
                    raise missing_time(row)
                time = now if at is None else row[at] // NANOS_PER_MS
                self._take(side, key, row[1:], time, now, out)
        except Exception as error:
            raise RecordFailure(error, "interval join", row, key) from error
        self.emit_rows(out)

    def _take(
        self, side: int, key: Any, values: Values, time: int, now: int, out: list[Row]
    ) -> None:
        able = self._condition.key_matches(key) and not self._is_empty
        until, met = self._kept_until(side, time), False
        if able and self._past[1 - side] < until:
            met = self._meet(side, values, time, out)
            self._forget(1 - side, now, out)
        if now < until and (able or self.outer[side]) and not self._is_empty:
            waiting = self._waiting[side].get(time) or []
            waiting.append((values, met))
            self._waiting[side].put(time, waiting)
            if not self._cleaning.contains(side):
                self._clean_after(side, time)
        elif not met and self.outer[side]:
            out.append(self._padded(side, values))

    def _meet(self, side: int, values: Values, time: int, out: list[Row]) -> bool:
        """Join a row with those that wait on the other side; says whether there were any."""
        matches, waiting = self._condition.seen_from(side, values), self._waiting[1 - side]
        low, high = self.interval.seen_from(side)
        times = [at for at in waiting.keys() if low <= at - time <= high]  # noqa: SIM118
        met = False
        for at in sorted(times):
            rows, changed = waiting.get(at) or [], False
            for position, (other, has_met) in enumerate(rows):
                if not matches(other):
                    continue
                met = True
                out.append((INSERT, *values, *other) if side == 0 else (INSERT, *other, *values))
                if not has_met and self.outer[1 - side]:
                    rows[position] = (other, True)
                    changed = True
            if changed:
                waiting.put(at, rows)
        return met

    def _padded(self, side: int, values: Values) -> Row:
        if side == 0:
            return (INSERT, *values, *self._nulls[1])
        return (INSERT, *self._nulls[0], *values)

    # Forgetting.

    def _clean_after(self, side: int, time: int) -> None:
        due = min(self._kept_until(side, time) + self._slack + 1, MAX_TIMESTAMP)
        self._cleaning.put(side, due)
        self.ctx.timers.register(self.domain, due)

    def _forget(self, side: int, now: int, out: list[Row]) -> None:
        """Drop the rows of a side that no partner can come for any more."""
        waiting = self._waiting[side]
        past = now if now == MAX_TIMESTAMP else now - self.interval.seen_from(side)[1] - 1
        self._past[side] = past
        for time in sorted(at for at in waiting.keys() if at <= past):  # noqa: SIM118
            if self.outer[side]:
                rows = waiting.get(time) or ()
                out += [self._padded(side, values) for values, met in rows if not met]
            waiting.remove(time)

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        out: list[Row] = []
        for side, waiting in enumerate(self._waiting):
            if self._cleaning.get(side) != timestamp:
                continue
            # When a batch ends, the clock stands still and its timers fire nevertheless.
            self._forget(side, max(self._now(), timestamp), out)
            self._cleaning.remove(side)
            if not waiting.is_empty():
                self._clean_after(side, min(waiting.keys()))
        self.emit_rows(out)


def _waiting_rows(name: str, types: Sequence[LogicalType]) -> MapStateDescriptor[int, Waiting]:
    row = Types.TUPLE([values_state_type(types), Types.BOOLEAN()])
    return MapStateDescriptor(name, Types.LONG(), Types.LIST(row))
