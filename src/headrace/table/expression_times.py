"""Expressions: dates, times and intervals."""

from __future__ import annotations

from enum import Enum
from typing import Any, Self

from headrace.core import logical_types as lt
from headrace.sql import unresolved as un
from headrace.table.expression_base import Derived, ExpressionBase

_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_MILLIS = {"MILLI": 1, "SECOND": 1000, "MINUTE": 60_000, "HOUR": 3_600_000, "DAY": 86_400_000,
           "WEEK": 604_800_000}  # fmt: skip
_BY_MONTHS = lt.YearMonthIntervalType("MONTH", nullable=False)
_BY_MILLIS = lt.DayTimeIntervalType("SECOND(3)", nullable=False)


class TimeIntervalUnit(Enum):
    """Units that times can be taken apart and rounded by."""

    YEAR = 0
    YEAR_TO_MONTH = 1
    QUARTER = 2
    MONTH = 3
    WEEK = 4
    DAY = 5
    DAY_TO_HOUR = 6
    DAY_TO_MINUTE = 7
    DAY_TO_SECOND = 8
    HOUR = 9
    SECOND = 10
    HOUR_TO_MINUTE = 11
    HOUR_TO_SECOND = 12
    MINUTE = 13
    MINUTE_TO_SECOND = 14


class TimePointUnit(Enum):
    """Units that the difference of two times is counted in."""

    YEAR = 0
    MONTH = 1
    DAY = 2
    HOUR = 3
    MINUTE = 4
    SECOND = 5
    QUARTER = 6
    WEEK = 7
    MILLISECOND = 8
    MICROSECOND = 9


def _interval(unit: str) -> Any:
    """A property that makes a number an interval of that many units."""
    size, type = (_MONTHS[unit], _BY_MONTHS) if unit in _MONTHS else (_MILLIS[unit], _BY_MILLIS)

    def interval(expression: ExpressionBase) -> Any:
        node = expression.node
        if isinstance(node, un.Value) and type_is_number(node):
            return expression._made(un.Value(int(node.value * size), type))
        one = un.Value(size, type)
        return expression._made(un.Apply("TIMES", (one, node)))

    return interval


def type_is_number(node: un.Value) -> bool:
    return isinstance(node.value, int | float) and not isinstance(node.value, bool)


class TimeExpressions(ExpressionBase):
    """Functions of times, and intervals made of numbers."""

    to_date: Derived[Self] = Derived(
        lambda e: e._made(un.CastTo(e.node, lt.DATE)), "A text such as 2020-01-31 as a date."
    )
    to_time: Derived[Self] = Derived(
        lambda e: e._made(un.CastTo(e.node, lt.TimeType(0))), "A text such as 12:30:00 as a time."
    )
    to_timestamp: Derived[Self] = Derived(
        lambda e: e._made(un.CastTo(e.node, lt.TimestampType(3))), "A text as a timestamp."
    )

    def extract(self, time_interval_unit: TimeIntervalUnit) -> Self:
        """A part of a time, such as its hour."""
        return self._before("EXTRACT", time_interval_unit)

    def floor(self, time_interval_unit: TimeIntervalUnit | None = None) -> Self:
        """The largest whole number, or start of a unit of time, that is not above it."""
        if time_interval_unit is None:
            return self._apply("FLOOR")
        return self._apply("FLOOR_TO", time_interval_unit)

    def ceil(self, time_interval_unit: TimeIntervalUnit | None = None) -> Self:
        """The smallest whole number, or start of a unit of time, that is not below it."""
        if time_interval_unit is None:
            return self._apply("CEIL")
        return self._apply("CEIL_TO", time_interval_unit)

    year: Derived[Self] = Derived(_interval("YEAR"), "An interval of that many years.")
    years: Derived[Self] = Derived(_interval("YEAR"), "An interval of that many years.")
    quarter: Derived[Self] = Derived(_interval("QUARTER"), "An interval of that many quarters.")
    quarters: Derived[Self] = Derived(_interval("QUARTER"), "An interval of that many quarters.")
    month: Derived[Self] = Derived(_interval("MONTH"), "An interval of that many months.")
    months: Derived[Self] = Derived(_interval("MONTH"), "An interval of that many months.")
    week: Derived[Self] = Derived(_interval("WEEK"), "An interval of that many weeks.")
    weeks: Derived[Self] = Derived(_interval("WEEK"), "An interval of that many weeks.")
    day: Derived[Self] = Derived(_interval("DAY"), "An interval of that many days.")
    days: Derived[Self] = Derived(_interval("DAY"), "An interval of that many days.")
    hour: Derived[Self] = Derived(_interval("HOUR"), "An interval of that many hours.")
    hours: Derived[Self] = Derived(_interval("HOUR"), "An interval of that many hours.")
    minute: Derived[Self] = Derived(_interval("MINUTE"), "An interval of that many minutes.")
    minutes: Derived[Self] = Derived(_interval("MINUTE"), "An interval of that many minutes.")
    second: Derived[Self] = Derived(_interval("SECOND"), "An interval of that many seconds.")
    seconds: Derived[Self] = Derived(_interval("SECOND"), "An interval of that many seconds.")
    milli: Derived[Self] = Derived(_interval("MILLI"), "An interval of that many milliseconds.")
    millis: Derived[Self] = Derived(_interval("MILLI"), "An interval of that many milliseconds.")

    # Of a group window by its alias.

    start: Derived[Self] = Derived("WINDOW_START", "When a window starts.")
    end: Derived[Self] = Derived("WINDOW_END", "When a window ends.")
    rowtime: Derived[Self] = Derived(
        "WINDOW_ROWTIME", "The event time of a window's result; of a stream's records, theirs."
    )
    proctime: Derived[Self] = Derived("WINDOW_PROCTIME", "The processing time.")
