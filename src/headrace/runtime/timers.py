"""Timers of one operator's keys, in time order."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import islice
from typing import Any

from headrace.core.operator import EVENT_TIME, PROCESSING_TIME, KeyScope

_DEAD_AT_MOST = 1000
_DOMAINS = (EVENT_TIME, PROCESSING_TIME)


class TimerQueue:
    """Registers, deletes and fires timers; one timer per key, domain and time.

    A deleted timer stays in the heap until its time comes; `_alive` says which entry counts. Ties
    are fired in the order of registration, for keys need not be comparable, and a snapshot keeps
    that order: results must not depend on whether state was restored in between.
    """

    kind = "timers"

    def __init__(self, scope: KeyScope, *, logged: bool):
        self._scope = scope
        self.logged = logged
        self._heaps: dict[str, list[tuple[int, int, Any]]] = {d: [] for d in _DOMAINS}
        self._alive: dict[str, dict[tuple[int, Any], int]] = {d: {} for d in _DOMAINS}
        self._changed: dict[tuple[str, int, Any], bool] = {}
        self._counter = 0

    def register(self, domain: str, timestamp: int) -> None:
        key = self._scope.key
        if (timestamp, key) in self._alive[domain]:
            return
        self._add(domain, timestamp, key)
        if self.logged:
            timer = domain, timestamp, key
            self._changed.pop(timer, None)  # it is the last one now
            self._changed[timer] = True

    def _add(self, domain: str, timestamp: int, key: Any) -> None:
        self._counter += 1
        self._alive[domain][timestamp, key] = self._counter
        heapq.heappush(self._heaps[domain], (timestamp, self._counter, key))

    def delete(self, domain: str, timestamp: int) -> None:
        self._remove(domain, timestamp, self._scope.key)

    def _remove(self, domain: str, timestamp: int, key: Any) -> None:
        self._alive[domain].pop((timestamp, key), None)
        if self.logged:
            self._changed[domain, timestamp, key] = False
        if len(self._heaps[domain]) > 2 * len(self._alive[domain]) + _DEAD_AT_MOST:
            self._sweep(domain)

    def _sweep(self, domain: str) -> None:
        """Throw deleted timers out of the heap: those set far ahead would stay for long."""
        heap = self._heaps[domain]
        heap[:] = [(time, number, key) for (time, key), number in self._alive[domain].items()]
        heapq.heapify(heap)

    def next_time(self, domain: str) -> int | None:
        """When the earliest timer is due."""
        heap, alive = self._heaps[domain], self._alive[domain]
        while heap and alive.get((heap[0][0], heap[0][2])) != heap[0][1]:
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def due(self, domain: str, upto: int) -> Iterator[tuple[int, Any]]:
        """Take out the timers due at `upto`, in order, also those registered meanwhile."""
        heap, alive = self._heaps[domain], self._alive[domain]
        while heap and heap[0][0] <= upto:
            timestamp, number, key = heapq.heappop(heap)
            if alive.get((timestamp, key)) == number:
                self._remove(domain, timestamp, key)
                yield timestamp, key

    def pending(self, domain: str) -> list[tuple[int, Any]]:
        """The timers that are set, in time order."""
        return sorted(self._alive[domain], key=lambda timer: timer[0])

    def take_changes(self) -> tuple[Any, ...] | None:
        if not self._changed:
            return None
        set_: list[Any] = []
        unset: list[Any] = []
        for timer, alive in self._changed.items():
            (set_ if alive else unset).append(timer)
        self._changed = {}
        return set_, unset

    def apply(self, change: tuple[Any, ...]) -> None:
        set_, unset = change
        for domain, timestamp, key in (*unset, *set_):
            self._alive[domain].pop((timestamp, key), None)
        for domain, timestamp, key in set_:
            self._add(domain, timestamp, key)

    def snapshot(self, chunk: int) -> Iterator[tuple[Any, ...]]:
        for domain in _DOMAINS:
            timers = iter(self.pending(domain))
            while part := list(islice(timers, chunk)):
                yield [(domain, timestamp, key) for timestamp, key in part], []

    def reset(self) -> None:
        for domain in _DOMAINS:
            self._heaps[domain].clear()
            self._alive[domain].clear()
        self._changed = {}
