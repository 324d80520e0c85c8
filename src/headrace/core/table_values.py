"""Values in internal form to what a Python program sees, back, and as text."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headrace.core.logical_types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
    VarBinaryType,
    YearMonthIntervalType,
)
from headrace.core.numbers import shortest_digits
from headrace.core.printing import java_text
from headrace.core.rows import Row, RowKind, named_row
from headrace.core.table_connector import KIND_TEXTS
from headrace.core.time import Instant
from headrace.core.types import Types

Convert = Callable[[Any], Any]

EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
EPOCH = datetime.datetime(1970, 1, 1)
_UTC = datetime.timezone.utc  # noqa: UP017 (the module's name says where it is from)
_NANOS = 1_000_000_000
_DAY_MS = 86_400_000
_KINDS = tuple(RowKind)


@dataclass(frozen=True)
class View:
    """Who is to see values."""

    named: bool
    """Whether rows have the names of their fields."""
    instant: Convert
    """What a TIMESTAMP_LTZ, in nanoseconds, is there."""
    single: Convert | None = None
    """What a FLOAT is, if not all of its 32 bits are shown."""
    binary: Convert | None = None
    """What bytes are, if not bytes."""


def _instant(nanos: int) -> Instant:
    return Instant(*divmod(nanos, _NANOS))


def _shortest(value: float) -> float:
    return float(shortest_digits(value))


IN_STREAMS = View(True, _instant)
"""Records of a DataStream."""
COLLECTED = View(False, _instant, _shortest, bytearray)
"""Results that a program collects: their schema has the names, a FLOAT has the digits it was
written with, and bytes can be changed."""


def to_python(type: LogicalType, view: View) -> Convert | None:
    """From a value that is not NULL to what users see; None: it is the same."""
    match type:
        case FloatType():
            return view.single
        case BinaryType() | VarBinaryType():
            return view.binary
        case DateType():
            return lambda days: datetime.date.fromordinal(EPOCH_DAY + days)
        case TimeType():
            return _time_of
        case TimestampType():
            return lambda nanos: EPOCH + datetime.timedelta(microseconds=nanos // 1000)
        case LocalZonedTimestampType():
            return view.instant
        case DayTimeIntervalType():
            return lambda millis: datetime.timedelta(milliseconds=millis)
        case ArrayType(element=element):
            return _list_with(nullable(to_python(element, view)))
        case MapType(key=key, value=value):
            return _dict_with(
                nullable(to_python(key, replace(view, binary=None))),  # a key must stay the same
                nullable(to_python(value, view)),
            )
        case MultisetType(element=element):
            bare = replace(view, single=None, binary=None)  # PyFlink shows them as they are kept
            return _dict_with(nullable(to_python(element, bare)), _same)
        case RowType():
            return row_maker(type, view)
    return None


def row_maker(type: RowType, view: View) -> Convert:
    """From a tuple of values (without a kind) to a Row."""
    parts = [nullable(to_python(field.type, view)) for field in type.fields]
    names = type.names if view.named and type.names else None

    def make(values: Sequence[Any]) -> Row:
        return named_row(names, [part(each) for part, each in zip(parts, values, strict=True)])

    return make


def changed_row_maker(type: RowType, view: View) -> Convert:
    """From a tuple of a change's kind and values to a Row of that kind."""
    make = row_maker(type, view)

    def changed(record: Sequence[Any]) -> Row:
        row: Row = make(record[1:])
        row.set_row_kind(_KINDS[record[0]])
        return row

    return changed


def nullable(convert: Convert | None) -> Convert:
    """The same for values that may be NULL."""
    if convert is None:
        return _same
    return lambda value: None if value is None else convert(value)


def _same(value: Any) -> Any:
    return value


def _list_with(part: Convert) -> Convert:
    return lambda values: [part(value) for value in values]


def _tuple_with(part: Convert) -> Convert:
    return lambda values: tuple(part(value) for value in values)


def _dict_with(key: Convert, value: Convert) -> Convert:
    return lambda pairs: {key(name): value(inner) for name, inner in pairs.items()}


