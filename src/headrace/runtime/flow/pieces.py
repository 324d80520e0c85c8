"""Work in pieces: a task that has much to do looks now and then whether a barrier has come."""

from __future__ import annotations

from collections import deque

from headrace.runtime.envelope import MARK, Envelope, Item
from headrace.runtime.flow.parcels import KEPT, RECORDS, Parcel

_PIECE_S = 0.02
"""How long a task works on records before it looks whether a barrier has come."""


class Opened:
    """A parcel that is being worked off, in pieces that take a moment each."""

    def __init__(self, parcel: Parcel):
        self.parcel = parcel
        self._items = deque(Envelope.decode(parcel.content).records)

    @property
    def is_done(self) -> bool:
        return not self._items

    @property
    def is_at_mark(self) -> bool:
        return bool(self._items) and self._items[0][0] == MARK

    def next_piece(self, most: int) -> Item:
        """At most so many records, or a watermark."""
        vertex, side, content = self._items.popleft()
        if vertex == MARK or len(content) <= most:
            return vertex, side, content
        self._items.appendleft((vertex, side, content.part(most)))
        return vertex, side, content.part(0, most)

    def rest(self) -> Parcel:
        """What is left of it."""
        return Parcel(
            RECORDS, self.parcel.sender, KEPT, content=Envelope(list(self._items)).encode()
        )


class Pace:
    """How many records make a piece: as many as take a moment."""

    def __init__(self) -> None:
        self.records = 256

    def took(self, records: int, seconds: float) -> None:
        in_a_moment = int(records * _PIECE_S / seconds) if seconds > 0 else records * 2
        self.records = max(1, min(self.records * 2, max(in_a_moment, records // 2)))
