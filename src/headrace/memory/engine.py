"""A plan run in this process, round by round.

The tasks and the parcels between them are those of Spark; what differs is who carries the parcels
and where files of state are kept. The caller decides what each round holds, what time it is and
when the engine is thrown away for one restored from a snapshot, so every run can be repeated
exactly.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.core.operator import Batch
from headrace.errors import InvalidArgument
from headrace.memory.begun_task import begin_task
from headrace.memory.clock import ManualClock
from headrace.memory.snapshot import Snapshot
from headrace.origin import calling_origin
from headrace.plan.physical import RESTORED_CHECKPOINT, PhysicalPlan
from headrace.runtime.driver_items import PROGRESS, DriverItem, DriverItems
from headrace.runtime.envelope import Envelope
from headrace.runtime.event_time import ANY_SPLIT, Watermarks
from headrace.runtime.flow.assignment import tasks_of
from headrace.runtime.flow.level import FlowingLevel
from headrace.runtime.flow.messages import (
    Acknowledged,
    Begin,
    Ended,
    Round,
    TaskId,
    TaskPart,
)
from headrace.runtime.flow.snapshots import Written
from headrace.runtime.flow.task import FlowTask
from headrace.runtime.outbox import Row
from headrace.runtime.pickled_plan import pickle_plan, unpickle_plan

OnItems = Callable[[int, list[DriverItem]], None]
"""Takes the number of a micro-batch and what it sent to the driver."""


@dataclass
class MicroBatch:
    """What happens in one round."""

    records: Mapping[int, Iterable[Batch]] = field(default_factory=dict)
    """By the source's vertex."""
    watermarks: Mapping[int, int] = field(default_factory=dict)
    """How far each source's time has come, for plans without a watermark strategy."""
    final: bool = False
    """No source will give another record."""


