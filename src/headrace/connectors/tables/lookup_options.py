"""The options of tables that are looked up: 'lookup.cache' and what belongs to it."""

from __future__ import annotations

from datetime import time

from headrace.connectors.tables.options import Options
from headrace.errors import InvalidArgument
from headrace.operators.table.full_cache import (
    FullCacheOptions,
    PeriodicReload,
    ReloadSchedule,
    TimedReload,
)
from headrace.operators.table.lookup_cache import PartialCacheOptions

NONE, PARTIAL, FULL = "NONE", "PARTIAL", "FULL"
PERIODIC, TIMED = "PERIODIC", "TIMED"
FIXED_DELAY, FIXED_RATE = "FIXED_DELAY", "FIXED_RATE"
_PARTIAL = "lookup.partial-cache."
_FULL = "lookup.full-cache."
_OLD = ("lookup.cache.max-rows", "lookup.cache.ttl", "lookup.cache.caching-missing-key")


def lookup_cache(given: Options) -> PartialCacheOptions | FullCacheOptions | None:
    """What a table's options say of the rows that were looked up; None: they are not kept."""
    kind = given.word("lookup.cache", (NONE, PARTIAL, FULL), NONE)
    old, partial, schedule = _old(given), _partial(given), _schedule(given, kind == FULL)
    if schedule is not None:
        return FullCacheOptions(schedule)
    return partial if kind == PARTIAL else old


def _old(given: Options) -> PartialCacheOptions | None:
    """How it was said before 'lookup.cache'."""
    rows, written = given.whole(_OLD[0]), given.duration_ms(_OLD[1])
    missing = given.flag(_OLD[2], True)
    if rows is None or written is None:
        return None
    return PartialCacheOptions(rows, written, None, missing)


def _partial(given: Options) -> PartialCacheOptions:
    return PartialCacheOptions(
        given.whole(f"{_PARTIAL}max-rows"),
        given.duration_ms(f"{_PARTIAL}expire-after-write"),
        given.duration_ms(f"{_PARTIAL}expire-after-access"),
        given.flag(f"{_PARTIAL}cache-missing-key", given.flag(_OLD[2], True)),
    )


def _schedule(given: Options, needed: bool) -> ReloadSchedule | None:
    strategy = given.word(f"{_FULL}reload-strategy", (PERIODIC, TIMED), PERIODIC)
    modes = (FIXED_DELAY, FIXED_RATE)
    mode = given.word(f"{_FULL}periodic-reload.schedule-mode", modes, FIXED_DELAY)
    interval = given.duration_ms(f"{_FULL}periodic-reload.interval")
    at = _time_of_day(given, f"{_FULL}timed-reload.iso-time")
    days = given.whole(f"{_FULL}timed-reload.interval-in-days", 1)
    if not needed:
        return None
    if strategy == TIMED:
        if at is None:
            raise _missing("timed-reload.iso-time", "10:15Z")
        if not days or days < 1:
            raise InvalidArgument(f"'{_FULL}timed-reload.interval-in-days' is at least 1")
        return TimedReload(at, days)
    if interval is None:
        raise _missing("periodic-reload.interval", "10 min")
    if interval < 1:
        raise InvalidArgument(f"'{_FULL}periodic-reload.interval' is at least 1 ms")
    return PeriodicReload(interval, mode == FIXED_RATE)


def _missing(name: str, such_as: str) -> InvalidArgument:
    return InvalidArgument(
        f"'lookup.cache' = 'FULL' needs the option '{_FULL}{name}'",
        hint=f"Add '{_FULL}{name}' = '{such_as}' to WITH (…): when the table is loaded again.",
    )


def _time_of_day(given: Options, name: str) -> time | None:
    text = given.text(name)
    if text is None:
        return None
    try:
        return time.fromisoformat(text)
    except ValueError:
        raise InvalidArgument(
            f"option '{name}' is a time of the day such as '10:15', '10:15Z' or '10:15+07:00', not "
            f"'{text}'"
        ) from None
