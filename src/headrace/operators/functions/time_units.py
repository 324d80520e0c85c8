"""Units of time: EXTRACT, FLOOR and CEIL to a unit, TIMESTAMPADD and TIMESTAMPDIFF."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType
from headrace.operators.functions.dates import (
    DAY_MILLIS,
    DAY_NANOS,
    MILLI_NANOS,
    SECOND_NANOS,
    civil,
    days_of,
    plus_months,
)
from headrace.operators.functions.numbers import wrapped
from headrace.operators.functions.session import instant_of, time_zone, wall_of, zone_of

Part = Callable[[int], int]

CLOCK_UNITS = {
    "NANOSECOND": 1,
    "MICROSECOND": 1000,
    "MILLISECOND": MILLI_NANOS,
    "SECOND": SECOND_NANOS,
    "MINUTE": 60 * SECOND_NANOS,
    "HOUR": 3600 * SECOND_NANOS,
}
"""Units of the clock in nanoseconds."""
_FIXED_UNITS = {**CLOCK_UNITS, "DAY": DAY_NANOS, "WEEK": 7 * DAY_NANOS}
_MONTH_UNITS = {
    "MONTH": 1, "QUARTER": 3, "YEAR": 12, "DECADE": 120, "CENTURY": 1200, "MILLENNIUM": 12000,
}  # fmt: skip
_LONG_UNITS = ("DECADE", "CENTURY", "MILLENNIUM")


def _weekday(days: int) -> int:
    """1 for Sunday to 7 for Saturday."""
    return (days + 4) % 7 + 1


def _week(days: int) -> int:
    return _iso(days)[1]


def _iso(days: int) -> tuple[int, int, int]:
    year, month, day = civil(days)
    found = date(year, month, day).isocalendar()
    return found.year, found.week, found.weekday


DATE_PARTS: dict[str, Part] = {
    "DAY": lambda days: civil(days)[2],
    "WEEK": _week,
    "MONTH": lambda days: civil(days)[1],
    "QUARTER": lambda days: (civil(days)[1] + 2) // 3,
    "YEAR": lambda days: civil(days)[0],
    "DECADE": lambda days: civil(days)[0] // 10,
    "CENTURY": lambda days: (civil(days)[0] + 99) // 100,
    "MILLENNIUM": lambda days: (civil(days)[0] + 999) // 1000,
    "DOW": _weekday,
    "ISODOW": lambda days: _iso(days)[2],
    "DOY": lambda days: days - days_of(civil(days)[0], 1, 1) + 1,
    "ISOYEAR": lambda days: _iso(days)[0],
}
"""Parts of a date by the unit's name."""

_CLOCK_SPAN = {
    "NANOSECOND": SECOND_NANOS, "MICROSECOND": SECOND_NANOS, "MILLISECOND": SECOND_NANOS,
    "SECOND": 60 * SECOND_NANOS, "MINUTE": 3600 * SECOND_NANOS, "HOUR": DAY_NANOS,
}  # fmt: skip


def _clock_part(unit: str) -> Part:
    span, size = _CLOCK_SPAN[unit], CLOCK_UNITS[unit]
    return lambda nanos: nanos % span // size


_CLOCK_PARTS = {unit: _clock_part(unit) for unit in CLOCK_UNITS}


def part_of(type: LogicalType) -> Callable[[str, int], int]:
    """EXTRACT for values of this type."""
    if isinstance(type, lt.YearMonthIntervalType):
        return _months_part
    if isinstance(type, lt.DayTimeIntervalType):
        return _millis_part
    if isinstance(type, lt.DateType):
        return _date_part
    if isinstance(type, lt.TimeType):
        return lambda unit, millis: _wall_part(unit, millis * MILLI_NANOS)
    if isinstance(type, lt.LocalZonedTimestampType):
        zone = zone_of(time_zone())
        return lambda unit, nanos: (
            nanos // SECOND_NANOS if unit == "EPOCH" else _wall_part(unit, wall_of(nanos, zone))
        )
    return _wall_part


def extract(types: Sequence[LogicalType], _result: LogicalType) -> Callable[[str, int], int]:
    return part_of(types[1])


def _wall_part(unit: str, nanos: int) -> int:
    clock = _CLOCK_PARTS.get(unit)
    if clock is not None:
        return clock(nanos)
    return nanos // SECOND_NANOS if unit == "EPOCH" else DATE_PARTS[unit](nanos // DAY_NANOS)


def _date_part(unit: str, days: int) -> int:
    if unit in CLOCK_UNITS:
        return 0
    return days * 86_400 if unit == "EPOCH" else DATE_PARTS[unit](days)


def _months_part(unit: str, months: int) -> int:
    sign, size = (-1, -months) if months < 0 else (1, months)
    return sign * {"MONTH": size % 12, "QUARTER": size % 12 // 3 + 1}.get(
        unit, size // _MONTH_UNITS.get(unit, 12)
    )


