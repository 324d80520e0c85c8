"""Input that waits in BATCH mode, where all of it is there before an operator needs it.

As in Flink, what is broadcast is seen before all else, and keyed records come in the order of their
time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise

from headrace.core.exchange import Broadcast, Hash
from headrace.core.operator import MIN_TIMESTAMP, Batch
from headrace.plan.physical import PhysicalPlan, Vertex

_AT_ONCE = 10_000
"""Records handed over at a time, so that what comes of them can go out in between."""


class WaitingInput:
    """The records of some sides of an operator, until its other sides have been read."""

    def __init__(self, sides: frozenset[int], *, by_time: bool) -> None:
        self.sides = sides
        self._by_time = by_time
        self._batches: list[tuple[int, Batch]] = []

    def add(self, side: int, batch: Batch) -> None:
        self._batches.append((side, batch))

    def take(self) -> Iterator[tuple[int, Batch]]:
        """All records, each with its side, in the order they are to be seen."""
        batches, self._batches = self._batches, []
        if not self._by_time or _are_in_order(batches):
            yield from batches
        else:
            yield from _sorted_by_time(batches)


def waiting_input(plan: PhysicalPlan, vertex: Vertex) -> WaitingInput | None:
    """What has to wait before an operator; None: nothing."""
    if not plan.batch or vertex.of_query:
        return None
    edges = [e for other in plan.vertices.values() for e in other.edges if e.target == vertex.id]
    broadcast = {edge.side for edge in edges if isinstance(edge.exchange, Broadcast)}
    keyed = {edge.side for edge in edges if isinstance(edge.exchange, Hash)}
    by_time = bool(keyed and vertex.watermark_origins)
    waiting = {edge.side for edge in edges} - broadcast if broadcast else set()
    if by_time:
        waiting |= keyed
    return WaitingInput(frozenset(waiting), by_time=by_time) if waiting else None


def _times(batches: list[tuple[int, Batch]]) -> list[int]:
    """When each record happened; what has no time was before all others."""
    found: list[int] = []
    for _, batch in batches:
        if batch.timestamps is None:
            found += [MIN_TIMESTAMP] * len(batch)
        else:
            found += [MIN_TIMESTAMP if each is None else each for each in batch.timestamps]
    return found


def _are_in_order(batches: list[tuple[int, Batch]]) -> bool:
    if all(batch.timestamps is None for _, batch in batches):
        return True
    return all(one <= other for one, other in pairwise(_times(batches)))


def _sorted_by_time(batches: list[tuple[int, Batch]]) -> Iterator[tuple[int, Batch]]:
    sides = [side for side, batch in batches for _ in batch.values]
    values = [value for _, batch in batches for value in batch.values]
    stamps = [stamp for _, batch in batches for stamp in batch.timestamps or _nothing(batch)]
    keys = [key for _, batch in batches for key in batch.keys or _nothing(batch)]
    keyed = {side for side, batch in batches if batch.keys is not None}
    plain = all(batch.plain for _, batch in batches)
    order = sorted(range(len(values)), key=_times(batches).__getitem__)
    for start in range(0, len(order), _AT_ONCE):
        for side, places in groupby(order[start : start + _AT_ONCE], key=sides.__getitem__):
            some = list(places)
            yield side, Batch(
                [values[at] for at in some], [stamps[at] for at in some],
                [keys[at] for at in some] if side in keyed else None, plain=plain,
            )  # fmt: skip


def _nothing(batch: Batch) -> list[None]:
    return [None] * len(batch)
