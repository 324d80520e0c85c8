"""Lists and maps that an aggregate function's accumulator keeps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, Generic, TypeVar

from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

__all__ = ["DataView", "ListView", "MapView"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


def _whole(entry: tuple[Any, Any]) -> tuple[Any, Any]:
    return entry


class DataView(ABC):
    """A collection in an accumulator."""

    @abstractmethod
    def clear(self) -> None:
        """Forget everything."""


class ListView(DataView, Generic[T]):
    """A list."""

    def __init__(self) -> None:
        self._list: list[T] = []

    def get(self) -> list[T]:
        return self._list

    def add(self, value: T) -> None:
        self._list.append(value)

    def add_all(self, values: Iterable[T]) -> None:
        self._list.extend(values)

    def clear(self) -> None:
        self._list = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListView) and self._list == other._list

    def __hash__(self) -> int:
        return hash(tuple(self._list))

    def __iter__(self) -> Iterator[T]:
        return iter(self._list)


class _Entries(Iterator[T]):
    """Goes through a map once; `remove` takes out what it gave last."""

    def __init__(self, of: dict[Any, Any], part: Callable[[tuple[Any, Any]], T]) -> None:
        self._of, self._part = of, part
        self._left = iter(list(of.items()))
        self._last: list[Any] = []

    def __next__(self) -> T:
        entry = next(self._left)
        self._last = [entry[0]]
        return self._part(entry)

    def remove(self) -> None:
        if not self._last:
            raise InvalidArgument("remove() comes after next()", origin=calling_origin())
        del self._of[self._last.pop()]


class MapView(DataView, Generic[K, V]):
    """A map. One that the accumulator's type declares answers as Flink's map state does."""

    _as_state = False

    def __init__(self) -> None:
        self._dict: dict[K, V] = {}

    def hold_as_state(self) -> None:
        """A key that is not there has None, and may be removed; iterators can remove, too."""
        self._as_state = True

    def get(self, key: K) -> V:
        return self._dict.get(key) if self._as_state else self._dict[key]  # type: ignore[return-value]

    def put(self, key: K, value: V) -> None:
        self._dict[key] = value

    def put_all(self, dict_value: Mapping[K, V]) -> None:
        self._dict.update(dict_value)

    def remove(self, key: K) -> None:
        if not self._as_state or key in self._dict:
            del self._dict[key]

    def contains(self, key: K) -> bool:
        return key in self._dict

    def items(self) -> Iterable[tuple[K, V]]:
        return _Entries(self._dict, _whole) if self._as_state else self._dict.items()

    def keys(self) -> Iterable[K]:
        return _Entries(self._dict, itemgetter(0)) if self._as_state else self._dict.keys()

    def values(self) -> Iterable[V]:
        return _Entries(self._dict, itemgetter(1)) if self._as_state else self._dict.values()

    def is_empty(self) -> bool:
        return not self._dict

    def clear(self) -> None:
        self._dict.clear()

    def __getitem__(self, key: Any) -> V:
        return self.get(key)

    def __setitem__(self, key: Any, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: Any) -> None:
        self.remove(key)

    def __contains__(self, key: Any) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MapView) and self._dict == other._dict

    def __hash__(self) -> int:
        return hash(frozenset(self._dict))