def _millis_part(unit: str, millis: int) -> int:
    sign, nanos = (-1, -millis) if millis < 0 else (1, millis)
    nanos *= MILLI_NANOS
    if unit in _CLOCK_PARTS:
        return sign * _CLOCK_PARTS[unit](nanos)
    return sign * (nanos // SECOND_NANOS if unit == "EPOCH" else nanos // DAY_NANOS)


def _floor_days(days: int, unit: str) -> int:
    if unit in CLOCK_UNITS or unit == "DAY":
        return days
    if unit == "WEEK":
        return days - (_weekday(days) - 1)
    year, month, _day = civil(days)
    if unit == "MONTH":
        return days_of(year, month, 1)
    if unit == "QUARTER":
        return days_of(year, (month - 1) // 3 * 3 + 1, 1)
    if unit == "DECADE":
        return days_of(year // 10 * 10, 1, 1)
    span = _MONTH_UNITS[unit] // 12
    first = year if span == 1 else (year - 1) // span * span + 1
    return days_of(first, 1, 1)


def _ceil_days(days: int, unit: str) -> int:
    if unit in CLOCK_UNITS:
        return days
    if unit == "DAY":
        return days + 1  # what Flink does with dates, though not with timestamps
    return _next_days(days, unit)


def _next_days(days: int, unit: str) -> int:
    """The first day of a unit that is not before, as Flink finds it: the first day of a quarter
    counts only if it is that of a year, and that of ten years or more does not count."""
    start = _floor_days(days, unit)
    counts = unit not in _LONG_UNITS and (unit != "QUARTER" or civil(days)[1] == 1)
    if start == days and counts:
        return days
    return start + 7 if unit == "WEEK" else plus_months(start, _MONTH_UNITS[unit])


def _floor_nanos(nanos: int, unit: str) -> int:
    size = _FIXED_UNITS.get(unit)
    if size is not None and unit != "WEEK":
        return nanos - nanos % size
    return _floor_days(nanos // DAY_NANOS, unit) * DAY_NANOS


def _ceil_nanos(nanos: int, unit: str) -> int:
    size = _FIXED_UNITS.get(unit)
    if size is not None and unit != "WEEK":
        return -(-nanos // size) * size
    # What the clock says on the first day does not count.
    return _next_days(nanos // DAY_NANOS, unit) * DAY_NANOS


def rounded(up: bool) -> Callable[..., Callable[[int, str], int]]:
    """FLOOR and CEIL of a point in time to a unit."""
    days_to, nanos_to = (_ceil_days, _ceil_nanos) if up else (_floor_days, _floor_nanos)

    def choose(types: Sequence[LogicalType], _result: LogicalType) -> Callable[[int, str], int]:
        type = types[0]
        if isinstance(type, lt.DateType):
            return days_to
        if isinstance(type, lt.TimeType):
            return lambda millis, unit: nanos_to(millis * MILLI_NANOS, unit) // MILLI_NANOS
        if isinstance(type, lt.LocalZonedTimestampType):
            zone = zone_of(time_zone())
            return lambda nanos, unit: instant_of(nanos_to(wall_of(nanos, zone), unit), zone)
        return nanos_to

    return choose


floor_to, ceil_to = rounded(False), rounded(True)


def timestamp_add(
    types: Sequence[LogicalType], result: LogicalType
) -> Callable[[str, int, int], int]:
    """TIMESTAMPADD(unit, count, point in time)."""
    point = types[2]
    if isinstance(point, lt.DateType) and isinstance(result, lt.TimestampType):
        return lambda unit, count, days: days * DAY_NANOS + count * _FIXED_UNITS[unit]
    if isinstance(point, lt.DateType):
        return _add_to_days
    if isinstance(point, lt.TimeType):
        return lambda unit, count, millis: (
            (millis + count * _FIXED_UNITS[unit] // MILLI_NANOS) % DAY_MILLIS
        )
    return _add_to_nanos


def _add_to_days(unit: str, count: int, days: int) -> int:
    if unit in _MONTH_UNITS:
        return plus_months(days, count * _MONTH_UNITS[unit])
    return days + count * _FIXED_UNITS[unit] // DAY_NANOS


def _add_to_nanos(unit: str, count: int, nanos: int) -> int:
    if unit in _MONTH_UNITS:
        days, rest = divmod(nanos, DAY_NANOS)
        return plus_months(days, count * _MONTH_UNITS[unit]) * DAY_NANOS + rest
    return nanos + count * _FIXED_UNITS[unit]


def timestamp_diff(
    types: Sequence[LogicalType], _result: LogicalType
) -> Callable[[str, Any, Any], int]:
    """TIMESTAMPDIFF(unit, from, to): whole units, towards zero; an INT that may overflow."""
    sizes = [
        DAY_NANOS
        if isinstance(type, lt.DateType)
        else MILLI_NANOS
        if isinstance(type, lt.TimeType)
        else 1
        for type in types[1:]
    ]

    def difference(unit: str, start: int, end: int) -> int:
        first, second = start * sizes[0], end * sizes[1]
        if unit in _MONTH_UNITS:
            return _towards_zero(_months_between(first, second), _MONTH_UNITS[unit])
        return wrapped(_towards_zero(second - first, _FIXED_UNITS[unit]), 32)

    return difference


def _towards_zero(value: int, by: int) -> int:
    return value // by if value >= 0 else -(-value // by)


def _months_between(start: int, end: int) -> int:
    """Whole months by the calendar; the clock only counts where the days are a month apart."""
    first_day, first_rest = divmod(start, DAY_NANOS)
    last_day, last_rest = divmod(end, DAY_NANOS)
    months = _months_of_days(first_day, last_day)
    if plus_months(first_day, months) == last_day and last_rest < first_rest:
        months -= 1
    return months


def _months_of_days(start: int, end: int) -> int:
    if end < start:
        return -_months_of_days(end, start)
    one, other = civil(start), civil(end)
    months = (other[0] - one[0]) * 12 + other[1] - one[1]
    return months - 1 if plus_months(start, months) > end else months
