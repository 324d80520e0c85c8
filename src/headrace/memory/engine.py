"""A plan run in this process, micro-batch by micro-batch.

The tasks and the blobs between them are those of Spark; what differs is who carries the blobs and
where state is kept. The caller decides what each micro-batch holds, what time it is and when the
engine is thrown away for one restored from a snapshot, so every run can be repeated exactly.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.core.operator import Batch
from headrace.memory.clock import ManualClock
from headrace.memory.snapshot import Place, Snapshot, operators_of
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.envelope import Envelope
from headrace.runtime.event_time import ANY_SPLIT
from headrace.runtime.level_task import LevelTask, Row
from headrace.runtime.pickled_plan import pickle_plan, unpickle_plan
from headrace.runtime.pickling import dumps

DriverItem = tuple[int, int, str, Any]
OnItems = Callable[[int, list[DriverItem]], None]
"""Takes the number of a micro-batch and what it sent to the driver."""

_CHUNK_KEYS = 1000
_ROOM_AT_LEAST = 8 * 2**20


@dataclass
class MicroBatch:
    """What happens in one micro-batch."""

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
        self.batches = 0
        self._on_items = on_items
        pickled = pickle_plan(plan)

        def task(level: int, slot: int, **rest: Any) -> LevelTask:
            return LevelTask(unpickle_plan(pickled), level, slot, self.clock, files=files, **rest)

        self._readers = {vertex.id: task(0, 0, source=vertex.id) for vertex in plan.sources}
        self._slots = {
            (level, slot): task(level, slot, logged=True)
            for level in range(1, plan.last_level + 1)
            for slot in range(plan.parallelism)
        }
        self._logs: dict[Place, list[bytes]] = {place: [] for place in self._slots}
        self._room = dict.fromkeys(self._slots, _ROOM_AT_LEAST)
        """How many bytes a log may still grow before it is written anew."""
        for each in self.tasks():
            each.open()
        if snapshot is not None:
            self._restore(pickle.loads(snapshot))

    def tasks(self) -> Iterator[LevelTask]:
        """Every task, sources first."""
        yield from self._readers.values()
        yield from self._slots.values()

    def run(self, batch: MicroBatch) -> None:
        """Run one micro-batch through all levels; afterwards its results are out."""
        self.batches += 1
        rows = [row for source, task in self._readers.items()
                for row in self._read(source, task, batch)]  # fmt: skip
        for level in range(1, self.plan.last_level + 1):
            rows = [row for slot in range(self.plan.parallelism)
                    for row in self._run_slot((level, slot), rows)]  # fmt: skip
        items = [item for _, blob in rows for item in Envelope.decode(blob).driver]
        for place in self._slots:
            self._log_changes(place)
        self._on_items(self.batches, items)

    def _log_changes(self, place: Place) -> None:
        changes = self._slots[place].state.take_changes()
        if changes:
            # Pickled at once: a value changed in place later must not change the past.
            self._logs[place].append(dumps(changes))
            self._room[place] -= len(self._logs[place][-1])
            if self._room[place] < 0:
                self._compact(place)

    def _compact(self, place: Place) -> None:
        """Only what is there now: so a log is as long as the state, not as the stream."""
        log = [dumps(part) for part in self._slots[place].state.snapshot(_CHUNK_KEYS)]
        self._logs[place] = log
        self._room[place] = max(_ROOM_AT_LEAST, sum(map(len, log)))

    def _read(self, source: int, task: LevelTask, batch: MicroBatch) -> Iterator[Row]:
        task.begin_batch(self.batches, 0)
        for records in batch.records.get(source, ()):
            # As a blob: functions get copies of the records, here as in a worker.
            task.begin_split(records.split)
            yield from task.feed_blob(Envelope([(source, 0, records)]).encode())
            if records.ends_split:
                task.end_split(records.split)
        if source in batch.watermarks:
            news = Envelope(watermarks={source: {ANY_SPLIT: (batch.watermarks[source], 0)}})
            yield from task.feed_blob(news.encode())
        if batch.final:
            task.mark_final()
        yield from task.end_batch()

    def _run_slot(self, place: Place, rows: list[Row]) -> Iterator[Row]:
        task = self._slots[place]
        task.begin_batch(self.batches, 0)
        task.fire_processing_time()
        for slot, blob in rows:
            if slot == place[1]:
                yield from task.feed_blob(blob)
        yield from task.end_batch()

    def snapshot(self, *, compact: bool = False) -> bytes:
        """All state between two micro-batches, for an engine of this or another parallelism: as it
        was logged, or `compact`ed."""
        if compact:
            for place in self._slots:
                self._compact(place)
        found = Snapshot(
            self.batches, self.clock(), self.plan.parallelism, operators_of(self.plan),
            self._logs, {place: task.state.described() for place, task in self._slots.items()},
        )  # fmt: skip
        return pickle.dumps(found, 5)

    def _restore(self, snapshot: Snapshot) -> None:
        self.batches = snapshot.batches
        self.clock.advance_to(max(snapshot.now, self.clock()))
        if not snapshot.fits(self.plan):
            snapshot = snapshot.dealt_out(self.plan)
        self._logs = snapshot.logs
        for place, task in self._slots.items():
            for blob in self._logs[place]:
                task.state.apply(pickle.loads(blob))
            task.state.reconcile(snapshot.states[place], by_others=True)
            self._log_changes(place)
            task.restore_clock()
        for task in self.tasks():
            task.restored = True

    def close(self) -> None:
        for task in self.tasks():
            task.close()
