"""Aggregates that keep values: lists, texts, multisets, first and last ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.expressions import Accumulator
from headrace.core.logical_types import LogicalType
from headrace.errors import InvalidArgument, Unsupported
from headrace.operators.functions.aggregates import Types
from headrace.operators.functions.keys import key_of


class Listed:
    """Keeps values in the order they came; taking one back removes the first that equals it."""

    def create(self) -> list[Any]:
        return []

    def add(self, kept: list[Any], value: Any) -> list[Any]:
        kept.append(value)
        return kept

    def retract(self, kept: list[Any], value: Any) -> list[Any]:
        if value in kept:
            kept.remove(value)
        return kept

    def merge(self, kept: list[Any], other: list[Any]) -> list[Any]:
        return kept + other

    def result(self, kept: list[Any]) -> Any:
        return tuple(kept) if kept else None


def array_agg(_types: Types, _result: LogicalType, _retracts: bool) -> Accumulator:
    return Listed()


class JoinedText:
    """LISTAGG: keeps the separator and the texts."""

    def create(self) -> list[Any]:
        return [",", []]

    def add(self, kept: list[Any], text: str, separator: str = ",") -> list[Any]:
        kept[0] = separator
        kept[1].append(text)
        return kept

    def retract(self, kept: list[Any], text: str, separator: str = ",") -> list[Any]:
        if text in kept[1]:
            kept[1].remove(text)
        return kept

    def merge(self, kept: list[Any], other: list[Any]) -> list[Any]:
        return [other[0] if other[1] else kept[0], kept[1] + other[1]]

    def result(self, kept: list[Any]) -> str | None:
        return kept[0].join(kept[1]) if kept[1] else None


def listagg(_types: Types, _result: LogicalType, _retracts: bool) -> Accumulator:
    return JoinedText()


class Collected:
    """COLLECT: a multiset."""

    def create(self) -> dict[Any, int]:
        return {}

    def add(self, kept: dict[Any, int], value: Any) -> dict[Any, int]:
        return self._changed(kept, value, 1)

    def retract(self, kept: dict[Any, int], value: Any) -> dict[Any, int]:
        return self._changed(kept, value, -1)

    def _changed(self, kept: dict[Any, int], value: Any, by: int) -> dict[Any, int]:
        key = key_of(value)
        number = kept.get(key, 0) + by
        if number:
            kept[key] = number
        else:
            kept.pop(key, None)
        return kept

    def merge(self, kept: dict[Any, int], other: dict[Any, int]) -> dict[Any, int]:
        for value, number in other.items():
            self._changed(kept, value, number)
        return kept

    def result(self, kept: dict[Any, int]) -> dict[Any, int]:
        return {value: number for value, number in kept.items() if number > 0}


def collect(_types: Types, _result: LogicalType, _retracts: bool) -> Accumulator:
    return Collected()


class Distinct(Collected):
    """How many different values there are."""

    def result(self, kept: dict[Any, int]) -> Any:
        return sum(number > 0 for number in kept.values())


def count_distinct(_types: Types, _result: LogicalType, _retracts: bool) -> Accumulator:
    return Distinct()


class GrowingEnd:
    """The first or last value of rows that stay: in a list, which is empty before."""

    def __init__(self, last: bool):
        self._last = last

    def create(self) -> list[Any]:
        return []

    def add(self, kept: list[Any], value: Any) -> list[Any]:
        return [value] if self._last or not kept else kept

    def retract(self, kept: list[Any], value: Any) -> list[Any]:
        raise AssertionError("the end of rows that stay was asked to take a value back")

    def merge(self, kept: list[Any], other: list[Any]) -> list[Any]:
        return self.add(kept, other[0]) if other else kept

    def result(self, kept: list[Any]) -> Any:
        return kept[0] if kept else None


class End:
    """Keeps the next number, values by the numbers they came with, and numbers by value."""

    def __init__(self, last: bool):
        self._last = last

    def create(self) -> list[Any]:
        return [0, {}, {}]

    def add(self, kept: list[Any], value: Any) -> list[Any]:
        number = kept[0]
        kept[1][number] = value
        kept[2].setdefault(key_of(value), []).append(number)
        kept[0] = number + 1
        return kept

    def retract(self, kept: list[Any], value: Any) -> list[Any]:
        numbers = kept[2].get(key_of(value))
        if numbers:
            del kept[1][numbers.pop(0)]
            if not numbers:
                del kept[2][key_of(value)]
        return kept

    def merge(self, kept: list[Any], other: list[Any]) -> list[Any]:
        for value in other[1].values():
            self.add(kept, value)
        return kept

    def result(self, kept: list[Any]) -> Any:
        values = kept[1]
        if not values:
            return None
        return values[next(reversed(values) if self._last else iter(values))]


def first_value(_types: Types, _result: LogicalType, retracts: bool) -> Accumulator:
    return End(last=False) if retracts else GrowingEnd(last=False)


def last_value(_types: Types, _result: LogicalType, retracts: bool) -> Accumulator:
    return End(last=True) if retracts else GrowingEnd(last=True)


class Single(Listed):
    """The value of the only row; an error if there are several."""

    def result(self, kept: list[Any]) -> Any:
        if len(kept) > 1:
            raise InvalidArgument(
                "a subquery that is used as a value gave more than one row",
                hint="Aggregate it, or add LIMIT 1.",
            )
        return kept[0] if kept else None


def single_value(_types: Types, _result: LogicalType, _retracts: bool) -> Accumulator:
    return Single()


class Lag:
    """Keeps the values of the last rows; the current one is among them."""

    def create(self) -> list[Any]:
        return [1, None, []]

    def add(self, kept: list[Any], value: Any, offset: int = 1, otherwise: Any = None) -> list[Any]:
        values = [*kept[2], value][-offset - 1 :]
        return [offset, otherwise, values]

    def retract(self, kept: list[Any], *values: Any) -> list[Any]:
        raise Unsupported("LAG over rows that are taken back", hint="Use it on insert-only rows.")

    def merge(self, kept: list[Any], other: list[Any]) -> list[Any]:
        raise Unsupported("LAG over rows in no order", hint="Use it OVER (… ORDER BY …).")

    def result(self, kept: list[Any]) -> Any:
        offset, otherwise, values = kept
        return values[0] if len(values) > offset else otherwise


def lag(_types: Types, _result: LogicalType, _retracts: bool) -> Accumulator:
    return Lag()


def only_over(name: str) -> Callable[..., Accumulator]:
    """Functions of a row's place among others, which have nothing to accumulate."""

    def refuse(_types: Types, _result: LogicalType, _retracts: bool) -> Accumulator:
        raise Unsupported(f"{name} as an aggregate of a group", hint=f"Write {name}() OVER (…).")

    return refuse
