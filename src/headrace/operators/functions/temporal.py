"""Functions between text, numbers and points in time. What cannot be read is NULL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, tzinfo
from decimal import Decimal
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType
from headrace.errors import InvalidArgument
from headrace.operators.functions import dates
from headrace.operators.functions.date_parsing import parsed
from headrace.operators.functions.date_patterns import written
from headrace.operators.functions.dates import DAY_NANOS, SECOND_NANOS
from headrace.operators.functions.session import instant_of, time_zone, wall_of, zone_of

PLAIN = "yyyy-MM-dd HH:mm:ss"
_NO_TIME = -(2**63)


def to_timestamp(text: str, pattern: str | None = None) -> int | None:
    """Nanoseconds on the wall, to the millisecond."""
    wall = _read(text, pattern)
    return None if wall is None else dates.cut(wall, 3)


def _read(text: str, pattern: str | None) -> int | None:
    """As the pattern says, or the way timestamps are usually written."""
    try:
        if pattern is not None:
            return parsed(text, pattern)[0]
    except ValueError:
        pass
    try:
        return dates.read_timestamp(text)
    except ValueError:
        return None


def _read_plain(text: str) -> int | None:
    try:
        return parsed(text, PLAIN, lenient=True)[0]
    except ValueError:
        return None


def to_timestamp_ltz(
    types: Sequence[LogicalType], _result: LogicalType
) -> Callable[..., int | None]:
    """Of a number with its precision, or of text with a pattern and a zone (UTC)."""
    if isinstance(types[0], lt.CHARACTERS):
        return _instant_of_text
    return _instant_of_number


def _instant_of_number(number: Any, precision: int = 3) -> int | None:
    exact = Decimal(str(number)) if isinstance(number, float) else number
    return int(exact) * 10 ** (9 - precision) if 0 <= precision <= 9 else None


def _instant_of_text(text: str, pattern: str | None = None, zone: str = "UTC") -> int | None:
    wall = _read(text, pattern)
    return None if wall is None else instant_of(dates.cut(wall, 3), zone_of(zone))


def to_date(text: str, pattern: str | None = None) -> int | None:
    try:
        if pattern is None:
            return dates.read_date(text)
        return parsed(text, pattern, lenient=True)[0] // DAY_NANOS
    except ValueError:
        return None


def date_format(types: Sequence[LogicalType], _result: LogicalType) -> Callable[[Any, str], Any]:
    if isinstance(types[0], lt.CHARACTERS):
        return _reformatted
    if isinstance(types[0], lt.LocalZonedTimestampType):
        zone = zone_of(time_zone())
        return lambda nanos, pattern: written(wall_of(nanos, zone), zone, pattern)
    return lambda nanos, pattern: written(nanos, UTC, pattern)


def _reformatted(text: str, pattern: str) -> str | None:
    wall = _read_plain(text)
    return None if wall is None else written(wall, UTC, pattern)


def from_unixtime(_types: Sequence[LogicalType], _result: LogicalType) -> Callable[..., str]:
    zone = zone_of(time_zone())

    def from_seconds(seconds: int, pattern: str = PLAIN) -> str:
        return written(wall_of(seconds * SECOND_NANOS, zone), zone, pattern)

    return from_seconds


def unix_seconds(_types: Sequence[LogicalType], _result: LogicalType) -> Callable[..., int]:
    """Seconds since 1970 of text in the session's time zone."""
    zone = zone_of(time_zone())

    def seconds(text: str, pattern: str = PLAIN) -> int:
        try:
            wall, offset = parsed(text, pattern, lenient=True)
        except ValueError:
            return _NO_TIME
        if offset is not None:
            return wall // SECOND_NANOS - int(offset.total_seconds())
        return instant_of(wall, zone) // SECOND_NANOS

    return seconds


def convert_tz(text: str, source: str, target: str) -> str | None:
    wall = _read_plain(text)
    if wall is None:
        return None
    return written(wall_of(instant_of(wall, _known_zone(source)), _known_zone(target)), UTC, PLAIN)


def _known_zone(name: str) -> tzinfo:
    """Java's time zones: one that nobody knows is GMT."""
    try:
        return zone_of(name)
    except InvalidArgument:
        return UTC


def overlaps(start: Any, end: Any, other_start: Any, other_end: Any) -> bool:
    """Whether two periods meet; their ends may come first."""
    if end < start:
        start, end = end, start
    if other_end < other_start:
        other_start, other_end = other_end, other_start
    return bool(end >= other_start and other_end >= start)
