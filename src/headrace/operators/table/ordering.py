"""Comparing rows by the columns of an ORDER BY."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import total_ordering
from operator import itemgetter
from typing import Any

from headrace.core.expressions import SortKey
from headrace.core.logical_types import (
    APPROXIMATE,
    DATETIMES,
    INTEGERS,
    INTERVALS,
    DecimalType,
    LogicalType,
)
from headrace.core.numbers import WIDE

RowKey = Callable[[Any], Any]
_NEGATED = (*INTEGERS, *DATETIMES, *INTERVALS)
_LOW, _MIDDLE, _HIGH = (0,), 1, (2,)


@total_ordering
class _Descending:
    """A value that is smaller than another one if it is greater."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Descending) and bool(self.value == other.value)

    def __lt__(self, other: _Descending) -> bool:
        return bool(other.value < self.value)

    def __hash__(self) -> int:
        return hash(self.value)


def _place(key: SortKey, type: LogicalType) -> Callable[[Any], Any]:
    """From a column's value to its place in the order, which can be compared."""
    null = _LOW if key.nulls_first else _HIGH
    if isinstance(type, APPROXIMATE):
        return lambda value: null if value is None else _of_float(value, key.ascending)
    if key.ascending:
        return lambda value: null if value is None else (_MIDDLE, value)
    if isinstance(type, DecimalType):
        return lambda value: null if value is None else (_MIDDLE, WIDE.minus(value))
    if isinstance(type, _NEGATED):
        return lambda value: null if value is None else (_MIDDLE, -value)
    return lambda value: null if value is None else (_MIDDLE, _Descending(value))


def _of_float(value: float, ascending: bool) -> tuple[Any, ...]:
    if value != value:  # NaN is greater than every number
        return (_MIDDLE, 1, 0.0) if ascending else (_MIDDLE, -1, 0.0)
    return (_MIDDLE, 0, value if ascending else -value)


def order_of_values(keys: Sequence[SortKey], types: Sequence[LogicalType]) -> RowKey:
    """For a tuple of the sort columns' values: something that sorts as the order says."""
    places = tuple(_place(key, types[key.column]) for key in keys)
    if len(places) == 1:
        (place,) = places
        return lambda values: place(values[0])
    return lambda values: tuple(place(value) for place, value in zip(places, values, strict=True))


def sorter_of_values(
    keys: Sequence[SortKey], types: Sequence[LogicalType]
) -> Callable[[Iterable[Any]], list[Any]]:
    """For tuples of the sort columns' values, no two of them equal: a list of them in order."""
    order = order_of_values(keys, types)
    directions = {key.ascending for key in keys}
    if len(directions) != 1 or any(isinstance(types[key.column], APPROXIMATE) for key in keys):
        return lambda values: sorted(values, key=order)
    downwards = directions == {False}

    def in_order(values: Iterable[Any]) -> list[Any]:
        listed = list(values)
        try:
            listed.sort(reverse=downwards)  # much quicker, if no NULL is there
        except TypeError:
            listed.sort(key=order)
        return listed

    return in_order


def sort_values(keys: Sequence[SortKey]) -> RowKey:
    """For a row: the tuple of its sort columns' values."""
    columns = [key.column + 1 for key in keys]
    if not columns:
        return lambda row: ()
    if len(columns) == 1:
        (only,) = columns
        return lambda row: (row[only],)
    return itemgetter(*columns)


def order_of_rows(keys: Sequence[SortKey], types: Sequence[LogicalType]) -> RowKey:
    """For a row: something that sorts as the order says."""
    values, order = sort_values(keys), order_of_values(keys, types)
    return lambda row: order(values(row))
