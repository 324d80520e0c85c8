"""Slices of sliding windows: where they lie in time, and how those of a window become one.

Each slice of a key has an accumulator in state. Merging all of a window's for every window would
cost as many merges as it has slices; here two running aggregates a key make it two or three.
"""

from __future__ import annotations

import uuid
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from math import gcd
from typing import Any

from headrace.core.functions import AggregateFunction
from headrace.core.isolation import FROZEN, is_frozen, isolated
from headrace.core.operator import MAX_TIMESTAMP, MIN_TIMESTAMP, Context
from headrace.core.state import MapState, MapStateDescriptor
from headrace.core.types import Types

NEVER = MAX_TIMESTAMP + 1
_PROOF: MapStateDescriptor[str, str] = MapStateDescriptor(
    "slices-proof", Types.STRING(), Types.STRING()
)
_FEW = 3
"""So many slices are merged one after the other: keeping aggregates would cost as much."""
_UNCHANGING = FROZEN.issuperset


@dataclass(frozen=True, slots=True)
class SlidingGrid:
    """Where sliding windows lie in time; windows are named by their ends."""

    size: int
    slide: int
    offset: int = 0

    @property
    def slice_length(self) -> int:
        return gcd(self.size, self.slide)

    def ends_of(self, timestamp: int) -> range:
        """The ends of the windows of a timestamp, the latest first, as assigners give them."""
        latest = timestamp - (timestamp - self.offset) % self.slide + self.size
        return range(latest, timestamp, -self.slide)

    def first_end(self, start: int) -> int:
        """The end of the earliest window with the slice that begins at `start`."""
        return start - (start - self.size - self.offset) % self.slide + self.slide

    def is_end(self, timestamp: int) -> bool:
        return (timestamp - self.size - self.offset) % self.slide == 0


class KeySlices:
    """What is remembered of a key's slices in memory; all of it follows from its state.

    A window is merged from two aggregates: `front` has, for each slice up to some point, all
    slices from there to that point, and `back` everything after the point. As windows move on
    slices leave the front and join the back; when the front is used up, one pass over the slices
    makes a new one. So each slice is merged twice, however many windows it is part of.
    """

    __slots__ = (
        "back", "back_from", "covered", "drop_at", "fire_at", "fired", "front", "frozen", "starts",
    )  # fmt: skip

    def __init__(self, starts: list[int]):
        self.starts = starts
        self.fire_at = self.drop_at = NEVER
        """Timers at these times or before are set."""
        self.fired = MIN_TIMESTAMP
        """The end of the last window that is known to have fired by its time."""
        self.forget()

    def forget(self) -> None:
        """Drop the aggregates, as one of the slices they cover has changed."""
        self.front: list[tuple[int, Any]] = []
        self.back: Any = None
        self.back_from: int | None = None
        self.covered: int | None = None
        """All slices before this time, and those only, are in an aggregate."""
        self.frozen = True
        """Whether no aggregate can be changed, so that `merge` may be given it as it is."""


def owned(accumulator: Any) -> Any:
    """What a user's method may change: the accumulator, or a copy if it can be changed at all."""
    kind = accumulator.__class__
    if kind in FROZEN or (kind is tuple and _UNCHANGING(map(type, accumulator))):
        return accumulator
    return isolated(accumulator)


def all_frozen(accumulators: list[Any]) -> bool:
    """Whether none of them can be changed, as far as that can be told in no time."""
    kinds = set(map(type, accumulators))
    if kinds == {tuple}:
        return _UNCHANGING(map(type, chain.from_iterable(accumulators)))
    return kinds <= FROZEN


