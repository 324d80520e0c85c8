"""The entries of all maps of a state, each map a range of addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from struct import Struct
from typing import Any

from headrace.runtime.backends.cells import HASH, Cells, Store
from headrace.runtime.backends.local_pickling import loads

NUMBER = Struct(">Q")
_SORTED_AT_ONCE = 10_000
"""Entries of a map that are put in order in memory; of a larger one only their addresses are."""
_MOST_DROPPED = 1000
_DELETED_AT_ONCE = 10_000


class EntryCells(Cells):
    """Cells whose key is the number of a map and a name in it, and whose value is the position
    of the entry in the map and what it holds. No number is ever used for two maps."""

    def __init__(self, store: Store, prefix: bytes, budget: Callable[[], int], what: str):
        self._dropped: set[int] = set()
        super().__init__(store, prefix, budget, what)

    def address(self, key: Any) -> bytes:
        return self._range(key[0]) + HASH.pack(hash(key[1]))

    def _range(self, number: int) -> bytes:
        return self.prefix + NUMBER.pack(number)

    def drop(self, number: int) -> None:
        """Forget a map that nobody asks for any more; its entries go when others are written."""
        self._dropped.add(number)
        if len(self._dropped) >= _MOST_DROPPED:
            self.flush()

    def flush(self) -> None:
        if self._dropped:
            self._clean_up()
        super().flush()

    def _clean_up(self) -> None:
        dropped, self._dropped = self._dropped, set()
        for cell in [cell for cell in self._dirty if cell[0] in dropped]:
            del self._dirty[cell], self._young[cell]
        self._gone = {cell for cell in self._gone if cell[0] not in dropped}
        if self._written:
            ranges = map(self._range, sorted(dropped))
            addresses = (address for below in ranges
                         for address, _ in self._store.items(below, None))  # fmt: skip
            while some := list(islice(addresses, _DELETED_AT_ONCE)):
                self._store.write([], some)

    def clear(self) -> None:
        super().clear()
        self._dropped = set()

    def in_order(self, number: int, count: int) -> Iterator[tuple[Any, Any]]:
        """The names and values of a map in the order in which they came into it."""
        if count <= _SORTED_AT_ONCE:
            found = [(position, name, value)
                     for piece, _ in self.pieces(self._range(number))
                     for (_, name), (position, value) in piece]  # fmt: skip
            found.sort(key=_position)
            for _, name, value in found:
                yield name, value
            return
        places = sorted(self._places(number))
        for place in places:
            yield self._entry_at(number, place)

    def _places(self, number: int) -> Iterator[bytes]:
        """Position and hash of each entry, without what it holds."""
        for piece, _ in self.pieces(self._range(number)):
            for (_, name), (position, _) in piece:
                yield NUMBER.pack(position) + HASH.pack(hash(name))

    def _entry_at(self, number: int, place: bytes) -> tuple[Any, Any]:
        (wanted,) = NUMBER.unpack(place[:8])
        raw = self._store.get(self._range(number) + place[8:])
        pairs = () if raw is None else loads(raw)
        for (_, name), (position, value) in zip(pairs[::2], pairs[1::2], strict=True):
            if position == wanted:
                return name, value
        raise RuntimeError("a map was changed while it was read in order")


def _position(entry: tuple[int, Any, Any]) -> int:
    return entry[0]
