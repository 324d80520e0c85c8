"""Where a task stands in its plan: what it runs, and from whom it hears of time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.core.exchange import Broadcast
from headrace.core.source import SplitSpec
from headrace.plan.physical import PhysicalPlan, Vertex


@dataclass(frozen=True)
class Place:
    """One task of a plan."""

    plan: PhysicalPlan
    level: int
    subtask: int
    source: int | None = None
    """What a task of level 0 reads."""

    @property
    def channel(self) -> str:
        """The name under which others hear of time from this task."""
        if self.source is None:
            return f"#{self.subtask}"
        return _source_channel(self.source, self.subtask)

    def vertices(self) -> list[Vertex]:
        """Those whose operators it runs."""
        return self.plan.at(self.level) if self.source is None else fed_by(self.plan, self.source)

    def idle_after(self) -> dict[int, int]:
        """The timeouts that it applies to origins of its own level; of others it learns from the
        level before it what is idle."""
        return {
            vertex.id: vertex.operator.idle_after_ms
            for vertex in self.plan.at(self.level)
            if vertex.operator is not None and vertex.operator.idle_after_ms is not None
        }

    def fed_by_others(self) -> set[int]:
        """The vertices that its source feeds without an exchange, and other sources, too."""
        if self.source is None:
            return set()
        others = [other.id for other in self.plan.sources if other.id != self.source]
        reached = {vertex.id for other in others for vertex in fed_by(self.plan, other)}
        return reached & {vertex.id for vertex in self.vertices()}

    def takes_broadcasts(self) -> bool:
        """Whether records come here that go to all slots, if only to be passed on.

        No barrier may overtake those: each slot would have another part of them in its state.
        """
        return any(
            isinstance(edge.exchange, Broadcast)
            and vertex.level < self.level <= self.plan.vertices[edge.target].level
            for vertex in self.plan.vertices.values()
            for edge in vertex.edges
        )

    def senders(self) -> dict[int, list[str]]:
        """By origin before this level, the channels by which it hears of that."""
        return {
            origin.id: self._senders(origin)
            for origin in origins(self.plan)
            if origin.level < self.level
        }

    def _senders(self, origin: Vertex) -> list[str]:
        if origin.level == 0 and self.level == 1:
            return [
                _source_channel(source, number)
                for source, number in source_tasks(self.plan)
                if origin in fed_by(self.plan, source)
            ]
        senders = self.plan.parallelism
        if origin.level == self.level - 1:
            senders = min(origin.parallelism, senders)
        return [f"#{sender}" for sender in range(senders)]

    def source_channels(self, numbers: Iterable[int]) -> set[str]:
        """The channels of source tasks, given their numbers."""
        tasks = source_tasks(self.plan)
        return {_source_channel(*tasks[number]) for number in numbers}

    def origins_before(self, id: int) -> set[int]:
        """The origins of the time in which a vertex is sent records."""
        return {
            origin
            for vertex in self.plan.vertices.values()
            if any(edge.target == id for edge in vertex.edges)
            for origin in vertex.watermark_origins
        }

    def resting_origins(self) -> dict[int, int | None]:
        """Those of level 0 that only sources feed whose splits come and go, and when they are
        idle."""
        found: dict[int, int | None] = {}
        for origin in origins(self.plan):
            feeding = [each for each in self.plan.sources if origin in fed_by(self.plan, each.id)]
            if origin.level == 0 and all(map(_come_and_go, feeding)):
                operator = origin.operator
                found[origin.id] = None if operator is None else operator.idle_after_ms
        return found

    @property
    def splits_come_and_go(self) -> bool:
        """Whether it reads splits that are soon at their end, as files are."""
        return self.source is not None and _come_and_go(self.plan.vertices[self.source])


def source_tasks(plan: PhysicalPlan) -> tuple[tuple[int, int], ...]:
    """By number of a source task: the source's vertex, and the task's number among its own."""
    return tuple(
        (vertex.id, number) for vertex in plan.sources for number in range(vertex.parallelism)
    )


def fed_by(plan: PhysicalPlan, source: int) -> list[Vertex]:
    """The vertices that a source feeds without an exchange, itself among them."""
    reached = {source}
    for vertex in plan.vertices.values():
        if vertex.id in reached:
            reached.update(edge.target for edge in vertex.edges if edge.exchange is None)
    return [vertex for vertex in plan.vertices.values() if vertex.id in reached]


def origins(plan: PhysicalPlan) -> list[Vertex]:
    """Those that say how far time has come: sources and assigners of timestamps."""
    ids = {origin for vertex in plan.vertices.values() for origin in vertex.watermark_origins}
    return [vertex for vertex in plan.vertices.values() if vertex.id in ids]


def _source_channel(source: int, number: int) -> str:
    return f"#{source}:{number}"


def _come_and_go(source: Vertex) -> bool:
    spec = source.source
    return spec.source.splits_end if isinstance(spec, SplitSpec) else True
