"""Event time of a table: each row's time, and the watermark that follows from an expression."""

from __future__ import annotations

from headrace.core.expressions import Expression
from headrace.core.operator import MIN_TIMESTAMP, Batch, Context
from headrace.core.user_code import RecordFailure
from headrace.errors import InvalidArgument
from headrace.operators.table.compiled import compiled_value
from headrace.operators.table.keyed_changes import NANOS_PER_MS, Row, TableOperator
from headrace.operators.table.opened import close_all, open_all, results_for

Stamps = list[int | None]


class WatermarkAssignerOperator(TableOperator):
    """Gives rows the time at column `time` as timestamp and reports watermarks.

    A row for which the expression is NULL does not move time on. As in Flink neither does one of
    1970 or before, unless it is the source that makes watermarks.
    """

    makes_watermarks = True
    emits_its_input = True

    def __init__(
        self,
        time: int,
        watermark: Expression,
        *,
        idle_after_ms: int | None = None,
        by_source: bool = False,
    ):
        self.time = time
        self._before_first = MIN_TIMESTAMP if by_source else 0
        self.idle_after_ms = idle_after_ms
        self._watermark = compiled_value(watermark)

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        open_all((self._watermark,), ctx)

    def close(self) -> None:
        close_all((self._watermark,))

    def receive(self, side: int, batch: Batch) -> None:
        rows = batch.values
        if not rows:
            return
        stamps = self._stamps(rows)
        marks = results_for(self._watermark, rows, "a watermark")
        if self.ctx.watermarks_at_once:
            self._emit_in_steps(rows, stamps, marks)
            return
        self.ctx.emit(rows, stamps)
        newest = max((mark for mark in marks if mark is not None), default=None)
        if newest is not None and newest // NANOS_PER_MS > self._before_first:
            self.ctx.report_watermark(newest // NANOS_PER_MS)

    def _stamps(self, rows: list[Row]) -> Stamps:
        at = (self.time or 0) + 1
        try:
            return [row[at] // NANOS_PER_MS for row in rows]
        except TypeError:
            row = next(row for row in rows if row[at] is None)
            raise RecordFailure(_no_time(), "event time", row) from None

    def _emit_in_steps(self, rows: list[Row], stamps: Stamps, marks: list[int | None]) -> None:
        """Each watermark follows the row it is from before the next row."""
        begin, newest = 0, self._before_first
        for end, mark in enumerate(marks, start=1):
            if mark is not None and mark // NANOS_PER_MS > newest:
                newest = mark // NANOS_PER_MS
                self.ctx.emit(rows[begin:end], stamps[begin:end])
                begin = end
                self.ctx.report_watermark(newest)
        if begin < len(rows):
            self.ctx.emit(rows[begin:], stamps[begin:])


def _no_time() -> InvalidArgument:
    return InvalidArgument(
        "a row has NULL in its column of event time",
        hint="Leave such rows out before the watermark, or give them a time with COALESCE.",
    )
