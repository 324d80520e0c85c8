"""Python values as literals, with the types that Flink gives them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.expressions import Expression, Literal
from headrace.errors import InvalidQuery

_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_INT_LIMIT = 2**31


def literal(value: Any, at: object | None = None) -> Expression:
    """A Python value as a typed constant."""
    internal, type = typed(value, at)
    return Literal(type, internal)


def typed(value: Any, at: object | None = None) -> tuple[Any, lt.LogicalType]:
    """The value in internal form, and its type."""
    if value is None:
        return None, lt.NULL
    for kind, convert in _CONVERSIONS:
        if isinstance(value, kind):
            internal, type = convert(value)
            return internal, type.not_null()
    if isinstance(value, Mapping):
        return _map(value, at)
    if isinstance(value, Sequence | set | frozenset):
        return _array(list(value), at)
    raise InvalidQuery(
        f"a {type_name(value)} cannot be a literal", origin=at,
        hint="literals are numbers, text, bytes, booleans, dates, times, lists and maps",
    )  # fmt: skip


def type_name(value: Any) -> str:
    return type(value).__name__


def _integer(value: int) -> tuple[int, lt.LogicalType]:
    if -_INT_LIMIT <= value < _INT_LIMIT:
        return value, lt.INT
    return value, lt.BIGINT


def _decimal(value: Decimal) -> tuple[Decimal, lt.LogicalType]:
    _sign, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    precision = max(len(digits) + max(0, int(exponent)), scale, 1)
    return value, lt.DecimalType(precision, scale)


def _timestamp(value: dt.datetime) -> tuple[int, lt.LogicalType]:
    precision = 6 if value.microsecond % 1000 else 3
    if value.tzinfo is not None:
        wall = value.astimezone(dt.UTC).replace(tzinfo=None)
        return (wall - _EPOCH) // _MICROSECOND * 1000, lt.LocalZonedTimestampType(precision)
    return (value - _EPOCH) // _MICROSECOND * 1000, lt.TimestampType(precision)


def _time(value: dt.time) -> tuple[int, lt.LogicalType]:
    seconds = value.hour * 3600 + value.minute * 60 + value.second
    return seconds * 1000 + value.microsecond // 1000, lt.TimeType(3 if value.microsecond else 0)


def _interval(value: dt.timedelta) -> tuple[int, lt.LogicalType]:
    return value // dt.timedelta(milliseconds=1), lt.DayTimeIntervalType("DAY(9) TO SECOND(3)")


def _date(value: dt.date) -> tuple[int, lt.LogicalType]:
    return value.toordinal() - _EPOCH.toordinal(), lt.DATE


# In this order: a bool is an int, a datetime is a date.
_CONVERSIONS: tuple[tuple[type, Any], ...] = (
    (bool, lambda value: (value, lt.BOOLEAN)),
    (int, _integer),
    (float, lambda value: (value, lt.DOUBLE)),
    (Decimal, _decimal),
    (str, lambda value: (value, lt.CharType(max(1, len(value))))),
    (bytes, lambda value: (value, lt.BinaryType(max(1, len(value))))),
    (bytearray, lambda value: (bytes(value), lt.BinaryType(max(1, len(value))))),
    (dt.datetime, _timestamp),
    (dt.date, _date),
    (dt.time, _time),
    (dt.timedelta, _interval),
)


def _array(values: list[Any], at: object | None) -> tuple[Any, lt.LogicalType]:
    pairs = [typed(each, at) for each in values]
    element = _shared([type for _, type in pairs], at)
    return tuple(value for value, _ in pairs), lt.ArrayType(element).not_null()


def _map(values: Mapping[Any, Any], at: object | None) -> tuple[Any, lt.LogicalType]:
    keys = [typed(each, at) for each in values]
    items = [typed(each, at) for each in values.values()]
    kind = lt.MapType(_shared([t for _, t in keys], at), _shared([t for _, t in items], at))
    pairs = zip(keys, items, strict=True)
    return {key: item for (key, _), (item, _) in pairs}, kind.not_null()


def _shared(types: list[lt.LogicalType], at: object | None) -> lt.LogicalType:
    from headrace.sql.functions.type_rules import common_type

    if not types:
        return lt.NULL
    shared = common_type(types)
    if shared is None:
        names = ", ".join(dict.fromkeys(map(str, types)))
        raise InvalidQuery(f"the elements of a collection have no common type: {names}", origin=at)
    return shared
