"""Single values as text: reading them by their type."""

from __future__ import annotations

import base64
import datetime
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from headrace.core.basic_types import BasicType, BasicTypeInfo
from headrace.core.time import Instant
from headrace.core.types import (
    DateTypeInfo,
    InstantTypeInfo,
    LocalTimeTypeInfo,
    PrimitiveArrayTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
    Types,
)
from headrace.core.user_code import shown
from headrace.errors import Unsupported
from headrace.origin import calling_origin

__all__ = ["TextReader", "Unreadable", "element_type", "is_bytes", "text_reader"]

TextReader = Callable[[str], Any]

_INTEGER = re.compile(r"[+-]?[0-9]+")
_EPOCH = datetime.datetime(1970, 1, 1)


class Unreadable(ValueError):
    """A value that is not what its type says; the message has no place, the caller adds it."""

    def __init__(self, value: Any, expected: str):
        super().__init__(f"{shown(value)} is not {expected}")


def text_reader(type_info: TypeInformation) -> TextReader:
    """A function from text to a value of the type; it raises Unreadable."""
    if isinstance(type_info, InstantTypeInfo):
        return _instant
    if isinstance(type_info, BasicTypeInfo):
        bounds = type_info.bounds()
        if bounds is not None:
            return _integer_reader(type_info.label(), *bounds)
        if type_info.basic_type in _BASIC:
            return _BASIC[type_info.basic_type]
    if is_bytes(type_info):
        return _bytes
    if isinstance(type_info, LocalTimeTypeInfo):
        return _LOCAL[type_info.label()]
    reader = _TEMPORAL.get(type(type_info))
    if reader is None:
        raise Unsupported(
            f"a text cannot be read as {type_info!r}",
            origin=calling_origin(),
            hint="Read the field as Types.STRING() and convert it in a map().",
        )
    return reader


def is_bytes(type_info: TypeInformation) -> bool:
    return isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.element_type == Types.BYTE()


def element_type(type_info: TypeInformation) -> TypeInformation | None:
    """What a list or array holds; None for any other type, and for bytes."""
    if is_bytes(type_info):
        return None
    found = getattr(type_info, "elem_type", None) or getattr(type_info, "element_type", None)
    return found if isinstance(found, TypeInformation) else None


def _integer_reader(label: str, lowest: int, highest: int) -> TextReader:
    def integer(text: str) -> int:
        number = _big_integer(text)
        if not lowest <= number <= highest:
            raise Unreadable(text, f"within the bounds of {label}")
        return number

    return integer


def _big_integer(text: str) -> int:
    # int() would also take 1_000 and the digits of other scripts.
    if _INTEGER.fullmatch(stripped := text.strip()) is None:
        raise Unreadable(text, "a whole number")
    return int(stripped)


def _double(text: str) -> float:
    try:
        if "_" in text:
            raise ValueError
        return float(text)
    except ValueError:
        raise Unreadable(text, "a number") from None


def _decimal(text: str) -> Decimal:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise Unreadable(text, "a decimal number")
    return number


def _boolean(text: str) -> bool:
    # Flink takes whatever is not "true" for false; a typing error should not become data.
    lower = text.strip().lower()
    if lower not in ("true", "false"):
        raise Unreadable(text, "true or false")
    return lower == "true"


def _char(text: str) -> str:
    if len(text) != 1:
        raise Unreadable(text, "a single character")
    return text


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise Unreadable(text, "base64 text") from None


def _instant(text: str) -> Instant:
    moment = _timestamp(text)
    since = moment - _EPOCH
    return Instant(since.days * 86_400 + since.seconds, since.microseconds * 1000)


def _date(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text.strip())
    except ValueError:
        raise Unreadable(text, "a date like 2024-01-31") from None


def _time(text: str) -> datetime.time:
    try:
        return datetime.time.fromisoformat(text.strip()).replace(tzinfo=None)
    except ValueError:
        raise Unreadable(text, "a time like 23:59:59") from None


def _timestamp(text: str) -> datetime.datetime:
    try:
        moment = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        raise Unreadable(text, "a timestamp like 2024-01-31 23:59:59.5") from None
    if moment.tzinfo is not None:
        moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
    return moment


_BASIC: dict[BasicType, TextReader] = {
    BasicType.STRING: str,
    BasicType.BOOLEAN: _boolean,
    BasicType.FLOAT: _double,
    BasicType.DOUBLE: _double,
    BasicType.CHAR: _char,
    BasicType.BIG_INT: _big_integer,
    BasicType.BIG_DEC: _decimal,
}
_TEMPORAL: dict[type, TextReader] = {
    DateTypeInfo: _date,
    TimeTypeInfo: _time,
    TimestampTypeInfo: _timestamp,
}
_LOCAL: dict[str, TextReader] = {
    "LOCAL_DATE": _date,
    "LOCAL_TIME": _time,
    "LOCAL_DATE_TIME": _timestamp,
}
