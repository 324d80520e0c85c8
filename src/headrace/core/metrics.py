"""Metrics a user function reports: kept in the task, added up by the driver.

A task's group is turned into a snapshot, a flat mapping from metric name to plain numbers, which
travels to the driver; there the snapshots of all tasks are merged.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

__all__ = ["Counter", "Distribution", "Gauge", "Meter", "Metric", "MetricGroup", "merge_snapshots"]

MetricValue = dict[str, Any]
Snapshot = dict[str, MetricValue]


class Metric(ABC):
    """One measured thing."""

    @abstractmethod
    def snapshot(self) -> MetricValue:
        """The metric's value now, with its `kind`."""

    @staticmethod
    @abstractmethod
    def merge(one: MetricValue, other: MetricValue) -> MetricValue:
        """The value of two tasks' metrics together."""


M = TypeVar("M", bound=Metric)


class Counter(Metric):
    """A number that goes up and down."""

    def __init__(self) -> None:
        self._count = 0

    def inc(self, n: int = 1) -> None:
        self._count += n

    def dec(self, n: int = 1) -> None:
        self._count -= n

    def get_count(self) -> int:
        return self._count

    def snapshot(self) -> MetricValue:
        return {"kind": "counter", "count": self._count}

    @staticmethod
    def merge(one: MetricValue, other: MetricValue) -> MetricValue:
        return {**one, "count": one["count"] + other["count"]}


class Gauge(Metric):
    """A value asked for when it is reported; of several tasks, the sum."""

    def __init__(self, read: Callable[[], int]) -> None:
        self._read = read

    def get_value(self) -> int:
        return self._read()

    def snapshot(self) -> MetricValue:
        return {"kind": "gauge", "value": self._read()}

    @staticmethod
    def merge(one: MetricValue, other: MetricValue) -> MetricValue:
        return {**one, "value": one["value"] + other["value"]}


class Meter(Metric):
    """Counts events, and how many there were per second lately."""

    def __init__(
        self, time_span_in_seconds: int = 60, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._span = time_span_in_seconds
        self._clock = clock
        self._count = 0
        self._seconds: deque[tuple[int, int]] = deque()

    def mark_event(self, value: int = 1) -> None:
        self._count += value
        second = int(self._clock())
        if self._seconds and self._seconds[-1][0] == second:
            value += self._seconds.pop()[1]
        self._seconds.append((second, value))
        self._forget(second)

    def get_count(self) -> int:
        return self._count

    def get_rate(self) -> float:
        """Events per second over the time span."""
        self._forget(int(self._clock()))
        return sum(value for _, value in self._seconds) / self._span

    def _forget(self, now: int) -> None:
        while self._seconds and self._seconds[0][0] <= now - self._span:
            self._seconds.popleft()

    def snapshot(self) -> MetricValue:
        return {"kind": "meter", "count": self._count, "rate": self.get_rate()}

    @staticmethod
    def merge(one: MetricValue, other: MetricValue) -> MetricValue:
        count, rate = one["count"] + other["count"], one["rate"] + other["rate"]
        return {**one, "count": count, "rate": rate}


class Distribution(Metric):
    """How the values of something are spread: their number, sum, least and greatest."""

    def __init__(self) -> None:
        self._count = 0
        self._sum = 0
        self._min: int | None = None
        self._max: int | None = None

    def update(self, value: int) -> None:
        self._count += 1
        self._sum += value
        self._min = value if self._min is None else min(self._min, value)
        self._max = value if self._max is None else max(self._max, value)

    def snapshot(self) -> MetricValue:
        return {
            "kind": "distribution",
            "count": self._count,
            "sum": self._sum,
            "min": self._min,
            "max": self._max,
        }

    @staticmethod
    def merge(one: MetricValue, other: MetricValue) -> MetricValue:
        seen = [value for value in (one, other) if value["count"]]
        return {
            "kind": "distribution",
            "count": one["count"] + other["count"],
            "sum": one["sum"] + other["sum"],
            "min": min((value["min"] for value in seen), default=None),
            "max": max((value["max"] for value in seen), default=None),
        }


class MetricGroup:
    """A named place for metrics and for groups inside it; names are joined with dots."""

    def __init__(self, scope: tuple[str, ...] = ()) -> None:
        self._scope = scope
        self._metrics: dict[str, Metric] = {}
        self._groups: dict[str, MetricGroup] = {}

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """The group called `name`; with `extra`, the group `extra` inside it."""
        group = self._groups.get(name)
        if group is None:
            group = self._groups[name] = MetricGroup((*self._scope, name))
        return group if extra is None else group.add_group(extra)

    def counter(self, name: str) -> Counter:
        return self._register(name, Counter())

    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        self._register(name, Gauge(obj))

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        if time_span_in_seconds <= 0:
            raise InvalidArgument(
                f"meter {name!r} measures over {time_span_in_seconds} seconds; it must be above 0",
                origin=calling_origin(),
            )
        return self._register(name, Meter(time_span_in_seconds))

    def distribution(self, name: str) -> Distribution:
        return self._register(name, Distribution())

    def _register(self, name: str, metric: M) -> M:
        # A function opened again after a failure registers again: it goes on with what it had.
        known = self._metrics.setdefault(name, metric)
        if type(known) is type(metric):
            return known
        raise InvalidArgument(
            f"metric {name!r} is already a {type(known).__name__.lower()}",
            origin=calling_origin(),
            hint="Give the two metrics different names.",
        )

    def snapshot(self) -> Snapshot:
        """Every metric of this group and those inside it, by full name."""
        values = {".".join((*self._scope, name)): m.snapshot() for name, m in self._metrics.items()}
        for group in self._groups.values():
            values.update(group.snapshot())
        return values


_KINDS: dict[str, type[Metric]] = {
    "counter": Counter,
    "gauge": Gauge,
    "meter": Meter,
    "distribution": Distribution,
}


def merge_snapshots(snapshots: Iterable[Mapping[str, MetricValue]]) -> Snapshot:
    """The metrics of several tasks as if they were one's."""
    merged: Snapshot = {}
    for snapshot in snapshots:
        for name, value in snapshot.items():
            known = merged.get(name)
            merged[name] = value if known is None else _KINDS[value["kind"]].merge(known, value)
    return merged
