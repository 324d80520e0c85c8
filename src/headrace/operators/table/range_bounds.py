"""Where RANGE frames begin and end in a partition whose rows are all there, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any

from headrace.core.expressions import Distance, SortKey
from headrace.core.logical_types import (
    APPROXIMATE,
    TIMESTAMPS,
    BigIntType,
    DateType,
    IntType,
    LogicalType,
    SmallIntType,
    TinyIntType,
)
from headrace.errors import Unsupported
from headrace.operators.functions.numbers import wrapped
from headrace.operators.table.keyed_changes import NANOS_PER_MS, Row

_MS_PER_DAY = 86_400_000
Bounds = list[tuple[int, int]]
"""Of each row, where its frame begins and ends (exclusively)."""
_BITS = ((TinyIntType, 8), (SmallIntType, 16), (IntType, 32), (BigIntType, 64))
_BOTH_NULL = object()
_ONE_NULL = inf
"""After every frame, and before each that asks."""
_Holds = Callable[[int, int], bool]
"""Whether a row, by its place, is within the bound of another row's frame."""


class RangeBounds:
    """Bounds by the values of the order; `preceding` and `following` are those of PartitionFrames.

    Two marks move over the rows and never go back, as in Flink: the end passes rows that are not
    after the frame, then the beginning passes those before it. A NULL is near to NULLs only, so
    where NULLs come first and a frame ends before its row, the end never passes them.
    """

    def __init__(
        self,
        types: Sequence[LogicalType],
        order: Sequence[SortKey],
        preceding: Distance | None,
        following: Distance | None,
    ):
        self.types = tuple(types)
        self.order = tuple(order)
        self.preceding = preceding
        self.following = following
        if (preceding or following) and len(self.order) != 1:
            raise Unsupported("RANGE with a distance needs exactly one column in ORDER BY")

    def of(self, rows: Sequence[Row], places: Sequence[Any]) -> Bounds:
        """The bounds of each row; `places` are comparable as the order says."""
        count = len(rows)
        not_after = self._not_after(rows, places)
        not_before = self._not_before(rows, places)
        found: Bounds = []
        begin = end = 0
        for at in range(count):
            while end < count and not_after(end, at):
                end += 1
            while begin < end and not not_before(begin, at):
                begin += 1
            found.append((begin, end))
        return found

    def _not_after(self, rows: Sequence[Row], places: Sequence[Any]) -> _Holds:
        if self.following is None:
            return lambda row, at: True
        if not self.following:
            return lambda row, at: not places[at] < places[row]
        ahead, limit = self._ahead(rows), self._limit(self.following)

        def holds(row: int, at: int) -> bool:
            distance = ahead(row, at)
            # Of a distance that is no number neither holds.
            return limit >= 0 if distance is _BOTH_NULL else not distance > limit

        return holds

    def _not_before(self, rows: Sequence[Row], places: Sequence[Any]) -> _Holds:
        if self.preceding is None:
            return lambda row, at: True
        if not self.preceding:
            return lambda row, at: not places[row] < places[at]
        ahead, limit = self._ahead(rows), self._limit(-self.preceding)

        def holds(row: int, at: int) -> bool:
            distance = ahead(row, at)
            if distance is _ONE_NULL:
                return False
            return limit <= 0 if distance is _BOTH_NULL else bool(distance >= limit)

        return holds

    def _ahead(self, rows: Sequence[Row]) -> Callable[[int, int], Any]:
        """How far a row lies ahead of another one, in the order's direction and unit."""
        (key,) = self.order
        values = [row[key.column + 1] for row in rows]
        type = self.types[key.column]
        bits = next((bits for kind, bits in _BITS if isinstance(type, kind)), None)

        def ahead(row: int, at: int) -> Any:
            one, other = values[row], values[at]
            if one is None or other is None:
                return _BOTH_NULL if one is other else _ONE_NULL
            distance = one - other if key.ascending else other - one
            return distance if bits is None else wrapped(distance, bits)

        return ahead

    def _limit(self, distance: Distance) -> Distance:
        type = self.types[self.order[0].column]
        if isinstance(type, TIMESTAMPS):
            return distance * NANOS_PER_MS
        if isinstance(type, DateType):
            return int(distance / _MS_PER_DAY)
        return float(distance) if isinstance(type, APPROXIMATE) else distance
