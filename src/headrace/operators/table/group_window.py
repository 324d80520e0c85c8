"""Group windows whose results may come early, or be corrected when rows come late.

GROUP BY TUMBLE(…), HOP(…) and SESSION(…) with the options table.exec.emit.*: a window is told
before it is over, every so often or with every row, and again until the lateness that is allowed
has passed. Without these options `headrace.operators.table.window_aggregate` says the same once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.core.expressions import AggregateCall
from headrace.core.operator import PROCESSING_TIME, Context
from headrace.core.state import MapStateDescriptor
from headrace.core.table_connector import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.operators.table.keyed_changes import Row
from headrace.operators.table.session_spans import cover, touching
from headrace.operators.table.state_types import SPAN_STATE_TYPE
from headrace.operators.table.window_aggregate import WindowsBySpec
from headrace.operators.table.window_contents import Contents
from headrace.operators.table.window_spec import TimeSpan, WindowSpec


@dataclass(frozen=True)
class EmitOptions:
    """When results come besides at the end of a window; in milliseconds, 0 is with every row."""

    early_ms: int | None = None
    late_ms: int | None = None
    lateness_ms: int = 0


@dataclass(slots=True)
class _Pane:
    """What is kept of one window of a key."""

    contents: Contents
    told: Row | None = None
    """The result that was emitted last."""
    over: bool = False
    """Whether it has been told at its end."""
    due: int | None = None
    """When it is told next, by the clock."""


_WINDOWS: MapStateDescriptor[TimeSpan, _Pane] = MapStateDescriptor("group-windows", SPAN_STATE_TYPE)


class GroupWindowOperator(WindowsBySpec):
    """Tumbling, hopping and session windows with early and late results; `time` None: by the
    clock. Not `per_record`, what rows of a batch change about a window is told once."""

    def __init__(
        self, calls: Sequence[AggregateCall], window: WindowSpec, *, time: int | None,
        properties: tuple[str, ...] = (), emit: EmitOptions | None = None,
        retracts: bool = False, per_record: bool = False, emits_before: bool = True,
        zone: str | None = None,
    ):  # fmt: skip
        super().__init__(
            calls, window, time=time, properties=properties, retracts=retracts, zone=zone
        )
        self.options = emit or EmitOptions()
        self.lateness = self.options.lateness_ms if time is not None else 0
        self.per_record = per_record
        self.emits_before = emits_before

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._panes = ctx.keyed_state(_WINDOWS)

    # Rows.

    def take(self, side: int, key: Any, rows: list[Row], reached: int) -> None:
        time_of = self.row_time.reader()
        waiting: dict[TimeSpan, None] = {}
        for row in rows:
            taken = False
            for span in self._spans_of(key, time_of(row)):
                if span[1] - 1 + self.lateness <= reached:
                    continue
                taken = True
                if self._add(span, row, reached):
                    waiting[span] = None
            if not taken:
                self.drop_late()
            if self.per_record:
                self._tell_all(key, waiting)
        self._tell_all(key, waiting)

    def _tell_all(self, key: Any, waiting: dict[TimeSpan, None]) -> None:
        for span in waiting:
            pane = self._panes.get(span)
            if pane is not None:  # it may have become part of a longer session
                self._tell(key, span, pane)
        waiting.clear()

    def _spans_of(self, key: Any, time: int) -> list[TimeSpan]:
        spans = self.window.spans_of(time)
        if self.window.kind != "session":
            return spans
        ((start, end),) = spans
        together = touching(list(self._panes.keys()), start, end)
        if not together:
            return spans
        whole = cover(together, start, end)
        if together != [whole]:
            self._join(key, together, whole)
        return [whole]

    def _join(self, key: Any, together: list[TimeSpan], whole: TimeSpan) -> None:
        """Make one session of several; what was told of them is true no longer."""
        merged = _Pane(self.contents.create())
        for span in sorted(together):
            pane = self._panes.get(span)
            assert pane is not None
            merged.contents = self.contents.merge(merged.contents, pane.contents)
            if pane.told is not None:
                self.emit_at((DELETE, *pane.told), span)
            self._panes.remove(span)
        self._panes.put(whole, merged)
        self.wake_at_end(whole[1])

    def _add(self, span: TimeSpan, row: Row, reached: int) -> bool:
        """Add a row to a window; says whether it is to be told at once."""
        pane = self._panes.get(span)
        if pane is None:
            pane = _Pane(self.contents.create())
        self.contents.add(pane.contents, (row,))
        if not pane.over and span[1] - 1 > reached:
            self.wake_at_end(span[1])
            now = self._plan(pane, self.options.early_ms)
        else:
            now = (
                not pane.over
                or self.options.late_ms is None
                or self._plan(pane, self.options.late_ms)
            )
        if self.lateness:
            self.wake_at_end(span[1] + self.lateness)
        self._panes.put(span, pane)
        return now

    def _plan(self, pane: _Pane, interval: int | None) -> bool:
        """Have a window told after an interval; says whether that is at once."""
        if interval and pane.due is None:
            pane.due = self.ctx.processing_time() + interval
            self.ctx.timers.register(PROCESSING_TIME, pane.due)
        return interval == 0

    # Results.

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        if domain == PROCESSING_TIME:
            for span, pane in sorted(self._panes.items(), key=lambda item: item[0]):
                if pane.due == timestamp:
                    interval = self.options.late_ms if pane.over else self.options.early_ms
                    pane.due = None if not interval else timestamp + interval
                    if pane.due is not None:
                        self.ctx.timers.register(PROCESSING_TIME, pane.due)
                    self._tell(key, span, pane)
            self.flush()
        if domain == self.domain:
            super().on_timer(domain, timestamp, key)

    def fire(self, key: Any, first_end: int, last_end: int) -> None:
        for span, pane in sorted(self._panes.items(), key=lambda item: item[0]):
            if first_end <= span[1] <= last_end and not pane.over:
                pane.over = True
                pane.due = None
                self._tell(key, span, pane)
            if first_end <= span[1] + self.lateness <= last_end:
                self._panes.remove(span)

    def _tell(self, key: Any, span: TimeSpan, pane: _Pane) -> None:
        """Emit how a window's result differs from what was told last."""
        old, new = pane.told, self.result(key, span, pane.contents)
        pane.told = new
        self._panes.put(span, pane)
        if old == new:
            return
        if old is None:
            self.emit_at((INSERT, *(new or ())), span)
        elif new is None:
            self.emit_at((DELETE, *old), span)
        else:
            if self.emits_before:
                self.emit_at((UPDATE_BEFORE, *old), span)
            self.emit_at((UPDATE_AFTER, *new), span)
