"""The type of values nobody declared a type for, found by looking at all of them."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Any

import pyarrow as pa

from headrace.core.composite_types import (
    ListTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from headrace.core.rows import Row
from headrace.core.time import Instant
from headrace.core.type_information import TypeInformation
from headrace.core.type_json import NothingTypeInfo, same_type
from headrace.core.types import Types

__all__ = ["observed", "unified"]

_PICKLED = Types.PICKLED_BYTE_ARRAY()
_LONG, _BIG_INT = Types.LONG(), Types.BIG_INT()
_LOWEST, _HIGHEST = Types.LONG().bounds() or (0, 0)
_NOTHING = NothingTypeInfo()
_DEEPEST = 16
"""Values nested deeper are pickled: they may even contain themselves."""


def observed(values: Sequence[Any]) -> TypeInformation:
    """The type all values share and can be read back from exactly; else the pickled type.

    None may be among them. Of values that are all None the type is `NothingTypeInfo()`.
    """
    return _see(values, 0)


def _see(values: Sequence[Any], depth: int) -> TypeInformation:
    kinds = set(map(type, values))
    if type(None) in kinds:
        kinds.discard(type(None))
        values = [value for value in values if value is not None]
    if not kinds:
        return _NOTHING
    see = _SEEN_AS.get(kinds.pop()) if len(kinds) == 1 else None
    return _PICKLED if see is None or depth > _DEEPEST else see(values, depth + 1)


def unified(one: TypeInformation, other: TypeInformation) -> TypeInformation:
    """The type for the values of two observed types."""
    if same_type(one, other):
        return one
    if one == _NOTHING or other == _NOTHING:
        return other if one == _NOTHING else one
    if {one, other} == {_LONG, _BIG_INT}:
        return _BIG_INT
    match one, other:
        case (RowTypeInfo(), RowTypeInfo()) if one.field_names == other.field_names:
            parts = _unified_parts(one.field_types, other.field_types)
            return _PICKLED if parts is None else RowTypeInfo(parts, one.field_names)
        case (TupleTypeInfo(), TupleTypeInfo()):
            parts = _unified_parts(one.field_types, other.field_types)
            return _PICKLED if parts is None else TupleTypeInfo(parts)
        case (ListTypeInfo(), ListTypeInfo()):
            return _list_of(unified(one.elem_type, other.elem_type))
        case (MapTypeInfo(), MapTypeInfo()):
            return _map_of(
                unified(one.key_type_info, other.key_type_info),
                unified(one.value_type_info, other.value_type_info),
            )
    return _PICKLED


def _unified_parts(
    one: Sequence[TypeInformation], other: Sequence[TypeInformation]
) -> list[TypeInformation] | None:
    if len(one) != len(other):
        return None
    return [unified(*pair) for pair in zip(one, other, strict=True)]


# A list or map of pickled objects is easier to read as one pickle, which has a text beside it.
def _list_of(element: TypeInformation) -> TypeInformation:
    return _PICKLED if element == _PICKLED else ListTypeInfo(element)


def _map_of(key: TypeInformation, value: TypeInformation) -> TypeInformation:
    return _PICKLED if _PICKLED in (key, value) else MapTypeInfo(key, value)


def _integer(values: Sequence[int], depth: int) -> TypeInformation:
    lowest, highest = min(values), max(values)
    if lowest >= _LOWEST and highest <= _HIGHEST:
        return _LONG
    try:
        str(lowest), str(highest)
    except ValueError:  # more digits than Python writes
        return _PICKLED
    return _BIG_INT


def _text(values: Sequence[str], depth: int) -> TypeInformation:
    try:
        pa.array(values, pa.string())
    except UnicodeEncodeError:  # half of a surrogate pair
        return _PICKLED
    return Types.STRING()


def _naive(type_: TypeInformation) -> Callable[[Sequence[Any], int], TypeInformation]:
    def see(values: Sequence[Any], depth: int) -> TypeInformation:
        zoned = any(map(attrgetter("tzinfo"), values)) or any(map(attrgetter("fold"), values))
        return _PICKLED if zoned else type_

    return see


def _instant(values: Sequence[Instant], depth: int) -> TypeInformation:
    fits = all(
        value.nanos % 1000 == 0 and abs(value.seconds) <= _HIGHEST // 1_000_000 - 1
        for value in values
    )
    return Types.INSTANT() if fits else _PICKLED


def _tuple(values: Sequence[tuple[Any, ...]], depth: int) -> TypeInformation:
    width = len(values[0])
    if set(map(len, values)) != {width}:
        return _PICKLED
    return TupleTypeInfo(
        [_see(list(map(itemgetter(place), values)), depth) for place in range(width)]
    )


def _row(values: Sequence[Row], depth: int) -> TypeInformation:
    names = values[0]._names
    shape = _tuple(list(map(tuple, values)), depth)
    if any(row._names != names for row in values) or not isinstance(shape, TupleTypeInfo):
        return _PICKLED
    if names is None:
        return RowTypeInfo(shape.field_types)
    if not names or len(set(names)) != len(names) or len(names) != len(shape.field_types):
        return _PICKLED
    if not all(type(name) is str for name in names) or _text(names, depth) == _PICKLED:
        return _PICKLED
    return RowTypeInfo(shape.field_types, names)


def _list(values: Sequence[list[Any]], depth: int) -> TypeInformation:
    return _list_of(_see(list(chain.from_iterable(values)), depth))


def _dict(values: Sequence[dict[Any, Any]], depth: int) -> TypeInformation:
    keys = list(chain.from_iterable(values))
    if type(None) in set(map(type, keys)):
        return _PICKLED
    items = list(chain.from_iterable(map(dict.values, values)))
    return _map_of(_see(keys, depth), _see(items, depth))


_SEEN_AS: dict[type, Callable[[Sequence[Any], int], TypeInformation]] = {
    bool: lambda values, depth: Types.BOOLEAN(),
    int: _integer,
    float: lambda values, depth: Types.DOUBLE(),
    str: _text,
    bytes: lambda values, depth: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    Decimal: lambda values, depth: Types.BIG_DEC(),
    datetime.date: lambda values, depth: Types.SQL_DATE(),
    datetime.time: _naive(Types.SQL_TIME()),
    datetime.datetime: _naive(Types.SQL_TIMESTAMP()),
    Instant: _instant,
    tuple: _tuple,
    Row: _row,
    list: _list,
    dict: _dict,
}