def _time_of(millis: int) -> datetime.time:
    return (EPOCH + datetime.timedelta(milliseconds=millis)).time()


def change_text(record: Sequence[Any], types: Sequence[LogicalType]) -> str:
    """A change as Flink prints it, such as `+I[1, Alice]`."""
    parts = ", ".join(text_of(value, type) for value, type in zip(record[1:], types, strict=True))
    return f"{KIND_TEXTS[record[0]]}[{parts}]"


def text_of(value: Any, type: LogicalType) -> str:
    """A value as its Java form writes itself."""
    if value is None:
        return "null"
    match type:
        case BooleanType():
            return "true" if value else "false"
        case FloatType():
            return java_text(value, Types.FLOAT())
        case DoubleType():
            return java_text(value, Types.DOUBLE())
        case DecimalType(scale=scale):
            return f"{value:.{scale}f}"
        case DateType():
            return datetime.date.fromordinal(EPOCH_DAY + value).isoformat()
        case TimeType():
            return clock_text(value * 1_000_000)
        case TimestampType():
            return _date_time_text(value)
        case LocalZonedTimestampType():
            return _instant_text(value)
        case BinaryType() | VarBinaryType():
            signed = (byte - 256 if byte > 127 else byte for byte in value)
            return f"[{', '.join(map(str, signed))}]"
        case DayTimeIntervalType():
            return _duration_text(value)
        case YearMonthIntervalType():
            return _period_text(value)
    return _composite_text(value, type)


def _composite_text(value: Any, type: LogicalType) -> str:
    match type:
        case ArrayType(element=element):
            return f"[{', '.join(text_of(part, element) for part in value)}]"
        case MapType(key=key, value=inner):
            pairs = (f"{text_of(k, key)}={text_of(v, inner)}" for k, v in value.items())
            return f"{{{', '.join(pairs)}}}"
        case MultisetType(element=element):
            return f"{{{', '.join(f'{text_of(k, element)}={v}' for k, v in value.items())}}}"
        case RowType():
            return change_text((0, *value), type.types)
    return str(value)


def clock_text(nanos: int) -> str:
    """A time of day: seconds and fraction only as far as they are there, as Java does."""
    seconds, fraction = divmod(nanos, _NANOS)
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    text = f"{hours:02}:{minutes:02}"
    if seconds or fraction:
        text += f":{seconds:02}"
    return text + _fraction(fraction)


def _fraction(nanos: int) -> str:
    if not nanos:
        return ""
    digits = f"{nanos:09}"
    for length in (3, 6):
        if not int(digits[length:]):
            return "." + digits[:length]
    return "." + digits


def _date_time_text(nanos: int) -> str:
    days, rest = divmod(nanos, _DAY_MS * 1_000_000)
    return f"{_date_text(days)}T{clock_text(rest)}"


def _date_text(days: int) -> str:
    return datetime.date.fromordinal(EPOCH_DAY + days).isoformat()


def _instant_text(nanos: int) -> str:
    days, rest = divmod(nanos, _DAY_MS * 1_000_000)
    text = clock_text(rest)
    if len(text) == len("00:00"):
        text += ":00"
    return f"{_date_text(days)}T{text}Z"


def _duration_text(millis: int) -> str:
    """ISO 8601 as java.time.Duration writes it."""
    if millis == 0:
        return "PT0S"
    sign = "-" if millis < 0 else ""
    seconds, fraction = divmod(abs(millis), 1000)
    hours, rest = divmod(seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    text = "PT" + (f"{sign}{hours}H" if hours else "") + (f"{sign}{minutes}M" if minutes else "")
    if seconds or fraction:
        tail = f".{fraction:03}".rstrip("0") if fraction else ""
        text += f"{sign}{seconds}{tail}S"
    return text


def _period_text(months: int) -> str:
    """ISO 8601 as java.time.Period writes it."""
    if months == 0:
        return "P0D"
    sign = "-" if months < 0 else ""
    years, rest = divmod(abs(months), 12)
    return "P" + (f"{sign}{years}Y" if years else "") + (f"{sign}{rest}M" if rest else "")
