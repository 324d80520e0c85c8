"""Aggregates of how numbers spread: variances, standard deviations, percentiles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from headrace.core.expressions import Accumulator
from headrace.core.logical_types import DOUBLE, ArrayType, LogicalType
from headrace.operators.functions.aggregates import Types
from headrace.operators.functions.casting import conversion


class Variance:
    """Keeps the count, the mean and the sum of squared distances from it, after Welford."""

    def __init__(self, type: LogicalType, *, sample: bool, root: bool):
        self._finish = conversion(DOUBLE, type)  # an integer ends where its type does
        self._less = 1 if sample else 0
        self._root = root

    def create(self) -> list[Any]:
        return [0, 0.0, 0.0]

    def add(self, kept: list[Any], value: Any) -> list[Any]:
        number, mean, squares = kept
        distance = float(value) - mean
        mean += distance / (number + 1)
        return [number + 1, mean, squares + distance * (float(value) - mean)]

    def retract(self, kept: list[Any], value: Any) -> list[Any]:
        number, mean, squares = kept
        if number <= 1:
            return [number - 1, 0.0, 0.0]
        distance = float(value) - mean
        before = mean - distance / (number - 1)
        return [number - 1, before, squares - distance * (float(value) - before)]

    def merge(self, kept: list[Any], other: list[Any]) -> list[Any]:
        number = kept[0] + other[0]
        if not number:
            return kept
        distance = other[1] - kept[1]
        mean = kept[1] + distance * other[0] / number
        return [number, mean, kept[2] + other[2] + distance**2 * kept[0] * other[0] / number]

    def result(self, kept: list[Any]) -> Any:
        number = kept[0] - self._less
        if kept[0] <= 0 or number <= 0:
            return None
        variance = max(kept[2], 0.0) / number
        return self._finish(math.sqrt(variance) if self._root else variance)


def variance(*, sample: bool, root: bool) -> Callable[[Types, LogicalType, bool], Accumulator]:
    return lambda _types, result, _retracts: Variance(result, sample=sample, root=root)


class Percentile:
    """Keeps the percentages, and the values with their counts."""

    def __init__(self, several: bool):
        self._several = several

    def create(self) -> list[Any]:
        return [None, {}]

    def add(self, kept: list[Any], value: Any, wanted: Any, frequency: int | None = 1) -> list[Any]:
        return self._changed(kept, value, wanted, frequency, 1)

    def retract(
        self, kept: list[Any], value: Any, wanted: Any, frequency: int | None = 1
    ) -> list[Any]:
        return self._changed(kept, value, wanted, frequency, -1)

    def _changed(
        self, kept: list[Any], value: Any, wanted: Any, frequency: int | None, sign: int
    ) -> list[Any]:
        if kept[0] is None:
            parts = [float(part) for part in (wanted if self._several else (wanted,))]
            kept[0] = parts
            if not all(0 <= part <= 1 for part in parts):
                raise ValueError(f"PERCENTILE takes percentages from 0 to 1, not {wanted}")
        if frequency is not None and frequency > 0:
            _count(kept[1], float(value), sign * frequency)
        return kept

    def merge(self, kept: list[Any], other: list[Any]) -> list[Any]:
        for value, number in other[1].items():
            _count(kept[1], value, number)
        return [other[0] if kept[0] is None else kept[0], kept[1]]

    def result(self, kept: list[Any]) -> Any:
        total = sum(kept[1].values())
        if not kept[0] or total <= 0:
            return None
        ordered = sorted(kept[1].items())
        found = tuple(_percentile(ordered, part * (total - 1)) for part in kept[0])
        return found if self._several else found[0]


def _count(counts: dict[Any, int], value: Any, by: int) -> None:
    """Changes a value's count; those that are 0 are not kept."""
    number = counts.get(value, 0) + by
    if number:
        counts[value] = number
    else:
        counts.pop(value, None)


def _percentile(ordered: list[tuple[float, int]], position: float) -> float:
    """The value at a position from 0, between two values in proportion."""
    lower, upper = math.floor(position), math.ceil(position)
    seen = 0
    for at, (value, number) in enumerate(ordered):
        seen += number
        if seen > lower:
            if seen > upper:
                return value
            return (upper - position) * value + (position - lower) * ordered[at + 1][0]
    return ordered[-1][0]


def percentile(types: Types, _result: LogicalType, _retracts: bool) -> Accumulator:
    return Percentile(isinstance(types[1], ArrayType))
