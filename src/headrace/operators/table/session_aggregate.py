"""Aggregation by sessions of a key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from headrace.core.expressions import AggregateCall
from headrace.core.operator import Context
from headrace.core.state import MapStateDescriptor
from headrace.operators.table.keyed_changes import Row
from headrace.operators.table.session_spans import SessionSpans
from headrace.operators.table.window_aggregate import WindowAggregateBase
from headrace.operators.table.window_spec import WindowSpec

_SESSIONS = MapStateDescriptor("sessions")
"""By start and end: the session's contents."""


class SessionAggregateOperator(WindowAggregateBase):
    """SESSION, where rows have a session for each key; `time` None: the clock decides."""

    def __init__(
        self, calls: Sequence[AggregateCall], window: WindowSpec, *, time: int | None,
        properties: tuple[str, ...] = (), retracts: bool = False, zone: str | None = None,
    ):  # fmt: skip
        super().__init__(
            calls, time=time, properties=properties, retracts=retracts,
            event_time=time is not None, zone=zone,
        )  # fmt: skip
        self.gap = window.size

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        contents = self.contents
        self._sessions = SessionSpans(
            cast(Any, ctx.keyed_state(_SESSIONS)), self.gap, contents.create,
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
