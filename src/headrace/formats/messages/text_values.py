"""Texts to values in internal form, as the messages of csv and json have them."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from headrace.core.logical_types import (
    APPROXIMATE,
    BINARIES,
    CHARACTERS,
    INTEGERS,
    BooleanType,
    DateType,
    DecimalType,
    FloatType,
    LocalZonedTimestampType,
    LogicalType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
)
from headrace.core.logical_types import IntType as Int32Type
from headrace.core.numbers import rescaled, single
from headrace.core.user_code import shown
from headrace.errors import Unsupported
from headrace.formats.messages.message_format import BadMessage
from headrace.operators.functions.dates import cut, days_of, month_days

__all__ = [
    "ReadText",
    "fit_decimal",
    "fit_integer",
    "integer_bounds",
    "no_value",
    "read_timestamp",
    "text_reader",
]

ReadText = Callable[[str], Any]

_BITS: dict[type[LogicalType], int] = {TinyIntType: 7, SmallIntType: 15, Int32Type: 31}
_WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)
_DATE = re.compile(r"([0-9]{4,9})-([0-9]{1,2})-([0-9]{1,2})", re.ASCII)
_CLOCK = r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
_TIME = re.compile(_CLOCK + "Z?", re.ASCII)
_MOMENT = re.compile(rf"(\S+?)[T ]{_CLOCK}(Z|[+-][0-9]{{2}}:?[0-9]{{2}})?", re.ASCII)
_SECOND = 1_000_000_000


def no_value(value: Any, type: LogicalType) -> BadMessage:
    """A value that its column cannot hold."""
    return BadMessage(f"{shown(value)} is no {type.with_nullable(True)}")


def integer_bounds(type: LogicalType) -> tuple[int, int]:
    """The smallest and the largest integer of the type."""
    bound = 1 << next((bits for kind, bits in _BITS.items() if isinstance(type, kind)), 63)
    return -bound, bound - 1


def fit_integer(type: LogicalType) -> Callable[[int], int]:
    """Refuses what is out of the type's bounds."""
    lowest, highest = integer_bounds(type)

    def fit(value: int) -> int:
        if lowest <= value <= highest:
            return value
        raise no_value(value, type)

    return fit


def fit_decimal(type: DecimalType) -> Callable[[Decimal], Decimal]:
    """Rounds to the type's scale, refuses what has too many digits."""
    limit = Decimal(10) ** (type.precision - type.scale)

    def fit(value: Decimal) -> Decimal:
        if value.is_finite() and value.adjusted() <= type.precision:
            rounded = rescaled(value, type.scale)
            if abs(rounded) < limit:
                return rounded
        raise no_value(str(value), type)

    return fit


def text_reader(type: LogicalType) -> ReadText:
    """From a text to a value without parts; raises BadMessage where the text is none."""
    if isinstance(type, CHARACTERS):
        return str
    if isinstance(type, INTEGERS):
        return _integer(type)
    if isinstance(type, APPROXIMATE):
        return _approximate(type)
    if isinstance(type, BINARIES):
        return _guarded(type, lambda text: base64.b64decode(text, validate=True))
    match type:
        case BooleanType():
            return lambda text: text.strip().lower() == "true"  # as Java reads it
        case DecimalType():
            fit = fit_decimal(type)
            return _guarded(type, lambda text: fit(Decimal(text.strip())))
        case DateType():
            return _guarded(type, lambda text: _days(text.strip()))
        case TimeType():
            return _guarded(type, lambda text: _clock(_TIME, text) // 1_000_000)
        case TimestampType() | LocalZonedTimestampType():
            zoned = isinstance(type, LocalZonedTimestampType)
            precision = type.precision
            return _guarded(type, lambda text: cut(read_timestamp(text, zoned=zoned), precision))
    raise Unsupported(f"a text cannot be read as {type}", hint="Use a type that has a text.")


def _guarded(type: LogicalType, read: ReadText) -> ReadText:
    def guarded(text: str) -> Any:
        try:
            return read(text)
        except (ValueError, InvalidOperation, OverflowError):
            raise no_value(text, type) from None

    return guarded


def _integer(type: LogicalType) -> ReadText:
    fit = fit_integer(type)

    def integer(text: str) -> int:
        if _WHOLE.fullmatch(stripped := text.strip()) is None:
            raise no_value(text, type)
        return fit(int(stripped))

    return integer


def _approximate(type: LogicalType) -> ReadText:
    def number(text: str) -> float:
        if "_" in text:
            raise BadMessage(text)
        value = float(text)
        return single(value) if isinstance(type, FloatType) else value

    return _guarded(type, number)


def _days(text: str) -> int:
    match = _DATE.fullmatch(text)
    if match is None:
        raise BadMessage(text)
    year, month, day = map(int, match.groups())
    if not (1 <= month <= 12 and 1 <= day <= month_days(year, month)):
        raise BadMessage(text)
    return days_of(year, month, day)


def _nanos(hours: str, minutes: str, seconds: str | None, fraction: str | None) -> int:
    whole = int(hours) * 3600 + int(minutes) * 60 + int(seconds or 0)
    if int(hours) > 23 or int(minutes) > 59 or int(seconds or 0) > 59:
        raise BadMessage(hours)
    return whole * _SECOND + int((fraction or "").ljust(9, "0"))


def _clock(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.fullmatch(text.strip())
    if match is None:
        raise BadMessage(text)
    return _nanos(*match.groups())


def read_timestamp(text: str, *, zoned: bool) -> int:
    """Nanoseconds since 1970; a moment has a zone behind it, wall-clock time has none.

    Raises ValueError.
    """
    match = _MOMENT.fullmatch(text.strip())
    if match is None or (match[6] is not None) != zoned:
        raise BadMessage(text)
    nanos = _days(match[1]) * 86_400 * _SECOND + _nanos(*match.groups()[1:5])
    return nanos - _offset(match[6]) if zoned else nanos


def _offset(zone: str) -> int:
    if zone == "Z":
        return 0
    digits = zone[1:].replace(":", "")
    ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return (1 if zone[0] == "+" else -1) * int(ahead.total_seconds()) * _SECOND
