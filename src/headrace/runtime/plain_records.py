"""Records that are numbers and texts, or tuples of them: they travel for less.

Pickle remembers everything it has written, in case it comes again. For a number or a short text
remembering costs more than writing, and nobody can tell whether two equal ones were one object.
"""

from __future__ import annotations

import io
import pickle
from itertools import chain
from operator import is_, itemgetter
from typing import Any

from headrace.core.basic_types import BasicType, BasicTypeInfo
from headrace.core.composite_types import TupleTypeInfo
from headrace.core.types import TypeInformation

_OBJECTS = {BasicType.BIG_DEC, BasicType.INSTANT}
"""Basic types whose values name their class when they are written."""

_ATOMS: frozenset[type] = frozenset({int, str, float, bool, bytes, type(None)})
_SAMPLE = 64
_LONG = 64
"""Characters of a record, on average, from which it may pay to send equal texts only once."""


def is_plain(kind: TypeInformation | None) -> bool:
    """Whether the values of a type are numbers and texts, or tuples of them."""
    if isinstance(kind, TupleTypeInfo):
        return all(isinstance(field, BasicTypeInfo) and is_plain(field)
                   for field in kind.get_field_types())  # fmt: skip
    return isinstance(kind, BasicTypeInfo) and kind.basic_type not in _OBJECTS


def are_atoms(values: list[Any]) -> bool:
    """Whether values are nothing but numbers and texts."""
    return set(map(type, values)) <= _ATOMS


def share_long_texts(values: list[Any]) -> bool:
    """Whether records hold the very same long texts: those pickle had better remember."""
    sample = values[:_SAMPLE]
    atoms = chain.from_iterable(v if v.__class__ is tuple else (v,) for v in sample)
    texts = [atom for atom in atoms if atom.__class__ in (str, bytes)]
    size = sum(map(len, texts))
    apart = sum(map(len, {id(text): text for text in texts}.values()))
    return size > _LONG * len(sample) and size > 2 * apart


def dumps_plain(value: Any) -> bytes:
    """A pickle in which nothing refers to anything; `pickle.loads` reads it."""
    file = io.BytesIO()
    pickler = pickle.Pickler(file, 5)
    pickler.fast = True
    pickler.dump(value)
    return file.getvalue()


def place_of_keys(values: list[Any], keys: list[Any]) -> int | None:
    """Which field of its record every key is, so that it need not be sent beside it."""
    if not values or values[0].__class__ is not tuple:
        return None
    place = next((place for place, field in enumerate(values[0]) if field is keys[0]), None)
    if place is None:
        return None
    try:
        return place if all(map(is_, keys, map(itemgetter(place), values))) else None
    except (IndexError, TypeError, KeyError):  # not all records are such tuples
        return None


def keys_at(place: int, values: list[Any]) -> list[Any]:
    """The field of each record that is its key."""
    return list(map(itemgetter(place), values))
