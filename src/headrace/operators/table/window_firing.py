"""What operators over windows of SQL share: when windows are over, and what comes too late."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from headrace.core.operator import (
    EVENT_TIME,
    MAX_TIMESTAMP,
    PROCESSING_TIME,
    Batch,
    Context,
)
from headrace.core.user_code import RecordFailure
from headrace.errors import InvalidArgument
from headrace.operators.table.keyed_changes import Row, TableOperator
from headrace.operators.table.wall_clock import WallClock
from headrace.operators.table.window_spec import LATE, TimeSpan

Groups = dict[Any, list[Row]]


class WindowedTableOperator(TableOperator):
    """A keyed operator that answers when windows end: by the watermark, or by the clock.

    Windows are local times in the session's `zone`. A window is over, and a row for it late, when
    the watermark has come to its last millisecond.
    """

    keyed = True
    step = "window"

    def __init__(self, *, event_time: bool = True, zone: str | None = None):
        self.domain = EVENT_TIME if event_time else PROCESSING_TIME
        self.zone = zone

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self.clock = WallClock(self.zone)
        self._late = ctx.metrics.counter(LATE)
        self._out: list[Row] = []
        self._stamps: list[int | None] = []

    def receive(self, side: int, batch: Batch) -> None:
        """Group the rows by key, so that state is touched once a key."""
        assert batch.keys is not None
        groups: Groups = {}
        for key, row in zip(batch.keys, batch.values, strict=True):
            rows = groups.get(key)
            if rows is None:
                groups[key] = [row]
            else:
                rows.append(row)
        scope, reached = self.ctx.scope, self.reached()
        for key, rows in groups.items():
            scope.key = key
            try:
                self.take(side, key, rows, reached)
            except Exception as error:
                raise RecordFailure(error, self.step, rows[-1], key) from error
        self.flush()

    @abstractmethod
    def take(self, side: int, key: Any, rows: list[Row], reached: int) -> None:
        """Take rows of the current key in; windows whose last millisecond is not after `reached`
        are over."""

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        """Let the windows fire that are over at `timestamp`, not before."""
        clock = self.clock
        try:
            self.fire(key, clock.earliest(timestamp) + 1, clock.reached(timestamp) + 1)
        except Exception as error:
            raise RecordFailure(error, self.step, f"timer at {timestamp}", key) from error
        self.flush()

    @abstractmethod
    def fire(self, key: Any, first_end: int, last_end: int) -> None:
        """Answer for the windows of the current key that end in that span, both ends included."""

    def reached(self) -> int:
        """How far local time has come; rows before it can be late. By the clock nothing is."""
        event = self.domain == EVENT_TIME
        return self.clock.reached(self.ctx.watermark) if event else -MAX_TIMESTAMP

    def wake_at_end(self, end: int) -> None:
        """Have `fire` called when a window that ends then is over."""
        due = self.clock.due(end - 1)
        if due > MAX_TIMESTAMP:
            raise InvalidArgument(
                f"a window ends after the last time there is, {MAX_TIMESTAMP}",
                hint="Is the time attribute in another unit?",
            )
        self.ctx.timers.register(self.domain, due)

    def drop_late(self, rows: int = 1) -> None:
        self._late.inc(rows)

    def emit_at(self, row: Row, span: TimeSpan) -> None:
        """Emit a row that has the last millisecond of a window as its time."""
        self._out.append(row)
        self._stamps.append(self.clock.instant(span[1] - 1))

    def flush(self) -> None:
        if self._out:
            out, stamps = self._out, self._stamps
            self._out, self._stamps = [], []
            self.ctx.emit(out, stamps)
