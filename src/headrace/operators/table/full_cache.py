"""'lookup.cache' = 'FULL': a table that is looked up is in memory as a whole, and loaded again as
a schedule says."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from typing import Any

from headrace.core.source import Source, SplitReader
from headrace.errors import HeadraceError, JobFailed
from headrace.operators.table.hashable_rows import Values, lookup_form, selector

_LOG = logging.getLogger("headrace")
_DAY_MS = 86_400_000
Clock = Callable[[], int]


class ReloadSchedule(ABC):
    """When a table is loaded again. Times are milliseconds since 1970."""

    @abstractmethod
    def next_ms(self, due: int | None, began: int, ended: int) -> int:
        """When to load next, after a load that was due, began and ended then; the first one, at the
        first look-up, is due at no time."""


@dataclass(frozen=True)
class PeriodicReload(ReloadSchedule):
    """So long after the end of a load; with a fixed rate, after its beginning."""

    interval_ms: int
    fixed_rate: bool = False

    def next_ms(self, due: int | None, began: int, ended: int) -> int:
        if not self.fixed_rate:
            return ended + self.interval_ms
        return (began if due is None else due) + self.interval_ms


@dataclass(frozen=True)
class TimedReload(ReloadSchedule):
    """At a time of the day, every so many days; a time without a zone is one of this machine's."""

    at: time_of_day
    every_days: int = 1

    def next_ms(self, due: int | None, began: int, ended: int) -> int:
        if due is not None:
            return due + self.every_days * _DAY_MS
        now = datetime.fromtimestamp(began / 1000, UTC).astimezone(self.at.tzinfo)
        next_one = datetime.combine(now.date(), self.at, self.at.tzinfo or now.tzinfo)
        if next_one < now:
            next_one += timedelta(days=1)
        return int(next_one.timestamp() * 1000)


@dataclass(frozen=True)
class FullCacheOptions:
    """What a table's options say of it."""

    schedule: ReloadSchedule


class WholeTable:
    """All rows of a table that ends, read without its kinds."""

    def __init__(self, source: Source[Any]):
        self._source = source

    def __call__(self) -> Iterator[Values]:
        enumerator, reader = self._source.create_enumerator(), self._source.create_reader()
        assert isinstance(reader, SplitReader)
        try:
            for split in enumerator.splits():
                start = enumerator.initial_position(split)
                while (end := enumerator.latest_position(split, start)) != start:
                    for row in reader.read(split, start, end):
                        yield row[1:]
                    start = end
        finally:
            reader.close()
            enumerator.close()


class _Copy:
    """The rows that are there, and how they become newer; it knows nothing of who looks up, so that
    its thread ends with that."""

    def __init__(
        self,
        load: Callable[[], Iterable[Values]],
        columns: tuple[int, ...],
        schedule: ReloadSchedule,
        clock: Clock,
    ):
        self._load = load
        self._key_of = selector(columns)
        self._schedule = schedule
        self._clock = clock
        self.stopped = threading.Event()
        self.failure: Exception | None = None
        self._due = self._fill(None)

    def _fill(self, due: int | None) -> int:
        """Load the table; when to do so again."""
        began = self._clock()
        rows: dict[Values, list[Values]] = {}
        for count, row in enumerate(self._load()):
            rows.setdefault(lookup_form(self._key_of(row)), []).append(row)
            if not count % 1024 and self.stopped.is_set():
                break  # nobody looks up any more
        self.rows = rows  # at once: others look up meanwhile
        ended = self._clock()
        _LOG.info("loaded a table for look-ups: %d keys in %d ms", len(rows), ended - began)
        return self._schedule.next_ms(due, began, ended)

    def keep_fresh(self) -> None:
        while not self.stopped.wait(max(0, self._due - self._clock()) / 1000):
            try:
                self._due = self._fill(self._due)
            except Exception as error:
                self.failure = error
                return


class FullCache:
    """Finds rows by some columns in a copy of the table, made at the first look-up.

    It is loaded again in the background, while the rows that are there are found. If that fails,
    so does the next look-up: a copy must not grow old unnoticed.
    """

    def __init__(
        self,
        load: Callable[[], Iterable[Values]],
        columns: tuple[int, ...],
        options: FullCacheOptions,
        clock: Clock | None = None,
    ):
        self._load = load
        self._columns = columns
        self._options = options
        self._clock = clock or _now_ms
        self._copy: _Copy | None = None

    def __call__(self, values: Values) -> Sequence[Values]:
        if self._copy is None:
            self._copy = self._loaded()
        if self._copy.failure is not None:
            raise _outdated(self._copy.failure)
        return self._copy.rows.get(lookup_form(values), ())

    def _loaded(self) -> _Copy:
        copy = _Copy(self._load, self._columns, self._options.schedule, self._clock)
        threading.Thread(target=copy.keep_fresh, name="lookup cache", daemon=True).start()
        # One that is dropped without being closed, as after a crash, leaves no thread.
        weakref.finalize(self, copy.stopped.set)
        return copy

    def close(self) -> None:
        copy, self._copy = self._copy, None
        if copy is not None:
            copy.stopped.set()


def _now_ms() -> int:
    return int(time.time() * 1000)


def _outdated(failure: Exception) -> JobFailed:
    known = failure if isinstance(failure, HeadraceError) else None
    return JobFailed(
        "a table that is looked up could not be loaded again: "
        f"{failure if known is None else known.message}",
        hint="As in Flink this ends the job: rows that grow older and older would be worse. A "
        "restart loads the table anew." + (f" {known.hint}" if known and known.hint else ""),
    )
