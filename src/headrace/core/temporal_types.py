# ruff: noqa: N802 - the methods are called what PyFlink calls them
"""Types of dates and times of day."""

from __future__ import annotations

import calendar
import datetime
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from headrace.core.type_information import Coercer, TypeInformation, WrongValue

__all__ = [
    "DateTypeInfo",
    "LocalTimeTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
]

_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_MICROS = 1_000_000


class SqlTimeTypeInfo(TypeInformation):
    """Gives the three types of SQL dates and times."""

    @staticmethod
    def DATE() -> DateTypeInfo:
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TimeTypeInfo:
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TimestampTypeInfo:
        return TimestampTypeInfo()


@dataclass(frozen=True, repr=False)
class DateTypeInfo(TypeInformation):
    """A date; its plain form counts days since the epoch."""

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: datetime.date | None) -> int | None:
        return None if obj is None else obj.toordinal() - _EPOCH_DAY

    def from_internal_type(self, obj: int | None) -> datetime.date | None:
        return None if obj is None else datetime.date.fromordinal(obj + _EPOCH_DAY)

    def coercer(self) -> Coercer:
        return _checked("SQL_DATE", _date)

    def label(self) -> str:
        return "SQL_DATE"

    def __repr__(self) -> str:
        return "DateTypeInfo"


@dataclass(frozen=True, repr=False)
class TimeTypeInfo(TypeInformation):
    """A time of day; its plain form counts microseconds since midnight of the local epoch."""

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: datetime.time | None) -> int | None:
        if obj is None:
            return None
        offset = obj.utcoffset()
        shift = _local_shift() if offset is None else offset // datetime.timedelta(microseconds=1)
        seconds = (obj.hour * 60 + obj.minute) * 60 + obj.second
        return seconds * _MICROS + obj.microsecond - shift

    def from_internal_type(self, obj: int | None) -> datetime.time | None:
        if obj is None:
            return None
        midnight = datetime.datetime(1970, 1, 1)
        return (midnight + datetime.timedelta(microseconds=obj + _local_shift())).time()

    def coercer(self) -> Coercer:
        return _checked("SQL_TIME", _time_of_day)

    def label(self) -> str:
        return "SQL_TIME"

    def __repr__(self) -> str:
        return "TimeTypeInfo"


@dataclass(frozen=True, repr=False)
class TimestampTypeInfo(TypeInformation):
    """A date and time; its plain form counts microseconds since the epoch."""

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: datetime.datetime | None) -> int | None:
        if obj is None:
            return None
        zoned = obj.tzinfo is not None
        seconds = calendar.timegm(obj.utctimetuple()) if zoned else time.mktime(obj.timetuple())
        return int(seconds) * _MICROS + obj.microsecond

    def from_internal_type(self, obj: int | None) -> datetime.datetime | None:
        if obj is None:
            return None
        seconds, micros = divmod(obj, _MICROS)
        return datetime.datetime.fromtimestamp(seconds).replace(microsecond=micros)

    def coercer(self) -> Coercer:
        return _checked("SQL_TIMESTAMP", _timestamp)

    def label(self) -> str:
        return "SQL_TIMESTAMP"

    def __repr__(self) -> str:
        return "TimestampTypeInfo"


@dataclass(frozen=True, repr=False)
class LocalTimeTypeInfo(TypeInformation):
    """A date, a time of day or both, in no particular time zone."""

    class TimeType(Enum):
        """Which of the three."""

        LOCAL_DATE = 0
        LOCAL_TIME = 1
        LOCAL_DATE_TIME = 2

    time_type: TimeType

    def coercer(self) -> Coercer:
        kinds = LocalTimeTypeInfo.TimeType
        read = {
            kinds.LOCAL_DATE: _date,
            kinds.LOCAL_TIME: _local_time,
            kinds.LOCAL_DATE_TIME: _local_date_time,
        }[self.time_type]
        return _checked(self.label(), read)

    def label(self) -> str:
        return self.time_type.name

    def __repr__(self) -> str:
        return f"LocalTimeTypeInfo<{self.time_type.name}>"


def _local_shift() -> int:
    return calendar.timegm(time.localtime(0)) * _MICROS


def _checked(label: str, read: Callable[[Any], Any]) -> Coercer:
    def temporal(value: Any) -> Any:
        if value is None:
            return None
        found = read(value)
        if found is None:
            raise WrongValue(label, value)
        return found

    return temporal


def _date(value: Any) -> datetime.date | None:
    if isinstance(value, datetime.datetime):
        return value.date()
    return value if isinstance(value, datetime.date) else None


def _local_time(value: Any) -> datetime.time | None:
    return value.replace(tzinfo=None) if isinstance(value, datetime.time) else None


def _local_date_time(value: Any) -> datetime.datetime | None:
    return value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else None


# Flink carries times of SQL to the millisecond: what is finer is cut off.
def _time_of_day(value: Any) -> datetime.time | None:
    if not isinstance(value, datetime.time):
        return None
    return value.replace(microsecond=value.microsecond // 1000 * 1000, tzinfo=None)


def _timestamp(value: Any) -> datetime.datetime | None:
    if not isinstance(value, datetime.datetime):
        return None
    return value.replace(microsecond=value.microsecond // 1000 * 1000, tzinfo=None)
