"""Windows of SQL: where they lie in time, and what rows say about themselves in them.

All times are local ones, in milliseconds; see `headrace.operators.table.wall_clock`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.core.operator import Context
from headrace.errors import InvalidArgument, InvalidQuery
from headrace.operators.table.keyed_changes import NANOS_PER_MS, Row
from headrace.operators.table.wall_clock import WallClock
from headrace.operators.windows.slices import SlidingGrid

TimeSpan = tuple[int, int]
"""The start and the end of a window."""
LATE = "numLateRecordsDropped"
NO_TIME = "numNullRowTimeRecordsDropped"
WINDOW_START, WINDOW_END, WINDOW_TIME = "window_start", "window_end", "window_time"


@dataclass(frozen=True)
class WindowSpec:
    """A windowing function's parameters, in milliseconds; in rows for windows of rows."""

    kind: str
    """"tumble", "hop", "cumulate", "session", "count_tumble" or "count_slide"."""
    size: int
    """Of a session: the gap. Of cumulating windows: the largest."""
    slide: int = 0
    """Of cumulating windows: the step."""
    offset: int = 0

    def grid(self) -> SlidingGrid:
        """Where tumbling and hopping windows lie."""
        return SlidingGrid(self.size, self.slide or self.size, self.offset)

    def spans_of(self, local: int) -> list[TimeSpan]:
        """The windows of a time: hopping ones latest first, cumulating ones shortest first; of a
        session, how far it reaches by itself."""
        if self.kind in ("tumble", "hop"):
            return [(end - self.size, end) for end in self.grid().ends_of(local)]
        if self.kind == "cumulate":
            start = local - (local - self.offset) % self.size
            first = local - (local - self.offset) % self.slide + self.slide
            return [(start, end) for end in range(first, start + self.size + 1, self.slide)]
        if self.kind == "session":
            return [(local, local + self.size)]
        raise InvalidQuery(f"windows of kind {self.kind!r} do not lie in time")


class RowTime:
    """Tells rows' local times: of their time attribute, or of the clock where there is none."""

    def __init__(self, ctx: Context, column: int | None, clock: WallClock):
        self._ctx = ctx
        self._at = None if column is None else column + 1
        self._local = clock.local

    def reader(self) -> Callable[[Row], int]:
        """A function from a row to its local time, for the rows of one batch."""
        at, local = self._at, self._local
        if at is None:
            now = local(self._ctx.processing_time())
            return lambda row: now

        def read(row: Row) -> int:
            time = row[at]
            if time is None:
                raise missing_time(row)
            return local(time // NANOS_PER_MS)

        return read


def missing_time(row: Row) -> InvalidArgument:
    return InvalidArgument(
        "the time attribute of a row is NULL, so it belongs to no window",
        hint="Leave such rows out before the window: WHERE … IS NOT NULL.",
    )


def window_columns(properties: tuple[str, ...], clock: WallClock) -> Callable[[TimeSpan], Row]:
    """A function from a window to its columns: start and end as the wall clock shows them, its time
    as the time attribute it is."""

    def value(name: str, span: TimeSpan) -> Any:
        if name == WINDOW_START:
            return span[0] * NANOS_PER_MS
        if name == WINDOW_END:
            return span[1] * NANOS_PER_MS
        if name == WINDOW_TIME:
            return clock.instant(span[1] - 1) * NANOS_PER_MS
        raise InvalidQuery(f"windows have no {name!r}")

    return lambda span: tuple([value(name, span) for name in properties])


def by_carried_window(rows: list[Row], columns: tuple[int, int]) -> dict[TimeSpan, list[Row]]:
    """Rows by the window whose start and end are in two of their columns."""
    start_at, end_at = columns[0] + 1, columns[1] + 1
    found: dict[TimeSpan, list[Row]] = {}
    for row in rows:
        span = row[start_at] // NANOS_PER_MS, row[end_at] // NANOS_PER_MS
        found.setdefault(span, []).append(row)
    return found
