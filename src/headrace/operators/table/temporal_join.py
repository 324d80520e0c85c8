"""Joins with a table as it was at the time of a row.

The right side is a changelog by key: by event time each of its rows is the key's version from its
time on, and a deletion ends the last one. Left rows wait until the watermark says that the version
they ask for is known. By the clock, the latest row is the only version there is.
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_right
from typing import Any

from headrace.core.expressions import Expression
from headrace.core.operator import EVENT_TIME, MAX_TIMESTAMP, Batch, Context
from headrace.core.state import (
    MapState,
    MapStateDescriptor,
    S,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from headrace.core.table_connector import UPDATE_BEFORE
from headrace.core.types import Types
from headrace.core.user_code import RecordFailure
from headrace.operators.table.join_condition import JoinCondition, SideTypes
from headrace.operators.table.keyed_changes import NANOS_PER_MS, Row, TableOperator, with_ttl
from headrace.operators.table.state_types import row_state_type
from headrace.operators.table.window_spec import missing_time

_NEXT = "next"
_TIMER = "timer"


class _TemporalJoin(TableOperator):
    """What both kinds share: a condition, and what is made of a row and a version."""

    keyed = True

    def __init__(
        self, left_outer: bool, types: SideTypes, condition: Expression | None,
        null_safe: tuple[bool, ...], time: int | None, ttl_ms: int,
    ):  # fmt: skip
        self.left_outer = left_outer
        self.condition = JoinCondition(condition, null_safe)
        self.time = time
        self.ttl_ms = ttl_ms
        self.types = types
        self._nulls = (None,) * len(types[1])

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._condition = self.condition.open(ctx)

    def close(self) -> None:
        self.condition.close()

    def receive(self, side: int, batch: Batch) -> None:
        out: list[Row] = []
        scope, take = self.ctx.scope, self._take_left if side == 0 else self._take_right
        key = row = None
        assert batch.keys is not None
        try:
            for key, row in zip(batch.keys, batch.values, strict=True):
                scope.key = key
                take(key, row, out)
        except Exception as error:
            raise RecordFailure(error, "temporal join", row, key) from error
        self.emit_rows(out)

    @abstractmethod
    def _take_left(self, key: Any, row: Row, out: list[Row]) -> None:
        """Handle a row that asks for a version."""

    @abstractmethod
    def _take_right(self, key: Any, row: Row, out: list[Row]) -> None:
        """Handle a version."""

    def _join(self, key: Any, left: Row, version: Row | None, out: list[Row]) -> None:
        """Emit a left row with a version, if there is one that has not been deleted."""
        if (
            version is not None and not version[0] & 1
            and self._condition.key_matches(key) and self._condition.holds(left[1:], version[1:])
        ):  # fmt: skip
            out.append((*left, *version[1:]))
        elif self.left_outer:
            out.append((*left, *self._nulls))


class ProcessingTimeTemporalJoinOperator(_TemporalJoin):
    """Each left row with the latest right row of its key. Columns: left, then right."""

    def __init__(
        self, left_outer: bool, types: SideTypes, condition: Expression | None = None, *,
        null_safe: tuple[bool, ...] = (), time: int | None = None, ttl_ms: int = 0,
    ):  # fmt: skip
        super().__init__(left_outer, types, condition, null_safe, time, ttl_ms)

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._latest: ValueState[Row] = ctx.keyed_state(
            with_ttl(ValueStateDescriptor("latest", row_state_type(self.types[1])), self.ttl_ms)
        )

    def _take_left(self, key: Any, row: Row, out: list[Row]) -> None:
        self._join(key, row, self._latest.value(), out)

    def _take_right(self, key: Any, row: Row, out: list[Row]) -> None:
        if row[0] & 1:
            self._latest.clear()
        else:
            self._latest.update(row)


class EventTimeTemporalJoinOperator(_TemporalJoin):
    """Each left row with the right version of its key at its time. Columns: left, then right.

    Nothing is dropped for being late: a left row behind the watermark is answered with the
    versions that are still known, of which the last one before the watermark always is.
    """

    def __init__(
        self, left_outer: bool, types: SideTypes, times: tuple[int, int],
        condition: Expression | None = None, *, null_safe: tuple[bool, ...] = (),
        time: int | None = None, ttl_ms: int = 0,
    ):  # fmt: skip
        super().__init__(left_outer, types, condition, null_safe, time, ttl_ms)
        self.times = times

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        left, right = map(row_state_type, self.types)

        def state(descriptor: StateDescriptor[S]) -> S:
            return ctx.keyed_state(with_ttl(descriptor, self.ttl_ms))

        self._waiting: MapState[int, Row] = state(
            MapStateDescriptor("left-waiting", Types.LONG(), left)
        )
        self._versions: MapState[int, Row] = state(
            MapStateDescriptor("right-versions", Types.LONG(), right)
        )
        self._marks: MapState[str, int] = state(
            MapStateDescriptor("marks", Types.STRING(), Types.LONG())
        )

    def _time_of(self, side: int, row: Row) -> int:
        time = row[self.times[side] + 1]
        if time is None:
            raise missing_time(row)
        milliseconds: int = time // NANOS_PER_MS
        return milliseconds

    def _take_left(self, key: Any, row: Row, out: list[Row]) -> None:
        number = self._marks.get(_NEXT) or 0
        self._waiting.put(number, row)
        self._marks.put(_NEXT, number + 1)
        self._wake_at(self._time_of(0, row))

    def _take_right(self, key: Any, row: Row, out: list[Row]) -> None:
        if row[0] != UPDATE_BEFORE:  # the row after it says the same, and from when on
            time = self._time_of(1, row)
            self._versions.put(time, row)
            self._wake_at(time)

    def _wake_at(self, time: int) -> None:
        """One timer a key: for the earliest time that something waits for."""
        due, timers = self._marks.get(_TIMER), self.ctx.timers
        if due is None or time < due:
            if due is not None:
                timers.delete(EVENT_TIME, due)
            timers.register(EVENT_TIME, time)
            self._marks.put(_TIMER, time)

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        self._marks.remove(_TIMER)
        watermark = self.ctx.watermark
        versions = sorted(self._versions.items())
        times = [time for time, _ in versions]
        earliest, out = MAX_TIMESTAMP, list[Row]()
        for number, row in sorted(self._waiting.items()):
            time = self._time_of(0, row)
            if time > watermark:
                earliest = min(earliest, time)
                continue
            at = bisect_right(times, time) - 1
            self._join(key, row, versions[at][1] if at >= 0 else None, out)
            self._waiting.remove(number)
        # The last version before the watermark is that of rows to come; older ones are not.
        for time in times[: max(0, bisect_right(times, watermark) - 1)]:
            self._versions.remove(time)
        if earliest < MAX_TIMESTAMP:
            self._wake_at(earliest)
        elif self._waiting.is_empty():
            self._marks.remove(_NEXT)
        self.emit_rows(out)
