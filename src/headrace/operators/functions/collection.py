"""Functions of arrays, maps and multisets. Arrays count from 1; NULL elements equal each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.logical_types import LogicalType, MultisetType
from headrace.errors import InvalidArgument

Array = tuple[Any, ...]


def cardinality(types: Sequence[LogicalType], _result: LogicalType) -> Callable[..., int]:
    """A multiset has as many elements as the counts of its members make together."""
    if isinstance(types[0], MultisetType):
        return lambda counts: sum(counts.values())
    return len


def element(array: Array) -> Any:
    """Of an array with one element."""
    if len(array) > 1:
        raise InvalidArgument(
            f"ELEMENT was given an array of {len(array)} elements",
            hint="It takes arrays of one element; write array[1] for the first of several.",
        )
    return array[0] if array else None


def append(array: Array | None, value: Any) -> Array | None:
    return None if array is None else (*array, value)


def prepend(array: Array | None, value: Any) -> Array | None:
    return None if array is None else (value, *array)


def contains(array: Array | None, value: Any) -> bool | None:
    return None if array is None else _position(array, value) > 0


def position(array: Array, value: Any) -> int:
    return _position(array, value)


def _position(array: Array, value: Any) -> int:
    return next((at for at, each in enumerate(array, 1) if _same(each, value)), 0)


def _same(left: Any, right: Any) -> bool:
    return bool(left == right)


def remove(array: Array | None, value: Any) -> Array | None:
    return None if array is None else tuple(each for each in array if not _same(each, value))


def distinct(array: Array) -> Array:
    seen = _Seen()
    return tuple([value for value in array if seen.add(value)])


class _Seen:
    """The values met so far, also those that cannot be hashed, such as maps."""

    def __init__(self, values: Array = ()):
        self._hashed: set[Any] = set()
        self._others: list[Any] = []
        for value in values:
            self.add(value)

    def __contains__(self, value: Any) -> bool:
        try:
            return value in self._hashed
        except TypeError:
            return value in self._others

    def add(self, value: Any) -> bool:
        """Whether it is new."""
        if value in self:
            return False
        try:
            self._hashed.add(value)
        except TypeError:
            self._others.append(value)
        return True


def reverse(array: Array) -> Array:
    return array[::-1]


def slice_of(array: Array, start: int, end: int | None = None) -> Array:
    """Both ends are included; negative ones count from the end, 0 is the first element."""
    length = len(array)
    first = max(start + length + 1 if start < 0 else start, 1)
    last = length if end is None else end + length + 1 if end < 0 else max(end, 1)
    return array[first - 1 : last] if first <= last else ()


def _rank(value: Any) -> tuple[bool, Any]:
    """NaN is larger than every number."""
    return value != value, value


def sort(array: Array, ascending: bool = True, nulls_first: bool | None = None) -> Array:
    """NULLs come first when ascending and last when descending, unless said otherwise."""
    first = ascending if nulls_first is None else nulls_first
    nulls = tuple(value for value in array if value is None)
    known = (value for value in array if value is not None)
    values = tuple(sorted(known, key=_rank, reverse=not ascending))
    return nulls + values if first else values + nulls


def union(left: Array, right: Array) -> Array:
    return distinct(left + right)


def concat(*arrays: Array) -> Array:
    return tuple(value for array in arrays for value in array)


def except_of(left: Array, right: Array) -> Array:
    """Without duplicates."""
    others = _Seen(right)
    return tuple(value for value in distinct(left) if value not in others)


def intersect(left: Array, right: Array) -> Array:
    """Without duplicates."""
    others = _Seen(right)
    return tuple(value for value in distinct(left) if value in others)


def maximum(array: Array) -> Any:
    return max((value for value in array if value is not None), key=_rank, default=None)


def minimum(array: Array) -> Any:
    return min((value for value in array if value is not None), key=_rank, default=None)


def join(array: Array, delimiter: str, null_replacement: str | None = None) -> str:
    """NULLs are left out unless there is something to replace them."""
    texts = (null_replacement if text is None else text for text in array)
    return delimiter.join(text for text in texts if text is not None)


def map_keys(pairs: dict[Any, Any]) -> Array:
    return tuple(pairs)


def map_values(pairs: dict[Any, Any]) -> Array:
    return tuple(pairs.values())


def map_entries(pairs: dict[Any, Any]) -> Array:
    return tuple(pairs.items())


def map_union(*maps: dict[Any, Any]) -> dict[Any, Any]:
    """Of equal keys the last one counts."""
    return {key: value for pairs in maps for key, value in pairs.items()}


def map_from_arrays(keys: Array, values: Array) -> dict[Any, Any]:
    if len(keys) != len(values):
        raise InvalidArgument(
            f"MAP_FROM_ARRAYS was given {len(keys)} keys and {len(values)} values",
            hint="Give as many values as keys.",
        )
    return dict(zip(keys, values, strict=True))