class MemoryEngine:
    """Runs one plan. State survives the engine only through `snapshot`."""

    def __init__(
        self, plan: PhysicalPlan, on_items: OnItems, *, clock: ManualClock | None = None,
        snapshot: bytes | None = None, files: Mapping[str, str] | None = None,
    ):  # fmt: skip
        self.plan = plan
        self.clock = clock or ManualClock()
        self._on_items = on_items
        found: Snapshot | None = None if snapshot is None else pickle.loads(snapshot)
        if found is not None:
            self.clock.advance_to(max(found.now, self.clock()))
        self._kept = Snapshot.of(plan) if found is None else found.fitted_to(plan)
        """What is left of this engine when it is gone."""
        self._parts: dict[TaskId, TaskPart] = {}
        """What the tasks contribute to the checkpoint under way."""
        self._tasks = self._begin_tasks(files, restored=found is not None)

    @property
    def batches(self) -> int:
        """How many rounds there have been."""
        return self._kept.batches

    def _begin_tasks(
        self, files: Mapping[str, str] | None, *, restored: bool
    ) -> dict[TaskId, FlowTask]:
        plan = _read_by_one(self.plan)
        pickled = pickle_plan(plan)
        sources = [vertex.id for vertex in self.plan.sources]
        number = self.batches if restored else self.plan.settings.get(RESTORED_CHECKPOINT)
        tasks = {}
        for id in tasks_of(plan):
            items = DriverItems()
            source = None if id.level else sources[id.number]
            level = FlowingLevel(
                unpickle_plan(pickled), id.level, id.number if id.level else 0, self.clock,
                tell=items.add, source=source, files=files,
            )  # fmt: skip
            begin = Begin(
                0, self.batches + 1, self._kept.slots.get(id), number,
                round=Round(times=self._times_at(level), reads_all=True),
            )  # fmt: skip
            tasks[id] = begin_task(id, level, begin, self, items, read=self._kept.files.__getitem__)
        return tasks

    def _times_at(self, level: FlowingLevel) -> Watermarks:
        """How far the splits had come that a source task reads."""
        if level.source is None:
            return {}
        known = self._kept.splits.get(self.plan.vertices[level.source].uid, {})
        by_uid = {task.vertex.uid: id for id, task in level.tasks.items()}
        return {by_uid[uid]: splits for uid, splits in known.items() if uid in by_uid}

    def tasks(self) -> Iterator[FlowingLevel]:
        """Every task, sources first."""
        yield from (task.level for task in self._tasks.values())

    def run(self, batch: MicroBatch) -> None:
        """Run one round through all levels; afterwards its results are out."""
        if self._has_ended(batch):
            return
        number = self.batches + 1
        slots = range(self.plan.parallelism)
        on_way: list[list[list[bytes]]] = [
            [[] for _ in slots] for _ in range(self.plan.last_level + 1)
        ]
        for id, task in self._tasks.items():
            rows = (_take(task, on_way[id.level][id.number]) if id.level
                    else self._read(task, batch, number))  # fmt: skip
            for slot, parcel in rows:
                on_way[id.level + 1][slot].append(parcel)
        self._complete(number)

    def _has_ended(self, batch: MicroBatch) -> bool:
        """Whether nothing can happen any more; refuses records."""
        ended = all(task.ended for task in self._tasks.values())
        if ended and any(batch.records.values()):
            raise InvalidArgument(
                "a record was sent after the end of all input", origin=calling_origin(),
                hint="Send it before the input ends, or go on from a snapshot.",
            )  # fmt: skip
        return ended

    def _read(self, task: FlowTask, batch: MicroBatch, number: int) -> Iterator[Row]:
        """Have a source task read its part of a round."""
        level, source = task.level, task.level.source
        assert source is not None
        batches = list(batch.records.get(source, ()))
        for records in batches:
            level.time.begin_split(records.split)  # all are known before the first of them can end
        for records in batches:
            yield from task.feed(source, _copied(source, records))
        if source in batch.watermarks:
            level.tasks[source].split = ANY_SPLIT
            level.tasks[source].report_watermark(batch.watermarks[source])
        yield from task.end() if batch.final else task.checkpoint(number)

    def _complete(self, number: int) -> None:
        """All tasks have given their parts: the checkpoint is made of them."""
        parts = [self._parts.pop(id) for id in self._tasks]
        self._kept.batches = number
        for task, part in zip(self._tasks.values(), parts, strict=True):
            if part.state is not None:
                self._kept.replace_slot(task.id, part.state)
            else:
                self._keep_times(task, part.items)
        self._on_items(number, [item for part in parts for item in part.items])
        for task in self._tasks.values():
            if not task.ended:
                task.level.complete(number)

    def _keep_times(self, task: FlowTask, items: Iterable[DriverItem]) -> None:
        assert task.level.source is not None
        for vertex, _, kind, splits in items:
            if kind == PROGRESS:
                uid = self.plan.vertices[task.level.source].uid
                by_uid = self._kept.splits.setdefault(uid, {})
                by_uid[self.plan.vertices[vertex].uid] = splits

    # What the tasks ask for.

    def send(self, message: Any) -> None:
        """Hear what a task says."""
        assert isinstance(message, Acknowledged | Ended)
        self._parts[message.task] = message.part

    def write(self, files: Written, then: Callable[[], None]) -> None:
        """Keep files of state."""
        self._kept.files.update(files)
        then()

    def snapshot(self, *, compact: bool = False) -> bytes:
        """All state between two rounds, for an engine of this or another parallelism: as it was
        logged, or `compact`ed."""
        now = replace(self._kept, now=self.clock())
        if compact:
            now = now.compacted({id: task.level.state for id, task in self._tasks.items()})
        return pickle.dumps(now, 5)

    def close(self) -> None:
        for task in self._tasks.values():
            if not task.ended:
                task.level.close()


def _read_by_one(plan: PhysicalPlan) -> PhysicalPlan:
    """The plan with one task for each source: the caller says in which order records come."""
    alone = {vertex.id: replace(vertex, parallelism=1) for vertex in plan.sources}
    return replace(plan, vertices={**plan.vertices, **alone})


def _copied(source: int, records: Batch) -> Batch:
    """Functions get copies of the records, here as in a worker."""
    [(_, _, copy)] = Envelope.decode(Envelope([(source, 0, records)]).encode()).records
    assert isinstance(copy, Batch)
    return replace(copy, split=records.split, ends_split=records.ends_split)


def _take(task: FlowTask, parcels: Iterable[bytes]) -> Iterator[Row]:
    """Have a task behind an exchange work off what a round brings it."""
    task.level.fire_processing_time()
    for parcel in parcels:
        yield from task.arrive(parcel)
    while task.has_work:
        yield from task.work()
