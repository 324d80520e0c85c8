"""Aggregates of numbers: counts, sums, averages, extremes.

Each class carries out one call. What it keeps is plain data: numbers, lists and dicts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.expressions import Accumulator
from headrace.core.logical_types import DecimalType, LogicalType
from headrace.core.numbers import WIDE, single
from headrace.operators.functions.casting import BITS
from headrace.operators.functions.numbers import fitted, wrapped

Types = Sequence[LogicalType]


def finisher(type: LogicalType) -> Callable[[Any], Any]:
    """Brings a computed number into its type: integers wrap, decimals that do not fit are NULL."""
    if isinstance(type, DecimalType):
        precision, scale = type.precision, type.scale
        return lambda value: fitted(_decimal(value), precision, scale)
    if isinstance(type, lt.INTEGERS):
        bits = BITS[type.__class__]
        return lambda value: wrapped(int(value), bits)
    return single if isinstance(type, lt.FloatType) else float


def _decimal(value: Any) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(repr(value))


class Count:
    """Of rows, or of those where no argument is NULL."""

    def create(self) -> int:
        return 0

    def add(self, kept: int, *values: Any) -> int:
        return kept if None in values else kept + 1

    def retract(self, kept: int, *values: Any) -> int:
        return kept if None in values else kept - 1

    def merge(self, kept: int, other: int) -> int:
        return kept + other

    def result(self, kept: int) -> int:
        return kept


class CountOne(Count):
    """Of rows, or of one argument whose NULLs are not handed over."""

    def add(self, kept: int, *values: Any) -> int:
        return kept + 1

    def retract(self, kept: int, *values: Any) -> int:
        return kept - 1


def count(types: Types, _result: LogicalType, _retracts: bool) -> Accumulator:
    return Count() if len(types) > 1 else CountOne()


class Sum:
    """Keeps the sum and how many values it has, so that a sum of no values is NULL again."""

    def __init__(self, type: LogicalType, otherwise: Any = None):
        self._finish = finisher(type)
        self._zero: Any = Decimal(0) if isinstance(type, DecimalType) else 0
        self._otherwise = otherwise
        self._plus, self._minus = _plus_and_minus(type)

    def create(self) -> list[Any]:
        return [self._zero, 0]

    def add(self, kept: list[Any], value: Any) -> list[Any]:
        kept[0] = self._plus(kept[0], value)
        kept[1] += 1
        return kept

    def retract(self, kept: list[Any], value: Any) -> list[Any]:
        kept[0] = self._minus(kept[0], value)
        kept[1] -= 1
        return kept

    def merge(self, kept: list[Any], other: list[Any]) -> list[Any]:
        return [self._plus(kept[0], other[0]), kept[1] + other[1]]

    def result(self, kept: list[Any]) -> Any:
        return self._finish(kept[0]) if kept[1] else self._otherwise


class GrowingSum:
    """A sum from which nothing is taken back: the number, or None before the first."""

    def __init__(self, type: LogicalType):
        self._finish = finisher(type)
        self._plus = _plus_and_minus(type)[0]

    def create(self) -> Any:
        return None

    def add(self, kept: Any, value: Any) -> Any:
        return value if kept is None else self._plus(kept, value)

    def retract(self, kept: Any, value: Any) -> Any:
        raise AssertionError("a sum that only grows was asked to take a value back")

    def merge(self, kept: Any, other: Any) -> Any:
        return kept if other is None else self.add(kept, other)

    def result(self, kept: Any) -> Any:
        return None if kept is None else self._finish(kept)


class GrowingIntegerSum(GrowingSum):
    """The same without a call for each addition."""

    def add(self, kept: Any, value: Any) -> Any:
        return value if kept is None else kept + value


def _plus_and_minus(type: LogicalType) -> tuple[Callable[..., Any], Callable[..., Any]]:
    if isinstance(type, DecimalType):
        return WIDE.add, WIDE.subtract
    if isinstance(type, lt.FloatType):
        return (lambda a, b: single(a + b)), (lambda a, b: single(a - b))
    return (lambda a, b: a + b), (lambda a, b: a - b)


def sum_of(_types: Types, result: LogicalType, retracts: bool) -> Accumulator:
    if retracts:
        return Sum(result)
    plain = not isinstance(result, DecimalType | lt.FloatType)
    return GrowingIntegerSum(result) if plain else GrowingSum(result)


def sum0(_types: Types, result: LogicalType, _retracts: bool) -> Accumulator:
    return Sum(result, finisher(result)(Decimal(0) if isinstance(result, DecimalType) else 0))


class Average(Sum):
    """Of integers it is one, cut towards zero."""

    def __init__(self, argument: LogicalType, result: LogicalType):
        super().__init__(lt.DOUBLE if isinstance(argument, lt.FloatType) else argument)
        self._finish = finisher(result)
        self._divide = _divider(result)

    def result(self, kept: list[Any]) -> Any:
        return self._finish(self._divide(kept[0], kept[1])) if kept[1] else None


def _divider(type: LogicalType) -> Callable[[Any, int], Any]:
    if isinstance(type, DecimalType):
        return WIDE.divide
    if isinstance(type, lt.INTEGERS):
        return lambda total, number: abs(total) // number * (1 if total >= 0 else -1)
    return lambda total, number: total / number


def average(types: Types, result: LogicalType, _retracts: bool) -> Accumulator:
    return Average(types[0], result)


class GrowingExtreme:
    """The smallest or largest value of rows that stay."""

    def __init__(self, better: Callable[[Any, Any], Any]):
        self._better = better

    def create(self) -> Any:
        return None

    def add(self, kept: Any, value: Any) -> Any:
        return value if kept is None else self._better(kept, value)

    def retract(self, kept: Any, value: Any) -> Any:
        raise AssertionError("an extreme of rows that stay was asked to take a value back")

    def merge(self, kept: Any, other: Any) -> Any:
        return kept if other is None else self.add(kept, other)

    def result(self, kept: Any) -> Any:
        return kept


class Extreme:
    """Keeps all values with their counts, and the extreme one until it is taken back."""

    def __init__(self, better: Callable[..., Any]):
        self._better = better

    def create(self) -> list[Any]:
        return [None, {}]

    def add(self, kept: list[Any], value: Any) -> list[Any]:
        return self._changed(kept, value, 1)

    def retract(self, kept: list[Any], value: Any) -> list[Any]:
        return self._changed(kept, value, -1)

    def _changed(self, kept: list[Any], value: Any, by: int) -> list[Any]:
        counts = kept[1]
        number = counts.get(value, 0) + by
        if number:
            counts[value] = number
        else:
            counts.pop(value, None)
        if number <= 0 and value == kept[0]:
            kept[0] = None
        elif number > 0 and kept[0] is not None:
            kept[0] = self._better(kept[0], value)
        return kept

    def merge(self, kept: list[Any], other: list[Any]) -> list[Any]:
        for value, number in other[1].items():
            self._changed(kept, value, number)
        return kept

    def result(self, kept: list[Any]) -> Any:
        if kept[0] is None:
            present = [value for value, number in kept[1].items() if number > 0]
            kept[0] = self._better(present) if present else None
        return kept[0]


def minimum(_types: Types, _result: LogicalType, retracts: bool) -> Accumulator:
    return Extreme(min) if retracts else GrowingExtreme(min)


def maximum(_types: Types, _result: LogicalType, retracts: bool) -> Accumulator:
    return Extreme(max) if retracts else GrowingExtreme(max)
