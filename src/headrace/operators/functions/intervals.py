"""+ - * / where one side is a date, a time, a timestamp or an interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType
from headrace.core.numbers import WIDE
from headrace.operators.functions import arithmetic
from headrace.operators.functions.arithmetic import Inline, Operation
from headrace.operators.functions.dates import (
    DAY_MILLIS,
    DAY_NANOS,
    MILLI_NANOS,
    plus_months,
)


def plus(types: Sequence[LogicalType], result: LogicalType) -> Operation:
    left, right = types
    if isinstance(right, lt.DATETIMES) and isinstance(left, lt.INTERVALS):
        move = mover(right, left)
        return lambda interval, point: move(point, interval)
    if isinstance(left, lt.DATETIMES):
        return mover(left, right)
    if isinstance(left, lt.INTERVALS):
        return Inline("{0} + {1}", "a", "b")
    return arithmetic.plus(types, result)


def minus(types: Sequence[LogicalType], result: LogicalType) -> Operation:
    left, right = types
    if isinstance(left, lt.DATETIMES) and isinstance(right, lt.DATETIMES):
        return _distance(left)
    if isinstance(left, lt.DATETIMES):
        move = mover(left, right)
        return lambda point, interval: move(point, -interval)
    if isinstance(left, lt.INTERVALS):
        return Inline("{0} - {1}", "a", "b")
    return arithmetic.minus(types, result)


def times(types: Sequence[LogicalType], result: LogicalType) -> Operation:
    if isinstance(result, lt.INTERVALS):
        return lambda left, right: int(WIDE.multiply(left, right))
    return arithmetic.times(types, result)


def divide(types: Sequence[LogicalType], result: LogicalType) -> Operation:
    if isinstance(result, lt.INTERVALS):
        quotient = arithmetic.divide(types, lt.BIGINT)
        return lambda interval, by: quotient(interval, int(by))
    return arithmetic.divide(types, result)


def _distance(type: LogicalType) -> Callable[[int, int], int]:
    """Milliseconds between two points in time of one type."""
    if isinstance(type, lt.DateType):
        return lambda one, other: (one - other) * DAY_MILLIS
    if isinstance(type, lt.TimeType):
        return lambda one, other: one - other
    return lambda one, other: one // MILLI_NANOS - other // MILLI_NANOS


def mover(point: LogicalType, interval: LogicalType) -> Callable[[Any, int], Any]:
    """Moves points in time of this type by intervals of that type."""
    if isinstance(interval, lt.YearMonthIntervalType):
        if isinstance(point, lt.DateType):
            return plus_months
        if isinstance(point, lt.TimeType):
            return lambda millis, _months: millis
        return _timestamp_plus_months
    if isinstance(point, lt.DateType):
        return lambda days, millis: days + _whole_days(millis)
    if isinstance(point, lt.TimeType):
        return lambda time, millis: (time + millis) % DAY_MILLIS
    return lambda nanos, millis: nanos + millis * MILLI_NANOS


def _whole_days(millis: int) -> int:
    return millis // DAY_MILLIS if millis >= 0 else -(-millis // DAY_MILLIS)


def _timestamp_plus_months(nanos: int, months: int) -> int:
    days, rest = divmod(nanos, DAY_NANOS)
    return plus_months(days, months) * DAY_NANOS + rest
