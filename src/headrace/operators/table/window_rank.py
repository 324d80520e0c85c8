"""The first rows of each window and partition in an order, and one row of each by time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import SortKey
from headrace.core.logical_types import LogicalType
from headrace.core.operator import Context
from headrace.core.table_connector import INSERT
from headrace.errors import Unsupported
from headrace.operators.table.hashable_rows import Values
from headrace.operators.table.keyed_changes import Row
from headrace.operators.table.ordering import order_of_rows
from headrace.operators.table.window_rows import WindowRowsOperator
from headrace.operators.table.window_spec import TimeSpan

_SLACK = 64
"""So many rows beyond those wanted may gather before they are dropped."""


class WindowRankOperator(WindowRowsOperator):
    """Rows number `first` to `last` of each window, in order, when it is over.

    Columns: the input's, then the number if `with_rank`. `types` are the input's columns'.
    """

    step = "window Top-N"

    def __init__(
        self, window_columns: tuple[int, int], order: Sequence[SortKey],
        types: Sequence[LogicalType], *, first: int, last: int, with_rank: bool,
        function: str = "ROW_NUMBER", retracts: bool = False, event_time: bool = True,
        zone: str | None = None,
    ):  # fmt: skip
        super().__init__((window_columns,), (tuple(types),), event_time=event_time, zone=zone)
        if function != "ROW_NUMBER":
            raise Unsupported(
                f"{function} over a window of a windowing function; only ROW_NUMBER is there",
                hint="Use ROW_NUMBER() OVER (PARTITION BY window_start, window_end …).",
            )
        self.order = tuple(order)
        self.first, self.last = first, last
        self.with_rank = with_rank
        self.retracts = retracts

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._place = order_of_rows(self.order, self.types[0])

    def _sort(self, kept: list[Values]) -> None:
        place = self._place
        kept.sort(key=lambda values: place((INSERT, *values)))

    def keep(self, kept: list[Values], rows: list[Row]) -> None:
        super().keep(kept, rows)
        if not self.retracts and len(kept) > self.last + _SLACK:
            self._sort(kept)  # rows that come later stay behind their equals, as sorting is stable
            del kept[self.last :]

    def answer(self, key: Any, span: TimeSpan, *rows: list[Values]) -> None:
        (kept,) = rows
        self._sort(kept)
        for number in range(self.first, min(self.last, len(kept)) + 1):
            rank = (number,) if self.with_rank else ()
            self.emit_at((INSERT, *kept[number - 1], *rank), span)


class WindowDeduplicateOperator(WindowRowsOperator):
    """The first or the last row by time of each window. Columns: the input's, then 1 if
    `with_rank`."""

    step = "window deduplication"

    def __init__(
        self, window_columns: tuple[int, int], time: int, types: Sequence[LogicalType], *,
        keep_last: bool, with_rank: bool = False, event_time: bool = True, zone: str | None = None,
    ):  # fmt: skip
        super().__init__((window_columns,), (tuple(types),), event_time=event_time, zone=zone)
        self.time_column = time
        self.keep_last = keep_last
        self.with_rank = with_rank

    def keep(self, kept: list[Values], rows: list[Row]) -> None:
        at = self.time_column
        for row in rows:
            values = row[1:]
            if not kept:
                kept.append(values)
            elif kept[0][at] <= values[at] if self.keep_last else values[at] < kept[0][at]:
                kept[0] = values

    def answer(self, key: Any, span: TimeSpan, *rows: list[Values]) -> None:
        for values in rows[0]:
            self.emit_at((INSERT, *values, *((1,) if self.with_rank else ())), span)
