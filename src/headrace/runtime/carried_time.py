"""How far event time had come, in a form that fits another graph and another number of slots.

Flink forgets it: after a restore its operators start before all time, and records that were late
become punctual. Here a resumed job judges as it would have without the stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from headrace.core.operator import MIN_TIMESTAMP
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.event_time import Progress
from headrace.runtime.subtask_state import BROADCAST_PREFIX, Changes

ENGINE_UID = "headrace"
"""The uid under which a slot keeps what belongs to no operator."""
WATERMARKS, REACHED, CLOCKS = "watermarks", "reached", "clocks"
_CHANNEL = "#"
"""Before the number of a task, where it is the split of what it sends."""

Member = tuple[str, int, int]
"""Of a vertex: uid, level and parallelism."""


@dataclass
class CarriedTime:
    """By the uids of those who report watermarks, and of all operators."""

    splits: dict[str, dict[str, Progress]] = field(default_factory=dict)
    passed_on: dict[str, Progress] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    clocks: dict[str, int] = field(default_factory=dict)

    def take_in(
        self, entries: Mapping[str, Mapping[Any, Any]], level: int, slot: int,
        members: Mapping[int, Member],
    ) -> None:  # fmt: skip
        """Add what one slot of a level knows. Of several slots the least counts, and of one that
        says nothing that its time has not begun."""
        for origin, splits in entries.get(WATERMARKS, {}).items():
            uid, reports_at, _ = members[origin]
            for split, progress in splits.items():
                if level == 1 and reports_at == 0 and not split.startswith(_CHANNEL):
                    known = self.splits.setdefault(uid, {})
                    known[split] = _slower(progress, known.get(split))
                else:
                    self.passed_on[uid] = _slower(progress, self.passed_on.get(uid))
        reached, clocks = entries.get(REACHED, {}), entries.get(CLOCKS, {})
        for id, (uid, its_level, parallelism) in members.items():
            if its_level > level or (its_level == level and slot >= parallelism):
                continue
            _keep_least(self.reached, uid, reached.get(id, MIN_TIMESTAMP))
            if its_level == level:
                _keep_least(self.clocks, uid, clocks.get(uid, MIN_TIMESTAMP))

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "reached": _begun(self.reached), "clocks": _begun(self.clocks)}

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> CarriedTime:
        return CarriedTime(
            {uid: {split: (at[0], at[1]) for split, at in splits.items()}
             for uid, splits in found["splits"].items()},
            {uid: (at[0], at[1]) for uid, at in found["passed_on"].items()},
            dict(found["reached"]), dict(found["clocks"]),
        )  # fmt: skip

    def changes(self, plan: PhysicalPlan, level: int, slot: int) -> Changes:
        """What a slot of another plan starts with."""
        reports = {
            origin.id: told for origin in plan.vertices.values()
            if (told := self._told(plan, origin, level, slot))
        }  # fmt: skip
        known, times = _begun(self.reached), _begun(self.clocks)
        reached = {origin.id: known[origin.uid] for origin in plan.vertices.values()
                   if origin.uid in known and origin.level <= level}  # fmt: skip
        clocks = {vertex.uid: times[vertex.uid] for vertex in plan.at(level)
                  if vertex.uid in times}  # fmt: skip
        entries = {WATERMARKS: reports, REACHED: reached, CLOCKS: clocks}
        return [(ENGINE_UID, BROADCAST_PREFIX + name, "map", ([], {None: content}, {}))
                for name, content in entries.items() if content]  # fmt: skip

    def _told(
        self, plan: PhysicalPlan, origin: Vertex, level: int, slot: int
    ) -> dict[str, Progress]:
        """What a slot has heard of an origin."""
        if origin.level > level:
            return {}
        if origin.level == 0 and level == 1:
            return dict(self.splits.get(origin.uid, {}))
        told = self._as_one(origin.uid)
        if told is None:
            return {}
        senders = min(origin.parallelism, plan.parallelism)
        if origin.level == level:
            return {f"{_CHANNEL}{slot}": told} if slot < senders else {}
        if origin.level == 0 or origin.level + 1 < level:
            senders = plan.parallelism
        return {f"{_CHANNEL}{sender}": told for sender in range(senders)}

    def _as_one(self, uid: str) -> Progress | None:
        """An origin's progress as one report, for those who do not hear of its splits."""
        known = [*self.splits.get(uid, {}).values()]
        if uid in self.passed_on:
            known = [self.passed_on[uid]]
        slowest: Progress | None = None
        for progress in known:
            slowest = _slower(progress, slowest)
        if slowest is None:
            return None
        return max(slowest[0], self.reached.get(uid, MIN_TIMESTAMP)), slowest[1]


def _slower(one: Progress, other: Progress | None) -> Progress:
    return one if other is None else (min(one[0], other[0]), max(one[1], other[1]))


def _keep_least(times: dict[str, int], uid: str, time: int) -> None:
    times[uid] = min(time, times.get(uid, time))


def _begun(times: Mapping[str, int]) -> dict[str, int]:
    return {uid: time for uid, time in times.items() if time != MIN_TIMESTAMP}


def engine_entries(changes: Iterable[tuple[str, str, Mapping[Any, Any]]]) -> dict[str, Any]:
    """What a slot keeps of time, out of its tables as (uid, name, data)."""
    return {name.removeprefix(BROADCAST_PREFIX): data.get(None, {})
            for uid, name, data in changes if uid == ENGINE_UID}  # fmt: skip
