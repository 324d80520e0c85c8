"""The session's time zone: what TIMESTAMP_LTZ means on the clock on the wall.

It is read when an expression is compiled. `headrace.operators.table.compiled` remembers it, so
that workers compile with the zone of the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headrace.errors import InvalidArgument
from headrace.operators.functions.dates import SECOND_NANOS

_time_zone: ContextVar[str] = ContextVar("headrace session time zone", default="UTC")
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?(?::?(\d{2}))?", re.ASCII)
_SHORT = {
    "PST": "America/Los_Angeles", "MST": "-07:00", "EST": "-05:00", "CST": "America/Chicago",
    "JST": "Asia/Tokyo", "CTT": "Asia/Shanghai", "IST": "Asia/Kolkata", "ECT": "Europe/Paris",
    "AET": "Australia/Sydney", "BST": "Asia/Dhaka", "HST": "-10:00", "Z": "UTC",
}  # fmt: skip
_EPOCH = datetime(1970, 1, 1)
_FIRST, _LAST = -62_135_510_400, 253_402_214_400


def time_zone() -> str:
    return _time_zone.get()


def set_time_zone(name: str) -> None:
    zone_of(name)
    _time_zone.set(name)


@contextmanager
def session_time_zone(name: str) -> Iterator[None]:
    """Expressions compiled inside use this zone."""
    zone_of(name)
    token = _time_zone.set(name)
    try:
        yield
    finally:
        _time_zone.reset(token)


@lru_cache(maxsize=256)
def zone_of(name: str) -> tzinfo:
    """The zone by its region (Asia/Tokyo), offset (GMT+08:00, +8) or Java's short name."""
    known = _SHORT.get(name, name)
    if known in ("UTC", "GMT"):
        return UTC
    match = _OFFSET.fullmatch(known)
    if match is not None:
        hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return timezone(offset if match.group(1) == "+" else -offset)
    try:
        return ZoneInfo(known)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidArgument(
            f"there is no time zone '{name}'", hint="Write Europe/Berlin, UTC or GMT+08:00."
        ) from error


def wall_of(instant: int, zone: tzinfo) -> int:
    """Nanoseconds of the clock on the wall at that instant."""
    if zone is UTC:
        return instant
    seconds = min(max(instant // SECOND_NANOS, _FIRST), _LAST)
    offset = (datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds)).astimezone(zone)
    return instant + _nanos(offset.utcoffset())


def instant_of(wall: int, zone: tzinfo) -> int:
    """The instant at which the clock on the wall shows that time, the first one if two do."""
    if zone is UTC:
        return wall
    seconds = min(max(wall // SECOND_NANOS, _FIRST), _LAST)
    local = (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=zone)
    return wall - _nanos(local.utcoffset())


def _nanos(offset: timedelta | None) -> int:
    return 0 if offset is None else (offset.days * 86_400 + offset.seconds) * SECOND_NANOS
