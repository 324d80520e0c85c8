"""Aggregation by windows of SQL: one row for each key and window, when the window is over.

Here are windows that a row belongs to one of: TUMBLE, and windows that rows carry already.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from headrace.core.expressions import AggregateCall
from headrace.core.operator import Context
from headrace.core.state import MapStateDescriptor
from headrace.core.table_connector import INSERT
from headrace.operators.table.keyed_changes import Row
from headrace.operators.table.state_types import SPAN_STATE_TYPE
from headrace.operators.table.window_contents import Contents, WindowContents
from headrace.operators.table.window_firing import WindowedTableOperator
from headrace.operators.table.window_spec import (
    RowTime,
    TimeSpan,
    WindowSpec,
    by_carried_window,
    window_columns,
)

_WINDOWS: MapStateDescriptor[TimeSpan, Contents] = MapStateDescriptor("windows", SPAN_STATE_TYPE)
"""By start and end: the window's contents."""


class WindowAggregateBase(WindowedTableOperator):
    """Columns: the key's, the calls' results, then those of `properties`."""

    step = "window aggregation"

    def __init__(
        self, calls: Sequence[AggregateCall], *, time: int | None, properties: tuple[str, ...],
        retracts: bool = False, event_time: bool = True, zone: str | None = None,
    ):  # fmt: skip
        super().__init__(event_time=event_time, zone=zone)
        self.contents = WindowContents(calls, retracts=retracts)
        self.time_column = time
        self.properties = properties

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self.contents.open(ctx)
        self.row_time = RowTime(ctx, self.time_column, self.clock)
        self._columns = window_columns(self.properties, self.clock)

    def close(self) -> None:
        self.contents.close()

    def result(self, key: Row, span: TimeSpan, contents: Contents) -> Row | None:
        """The row of a window without its kind; None if it is empty."""
        results = self.contents.results(contents)
        return None if results is None else (*key, *results, *self._columns(span))

    def emit_window(self, key: Row, span: TimeSpan, contents: Contents) -> None:
        row = self.result(key, span, contents)
        if row is not None:
            self.emit_at((INSERT, *row), span)


class WindowsBySpec(WindowAggregateBase):
    """Windows that a row's time tells; `time` None: the clock does."""

    def __init__(
        self, calls: Sequence[AggregateCall], window: WindowSpec, *, time: int | None,
        properties: tuple[str, ...] = (), retracts: bool = False, zone: str | None = None,
    ):  # fmt: skip
        super().__init__(
            calls, time=time, properties=properties, retracts=retracts,
            event_time=time is not None, zone=zone,
        )  # fmt: skip
        self.window = window


class _WholeWindowOperator(WindowAggregateBase):
    """Each row belongs to one window, whose contents are kept as they are."""

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._windows = ctx.keyed_state(_WINDOWS)

    @abstractmethod
    def by_window(self, rows: list[Row]) -> dict[TimeSpan, list[Row]]:
        """The rows by the window they belong to."""

    def take(self, side: int, key: Any, rows: list[Row], reached: int) -> None:
        windows = self._windows
        for span, together in self.by_window(rows).items():
            if span[1] - 1 <= reached:
                self.drop_late(len(together))
                continue
            contents = windows.get(span)
            if contents is None:
                contents = self.contents.create()
                self.wake_at_end(span[1])
            self.contents.add(contents, together)
            windows.put(span, contents)

    def fire(self, key: Any, first_end: int, last_end: int) -> None:
        over = [item for item in self._windows.items() if first_end <= item[0][1] <= last_end]
        if len(over) > 1:
            over.sort(key=itemgetter(0))
        for span, contents in over:
            self.emit_window(key, span, contents)
            self._windows.remove(span)


class TumblingAggregateOperator(WindowsBySpec, _WholeWindowOperator):
    """TUMBLE"""

    def by_window(self, rows: list[Row]) -> dict[TimeSpan, list[Row]]:
        size, offset, time_of = self.window.size, self.window.offset, self.row_time.reader()
        found: dict[int, list[Row]] = {}
        for row in rows:
            time = time_of(row)
            start = time - (time - offset) % size
            together = found.get(start)
            if together is None:
                found[start] = [row]
            else:
                together.append(row)
        return {(start, start + size): together for start, together in found.items()}


class AttachedAggregateOperator(_WholeWindowOperator):
    """Windows that rows carry already: `window_columns` are where their start and end are."""

    def __init__(
        self, calls: Sequence[AggregateCall], window_columns: tuple[int, int], *,
        properties: tuple[str, ...] = (), retracts: bool = False, event_time: bool = True,
        zone: str | None = None,
    ):  # fmt: skip
        super().__init__(
            calls, time=None, properties=properties, retracts=retracts, event_time=event_time,
            zone=zone,
        )  # fmt: skip
        self.window_columns = window_columns

    def by_window(self, rows: list[Row]) -> dict[TimeSpan, list[Row]]:
        return by_carried_window(rows, self.window_columns)
