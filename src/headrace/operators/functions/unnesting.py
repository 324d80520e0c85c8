"""UNNEST: the elements of a collection as rows. Nothing comes of NULL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

Row = tuple[Any, ...]
Unnest = Callable[[Any], Iterable[Row]]


def elements(array: tuple[Any, ...] | None) -> list[Row]:
    return [(value,) for value in array or ()]


def members(counts: dict[Any, int] | None) -> Iterator[Row]:
    """Of a multiset: each as often as it is in it."""
    for value, number in (counts or {}).items():
        for _ in range(number):
            yield (value,)


def pairs(mapping: dict[Any, Any] | None) -> Iterable[Row]:
    return (mapping or {}).items()


def spread(unnest: Unnest, width: int) -> Unnest:
    """Of collections of rows: their fields; a row that is NULL has NULLs."""
    nulls = (None,) * width
    return lambda collection: [
        nulls if value is None else tuple(value) for (value,) in unnest(collection)
    ]


def numbered(unnest: Unnest) -> Unnest:
    return lambda collection: [(*row, number) for number, row in enumerate(unnest(collection), 1)]
