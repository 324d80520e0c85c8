"""What all window operators share: emitting what fires, and never losing what comes too late."""

from __future__ import annotations

from typing import Any

from headrace.core.operator import MAX_TIMESTAMP, Context
from headrace.errors import InvalidArgument
from headrace.operators.checkpointing import CheckpointingOperator
from headrace.operators.windows.firing import Firing

LATE = "numLateRecordsDropped"
NO_WINDOW = "numRecordsWithoutWindow"


class PaneOperator(CheckpointingOperator):
    """Collects results and rejected records, and sends them on in batches."""

    keyed = True

    def __init__(self, firing: Firing, *, lateness_ms: int = 0, late_tag: str | None = None):
        self.firing = firing
        self.lateness_ms = lateness_ms
        self.late_tag = late_tag

    @property
    def participant(self) -> Any:
        function = getattr(self.firing, "function", None)
        return getattr(function, "wrapped", function)

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self.out: list[Any] = []
        self.out_stamps: list[int | None] = []
        self._late: list[Any] = []
        self._late_stamps: list[int | None] = []
        self._dropped = ctx.metrics.counter(LATE)
        self._unassigned = ctx.metrics.counter(NO_WINDOW)
        self.firing.open(ctx)

    def close(self) -> None:
        self.firing.close()

    def fire(self, key: Any, window: Any, contents: Any) -> None:
        """Let the window function make results; `ctx.window_scope` is on the pair.

        An aggregate whose result is None has nothing to tell, as in Flink.
        """
        if contents is None:
            return
        results = self.firing.results(key, window, contents)
        self.out += results
        self.out_stamps += [window.max_timestamp()] * len(results)

    def check_end(self, window: Any) -> None:
        """Refuse a window that event time can never reach the end of."""
        if window.max_timestamp() > MAX_TIMESTAMP:
            raise InvalidArgument(
                f"{window} ends after the last time there is, {MAX_TIMESTAMP}",
                hint="Timestamps are milliseconds since the epoch; is this one in another unit?",
            )

    def is_late(self, stamp: int | None) -> bool:
        """Whether a record's time has passed, with all the lateness allowed."""
        return stamp is not None and stamp + self.lateness_ms <= self.ctx.watermark

    def reject(self, value: Any, stamp: int | None, *, late: bool) -> None:
        """No window took a record: it goes to the tag for late data, or is counted."""
        if not late:
            self._unassigned.inc()
        elif self.late_tag is None:
            self._dropped.inc()
        else:
            self._late.append(value)
            self._late_stamps.append(stamp)

    def flush(self) -> None:
        if self.out:
            out, stamps = self.out, self.out_stamps
            self.out, self.out_stamps = [], []
            self.ctx.emit(out, stamps)
        if self._late and self.late_tag is not None:
            late, stamps = self._late, self._late_stamps
            self._late, self._late_stamps = [], []
            self.ctx.emit_side(self.late_tag, late, stamps)
        self.firing.flush()
