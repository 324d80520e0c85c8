"""What tables keep their entries in when these are in RocksDB: dictionaries, as far as tables care.

A map per key is not one entry but many, so that a large one is never read as a whole.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headrace.runtime.backends.cells import ABSENT, Cells
from headrace.runtime.backends.entry_cells import EntryCells

_CHUNK_BYTES = 4 * 1024 * 1024
"""Bytes of a snapshot that are in memory at once, several times over, on their way to Spark."""


class DiskMapping(ABC):
    """The operations of a dictionary that tables use. Its order is that of RocksDB."""

    @abstractmethod
    def get(self, key: Any, default: Any = None) -> Any: ...

    @abstractmethod
    def setdefault(self, key: Any, default: Any) -> Any:
        """What a key holds now, for the caller to change."""

    @abstractmethod
    def pop(self, key: Any, default: Any = None) -> Any: ...

    @abstractmethod
    def items(self) -> Iterator[tuple[Any, Any]]: ...

    @abstractmethod
    def chunks(self, size: int) -> Iterator[dict[Any, Any]]:
        """Plain copies of at most `size` keys each, and of a bounded size."""

    @abstractmethod
    def clear(self) -> None: ...

    @abstractmethod
    def __len__(self) -> int: ...

    def __getitem__(self, key: Any) -> Any:
        value = self.get(key, ABSENT)
        if value is ABSENT:
            raise KeyError(key)
        return value

    def __delitem__(self, key: Any) -> None:
        if self.pop(key, ABSENT) is ABSENT:
            raise KeyError(key)

    def __contains__(self, key: Any) -> bool:
        return self.get(key, ABSENT) is not ABSENT

    def __iter__(self) -> Iterator[Any]:
        return (item[0] for item in self.items())

    def keys(self) -> Iterator[Any]:
        return iter(self)


class FlatMapping(DiskMapping):
    """One value per key."""

    def __init__(self, cells: Cells):
        self._cells = cells

    def get(self, key: Any, default: Any = None) -> Any:
        return self._cells.get(key, default)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._cells.put(key, value)

    def setdefault(self, key: Any, default: Any) -> Any:
        value = self._cells.touch(key)
        if value is ABSENT:
            self._cells.put(key, default)
            return default
        return value

    def pop(self, key: Any, default: Any = None) -> Any:
        value = self._cells.get(key, ABSENT)
        if value is ABSENT:
            return default
        self._cells.delete(key)
        return value

    def update(self, other: Mapping[Any, Any]) -> None:
        for key, value in other.items():
            self._cells.put(key, value)

    def items(self) -> Iterator[tuple[Any, Any]]:
        for piece, _ in self._cells.pieces():
            yield from piece

    def chunks(self, size: int) -> Iterator[dict[Any, Any]]:
        part: dict[Any, Any] = {}
        held = 0
        for piece, bytes_read in self._cells.pieces():
            held += bytes_read
            for key, value in piece:
                part[key] = value
                if len(part) == size:
                    yield part
                    part, held = {}, 0
            if part and held > _CHUNK_BYTES:
                yield part
                part, held = {}, 0
        if part:
            yield part

    def clear(self) -> None:
        self._cells.clear()

    def __len__(self) -> int:
        return self._cells.count


class NestedMapping(DiskMapping):
    """A map per key. What it gives out for a key is a view of its map."""

    def __init__(self, maps: Cells, entries: EntryCells):
        self._maps = maps
        """For each key the number of its map, how many entries it has and had."""
        self._entries = entries
        self._last_number = 0

    def get(self, key: Any, default: Any = None) -> Any:
        about = self._maps.get(key)
        return default if about is None else Entries(self._maps, self._entries, key, about)

    def setdefault(self, key: Any, default: Any) -> Any:
        found = self.get(key)
        if found is None:
            self._last_number += 1
            about = self._last_number, 0, 0
            self._maps.put(key, about)
            found = Entries(self._maps, self._entries, key, about)
            found.update(default)
        return found

    def pop(self, key: Any, default: Any = None) -> Any:
        about = self._maps.get(key)
        if about is None:
            return default
        self._maps.delete(key)
        self._entries.drop(about[0])
        return {}

    def items(self) -> Iterator[tuple[Any, Any]]:
        for piece, _ in self._maps.pieces():
            for key, about in piece:
                yield key, Entries(self._maps, self._entries, key, about)

    def chunks(self, size: int) -> Iterator[dict[Any, Any]]:
        part: dict[Any, dict[Any, Any]] = {}
        held = 0
        for key, entries in self.items():
            part[key] = {}
            for name, value in entries.items():
                part[key][name] = value
                held += 1
                if held >= self._entries.cells_of(_CHUNK_BYTES):
                    yield part
                    part, held = {key: {}}, 0
            if len(part) >= size:
                yield part
                part, held = {}, 0
        if part:
            yield part

    def clear(self) -> None:
        self._maps.clear()
        self._entries.clear()

    def __len__(self) -> int:
        return self._maps.count


class Entries:
    """The map of one key."""

    __slots__ = ("_about", "_cells", "_key", "_maps")

    def __init__(self, maps: Cells, cells: EntryCells, key: Any, about: tuple[int, int, int]):
        self._maps = maps
        self._cells = cells
        self._key = key
        self._about = about

    def _set_about(self, about: tuple[int, int, int]) -> None:
        self._about = about
        self._maps.put(self._key, about)

    def get(self, name: Any, default: Any = None) -> Any:
        found = self._cells.get((self._about[0], name))
        return default if found is None else found[1]

    def __getitem__(self, name: Any) -> Any:
        value = self.get(name, ABSENT)
        if value is ABSENT:
            raise KeyError(name)
        return value

    def __contains__(self, name: Any) -> bool:
        return self._cells.get((self._about[0], name)) is not None

    def __setitem__(self, name: Any, value: Any) -> None:
        number, count, next_position = self._about
        cell = number, name
        found = self._cells.get(cell)
        if found is None:
            self._cells.put(cell, (next_position, value))
            self._set_about((number, count + 1, next_position + 1))
        else:  # as in a dictionary, it stays where it is
            self._cells.put(cell, (found[0], value))

    def pop(self, name: Any, default: Any = None) -> Any:
        number, count, next_position = self._about
        found = self._cells.get((number, name))
        if found is None:
            return default
        self._cells.delete((number, name))
        self._set_about((number, count - 1, next_position))
        return found[1]

    def __delitem__(self, name: Any) -> None:
        if self.pop(name, ABSENT) is ABSENT:
            raise KeyError(name)

    def update(self, other: Mapping[Any, Any]) -> None:
        for name, value in other.items():
            self[name] = value

    def items(self) -> Iterator[tuple[Any, Any]]:
        return self._cells.in_order(self._about[0], self._about[1])

    def __iter__(self) -> Iterator[Any]:
        return (name for name, _ in self.items())

    def keys(self) -> Iterator[Any]:
        return iter(self)

    def values(self) -> Iterable[Any]:
        return (value for _, value in self.items())

    def __len__(self) -> int:
        return self._about[1]
