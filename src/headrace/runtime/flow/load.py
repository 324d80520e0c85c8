"""What a task spends its time on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds since a task began."""

    busy: float = 0.0
    backpressured: float = 0.0
    """With no room at those it sends to."""
    idle: float = 0.0
    """With nothing to do."""

    def since(self, before: Spent) -> Spent:
        return Spent(
            self.busy - before.busy,
            self.backpressured - before.backpressured,
            self.idle - before.idle,
        )

    @property
    def total(self) -> float:
        return self.busy + self.backpressured + self.idle


class Load:
    """Counts the time that a task waits, and why; all the rest it was busy."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._began = clock()
        self._backpressured = 0.0
        self._idle = 0.0

    def waited(self, seconds: float, *, for_room: bool) -> None:
        if for_room:
            self._backpressured += seconds
        else:
            self._idle += seconds

    def spent(self) -> Spent:
        waited = self._backpressured + self._idle
        busy = max(0.0, self._clock() - self._began - waited)
        return Spent(busy, self._backpressured, self._idle)
