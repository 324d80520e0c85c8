"""Timers of one operator's keys, in time order."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from headrace.core.operator import EVENT_TIME, PROCESSING_TIME, KeyScope

_DEAD_AT_MOST = 1000
_SORT_WHEN_ONE_IN = 16
"""When that share of a heap has been taken out one by one, the rest is sorted."""
_DOMAINS = (EVENT_TIME, PROCESSING_TIME)

Timer = tuple[str, int, Any]
"""Domain, time and key."""


class _Agenda:
    """The timers of one time domain: the keys due at each time, and the times in a heap.

    Many keys share a time, as the windows of all keys end together, so the heap holds each time
    once. Keys due at the same time are woken in the order they were registered in, for keys need
    not be comparable. Most times have one key: it stands in a tuple until a second one comes.
    """

    __slots__ = ("keys_at", "times")

    def __init__(self) -> None:
        self.keys_at: dict[int, tuple[Any] | dict[Any, None]] = {}
        self.times: list[int] = []

    def add(self, time: int, key: Any) -> bool:
        """Add a timer; says whether it is new."""
        keys = self.keys_at.get(time)
        if keys is None:
            self.keys_at[time] = (key,)
            heapq.heappush(self.times, time)
            return True
        if key in keys:
            return False
        if keys.__class__ is tuple:
            keys = self.keys_at[time] = {keys[0]: None}
        keys[key] = None  # type: ignore[index]
        return True

    def remove(self, time: int, key: Any) -> bool:
        """Take a timer out; says whether it was there. Its time stays in the heap for now."""
        keys = self.keys_at.get(time)
        if keys is None or key not in keys:
            return False
        if keys.__class__ is dict and len(keys) > 1:
            del keys[key]
            return True
        del self.keys_at[time]
        if len(self.times) > 2 * len(self.keys_at) + _DEAD_AT_MOST:
            # Deleted timers set far ahead would stay in the heap for long.
            self.times[:] = self.keys_at
            heapq.heapify(self.times)
        return True

    def take_times(self, upto: int) -> Iterator[int]:
        """Take the times that are due out of the heap, in order, also those added meanwhile.

        When many are due, sorting what is left costs less than taking one after the other out of
        a large heap; and a sorted list is a heap.
        """
        taken = 0
        while self.times and self.times[0] <= upto:
            taken += 1
            if taken * _SORT_WHEN_ONE_IN < len(self.times):
                yield heapq.heappop(self.times)
                continue
            self.times.sort()
            due = bisect_right(self.times, upto)
            run, self.times[:due] = self.times[:due], ()
            for at, time in enumerate(run):
                if self.times and self.times[0] < time:
                    self.times[:0] = run[at:]
                    heapq.heapify(self.times)
                    break
                yield time

    def next_time(self) -> int | None:
        times = self.times
        while times and times[0] not in self.keys_at:
            heapq.heappop(times)
        return times[0] if times else None

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        for time in sorted(self.keys_at):
            for key in self.keys_at[time]:
                yield time, key

    def clear(self) -> None:
        self.keys_at.clear()
        self.times.clear()


class TimerQueue:
    """Registers, deletes and fires timers; one timer per key, domain and time.

    A snapshot keeps the order of registration: results must not depend on whether state was
    restored in between.
    """

    kind = "timers"

    def __init__(self, scope: KeyScope, *, logged: bool):
        self._scope = scope
        self.logged = logged
        self._agendas = {domain: _Agenda() for domain in _DOMAINS}
        self._changed: dict[tuple[str, int], dict[Any, bool]] = {}
        """By domain and time, the keys whose timers have changed, and whether they are set."""

    def is_of(self, scope: KeyScope) -> bool:
        """Whether the timers are those of a scope's keys."""
        return self._scope is scope

    def register(self, domain: str, timestamp: int) -> None:
        key = self._scope.key
        if self._agendas[domain].add(timestamp, key) and self.logged:
            changed = self._changed_at(domain, timestamp)
            changed.pop(key, None)  # it is the last one now
            changed[key] = True

    def delete(self, domain: str, timestamp: int) -> None:
        key = self._scope.key
        if self._agendas[domain].remove(timestamp, key) and self.logged:
            self._changed_at(domain, timestamp)[key] = False

    def _changed_at(self, domain: str, timestamp: int) -> dict[Any, bool]:
        changed = self._changed.get((domain, timestamp))
        if changed is None:
            changed = self._changed[domain, timestamp] = {}
        return changed

    def next_time(self, domain: str) -> int | None:
        """When the earliest timer is due."""
        return self._agendas[domain].next_time()

    def due(self, domain: str, upto: int) -> Iterator[tuple[int, Any]]:
        """Take out the timers due at `upto`, in order, also those registered meanwhile."""
        agenda, scope = self._agendas[domain], self._scope
        for time in agenda.take_times(upto):
            for key in tuple(agenda.keys_at.get(time, ())):
                if not agenda.remove(time, key):
                    continue  # a timer before it has deleted it
                if self.logged:
                    self._changed_at(domain, time)[key] = False
                scope.key = key
                yield time, key
                if agenda.times and agenda.times[0] < time:
                    break  # it has registered an earlier one, whose turn it is now
            if time in agenda.keys_at:
                heapq.heappush(agenda.times, time)

    def due_in_rounds(self, domain: str, upto: int) -> Iterator[tuple[int, Any]]:
        """As `due`, but what timers set and delete takes effect when all due before have fired."""
        scope = self._scope
        while taken := self.take_due(domain, upto):
            for time, keys in taken:
                for key in keys:
                    scope.key = key
                    yield time, key

    def take_due(self, domain: str, upto: int) -> list[tuple[int, Iterable[Any]]]:
        """Take out the timers due at `upto`: times in order, and the keys of each."""
        agenda = self._agendas[domain]
        taken: list[tuple[int, Iterable[Any]]] = []
        for time in agenda.take_times(upto):
            keys = agenda.keys_at.pop(time, None)
            if keys is None:
                continue  # its timers have been deleted
            taken.append((time, keys))
            if self.logged:
                self._changed_at(domain, time).update(dict.fromkeys(keys, False))
        return taken

    def pending(self, domain: str) -> list[tuple[int, Any]]:
        """The timers that are set, in time order."""
        return list(self._agendas[domain])

    def take_changes(self) -> tuple[Any, ...] | None:
        if not self._changed:
            return None
        set_: list[Timer] = []
        unset: list[Timer] = []
        for (domain, time), keys in self._changed.items():
            for key, alive in keys.items():
                (set_ if alive else unset).append((domain, time, key))
        self._changed = {}
        return set_, unset

    def apply(self, change: tuple[Iterable[Timer], Iterable[Timer]]) -> None:
        set_, unset = change
        for domain, timestamp, key in (*unset, *set_):
            self._agendas[domain].remove(timestamp, key)
        for domain, timestamp, key in set_:
            self._agendas[domain].add(timestamp, key)

    def snapshot(self, chunk: int) -> Iterator[tuple[Any, ...]]:
        for domain, agenda in self._agendas.items():
            timers = iter(agenda)
            while part := list(islice(timers, chunk)):
                yield [(domain, timestamp, key) for timestamp, key in part], []

    def reset(self) -> None:
        for agenda in self._agendas.values():
            agenda.clear()
        self._changed = {}
