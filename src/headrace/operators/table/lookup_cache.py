"""Caches in front of lookups, and lookups that are tried again."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from headrace.operators.table.awaited_calls import AwaitedCalls, results_of
from headrace.operators.table.hashable_rows import Values, lookup_form

Lookup = Callable[[Values], Iterable[Values]]
"""From the values of the lookup's columns to the rows that have them."""
Clock = Callable[[], int]


@dataclass(frozen=True)
class PartialCacheOptions:
    """'lookup.cache' = 'PARTIAL': what was looked up is kept, the least recently used goes first.

    Times are in milliseconds; None is without an end."""

    max_rows: int | None = None
    expire_after_write_ms: int | None = None
    expire_after_access_ms: int | None = None
    cache_missing_key: bool = True


@dataclass(frozen=True)
class RetryOptions:
    """The hint LOOKUP('retry-predicate' = 'lookup_miss', …): how often a lookup that found nothing
    is tried again, and after what delay."""

    max_attempts: int
    delay_ms: int


def _no_time() -> int:
    """For a cache in which nothing expires: what time it is costs more than to find a row."""
    return 0


class PartialCache:
    """Keeps what a lookup found."""

    def __init__(self, lookup: Lookup, options: PartialCacheOptions, clock: Clock):
        self._lookup = lookup
        self._options = options
        times = (options.expire_after_write_ms, options.expire_after_access_ms)
        self._clock: Clock = _no_time if times == (None, None) else clock
        self._kept: OrderedDict[Values, tuple[int, int, Sequence[Values]]] = OrderedDict()
        """By the values: when it was written, when it was last read, and the rows."""
        self.hits = self.misses = 0

    def __call__(self, values: Values) -> Sequence[Values]:
        key, now = lookup_form(values), self._clock()
        kept = self._kept.get(key)
        if kept is not None and not self._expired(kept, now):
            self.hits += 1
            self._kept[key] = (kept[0], now, kept[2])
            self._kept.move_to_end(key)
            return kept[2]
        self.misses += 1
        self._kept.pop(key, None)
        rows = tuple(self._lookup(values))
        if rows or self._options.cache_missing_key:
            self._kept[key] = (now, now, rows)
            limit = self._options.max_rows
            while limit is not None and len(self._kept) > limit:
                self._kept.popitem(last=False)
        return rows

    def knows(self, values: Values) -> bool:
        """Whether the lookup would not be asked for them."""
        kept = self._kept.get(lookup_form(values))
        return kept is not None and not self._expired(kept, self._clock())

    def _expired(self, kept: tuple[int, int, Sequence[Values]], now: int) -> bool:
        written, read, _ = kept
        after_write = self._options.expire_after_write_ms
        after_access = self._options.expire_after_access_ms
        return (after_write is not None and now - written >= after_write) or (
            after_access is not None and now - read >= after_access
        )


class FetchedTogether:
    """A lookup that is awaited: keys that are fetched together are asked for at the same time.

    What was fetched is forgotten with the next fetch; keeping it is up to a cache in front."""

    def __init__(self, lookup: Any, settings: AwaitedCalls, retry: RetryOptions | None):
        self._lookup = lookup if retry is None else retried_awaited(lookup, retry)
        self._settings = settings
        self._rows: dict[Values, Sequence[Values]] = {}

    def fetch(self, keys: Iterable[Values]) -> None:
        wanted = {lookup_form(key): key for key in keys}
        starts = [partial(self._lookup, key) for key in wanted.values()]
        found = results_of(starts, self._settings, "a look-up")
        self._rows = dict(zip(wanted, map(tuple, found), strict=True))

    def __call__(self, values: Values) -> Sequence[Values]:
        rows = self._rows.get(lookup_form(values))
        if rows is None:  # a cache had it when keys were fetched, and has it no more
            (found,) = results_of([partial(self._lookup, values)], self._settings, "a look-up")
            rows = tuple(found)
        return rows


class FetchedInOneQuery:
    """A lookup that can be asked for many keys at a time (`look_up_all`): the same for one that is
    not awaited."""

    def __init__(self, lookup: Any, retry: RetryOptions | None):
        self._lookup = lookup
        self._retry = retry
        self._rows: dict[Values, Sequence[Values]] = {}

    def fetch(self, keys: Iterable[Values]) -> None:
        self._rows = self._found({lookup_form(key): key for key in keys})

    def _found(self, wanted: dict[Values, Values]) -> dict[Values, Sequence[Values]]:
        """Those that are missing are asked for again together."""
        found: dict[Values, Sequence[Values]] = {}
        attempts = 0 if self._retry is None else self._retry.max_attempts
        while wanted:
            rows = self._lookup.look_up_all(list(wanted.values()))
            found |= zip(wanted, map(tuple, rows), strict=True)
            wanted = {form: key for form, key in wanted.items() if not found[form]}
            if attempts == 0 or self._retry is None:
                break
            attempts -= 1
            if wanted:
                time.sleep(self._retry.delay_ms / 1000)
        return found

    def __call__(self, values: Values) -> Sequence[Values]:
        rows = self._rows.get(lookup_form(values))
        if rows is None:  # a cache had it when keys were fetched, and has it no more
            ((_, rows),) = self._found({lookup_form(values): values}).items()
        return rows


def retried(lookup: Lookup, options: RetryOptions) -> Lookup:
    """The lookup, repeated while it finds nothing."""

    def look_up(values: Values) -> Sequence[Values]:
        rows = tuple(lookup(values))
        for _ in range(options.max_attempts):
            if rows:
                break
            time.sleep(options.delay_ms / 1000)
            rows = tuple(lookup(values))
        return rows

    return look_up


def retried_awaited(lookup: Any, options: RetryOptions) -> Any:
    """The same of a lookup that is awaited."""

    async def look_up(values: Values) -> Sequence[Values]:
        rows = tuple(await lookup(values))
        for _ in range(options.max_attempts):
            if rows:
                break
            await asyncio.sleep(options.delay_ms / 1000)
            rows = tuple(await lookup(values))
        return rows

    return look_up


def cached(
    lookup: Lookup, cache: PartialCacheOptions | None, retry: RetryOptions | None, clock: Clock
) -> Any:
    """The lookup with what the table's options and the query's hints put in front of it."""
    if retry is not None:
        lookup = retried(lookup, retry)
    return lookup if cache is None else PartialCache(lookup, cache, clock)
