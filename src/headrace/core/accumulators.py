"""Accumulators: values that functions add to and the job's result reports as one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter as Tally
from typing import Any, Generic, TypeVar

from headrace.errors import TypeMismatch
from headrace.origin import calling_origin

__all__ = [
    "Accumulator",
    "AverageAccumulator",
    "DoubleCounter",
    "DoubleMaximum",
    "DoubleMinimum",
    "Histogram",
    "IntCounter",
    "IntMaximum",
    "IntMinimum",
    "ListAccumulator",
    "LongCounter",
]

V = TypeVar("V")
R = TypeVar("R")


class Accumulator(ABC, Generic[V, R]):
    """Collects values of one task; those of all tasks are merged when the job ends.

    Merging must not depend on the order of the tasks.
    """

    @abstractmethod
    def add(self, value: V) -> None:
        """Take one more value into account."""

    @abstractmethod
    def get_local_value(self) -> R:
        """The result over the values added here."""

    @abstractmethod
    def merge(self, other: Accumulator[V, R]) -> None:
        """Take another accumulator of the same kind into account."""

    @abstractmethod
    def reset(self) -> None:
        """Forget every value."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.get_local_value()!r})"


def _same(accumulator: Accumulator[Any, Any], other: Accumulator[Any, Any]) -> Any:
    if type(other) is not type(accumulator):
        raise TypeMismatch(
            f"a {type(accumulator).__name__} cannot take in a {type(other).__name__}",
            origin=calling_origin(),
            hint="Register the same kind of accumulator under one name in every task.",
        )
    return other


N = TypeVar("N", bound=float)


class _Sum(Accumulator[N, N]):
    zero: N

    def __init__(self, value: N | None = None) -> None:
        self._value: Any = self.zero if value is None else value

    def add(self, value: N) -> None:
        self._value += value

    def get_local_value(self) -> N:
        value: N = self._value
        return value

    def merge(self, other: Accumulator[N, N]) -> None:
        self._value += _same(self, other)._value

    def reset(self) -> None:
        self._value = self.zero


class IntCounter(_Sum[int]):
    """A sum of integers."""

    zero = 0


class LongCounter(_Sum[int]):
    """A sum of integers."""

    zero = 0


class DoubleCounter(_Sum[float]):
    """A sum of floating-point numbers."""

    zero = 0.0


class AverageAccumulator(Accumulator[float, float]):
    """The mean of the numbers added; 0 of none."""

    def __init__(self) -> None:
        self._count = 0
        self._sum = 0.0

    def add(self, value: float) -> None:
        self._count += 1
        self._sum += value

    def get_local_value(self) -> float:
        return self._sum / self._count if self._count else 0.0

    def merge(self, other: Accumulator[float, float]) -> None:
        average = _same(self, other)
        self._count += average._count
        self._sum += average._sum

    def reset(self) -> None:
        self._count, self._sum = 0, 0.0


class _Extreme(Accumulator[N, N]):
    worst: N

    def __init__(self, value: N | None = None) -> None:
        self._value = self.worst if value is None else value

    def get_local_value(self) -> N:
        return self._value

    def merge(self, other: Accumulator[N, N]) -> None:
        self.add(_same(self, other)._value)

    def reset(self) -> None:
        self._value = self.worst


class IntMinimum(_Extreme[int]):
    """The least integer; the greatest 32-bit one if none was added."""

    worst = 2**31 - 1

    def add(self, value: int) -> None:
        self._value = min(self._value, value)


class IntMaximum(_Extreme[int]):
    """The greatest integer; the least 32-bit one if none was added."""

    worst = -(2**31)

    def add(self, value: int) -> None:
        self._value = max(self._value, value)


class DoubleMinimum(_Extreme[float]):
    """The least number; infinity if none was added."""

    worst = float("inf")

    def add(self, value: float) -> None:
        self._value = min(self._value, value)


class DoubleMaximum(_Extreme[float]):
    """The greatest number; minus infinity if none was added."""

    worst = float("-inf")

    def add(self, value: float) -> None:
        self._value = max(self._value, value)


class ListAccumulator(Accumulator[V, list[V]]):
    """Every value added, in no particular order."""

    def __init__(self) -> None:
        self._values: list[V] = []

    def add(self, value: V) -> None:
        self._values.append(value)

    def get_local_value(self) -> list[V]:
        return self._values

    def merge(self, other: Accumulator[V, list[V]]) -> None:
        self._values.extend(_same(self, other)._values)

    def reset(self) -> None:
        self._values = []


class Histogram(Accumulator[int, dict[int, int]]):
    """How often each integer was added, by ascending integer."""

    def __init__(self) -> None:
        self._counts: Tally[int] = Tally()

    def add(self, value: int) -> None:
        self._counts[value] += 1

    def get_local_value(self) -> dict[int, int]:
        return dict(sorted(self._counts.items()))

    def merge(self, other: Accumulator[int, dict[int, int]]) -> None:
        self._counts.update(_same(self, other)._counts)

    def reset(self) -> None:
        self._counts = Tally()
