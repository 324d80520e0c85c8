"""Rows as keys of dictionaries and of map state, whatever their columns hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Values = tuple[Any, ...]
"""A row's columns, without the kind of a change."""
Selector = Callable[[Values], Values]


class HashableRow(tuple[Any, ...]):
    """A row with columns that Python cannot hash, such as a MAP, that can be looked up by value."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(tuple(map(_frozen, self)))

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, other) is True

    def __getnewargs__(self) -> tuple[Values]:
        return (tuple(self),)


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return frozenset((_frozen(key), _frozen(item)) for key, item in value.items())
    if isinstance(value, tuple):
        return tuple(map(_frozen, value))
    return value


def lookup_form(values: Values) -> Values:
    """The row as a key of a dictionary or of map state."""
    try:
        hash(values)
    except TypeError:
        return HashableRow(values)
    return values


def selector(columns: Iterable[int]) -> Selector:
    """A function from a row's columns to a tuple of some of them."""
    positions = tuple(columns)
    if len(positions) == 1:
        (only,) = positions
        return lambda values: (values[only],)
    return lambda values: tuple([values[position] for position in positions])
