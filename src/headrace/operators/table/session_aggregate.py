"""Aggregation by sessions of a key."""

from __future__ import annotations

from typing import Any

from headrace.core.operator import Context
from headrace.core.state import MapStateDescriptor
from headrace.operators.table.keyed_changes import Row
from headrace.operators.table.session_spans import SessionSpans
from headrace.operators.table.state_types import SPAN_STATE_TYPE
from headrace.operators.table.window_aggregate import WindowsBySpec
from headrace.operators.table.window_contents import Contents
from headrace.operators.table.window_spec import TimeSpan

_SESSIONS: MapStateDescriptor[TimeSpan, Contents] = MapStateDescriptor("sessions", SPAN_STATE_TYPE)
"""By start and end: the session's contents."""


class SessionAggregateOperator(WindowsBySpec):
    """SESSION, where rows have a session for each key."""

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        contents = self.contents
        self._sessions = SessionSpans(
            ctx.keyed_state(_SESSIONS), self.window.size, contents.create,
            lambda kept, row: contents.add(kept, (row,)), contents.merge,
        )  # fmt: skip

    def take(self, side: int, key: Any, rows: list[Row], reached: int) -> None:
        grown, late = self._sessions.take(rows, self.row_time.reader(), reached)
        if late:
            self.drop_late(late)
        for _, end in grown:
            self.wake_at_end(end)

    def fire(self, key: Any, first_end: int, last_end: int) -> None:
        for span, contents in self._sessions.over(first_end, last_end):
            self.emit_window(key, span, contents)
