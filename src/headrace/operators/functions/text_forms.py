"""What CAST(value AS STRING) writes for each type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType
from headrace.operators.functions import bitmaps, dates, numbers
from headrace.operators.functions.session import time_zone, wall_of, zone_of

Writer = Callable[[Any], str]


def writer(type: LogicalType, *, printing: bool = False) -> Writer:
    """The function that writes values of this type that are not NULL.

    `printing`: for a person to read, who is shown bytes as digits.
    """
    if printing and isinstance(type, lt.BINARIES):
        return _digits
    simple = _SIMPLE.get(type.__class__)
    if simple is not None:
        return simple
    if isinstance(type, lt.TimeType):
        precision = type.precision
        return lambda millis: dates.time_text(millis, precision)
    if isinstance(type, lt.TimestampType):
        digits = type.precision
        return lambda nanos: dates.timestamp_text(nanos, digits)
    if isinstance(type, lt.LocalZonedTimestampType):
        fraction, zone = type.precision, zone_of(time_zone())
        return lambda nanos: dates.timestamp_text(wall_of(nanos, zone), fraction)
    return _constructed(type, printing)


def _constructed(type: LogicalType, printing: bool) -> Writer:
    if isinstance(type, lt.ArrayType):
        element = _nullable(type.element, printing)
        return lambda array: f"[{', '.join(map(element, array))}]"
    if isinstance(type, lt.MapType):
        key, value = _nullable(type.key, printing), _nullable(type.value, printing)
        return lambda pairs: f"{{{', '.join(f'{key(k)}={value(v)}' for k, v in pairs.items())}}}"
    if isinstance(type, lt.MultisetType):
        member = _nullable(type.element, printing)
        return lambda counts: f"{{{', '.join(f'{member(k)}={n}' for k, n in counts.items())}}}"
    if isinstance(type, lt.RowType):
        fields = [_nullable(part, printing) for part in type.types]
        return lambda row: (
            f"({', '.join(field(part) for field, part in zip(fields, row, strict=True))})"
        )
    return str


def _nullable(type: LogicalType, printing: bool) -> Writer:
    write = writer(type, printing=printing)
    return lambda value: "NULL" if value is None else write(value)


def _boolean(value: bool) -> str:
    return "TRUE" if value else "FALSE"


def _binary(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _digits(value: bytes) -> str:
    return f"x'{value.hex()}'"


def _decimal(value: Any) -> str:
    return f"{value:f}"


_SIMPLE: dict[type[LogicalType], Writer] = {
    lt.BooleanType: _boolean,
    lt.CharType: str,
    lt.VarCharType: str,
    lt.BinaryType: _binary,
    lt.VarBinaryType: _binary,
    lt.TinyIntType: str,
    lt.SmallIntType: str,
    lt.IntType: str,
    lt.BigIntType: str,
    lt.FloatType: numbers.float_text,
    lt.DoubleType: numbers.double_text,
    lt.DecimalType: _decimal,
    lt.DateType: dates.date_text,
    lt.YearMonthIntervalType: dates.months_text,
    lt.DayTimeIntervalType: dates.millis_text,
    lt.BitmapType: bitmaps.to_text,
}
