"""Values as programs have them to their internal form; what does not fit its type is refused."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

from headrace.core.logical_types import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from headrace.core.numbers import rescaled, single
from headrace.core.rows import Row
from headrace.core.table_values import EPOCH, EPOCH_DAY, Convert, nullable
from headrace.core.time import Instant
from headrace.errors import TypeMismatch

_BITS: dict[type[LogicalType], int] = {
    TinyIntType: 8,
    SmallIntType: 16,
    IntType: 32,
    BigIntType: 64,
}
_NANOS = 1_000_000_000
_MILLISECOND = datetime.timedelta(milliseconds=1)
_MICROSECOND = datetime.timedelta(microseconds=1)


@dataclass(frozen=True)
class Giver:
    """Where values come from, which decides about what their type leaves open."""

    rounding: str
    """What becomes of digits that a DECIMAL does not have."""
    in_utc: bool
    """Whether a time with a zone becomes, as a TIMESTAMP, that of UTC; otherwise it loses its
    zone."""


ELEMENTS = Giver(ROUND_HALF_UP, True)
"""A program's elements and records of its streams."""
RESULTS = Giver(ROUND_HALF_EVEN, False)
"""Functions of the user."""


def from_python(type: LogicalType, giver: Giver = ELEMENTS) -> Convert | None:
    """From a value that is not None, as programs have it, to its internal form."""
    bits = _BITS.get(type.__class__)
    if bits is not None:
        return _whole(type, bits)
    convert = _converter(type, giver)
    return convert if convert is None or _has_parts(type) else _refusing(type, convert)


def _has_parts(type: LogicalType) -> bool:
    return isinstance(type, ArrayType | MapType | MultisetType | RowType)


def _refusing(type: LogicalType, convert: Convert) -> Convert:
    def converted(value: Any) -> Any:
        try:
            return convert(value)
        except (TypeError, ValueError, ArithmeticError, AttributeError):
            raise wrong_value(value, type) from None

    return converted


def wrong_value(value: Any, type: LogicalType) -> TypeMismatch:
    return TypeMismatch(
        f"{value!r:.120} is no {type.name()}",
        hint="Give a value of the type that is declared, or declare another one.",
    )


def _whole(type: LogicalType, bits: int) -> Convert:
    limit = 1 << (bits - 1)

    def whole(value: Any) -> int:
        number = value if value.__class__ is int else _integer(value, type)
        if -limit <= number < limit:
            return number
        raise wrong_value(value, type)

    return whole


def _integer(value: Any, type: LogicalType) -> int:
    """Of a number with a fraction its whole part; text is no number."""
    if isinstance(value, str | bytes | bytearray):
        raise wrong_value(value, type)
    try:
        return int(value)
    except (TypeError, ValueError, ArithmeticError):
        raise wrong_value(value, type) from None


def _converter(type: LogicalType, giver: Giver) -> Convert | None:
    match type:
        case CharType() | VarCharType():
            return _text
        case DateType():
            return _days
        case TimeType():
            return _milliseconds_of_day
        case TimestampType(precision=digits):
            return _nanoseconds(10 ** (9 - digits), giver.in_utc)
        case LocalZonedTimestampType(precision=digits):
            return _nanoseconds(10 ** (9 - digits), True)
        case DayTimeIntervalType():
            return lambda value: value // _MILLISECOND
        case FloatType():
            return lambda value: single(_number(value))
        case DoubleType():
            return _number
        case BooleanType():
            return lambda value: value if value.__class__ is bool else bool(_integer(value, type))
        case DecimalType(precision=precision, scale=scale):
            return _decimal(precision, scale, giver.rounding)
        case BinaryType() | VarBinaryType():
            return _bytes
    return _converter_of_parts(type, giver)


def _converter_of_parts(type: LogicalType, giver: Giver) -> Convert | None:
    match type:
        case ArrayType(element=element):
            return _tuple_with(nullable(from_python(element, giver)))
        case MapType(key=key, value=value):
            names = nullable(from_python(key, giver))
            return _dict_with(names, nullable(from_python(value, giver)))
        case MultisetType(element=element):
            return _dict_with(nullable(from_python(element, giver)), lambda count: count)
        case RowType():
            return _row_with(type, giver)
    return None


def _decimal(precision: int, scale: int, rounding: str) -> Convert:
    limit = 10 ** (precision - scale)

    def decimal(value: Any) -> Decimal:
        number = rescaled(Decimal(str(value)), scale, rounding)
        if number.copy_abs() >= limit:
            raise ValueError  # it has more digits than the type
        return number

    return decimal


def _tuple_with(part: Convert) -> Convert:
    return lambda values: tuple(part(value) for value in values)


def _dict_with(key: Convert, value: Convert) -> Convert:
    return lambda pairs: {key(name): value(inner) for name, inner in pairs.items()}


def _row_with(type: RowType, giver: Giver) -> Convert:
    names = type.names
    parts = [nullable(from_python(field.type, giver)) for field in type.fields]

    def row(value: Any) -> tuple[Any, ...]:
        if isinstance(value, dict):
            value = [value.get(name) for name in names]
        elif isinstance(value, Row):
            value = value.get_fields_by_names(names)  # a row with names goes by them
        elif not isinstance(value, tuple | list) and hasattr(value, "__dict__"):
            value = [getattr(value, name, None) for name in names]
        if len(value) != len(parts):
            raise wrong_value(value, type)
        return tuple(part(item) for part, item in zip(parts, value, strict=True))

    return row


def _text(value: Any) -> str:
    if value.__class__ is str:
        return value
    if isinstance(value, str):
        return str(value)
    raise TypeError


def _number(value: Any) -> float:
    if isinstance(value, str):
        raise TypeError  # float() would read the text
    return float(value)


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview | list | tuple):
        return bytes(value)
    raise TypeError


def _days(value: Any) -> int:
    return int(value.toordinal()) - EPOCH_DAY


def _milliseconds_of_day(value: Any) -> int:
    seconds = value.hour * 3600 + value.minute * 60 + value.second
    return int(seconds * 1000 + value.microsecond // 1000)


def _nanoseconds(unit: int, in_utc: bool) -> Callable[[Any], int]:
    """In whole units: what is finer than the type's digits is cut off."""

    def nanoseconds(value: Any) -> int:
        if isinstance(value, Instant):
            return (value.seconds * _NANOS + value.nanos) // unit * unit
        if not isinstance(value, datetime.datetime):
            value = datetime.datetime.combine(value, datetime.time())
        if value.tzinfo is not None:
            value = (value.astimezone(datetime.UTC) if in_utc else value).replace(tzinfo=None)
        return int((value - EPOCH) // _MICROSECOND) * 1000 // unit * unit

    return nanoseconds
