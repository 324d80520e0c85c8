"""The calls of an OVER clause: aggregates of the rows in a frame, ranks, and earlier rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from headrace.core.expressions import Accumulator, AggregateCall, AggregateFunction, Column
from headrace.core.logical_types import LogicalType
from headrace.core.operator import Context
from headrace.errors import Unsupported
from headrace.operators.table.aggregating import AggregateHandler, Kept
from headrace.operators.table.keyed_changes import Row
from headrace.operators.table.ranked_rows import DENSE_RANK, RANK, ROW_NUMBER

LAG = "LAG"
OverKept = tuple[Kept, Kept]
"""What the calls of rank and offset keep, and what the aggregates of the frame keep."""


class _RowNumber:
    """Counts rows."""

    def create(self) -> int:
        return 0

    def add(self, kept: int, *_values: Any) -> int:
        return kept + 1

    def result(self, kept: int) -> int:
        return kept


class _Rank:
    """The rank of the last row: rows with equal values of the order share it."""

    def __init__(self, dense: bool):
        self._dense = dense

    def create(self) -> tuple[int, int, Any]:
        return 0, 0, None

    def add(self, kept: tuple[int, int, Any], *values: Any) -> tuple[int, int, Any]:
        count, rank, last = kept
        if last != values:
            rank = rank + 1 if self._dense else count + 1
        return count + 1, rank, values

    def result(self, kept: tuple[int, int, Any]) -> int:
        return kept[1]


class _Ranking:
    """Makes what carries out a call of rank while rows go by."""

    def __init__(self, name: str):
        self.name = name

    def __call__(
        self, types: Sequence[LogicalType], result: LogicalType, retracts: bool
    ) -> Accumulator:
        made: Any = _RowNumber() if self.name == ROW_NUMBER else _Rank(self.name == DENSE_RANK)
        # A frame never takes a row back from them.
        made.retract = made.merge = _never
        ready: Accumulator = made
        return ready


def _never(*_: Any) -> Any:
    raise AssertionError("a rank is never taken back")


def _running(
    call: AggregateCall, order: Sequence[int], types: Sequence[LogicalType]
) -> AggregateCall:
    name = call.function.name.upper()
    if name == LAG:
        return replace(call, function=replace(call.function, skips_null=False))
    if name not in (ROW_NUMBER, RANK, DENSE_RANK):
        raise Unsupported(
            f"{name} looks at rows that are still to come, which a stream does not have",
            hint="Run the query on bounded input, in BATCH mode.",
        )
    function = AggregateFunction(name=name, accumulator=_Ranking(name), skips_null=False)
    of_order = () if name == ROW_NUMBER else tuple(Column(types[c], c) for c in order)
    return replace(call, function=function, arguments=of_order)


class OverCalls:
    """All calls of one OVER, for rows that come in order.

    `order` are the columns of ORDER BY, which decide about ranks; `retracts` whether rows leave
    the frame.
    """

    def __init__(
        self, calls: Sequence[AggregateCall], types: Sequence[LogicalType], order: Sequence[int],
        *, retracts: bool,
    ):  # fmt: skip
        by_row = [call for call in calls if call.function.kind in ("rank", "offset")]
        by_frame = [call for call in calls if call.function.kind not in ("rank", "offset")]
        self.by_row = AggregateHandler(
            [_running(call, order, types) for call in by_row], retracts=False
        )
        self.by_frame = AggregateHandler(by_frame, retracts=retracts)
        self._is_by_row = [call.function.kind in ("rank", "offset") for call in calls]
        self._mixed = bool(by_row)

    def open(self, ctx: Context) -> None:
        self.by_row.open(ctx)
        self.by_frame.open(ctx)

    def close(self) -> None:
        self.by_row.close()
        self.by_frame.close()

    def create(self) -> OverKept:
        return self.by_row.create(), self.by_frame.create()

    def add(self, kept: OverKept, row: Row) -> None:
        self.by_row.add(kept[0], row)
        self.by_frame.add(kept[1], row)

    def results(self, kept: OverKept) -> tuple[Any, ...]:
        """The calls' values at the row added last."""
        framed = self.by_frame.results(kept[1])
        return self._together(self.by_row.results(kept[0]), framed) if self._mixed else framed

    def results_of_peers(self, kept: OverKept, rows: Sequence[Row]) -> list[tuple[Any, ...]]:
        """Add rows that come at the same time: frames end after the last of them."""
        ranks = []
        for row in rows:
            self.by_row.add(kept[0], row)
            self.by_frame.add(kept[1], row)
            ranks.append(self.by_row.results(kept[0]))
        framed = self.by_frame.results(kept[1])
        return [self._together(rank, framed) if self._mixed else framed for rank in ranks]

    def _together(self, by_row: tuple[Any, ...], by_frame: tuple[Any, ...]) -> tuple[Any, ...]:
        rows, frames = iter(by_row), iter(by_frame)
        return tuple([next(rows) if is_row else next(frames) for is_row in self._is_by_row])