class SliceMerger:
    """Merges the slices of the current key's windows."""

    def __init__(
        self, aggregate: AggregateFunction, slices: MapState[int, Any], grid: SlidingGrid,
        own: Callable[[Any], Any] = owned,
    ):  # fmt: skip
        self._merge = aggregate.merge
        self._slices = slices
        self._grid = grid
        self._own = own

    def once(self, starts: Sequence[int]) -> Any:
        """The accumulator of one or more slices; the caller's own."""
        get, merge, own = self._slices.get, self._merge, self._own
        stored = get(starts[0])
        merged = own(stored)
        for start in starts[1:]:
            stored = get(start)
            merged = merge(merged, own(stored))
        return merged

    def panes(self, key: KeySlices, end: int, until: int) -> Iterator[tuple[int, Any]]:
        """The windows from the one that ends at `end` to the last one over by `until`, as far as
        they have slices: their ends and accumulators. `key.fire_at` is then the next one's time.
        """
        starts, grid = key.starts, self._grid
        size, slide, count = grid.size, grid.slide, len(starts)
        first = bisect_left(starts, end - size)
        after = bisect_left(starts, end, first)
        while end <= until + 1:
            if first < after:
                yield end, self._pane(key, first, after, end)
            end += slide
            while first < count and starts[first] < end - size:
                first += 1
            if first == count:
                key.fire_at = NEVER
                return
            if starts[first] >= end:
                end = grid.first_end(starts[first])
            while after < count and starts[after] < end:
                after += 1
        key.fire_at = end - 1

    def _pane(self, key: KeySlices, first: int, after: int, end: int) -> Any:
        """The accumulator of the slices numbered `first` up to `after`, all of one window."""
        starts, front = key.starts, key.front
        if after - first <= _FEW:
            return self.once(starts[first:after])
        begin = end - self._grid.size
        while front and front[-1][0] < begin:
            front.pop()
        if key.covered is None or (key.back_from is not None and key.back_from < begin):
            self._turn(key, starts[first:after])
        elif starts[after - 1] >= key.covered:
            self._extend(key, starts[bisect_left(starts, key.covered, first, after) : after])
        key.covered = end
        back = key.back
        if not front:
            return self._own(back)
        ahead = front[-1][1]
        if not key.frozen:
            ahead, back = self._own(ahead), self._own(back)
        return ahead if key.back_from is None else self._merge(ahead, back)

    def _turn(self, key: KeySlices, starts: list[int]) -> None:
        """Start over with a front of all slices."""
        merge, own, by_start = self._merge, self._own, dict(self._slices.items())
        starts = starts[::-1]
        stored = [by_start[start] for start in starts]
        merged: list[Any] = []
        if all_frozen(stored):
            merged = list(accumulate(stored, lambda later, earlier: merge(earlier, later)))
        key.frozen = bool(merged) and all_frozen(merged)
        if not key.frozen:
            stored[0] = own(stored[0])
            merged = list(
                accumulate(stored, lambda later, earlier: merge(own(earlier), own(later)))
            )
        key.front[:] = zip(starts, merged, strict=True)
        key.back = key.back_from = None

    def _extend(self, key: KeySlices, starts: list[int]) -> None:
        """Take slices into the back."""
        added = self.once(starts)
        if key.back_from is None:
            key.back, key.back_from = added, starts[0]
        else:
            key.back = self._merge(key.back, added)
        key.frozen = key.frozen and is_frozen(key.back)


class CacheProof:
    """Tells whether what a worker remembers of the batch before still goes with the state.

    Another worker may have run a batch in between, or run the last one again. So each batch
    leaves a token with the state, and who remembers another one has missed something.
    """

    def __init__(self, ctx: Context):
        self._kept = ctx.broadcast_state(_PROOF)
        self._token: str | None = None
        self.checked = False

    def holds(self) -> bool:
        """Whether memory can be trusted; to be asked before it is used in a batch."""
        self.checked = True
        return self._kept.get("token") == self._token

    def renew(self) -> None:
        """The batch is over."""
        if self.checked:
            self._token = uuid.uuid4().hex
            self._kept.put("token", self._token)
            self.checked = False
