"""Records that were on their way when a checkpoint was taken, for another number of slots.

Every slot goes through all that was kept of its level and takes what is its own by now: records
with a key go with it, others are dealt out as their exchange would have dealt them. A key was in
one slot before, so that its records stay in their order.

Slots had heard of time differently far, and what one kept of it says nothing of another's records.
So time stays where the slowest slot was until all kept records are through; then it is where every
slot would have been, for each sender had told all of them the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headrace.core.exchange import Broadcast, Custom, Exchange, Global, Hash, Splitter, by_target
from headrace.core.keys import SubtaskOfKey
from headrace.core.operator import MAX_TIMESTAMP, MIN_TIMESTAMP, Batch
from headrace.errors import Unsupported
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.envelope import MARK, Envelope, Item
from headrace.runtime.event_time import Watermarks, least, merge_watermarks
from headrace.runtime.flow.level import FlowingLevel
from headrace.runtime.flow.parcels import KEPT, RECORDS, Parcel

_BY_MEANING = (Broadcast, Custom, Global)
"""With these, who receives a record is part of what the program says."""


def deal_kept(
    level: FlowingLevel, kept: Mapping[int, list[Parcel]], ids: Mapping[int, int]
) -> list[Parcel]:
    """What the slot of a level begins with.

    `kept`: by the slots that there were, first what each had heard of time. `ids`: by what the
    vertices were called then, what they are called now.
    """
    dealt: list[Parcel] = []
    marks: Watermarks = {}
    for slot, parcels in sorted(kept.items()):
        dealer = _Dealer(level.plan, slot)
        for parcel in parcels:
            own: list[Item] = []
            for vertex, side, content in Envelope.decode(parcel.content).records:
                if vertex == MARK:
                    merge_watermarks(marks, content)
                else:
                    id = ids[vertex]
                    parts = dealer.split(id, side, content)
                    own += [(id, side, part) for to, part in parts if to == level.subtask]
            if own:
                dealt.append(_parcel(own))
    time = _time_afterwards(level, marks, ids)
    return [*dealt, _parcel([(MARK, 0, time)])] if time else dealt


def forget_who_read(level: FlowingLevel, kept: list[Parcel]) -> list[Parcel]:
    """Let a slot go on whose source tasks may read other splits than before.

    What one of them had said of time says nothing of what it reads now. What all had reached holds,
    and counts when all that was kept is through; returns what was kept with that.
    """
    if level.level != 1:
        return kept
    known = level.time.heard.reports()
    origins = {id for id in known if level.plan.vertices[id].level == 0}
    marks: Watermarks = {origin: dict(known[origin]) for origin in origins}
    parcels = [_without_time(parcel, origins, marks) for parcel in kept]
    for origin in origins:
        level.time.heard.forget_splits(origin)
    time = _time_afterwards(level, marks, {origin: origin for origin in origins})
    return [*parcels, _parcel([(MARK, 0, time)])] if time and kept else parcels


def _without_time(parcel: Parcel, origins: set[int], marks: Watermarks) -> Parcel:
    """A parcel without what it says of origins, which goes to the marks."""
    items: list[Item] = []
    for vertex, side, content in Envelope.decode(parcel.content).records:
        if vertex == MARK:
            merge_watermarks(marks, {id: content[id] for id in content if id in origins})
            content = {id: news for id, news in content.items() if id not in origins}
        if vertex != MARK or content:
            items.append((vertex, side, content))
    return replace(parcel, content=Envelope(items).encode())


def require_dealable(plan: PhysicalPlan) -> None:
    """Refuse a plan in which a kept record does not tell how to choose its receiver."""
    ways: dict[tuple[int, int], list[Exchange]] = {}
    for vertex in plan.vertices.values():
        for edge in vertex.edges:
            known = ways.setdefault((edge.target, edge.side), [])
            if edge.exchange is not None and edge.exchange not in known:
                known.append(edge.exchange)
    for (target, _), exchanges in ways.items():
        if len(exchanges) > 1 and any(isinstance(each, _BY_MEANING) for each in exchanges):
            raise Unsupported(
                f"the checkpoint is an unaligned one, and {plan.vertices[target].name!r} is given "
                "records in several ways: those on their way to it cannot be dealt out anew",
                hint="Start the job as it was, take a savepoint of it, and go on from that.",
            )


class _Dealer:
    """Deals out what one slot kept."""

    def __init__(self, plan: PhysicalPlan, slot: int):
        self._plan = plan
        self._slot = slot
        self._splitters: dict[tuple[int, int, bool], Splitter] = {}

    def split(self, vertex: int, side: int, batch: Batch) -> Any:
        """The parts of a batch, by receiver."""
        by_key = batch.keys is not None
        place = vertex, side, by_key
        if place not in self._splitters:
            target = self._plan.vertices[vertex]
            make = self._by_key if by_key else self._by_exchange
            self._splitters[place] = make(target, side)
        return self._splitters[place](batch)

    def _by_key(self, target: Vertex, side: int) -> Splitter:
        slots = self._slots(target)
        owner = SubtaskOfKey(slots, target.max_parallelism)
        return lambda batch: by_target(batch, [owner[key] for key in batch.keys or ()], slots)

    def _by_exchange(self, target: Vertex, side: int) -> Splitter:
        exchange = _exchange(self._plan, target.id, side)
        if isinstance(exchange, Broadcast):  # barriers do not overtake there
            raise Unsupported(
                f"records were kept that were on their way to all slots of {target.name!r}"
            )
        return exchange.splitter(self._slot, self._slots(target), target.max_parallelism)

    def _slots(self, target: Vertex) -> int:
        return min(target.parallelism, self._plan.parallelism)


def _exchange(plan: PhysicalPlan, target: int, side: int) -> Exchange:
    """How an operator is given records without keys on a side."""
    return next(
        edge.exchange
        for vertex in plan.vertices.values()
        for edge in vertex.edges
        if (edge.target, edge.side) == (target, side)
        and edge.exchange is not None
        and not isinstance(edge.exchange, Hash)
    )


def _time_afterwards(level: FlowingLevel, marks: Watermarks, ids: Mapping[int, int]) -> Watermarks:
    """How far time has come when all is through, as if all senders of now had said so."""
    found: Watermarks = {}
    senders = level.time.heard.reports()
    for was, channels in marks.items():
        origin = ids[was]
        time, _ = least([(watermark, heard < 0) for watermark, heard in channels.values()])
        is_before = level.plan.vertices[origin].level < level.level
        if is_before and MIN_TIMESTAMP < time < MAX_TIMESTAMP:
            found[origin] = dict.fromkeys(senders.get(origin, ()), (time, 0))
    return found


def _parcel(items: list[Item]) -> Parcel:
    return Parcel(RECORDS, 0, KEPT, content=Envelope(items).encode())
