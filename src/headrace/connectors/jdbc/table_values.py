"""Values of columns: between the internal form and what drivers take and give."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from headrace.connectors.jdbc.addresses import MYSQL
from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType, RowType
from headrace.core.numbers import rescaled, single
from headrace.errors import Unsupported

Convert = Callable[[Any], Any]
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


def check_types(row: RowType, kind: str) -> None:
    """Refuse columns that a table of such a database cannot have."""
    for field in row.fields:
        if not _is_held(field.type, kind):
            raise Unsupported(
                f"column {field.name!r} of type {field.type} cannot be in a table of connector "
                "'jdbc'",
                hint="Write a text, a number, a date, a time or bytes; PostgreSQL has arrays, too.",
            )


def _is_held(type: LogicalType, kind: str) -> bool:
    if isinstance(type, lt.ArrayType):
        return kind != MYSQL and _is_held(type.element, kind)
    plain = (lt.BooleanType, *lt.NUMERIC, *lt.CHARACTERS, *lt.BINARIES, *lt.DATETIMES)
    return isinstance(type, plain)


class Converts:
    """Converts the values of a row; NULL stays what it is."""

    def __init__(self, parts: Sequence[Convert | None]):
        self._parts = [(at, part) for at, part in enumerate(parts) if part is not None]

    def __call__(self, row: Sequence[Any]) -> tuple[Any, ...]:
        if not self._parts:
            return tuple(row)
        values = list(row)
        for at, part in self._parts:
            if values[at] is not None:
                values[at] = part(values[at])
        return tuple(values)


def outward(types: Sequence[LogicalType], kind: str) -> Converts:
    """From the internal form to a driver's."""
    return Converts([_outward(type, kind) for type in types])


def inward(types: Sequence[LogicalType]) -> Converts:
    """From a driver's form to the internal one."""
    return Converts([_inward(type) for type in types])


def _outward(type: LogicalType, kind: str) -> Convert | None:
    match type:
        case lt.DateType():
            return lambda days: datetime.date.fromordinal(_EPOCH_DAY + days)
        case lt.TimeType():
            return lambda millis: (_EPOCH + datetime.timedelta(milliseconds=millis)).time()
        case lt.TimestampType():
            return _to_datetime
        case lt.LocalZonedTimestampType():
            if kind == MYSQL:  # its sessions are in UTC
                return _to_datetime
            return lambda nanos: _to_datetime(nanos).replace(tzinfo=datetime.UTC)
        case lt.ArrayType(element=element):
            part = _outward(element, kind)
            return list if part is None else lambda values: [_of(part, each) for each in values]
    return None


def _inward(type: LogicalType) -> Convert | None:
    match type:
        case lt.BooleanType():
            return lambda value: any(value) if isinstance(value, bytes) else bool(value)
        case lt.TinyIntType() | lt.SmallIntType() | lt.IntType() | lt.BigIntType():
            return int
        case lt.FloatType():
            return lambda value: single(float(value))
        case lt.DoubleType():
            return float
        case lt.DecimalType(scale=scale):
            return lambda value: rescaled(Decimal(str(value)), scale)
        case lt.CharType() | lt.VarCharType():
            return lambda value: value.decode() if isinstance(value, bytes) else str(value)
        case lt.BinaryType() | lt.VarBinaryType():
            return bytes
        case lt.DateType():
            return lambda value: value.toordinal() - _EPOCH_DAY
        case lt.TimeType():
            return _milliseconds_of_day
        case lt.TimestampType() | lt.LocalZonedTimestampType():
            return _nanoseconds
        case lt.ArrayType(element=element):
            part = _inward(element)
            return lambda values: tuple(_of(part, each) for each in values)
    raise AssertionError(f"a column of type {type}")


def _of(part: Convert | None, value: Any) -> Any:
    return value if part is None or value is None else part(value)


def _to_datetime(nanos: int) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(microseconds=nanos // 1000)


def _nanoseconds(value: Any) -> int:
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    if value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    return int((value - _EPOCH) // _MICROSECOND) * 1000


def _milliseconds_of_day(value: Any) -> int:
    if isinstance(value, datetime.timedelta):  # what PyMySQL gives
        return int(value // datetime.timedelta(milliseconds=1))
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return int(seconds * 1000 + value.microsecond // 1000)
