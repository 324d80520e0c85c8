"""Aggregates that put JSON and bitmaps together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.expressions import Accumulator
from headrace.core.logical_types import BitmapType, LogicalType
from headrace.errors import InvalidArgument
from headrace.operators.functions.aggregates import Types
from headrace.operators.functions.collecting_aggregates import Listed
from headrace.operators.functions.json_text import Fragment, written
from headrace.operators.functions.json_values import to_json


class JsonObjects:
    """JSON_OBJECTAGG: keeps values as JSON by their keys."""

    def __init__(self, type: LogicalType):
        self._convert = to_json(type)

    def create(self) -> dict[str, str]:
        return {}

    def add(self, kept: dict[str, str], key: Any, value: Any, on_null: str = "NULL") -> Any:
        if key is None or key in kept:
            problem = "NULL" if key is None else f"{key!r} twice"
            raise InvalidArgument(
                f"JSON_OBJECTAGG was given the key {problem}", hint="Give each key once."
            )
        if value is not None or on_null == "NULL":
            kept[key] = written(self._convert(value))
        return kept

    def retract(self, kept: dict[str, str], key: Any, *_value: Any) -> dict[str, str]:
        kept.pop(key, None)
        return kept

    def merge(self, kept: dict[str, str], other: dict[str, str]) -> dict[str, str]:
        return {**kept, **other}

    def result(self, kept: dict[str, str]) -> str:
        return written({key: Fragment(text) for key, text in kept.items()})


def json_objectagg(types: Types, _result: LogicalType, _retracts: bool) -> Accumulator:
    return JsonObjects(types[1])


class JsonArrays(Listed):
    """JSON_ARRAYAGG: keeps values as JSON."""

    def __init__(self, type: LogicalType):
        self._convert = to_json(type)

    def add(self, kept: list[Any], value: Any, on_null: str = "ABSENT") -> list[Any]:
        if value is not None or on_null == "NULL":
            kept.append(written(self._convert(value)))
        return kept

    def retract(self, kept: list[Any], value: Any, on_null: str = "ABSENT") -> list[Any]:
        if value is not None or on_null == "NULL":
            super().retract(kept, written(self._convert(value)))
        return kept

    def result(self, kept: list[Any]) -> str:
        return f"[{','.join(kept)}]"


def json_arrayagg(types: Types, _result: LogicalType, _retracts: bool) -> Accumulator:
    return JsonArrays(types[0])


class Bitmaps:
    """Keeps how many bitmaps there were, and in how many of them each integer was."""

    def __init__(self, chosen: Callable[[int, int], bool], bitmap: bool):
        self._chosen = chosen
        self._bitmap = bitmap

    def create(self) -> list[Any]:
        return [0, {}]

    def add(self, kept: list[Any], value: Any) -> list[Any]:
        return self._changed(kept, value, 1)

    def retract(self, kept: list[Any], value: Any) -> list[Any]:
        return self._changed(kept, value, -1)

    def _changed(self, kept: list[Any], value: Any, by: int) -> list[Any]:
        kept[0] += by
        counts = kept[1]
        for integer in (value,) if isinstance(value, int) else value:
            number = counts.get(integer, 0) + by
            if number:
                counts[integer] = number
            else:
                counts.pop(integer, None)
        return kept

    def merge(self, kept: list[Any], other: list[Any]) -> list[Any]:
        kept[0] += other[0]
        for integer, number in other[1].items():
            kept[1][integer] = kept[1].get(integer, 0) + number
        return kept

    def result(self, kept: list[Any]) -> Any:
        total, counts = kept
        if total <= 0:
            return None
        found = frozenset(integer for integer, n in counts.items() if self._chosen(n, total))
        return found if self._bitmap else len(found)


def in_any(number: int, _total: int) -> bool:
    return number > 0


def in_all(number: int, total: int) -> bool:
    return number == total


def in_odd(number: int, _total: int) -> bool:
    return number % 2 == 1


def bitmaps(chosen: Callable[[int, int], bool]) -> Callable[..., Accumulator]:
    """Of the rule by which an integer is in the result: of (its count, the number of rows)."""
    return lambda _types, result, _retracts: Bitmaps(chosen, isinstance(result, BitmapType))
