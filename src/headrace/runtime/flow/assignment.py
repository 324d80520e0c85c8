"""Which task reads which splits of a source."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from itertools import count, islice
from typing import Any

from headrace.core.checkpointed import source_part
from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitSpec
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.flow.messages import Assign, NoMoreSplits, TaskId


class Assignment:
    """The splits of one source; new ones go to its tasks in turn."""

    def __init__(
        self, vertex: Vertex, tasks: list[TaskId], enumerator: SplitEnumerator | None = None
    ):
        """`enumerator`: who knows the splits, if the source alone does not."""
        assert isinstance(vertex.source, SplitSpec), f"{vertex.name!r} has no splits"
        source: Source[Any] = vertex.source.source
        self.vertex = vertex
        self.tasks = tasks
        self._enumerator = enumerator or source_part(source.create_enumerator())
        self._bounded = source.boundedness() is Boundedness.BOUNDED
        self._assigned: set[str] = set()
        self._turn = 0
        self._begun = False
        self._complete = False

    def discover(self, saved: dict[str, Any]) -> dict[TaskId, list[Any]]:
        """What the tasks are to be told of splits that nobody reads yet.

        `saved`: by split, what a checkpoint knows of it.
        """
        if self._complete:
            return {}
        if not self._begun and saved:
            self._enumerator.restore([Split(id, info) for id, (info, _) in saved.items()])
        named = {split.id: split for split in self._enumerator.splits()}
        # A checkpoint's splits count even if the source no longer names them: they were read. All
        # others stay in the source's order, for a task reads them one after the other.
        gone = {id: Split(id, info) for id, (info, _) in saved.items() if id not in named}
        known = {**gone, **named}
        new = [split for id, split in known.items() if id not in self._assigned]
        by_task: dict[TaskId, list[tuple[Split, Any]]] = {}
        for split in new:
            at = (saved[split.id][1] if split.id in saved
                  else self._enumerator.initial_position(split))  # fmt: skip
            by_task.setdefault(self.tasks[self._turn % len(self.tasks)], []).append((split, at))
            self._assigned.add(split.id)
            self._turn += 1
        # At first everybody is told, if only that there is nothing: who knows of no split is idle.
        told = by_task if self._begun else self.tasks
        self._begun = True
        words: dict[TaskId, list[Any]] = {
            task: [Assign(tuple(by_task.get(task, ())))] for task in told
        }
        if self._bounded and not new and self._enumerator.has_named_all:
            self._complete = True
            for task in self.tasks:
                words.setdefault(task, []).append(NoMoreSplits())
        return words

    def split_ended(self, id: str) -> bool:
        """A task has read a split to its end; whether there may be others because of it."""
        return self._enumerator.split_ended(id)

    def checkpoint_completed(self, positions: Mapping[str, Any]) -> None:
        """Let the source know how far everything is durable."""
        self._enumerator.checkpoint_completed({id: at for id, (_, at) in positions.items()})

    def close(self) -> None:
        self._enumerator.close()


def assign_sources(
    plan: PhysicalPlan, enumerators: Mapping[int, SplitEnumerator]
) -> list[Assignment]:
    """All sources; `enumerators`: by source, who knows its splits; of others the source does."""
    found: list[Assignment] = []
    with ExitStack() as if_one_fails:
        for vertex, tasks in tasks_by_source(plan):
            found.append(Assignment(vertex, tasks, enumerators.get(vertex.id)))
            if_one_fails.callback(found[-1].close)
        if_one_fails.pop_all()
    return found


def tasks_by_source(plan: PhysicalPlan) -> list[tuple[Vertex, list[TaskId]]]:
    """The tasks of all sources, numbered one after the other."""
    numbers = count()
    return [
        (vertex, [TaskId(0, number) for number in islice(numbers, vertex.parallelism)])
        for vertex in plan.sources
    ]


def tasks_of(plan: PhysicalPlan) -> list[TaskId]:
    """All tasks that a plan is run by."""
    return [task for _, tasks in tasks_by_source(plan) for task in tasks] + [
        TaskId(level, slot)
        for level in range(1, plan.last_level + 1)
        for slot in range(plan.parallelism)
    ]
