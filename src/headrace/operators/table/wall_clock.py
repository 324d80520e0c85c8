"""Where windows lie: on the wall clock of a time zone, while time itself passes in UTC.

Windows over TIMESTAMP_LTZ begin and end when clocks in the session's time zone show a round time.
An *instant* is milliseconds of UTC, a *local* time is what the wall clock shows then, counted as
if it were UTC. When clocks are put back, an hour is shown twice and ends with its second pass;
when they are put forward, the hour that is left out ends as the next one begins.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from functools import lru_cache

from headrace.core.operator import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.operators.functions.session import instant_of, wall_of, zone_of
from headrace.operators.table.keyed_changes import NANOS_PER_MS

_HOUR = 3_600_000
_QUARTER = 900_000
"""Clocks are changed at a multiple of a quarter of an hour."""
_FURTHEST = 3 * _HOUR


class WallClock:
    """Turns instants into local times and back; without a zone they are the same."""

    def __init__(self, zone: str | None = None):
        self._zone = UTC if zone is None else zone_of(zone)
        self.shifts = self._zone is not UTC
        self._offset = lru_cache(4096)(self._offset_in)

    def _offset_in(self, quarter: int) -> int:
        instant = quarter * _QUARTER
        return wall_of(instant * NANOS_PER_MS, self._zone) // NANOS_PER_MS - instant

    def local(self, instant: int) -> int:
        """What the wall clock shows."""
        if not self.shifts or instant in (MIN_TIMESTAMP, MAX_TIMESTAMP):
            return instant
        return instant + self._offset(instant // _QUARTER)

    def instant(self, local: int) -> int:
        """When the wall clock shows a time; of two passes the first one."""
        if not self.shifts or local in (MIN_TIMESTAMP, MAX_TIMESTAMP):
            return local
        return instant_of(local * NANOS_PER_MS, self._zone) // NANOS_PER_MS

    def due(self, local: int) -> int:
        """When a local time is over for good."""
        if not self.shifts:
            return local
        first, an_hour_on = self.instant(local), self.instant(local + _HOUR)
        if an_hour_on - first > _HOUR:
            return first + _HOUR
        return first - first % _HOUR if an_hour_on == first else first

    def reached(self, instant: int) -> int:
        """The latest local time that is over by then."""
        local = self.local(instant)
        if not self.shifts or instant in (MIN_TIMESTAMP, MAX_TIMESTAMP):
            return local
        if self.due(local) <= instant:
            return local
        return _first(local - _FURTHEST, local, lambda at: self.due(at) > instant) - 1

    def earliest(self, instant: int) -> int:
        """The earliest local time that is over then and not before."""
        local = self.local(instant)
        if not self.shifts or instant in (MIN_TIMESTAMP, MAX_TIMESTAMP):
            return local
        if self.due(local - 1) < instant <= self.due(local):
            return local
        return _first(local - _FURTHEST, local, lambda at: self.due(at) >= instant)


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first number for which something holds that holds for all later ones, too."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
