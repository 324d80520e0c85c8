"""Frames of OVER in a partition whose rows are all there, in order."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import AggregateCall, Distance, SortKey
from headrace.core.logical_types import LogicalType
from headrace.core.operator import Context
from headrace.errors import Unsupported
from headrace.operators.table.aggregating import AggregateHandler
from headrace.operators.table.compiled import Compiled, compiled_values
from headrace.operators.table.keyed_changes import Row
from headrace.operators.table.opened import close_all, open_all
from headrace.operators.table.ordering import order_of_rows
from headrace.operators.table.range_bounds import Bounds, RangeBounds
from headrace.operators.table.ranked_rows import DENSE_RANK, RANK, ROW_NUMBER, with_ranks


class PartitionFrames:
    """The calls of an OVER clause for each row of a partition.

    `preceding` and `following` None are unbounded; of "range" they are milliseconds where the
    order is by time, otherwise numbers. Below 0 they lie on the other side.
    """

    def __init__(
        self, types: Sequence[LogicalType], calls: Sequence[AggregateCall], *,
        order: Sequence[SortKey], unit: str = "range", preceding: Distance | None = None,
        following: Distance | None = 0,
    ):  # fmt: skip
        self.types = tuple(types)
        self.calls = tuple(calls)
        self.order = tuple(order)
        self.unit = unit
        self.preceding = preceding
        self.following = following
        self._ranges = RangeBounds(types, order, preceding, following) if unit == "range" else None
        framed = [call for call in self.calls if call.function.kind not in ("rank", "offset")]
        self._framed = AggregateHandler(framed, retracts=preceding is not None)
        self._arguments: list[Compiled[Row] | None] = [
            compiled_values(call.arguments) if call.function.kind in ("rank", "offset") else None
            for call in self.calls
        ]

    def open(self, ctx: Context) -> None:
        self._framed.open(ctx)
        open_all(self._arguments, ctx)
        self.order_of = order_of_rows(self.order, self.types)

    def close(self) -> None:
        self._framed.close()
        close_all(self._arguments)

    def results(self, rows: list[Row]) -> list[tuple[Any, ...]]:
        """The calls' values for each of the rows, which are in order."""
        framed = self._of_frames(rows)
        columns: list[Sequence[Any]] = []
        place = 0
        for call, arguments in zip(self.calls, self._arguments, strict=True):
            if arguments is None:
                columns.append([each[place] for each in framed])
                place += 1
            else:
                columns.append(self._of_rows(call, arguments.each(rows), rows))
        return list(zip(*columns, strict=True))

    # Aggregates of frames.

    def _of_frames(self, rows: list[Row]) -> list[tuple[Any, ...]]:
        handler, results = self._framed, []
        kept = handler.create()
        begin = end = 0
        for first, last in self._frames(rows):
            while end < last:
                handler.add(kept, rows[end])
                end += 1
            while begin < first:
                handler.retract(kept, rows[begin])
                begin += 1
            results.append(handler.results(kept))
        return results

    def _frames(self, rows: list[Row]) -> Bounds:
        count = len(rows)
        if self._ranges is None:
            ends = [self._at(at + 1, self.following, 1, count, count) for at in range(count)]
            return [
                (min(self._at(at, self.preceding, -1, 0, count), end), end)
                for at, end in enumerate(ends)
            ]
        return self._ranges.of(rows, [self.order_of(row) for row in rows])

    @staticmethod
    def _at(place: int, distance: Distance | None, sign: int, unbounded: int, count: int) -> int:
        if distance is None:
            return unbounded
        return min(max(place + sign * int(distance), 0), count)

    # Ranks and neighbours.

    def _of_rows(self, call: AggregateCall, given: list[Row], rows: list[Row]) -> list[Any]:
        name, count = call.function.name.upper(), len(rows)
        if name in (ROW_NUMBER, RANK, DENSE_RANK):
            return [rank for rank, _ in with_ranks(rows, name, self.order_of)]
        if name == "PERCENT_RANK":
            ranks = with_ranks(rows, RANK, self.order_of)
            return [(rank - 1) / (count - 1) if count > 1 else 0.0 for rank, _ in ranks]
        if name == "CUME_DIST":
            places = [self.order_of(row) for row in rows]
            return [bisect_right(places, place) / count for place in places]
        if name == "NTILE":
            return [_tile(at, count, given[at][0]) for at in range(count)]
        if name in ("LAG", "LEAD"):
            return [_neighbour(at, given, -1 if name == "LAG" else 1) for at in range(count)]
        raise Unsupported(f"{name} is not known as a function of rows in an order")


def _tile(at: int, count: int, tiles: int) -> int:
    """The first tiles are larger by one if rows do not divide evenly."""
    size, larger = divmod(count, tiles)
    if at < larger * (size + 1):
        return at // (size + 1) + 1
    return larger + (at - larger * (size + 1)) // size + 1


def _neighbour(at: int, given: list[Row], sign: int) -> Any:
    """The value so many rows away; as in Flink, the default also stands for a NULL there."""
    told = given[at]
    offset = told[1] if len(told) > 1 else 1
    wanted = at + sign * offset
    found = given[wanted][0] if 0 <= wanted < len(given) else None
    return told[2] if found is None and len(told) > 2 else found
