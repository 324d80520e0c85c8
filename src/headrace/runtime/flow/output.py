"""What a task sends to those after it, and how much of it they have not worked off yet.

Each receiver has room for a window of bytes. What is beyond it waits here, and while something
waits its task takes nothing in: so a slow task slows down those before it. A window is what its
receiver works off in a moment: whatever is on its way is before the next barrier.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from headrace.runtime.flow.parcels import BARRIER, END, RECORDS, Parcel
from headrace.runtime.flow.windows import FIRST_WINDOW
from headrace.runtime.outbox import Row

_NO_LIMIT = 1 << 62
_LARGEST_PARCEL = 1 << 22


class Output:
    """Numbers parcels, and lets go of as many as there is room for."""

    def __init__(self, sender: int, receivers: int, *, limited: bool = True):
        """`limited`: receivers are at work, and say how much room they have."""
        self._sender = sender
        self._windows = [FIRST_WINDOW if limited else _NO_LIMIT] * receivers
        self._sent = [0] * receivers
        self._on_way = [0] * receivers
        self._full: set[int] = set()
        """Receivers without room."""
        self._waiting: deque[Row] = deque()

    @property
    def parcel_size(self) -> int:
        """How many bytes a parcel should have at most."""
        return min(min(self._windows, default=FIRST_WINDOW) // 4, _LARGEST_PARCEL)

    @property
    def is_blocked(self) -> bool:
        """Whether a receiver has no room: barriers take along what waits, and leave none."""
        return bool(self._full)

    def records(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Envelopes, by receiver."""
        for slot, content in rows:
            if self._waiting or slot in self._full:
                self._waiting.append((slot, content))
            else:
                yield self._go(slot, content)

    def make_room(self, slot: int, size: int, window: int) -> Iterator[Row]:
        """A receiver has worked so many bytes off, and has a window of that many from now on."""
        self._on_way[slot] -= size
        self._windows[slot] = window
        self._look_for_room(slot)
        while self._waiting and self._waiting[0][0] not in self._full:
            yield self._go(*self._waiting.popleft())

    def _look_for_room(self, slot: int) -> None:
        if self._on_way[slot] < self._windows[slot]:
            self._full.discard(slot)
        else:
            self._full.add(slot)

    def barrier(self, checkpoint: int, content: bytes) -> Iterator[Row]:
        """A barrier goes out at once, and all that is before it."""
        yield from self._to_all(BARRIER, checkpoint, content)

    def end(self) -> Iterator[Row]:
        yield from self._to_all(END)

    def _to_all(self, kind: int, checkpoint: int = 0, content: bytes = b"") -> Iterator[Row]:
        while self._waiting:
            yield self._go(*self._waiting.popleft())
        for slot in range(len(self._sent)):
            yield slot, self._parcel(slot, kind, checkpoint, content)

    def _go(self, slot: int, content: bytes) -> Row:
        self._on_way[slot] += len(content)
        self._look_for_room(slot)
        return slot, self._parcel(slot, RECORDS, content=content)

    def _parcel(self, slot: int, kind: int, checkpoint: int = 0, content: bytes = b"") -> bytes:
        number = self._sent[slot]
        self._sent[slot] = number + 1
        return Parcel(kind, self._sender, number, checkpoint, content).encode()
