"""Values in the form that `DataType.to_sql_type` gives: whole numbers for dates, times and
intervals, of times and intervals in microseconds; rows as tuples that begin with their kind."""

from __future__ import annotations

import calendar
import datetime
import time
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.rows import Row, RowKind, named_row
from headrace.errors import TypeMismatch

_MICROS = 10**6
_MICROSECOND = datetime.timedelta(microseconds=1)
_TIMESTAMPS = (lt.TimestampType, lt.LocalZonedTimestampType)
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_CONVERTED = (lt.DateType, lt.TimeType, *_TIMESTAMPS, lt.ZonedTimestampType)


def is_converted(type: lt.LogicalType) -> bool:
    """Whether a value of the type has another form."""
    match type:
        case lt.ArrayType(element=element) | lt.MultisetType(element=element):
            return is_converted(element)
        case lt.MapType(key=key, value=value):
            return is_converted(key) or is_converted(value)
    return isinstance(type, (*_CONVERTED, lt.DayTimeIntervalType, lt.RowType))


def to_sql_value(value: Any, type: lt.LogicalType) -> Any:
    """A value of a program in that form."""
    if value is None or not is_converted(type):
        return value
    match type:
        case lt.DateType():
            return value.toordinal() - _EPOCH_DAY
        case lt.TimeType():
            return _micros_of_day(value)
        case lt.TimestampType():
            return _micros(value)
        case lt.LocalZonedTimestampType():
            return _micros(value) + _local_offset()
        case lt.ZonedTimestampType():
            zoned = value if value.tzinfo is not None else value.astimezone()
            offset = int(zoned.utcoffset().total_seconds())
            return _micros(value) + offset * _MICROS, offset
        case lt.DayTimeIntervalType():
            return value // _MICROSECOND
        case lt.RowType():
            return _tuple_of(value, type)
    return _collection(value, type, to_sql_value)


def from_sql_value(value: Any, type: lt.LogicalType) -> Any:
    """The value of a program that has that form."""
    if value is None or not is_converted(type):
        return value
    match type:
        case lt.DateType():
            return datetime.date.fromordinal(value + _EPOCH_DAY)
        case lt.TimeType():
            since = datetime.timedelta(microseconds=value + _local_offset())
            return (datetime.datetime.min + since).time()
        case lt.TimestampType():
            return _date_time(value)
        case lt.LocalZonedTimestampType():
            return _date_time(value - _local_offset())
        case lt.ZonedTimestampType():
            micros, offset = value
            zone = datetime.timezone(datetime.timedelta(seconds=offset))
            return _date_time(micros - offset * _MICROS).astimezone(zone)
        case lt.DayTimeIntervalType():
            return datetime.timedelta(microseconds=value)
        case lt.RowType(fields=fields):
            if isinstance(value, Row):
                return value
            pairs = zip(value, fields, strict=False)
            return named_row(type.names, [from_sql_value(part, f.type) for part, f in pairs])
    return _collection(value, type, from_sql_value)


def _collection(value: Any, type: lt.LogicalType, convert: Any) -> Any:
    if isinstance(type, lt.MapType):
        pairs = value.items()
        return {convert(key, type.key): convert(part, type.value) for key, part in pairs}
    assert isinstance(type, lt.ArrayType | lt.MultisetType)
    return [convert(part, type.element) for part in value]


def _local_offset() -> int:
    """How far this machine's clock was from UTC when time began, in microseconds."""
    return calendar.timegm(time.localtime(0)) * _MICROS


def _micros(value: datetime.datetime) -> int:
    if value.tzinfo is not None:
        seconds = calendar.timegm(value.utctimetuple())
    else:
        seconds = int(time.mktime(value.timetuple()))
    return seconds * _MICROS + value.microsecond


def _date_time(micros: int) -> datetime.datetime:
    seconds, rest = divmod(micros, _MICROS)
    return datetime.datetime.fromtimestamp(seconds).replace(microsecond=rest)


def _micros_of_day(value: datetime.time) -> int:
    offset = value.utcoffset()
    shift = _local_offset() if offset is None else offset // _MICROSECOND
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return seconds * _MICROS + value.microsecond - shift


def _tuple_of(value: Any, type: lt.RowType) -> tuple[Any, ...]:
    kind = RowKind.INSERT
    if isinstance(value, Row):
        kind = value.get_row_kind()
        parts = value.get_fields_by_names(type.names)
    elif isinstance(value, tuple | list):
        parts = list(value)
    elif isinstance(value, dict) or hasattr(value, "__dict__"):
        given = value if isinstance(value, dict) else vars(value)
        parts = [given.get(name) for name in type.names]
    else:
        raise TypeMismatch(f"{value!r} is no row", hint="Give a Row, a tuple or a dict.")
    pairs = zip(parts, type.types, strict=False)
    return (kind.value, *(to_sql_value(part, each) for part, each in pairs))
