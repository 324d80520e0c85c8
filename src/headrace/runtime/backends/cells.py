"""Entries in RocksDB behind a bounded cache of Python objects.

A cell is found by the hash of its key: the address. RocksDB lives no longer than the process, so
Python's own hash will do, and equal keys share an address whatever their types. Keys that share an
address without being equal are kept side by side in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice
from struct import Struct
from typing import Any, Protocol

from headrace.errors import NotSerializable
from headrace.runtime.backends.local_pickling import dumps, loads

ABSENT: Any = object()
HASH = Struct(">q")
_UNKNOWN: Any = object()
_FIRST_ROOM = 256
"""Cells to hold as long as nothing is known of their size."""
_LEAST_ROOM = 16
_OBJECT_BYTES = 400
"""What a cell takes in memory besides twice the bytes of its pickle, roughly."""
_SAMPLE = 16
_PIECE_CELLS = 1000
_PIECE_BYTES = 4 * 1024 * 1024

Pairs = tuple[Any, ...]
"""Keys and values in turn."""


class Store(Protocol):
    """What cells need of RocksDB."""

    def get(self, address: bytes) -> bytes | None: ...
    def write(self, puts: list[tuple[bytes, bytes]], deletes: list[bytes]) -> None: ...
    def items(self, prefix: bytes, after: bytes | None) -> Iterator[tuple[bytes, bytes]]: ...
    def remove_all(self, prefix: bytes) -> None: ...


class Cells:
    """The cells below one prefix.

    Cells in use are young; when there are too many of them they become the old ones, and those
    that were old are forgotten. Only young cells may differ from what RocksDB has.
    """

    def __init__(self, store: Store, prefix: bytes, budget: Callable[[], int], what: str):
        self.prefix = prefix
        self.count = 0
        self._store = store
        self._budget = budget
        self._what = what
        self._room = _FIRST_ROOM
        self._average = _OBJECT_BYTES
        self._forget()

    def _forget(self) -> None:
        self._young: dict[Any, Any] = {}
        self._old: dict[Any, Any] = {}
        self._dirty: dict[Any, bool] = {}
        """Young cells to be written; True: RocksDB has no such cell."""
        self._gone: set[Any] = set()
        """Cells that RocksDB still has."""
        self._shared: set[bytes] = set()
        """Addresses with more than one cell."""
        self._missed: Any = _UNKNOWN
        """The key that was last found to be in neither place."""
        self._written = False
        self._puts = 0
        """How often young cells were written since it was last looked at their size."""

    def address(self, key: Any) -> bytes:
        return self.prefix + HASH.pack(hash(key))

    def get(self, key: Any, default: Any = None) -> Any:
        value = self._young.get(key, _UNKNOWN)
        if value is _UNKNOWN:
            value = self._find(key)
        return default if value is ABSENT else value

    def put(self, key: Any, value: Any) -> None:
        self._puts += 1
        if self._puts >= self._room:
            self._weigh()
        if key in self._young:
            self._dirty.setdefault(key, False)
        else:
            self._make_room()
            self._dirty[key] = self._is_new(key)
        self._young[key] = value

    def touch(self, key: Any) -> Any:
        """The value of a cell that its caller is about to change in place, or ABSENT."""
        value = self.get(key, ABSENT)
        if value is not ABSENT:
            self.put(key, value)
        return value

    def delete(self, key: Any) -> None:
        """Remove a cell that is there."""
        self._young.pop(key, None)
        self._old.pop(key, None)
        if not self._dirty.pop(key, False):
            self._gone.add(key)
        self.count -= 1

    def _find(self, key: Any) -> Any:
        """The value of a cell that is not young; from now on it is."""
        value = self._old.pop(key, _UNKNOWN)
        if value is _UNKNOWN:
            value = self._load(key)
        if value is ABSENT:
            self._missed = key
        else:
            self._make_room()
            self._young[key] = value
        return value

    def _is_new(self, key: Any) -> bool:
        """Whether RocksDB has no such cell; counts it if there was none."""
        if self._old.pop(key, _UNKNOWN) is not _UNKNOWN:
            return False
        if key in self._gone:
            self._gone.discard(key)
            self.count += 1
            return False
        # Most are looked for before they are made. Nothing was written in between.
        if self._missed != key and self._load(key) is not ABSENT:
            return False
        self.count += 1
        return True

    def _load(self, key: Any) -> Any:
        if not self._written or key in self._gone:
            return ABSENT
        address = self.address(key)
        raw = self._store.get(address)
        if raw is None:
            return ABSENT
        pairs: Pairs = loads(raw)
        found = ABSENT
        for position in range(0, len(pairs), 2):
            if pairs[position] == key:
                found = pairs[position + 1]
            else:
                self._shared.add(address)
        return found

    def _make_room(self) -> None:
        if len(self._young) + len(self._gone) >= self._room:
            self.flush()
            self._old, self._young = self._young, {}
            self._puts = 0

    def _weigh(self) -> None:
        """Values may have grown since they were last written: look at some of them."""
        self._puts = 0
        if not self._young:
            return
        some = [len(self._dumps((key, self._young[key])))
                for key in islice(reversed(self._young), _SAMPLE)]  # fmt: skip
        self._adapt(sum(some) // len(some))
        self._make_room()

    def flush(self) -> None:
        """Write what RocksDB does not have yet."""
        touched: dict[bytes, list[Any]] = {}
        for key in chain(self._dirty, self._gone):
            touched.setdefault(self.address(key), []).append(key)
        if not touched:
            return
        puts, deletes = [], []
        for address, keys in touched.items():
            pairs = self._pairs(address, keys)
            if pairs:
                puts.append((address, self._dumps(pairs)))
            else:
                deletes.append(address)
        self._store.write(puts, deletes)
        self._written = True
        self._missed = _UNKNOWN
        self._dirty.clear()
        self._gone.clear()
        if puts:
            self._adapt(sum(len(raw) for _, raw in puts) // len(puts))

    def _pairs(self, address: bytes, keys: list[Any]) -> Pairs:
        """What an address is to hold after some of its cells have changed."""
        if len(keys) == 1 and address not in self._shared:
            (key,) = keys
            return (key, self._young[key]) if key in self._dirty else ()
        self._shared.add(address)
        raw = self._store.get(address) if self._written else None
        pairs: Pairs = () if raw is None else loads(raw)
        cells = dict(zip(pairs[::2], pairs[1::2], strict=True))
        for key in keys:
            if key in self._dirty:
                cells[key] = self._young[key]
            else:
                cells.pop(key, None)
        return tuple(chain.from_iterable(cells.items()))

    def _dumps(self, pairs: Pairs) -> bytes:
        try:
            return dumps(pairs)
        except Exception as error:
            raise NotSerializable(
                f"{self._what} holds what cannot be written to disk: {error}",
                hint="Keep plain data in state, or use the state backend 'hashmap'.",
            ) from error

    def _adapt(self, average: int) -> None:
        """Hold as many cells as the budget allows, never many more at once than before."""
        allowed = self._budget() // (2 * (2 * average + _OBJECT_BYTES))
        self._room = max(_LEAST_ROOM, min(allowed, 4 * self._room))
        self._average = average

    def cells_of(self, size: int) -> int:
        """About how many cells take that many bytes on disk."""
        return max(1, size // self._average)

    def pieces(self, below: bytes | None = None) -> Iterator[tuple[list[tuple[Any, Any]], int]]:
        """All cells in the order of their addresses, a bounded number at a time, and their bytes.

        Cells may be changed meanwhile.
        """
        after: bytes | None = None
        while True:
            self.flush()
            if not self._written:
                return
            piece: list[tuple[Any, Any]] = []
            size = 0
            for address, raw in self._store.items(below or self.prefix, after):
                pairs = loads(raw)
                piece.extend(zip(pairs[::2], pairs[1::2], strict=True))
                after = address
                size += len(raw)
                if len(piece) >= _PIECE_CELLS or size >= _PIECE_BYTES:
                    break
            else:
                yield piece, size
                return
            yield piece, size

    def clear(self) -> None:
        if self._written:
            self._store.remove_all(self.prefix)
        self._forget()
        self.count = 0
