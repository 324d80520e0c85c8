"""Windowing functions as tables: rows with the windows they belong to.

TABLE(TUMBLE(…)), HOP and CUMULATE add three columns to a row, once for each of its windows. A
session is known only when it is over, so its rows wait for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.logical_types import LogicalType
from headrace.core.operator import Batch, Context
from headrace.core.state import MapStateDescriptor
from headrace.core.table_connector import INSERT
from headrace.core.types import Types
from headrace.operators.table.hashable_rows import Values
from headrace.operators.table.keyed_changes import NANOS_PER_MS, Row, TableOperator
from headrace.operators.table.session_spans import SessionSpans
from headrace.operators.table.state_types import SPAN_STATE_TYPE, values_state_type
from headrace.operators.table.wall_clock import WallClock
from headrace.operators.table.window_firing import WindowedTableOperator
from headrace.operators.table.window_spec import (
    NO_TIME,
    WINDOW_END,
    WINDOW_START,
    WINDOW_TIME,
    RowTime,
    TimeSpan,
    WindowSpec,
    window_columns,
)

_ALL = (WINDOW_START, WINDOW_END, WINDOW_TIME)


class WindowTableOperator(TableOperator):
    """TUMBLE, HOP and CUMULATE; `time` None: the clock decides. Columns: the input's, then
    window_start, window_end and window_time. A row without a time belongs to no window: it is
    left out and counted."""

    def __init__(self, window: WindowSpec, *, time: int | None, zone: str | None = None):
        self.window = window
        self.time_column = time
        self.zone = zone

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._clock = WallClock(self.zone)
        self._columns = window_columns(_ALL, self._clock)
        self._timeless = ctx.metrics.counter(NO_TIME)

    def receive(self, side: int, batch: Batch) -> None:
        at = None if self.time_column is None else self.time_column + 1
        local, spans_of, columns = self._clock.local, self.window.spans_of, self._columns
        now = local(self.ctx.processing_time()) if at is None else 0
        stamp: int | None = None
        out: list[Row] = []
        stamps: list[int | None] = []
        for row in batch.values:
            if at is not None:
                if row[at] is None:
                    self._timeless.inc()
                    continue
                stamp = time = row[at] // NANOS_PER_MS
                now = local(time)
            for span in spans_of(now):
                out.append((*row, *columns(span)))
                stamps.append(stamp)
        if out:
            self.ctx.emit(out, stamps)


class SessionTableOperator(WindowedTableOperator):
    """SESSION; rows come out when their session is over, with its columns after their own.

    `types` are those of the rows' columns."""

    step = "session"

    def __init__(
        self,
        window: WindowSpec,
        types: Sequence[LogicalType],
        *,
        time: int | None,
        zone: str | None = None,
    ):
        super().__init__(event_time=time is not None, zone=zone)
        self.types = tuple(types)
        self.gap = window.size
        self.time_column = time

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._row_time = RowTime(ctx, self.time_column, self.clock)
        self._columns = window_columns(_ALL, self.clock)
        rows: MapStateDescriptor[TimeSpan, list[Values]] = MapStateDescriptor(
            "session-rows", SPAN_STATE_TYPE, Types.LIST(values_state_type(self.types))
        )
        state = ctx.keyed_state(rows)
        self._sessions = SessionSpans(state, self.gap, list, change_list, lambda a, b: a + b)

    def take(self, side: int, key: Any, rows: list[Row], reached: int) -> None:
        grown, late = self._sessions.take(rows, self._row_time.reader(), reached)
        if late:
            self.drop_late(late)
        for _, end in grown:
            self.wake_at_end(end)

    def fire(self, key: Any, first_end: int, last_end: int) -> None:
        for span, rows in self._sessions.over(first_end, last_end):
            columns = self._columns(span)
            for values in rows:
                self.emit_at((INSERT, *values, *columns), span)


def change_list(rows: list[Values], row: Row) -> None:
    """Add a row's columns to a list, or take them out of it."""
    values = row[1:]
    if not row[0] & 1:
        rows.append(values)
    elif values in rows:
        rows.remove(values)
