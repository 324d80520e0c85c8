"""Records that are numbers and texts, or tuples of them: they travel for less.

Pickle remembers everything it has written, in case it comes again. For a number or a short text
remembering costs more than writing, and nobody can tell whether two equal ones were one object.
"""

from __future__ import annotations

import pickle
from itertools import chain
from operator import is_, itemgetter
from typing import Any

from headrace.core.operator import Batch

ITSELF = -1
"""In place of the number of a field: the record is its own key."""

_ATOMS: frozenset[type] = frozenset({int, str, float, bool, bytes, type(None)})
_SAMPLE = 64
_LONG = 200
"""Bytes of a record, on average, from which on pickle had better remember: texts may be shared."""
_OVERHEAD = 1 << 16


class _TooLong(Exception):
    """Records turned out to be longer than a sample of them."""


class _Limited:
    """A file for pickle to write to, up to a number of bytes."""

    def __init__(self, room: int):
        self._room = room
        self._parts: list[bytes] = []

    def write(self, part: Any) -> None:
        self._room -= len(part)
        if self._room < 0:
            raise _TooLong
        self._parts.append(bytes(part))

    def content(self) -> bytes:
        return b"".join(self._parts)


def dumps_plain(value: Any, batches: list[Batch]) -> bytes | None:
    """A pickle in which nothing refers to anything, for `pickle.loads`; None if it is not worth it.

    `value` consists of the contents of batches, and of little else.
    """
    if any(_are_long(batch.values) for batch in batches):
        return None
    file = _Limited(_OVERHEAD + _LONG * 2 * sum(map(len, batches)))
    pickler = pickle.Pickler(file, 5)
    pickler.fast = True
    try:
        pickler.dump(value)
    except _TooLong:
        return None
    return file.content()


def _are_long(values: list[Any]) -> bool:
    sample = values[:: max(1, len(values) // _SAMPLE)]
    atoms = chain.from_iterable(v if v.__class__ is tuple else (v,) for v in sample)
    texts = (atom for atom in atoms if atom.__class__ is str)
    return sum(map(len, texts)) > _LONG * len(sample)


def are_atoms(values: list[Any]) -> bool:
    """Whether values are nothing but numbers and texts."""
    return set(map(type, values)) <= _ATOMS


def place_of(parts: list[Any] | None, batch: Batch) -> int | None:
    """Which field of its record every key or timestamp is: it need not be sent beside it."""
    values = batch.values
    if not batch.plain or not values or parts is None:
        return None
    if values[0].__class__ is not tuple:
        return ITSELF if all(map(is_, parts, values)) else None
    place = next((place for place, field in enumerate(values[0]) if field is parts[0]), None)
    if place is None or not all(map(is_, parts, map(itemgetter(place), values))):
        return None
    return place


def parts_at(place: int, values: list[Any]) -> list[Any]:
    """The part of each record that is its key, or its timestamp."""
    return list(values if place == ITSELF else map(itemgetter(place), values))
