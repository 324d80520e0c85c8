"""Many values as one Arrow column: of the type they share, or else as one pickle of them all.

Made for speed: a type is tried on all values at once, and what does not fit exactly is refused by
its column (`headrace.core.columnar`), so that the very same values come back.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pyarrow as pa

from headrace.core.columnar import column_of, holds_pickles, observed, type_to_json
from headrace.core.composite_types import ListTypeInfo
from headrace.core.type_json import same_type
from headrace.core.types import TypeInformation, Types
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.runtime.pickling import dumps

PICKLED = Types.PICKLED_BYTE_ARRAY()
"""Of a column here: a pickle of the list of its values is in the first row, nothing in others."""
_SAMPLE = 32
"""How many values, and how many parts of each, tell what all are."""
_LARGE = 2**31 - 1
"""Bytes from which on Arrow needs wider offsets."""


def encode_column(
    values: list[Any], declared: TypeInformation | None = None, *, are_lists: bool = False
) -> tuple[TypeInformation, pa.Array]:
    """The values, in the declared type if it fits. `are_lists`: as those of list state are."""
    for kind in _types_for(values, declared, are_lists):
        try:
            return kind, column_of(kind).encode(values)
        except (TypeMismatch, InvalidArgument, OverflowError):  # of another type, or too many
            continue
    return PICKLED, pickled_column(values)


def decode_column(kind: TypeInformation, column: pa.Array) -> list[Any]:
    """The values that `encode_column` was given."""
    if kind == PICKLED:
        values: list[Any] = pickle.loads(column[0].as_buffer())
        return values
    return column_of(kind).decode(column)


def pickled_column(values: list[Any]) -> pa.Array:
    """One pickle costs far less than one for each value, most of all for objects of one class."""
    blob = dumps(values)
    kind = pa.large_binary() if len(blob) >= _LARGE else pa.binary()
    return pa.concat_arrays([pa.array([blob], kind), pa.nulls(len(values) - 1, kind)])


def _types_for(
    values: list[Any], declared: TypeInformation | None, are_lists: bool
) -> Iterator[TypeInformation]:
    """What to try, best first."""
    if declared is not None and not holds_pickles(declared):
        yield declared
    seen = observed(_sample(values))
    if not _is_cheap(seen, are_lists):
        return
    yield seen
    other = observed(values)  # a field that was None in all of the sample, for instance
    if _is_cheap(other, are_lists) and not same_type(seen, other):
        yield other


def _is_cheap(seen: TypeInformation, are_lists: bool) -> bool:
    """Whether columns of a type that nobody declared cost no more than a pickle."""
    if are_lists and isinstance(seen, ListTypeInfo):
        seen = seen.elem_type
    parts = json.dumps(type_to_json(seen))
    return not any(word in parts for word in ("PICKLED", '"list"', '"map"'))


def _sample(values: list[Any]) -> list[Any]:
    """A few from everywhere; those of a kind often stand together."""
    return [_shortened(value) for value in values[:: len(values) // _SAMPLE + 1]]


def _shortened(value: Any) -> Any:
    if type(value) is list:
        return value[:_SAMPLE]
    return dict(islice(value.items(), _SAMPLE)) if type(value) is dict else value
