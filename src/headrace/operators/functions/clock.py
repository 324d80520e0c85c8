"""The current time in the forms SQL has for it, and the watermark of the row at hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar

from headrace.core.logical_types import LogicalType
from headrace.operators.functions.dates import DAY_NANOS, MILLI_NANOS, SECOND_NANOS
from headrace.operators.functions.session import time_zone, wall_of, zone_of
from headrace.operators.functions.temporal import unix_seconds

_watermark: ContextVar[int | None] = ContextVar("headrace current watermark", default=None)


def now() -> int:
    """Nanoseconds since 1970 in UTC, to the millisecond."""
    return time.time_ns() // MILLI_NANOS * MILLI_NANOS


def unix_now() -> int:
    return int(time.time())


def unix_timestamp(types: Sequence[LogicalType], result: LogicalType) -> Callable[..., int]:
    """Seconds since 1970: now, or of a text."""
    return unix_seconds(types, result) if types else unix_now


def wall_now(_types: Sequence[LogicalType], _result: LogicalType) -> Callable[[], int]:
    zone = zone_of(time_zone())
    return lambda: wall_of(now(), zone)


def date_now(_types: Sequence[LogicalType], _result: LogicalType) -> Callable[[], int]:
    zone = zone_of(time_zone())
    return lambda: wall_of(now(), zone) // DAY_NANOS


def time_now(_types: Sequence[LogicalType], _result: LogicalType) -> Callable[[], int]:
    """To the second, as TIME(0) has it."""
    zone = zone_of(time_zone())
    return lambda: wall_of(now(), zone) % DAY_NANOS // SECOND_NANOS * 1000


def set_watermark(millis: int | None) -> None:
    """Operators say here how far event time has come, None before the first watermark."""
    _watermark.set(millis)


def current_watermark(_rowtime: int | None) -> int | None:
    found = _watermark.get()
    return None if found is None else found * MILLI_NANOS
