"""One task: the operators of one level, in one subtask, wired together.

Spark runs it in a worker; the in-process engine runs it as it is. It takes batches or blobs in,
and gives blobs out. It knows nothing of either engine.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from headrace.core.operator import MAX_TIMESTAMP, MIN_TIMESTAMP, PROCESSING_TIME, Batch, TaskInfo
from headrace.core.state import MapState, MapStateDescriptor
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.envelope import ANY_SPLIT, Envelope, Watermarks, merge_watermarks
from headrace.runtime.outbox import Outbox
from headrace.runtime.source_task import SourceOperator
from headrace.runtime.subtask_state import SubtaskState
from headrace.runtime.vertex_task import VertexTask

COUNTS = "counts"
WAKE = "wake"
"""Kind of a driver item that says when the earliest processing-time timer is due."""
NO_VERTEX = -1
_WATERMARKS = MapStateDescriptor("watermarks")
_ENGINE_UID = "headrace"

Row = tuple[int, bytes]


class LevelTask:
    """The operators of one level in one subtask; of level 0, those fed by one source.

    Functions keep fields of their own, so every task needs a plan of its own, freshly unpickled.
    """

    def __init__(
        self, plan: PhysicalPlan, level: int, subtask: int, clock: Callable[[], int], *,
        source: int | None = None, logged: bool = False, files: Mapping[str, str] | None = None,
    ):  # fmt: skip
        self.plan = plan
        self.level = level
        self.subtask = subtask
        self.clock = clock
        self.state = SubtaskState(logged=logged, clock=clock)
        self._outbox = Outbox(plan.parallelism, subtask, level == plan.last_level)
        self._incarnation = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._files = files or {}
        members = plan.at(level) if source is None else _fed_by(plan, source)
        self.tasks = {vertex.id: self._vertex_task(vertex) for vertex in members}
        for task in self.tasks.values():
            self._wire(task)
        self._final = False

    def _vertex_task(self, vertex: Vertex) -> VertexTask:
        info = TaskInfo(
            name=vertex.name, uid=vertex.uid, subtask=self.subtask % vertex.parallelism,
            parallelism=vertex.parallelism, max_parallelism=vertex.max_parallelism,
            job_parameters=self.plan.settings.get("job_parameters", {}), cached_files=self._files,
            partition=self.subtask, output_id=str(self.plan.settings.get("output_id", "")),
        )  # fmt: skip
        operator = vertex.operator or SourceOperator()
        return VertexTask(vertex, operator, info, self.state, self.clock, self._outbox.to_driver)

    def _wire(self, task: VertexTask) -> None:
        for edge in task.vertex.edges:
            if edge.exchange is None:
                task.connect(self.tasks[edge.target].receiver(edge.side), edge.tag)
            else:
                target = self.plan.vertices[edge.target]
                task.connect(self._outbox.sender(edge, target, self.subtask), edge.tag)

    def open(self) -> None:
        for task in self.tasks.values():
            task.open()

    def begin_batch(self, batch_id: int, attempt: int) -> None:
        """Another micro-batch starts; what it does must not depend on the ones before it."""
        self._outbox.begin_batch(batch_id)
        self._final = False
        for task in self.tasks.values():
            task.begin_batch(batch_id, attempt)

    def feed(self, vertex: int, batch: Batch, side: int = 0) -> Iterator[Row]:
        """Hand records to an operator; yields output that is ready to go."""
        self.begin_split(batch.split)
        self.tasks[vertex].receive(side, batch)
        if batch.ends_split:
            self.end_split(batch.split)
        yield from self._outbox.take_full()

    def begin_split(self, split: str | None) -> None:
        """The records that follow are of one split of the source."""
        for task in self._timekeepers():
            task.split = split or ANY_SPLIT
            task.reported.setdefault(task.split, MIN_TIMESTAMP)

    def end_split(self, split: str | None) -> None:
        """A split has been read to its end: it holds nobody's time back any more."""
        for task in self._timekeepers():
            task.reported[split or ANY_SPLIT] = MAX_TIMESTAMP

    def _timekeepers(self) -> list[VertexTask]:
        return [task for task in self.tasks.values() if task.operator.makes_watermarks]

    def feed_blob(self, blob: bytes) -> Iterator[Row]:
        """Hand over what another level sent."""
        envelope = Envelope.decode(blob)
        for vertex, side, batch in envelope.records:
            task = self.tasks.get(vertex)
            if task is None:  # bound for a later level, on the slot it is on already
                self._outbox.pass_on(self.subtask, vertex, side, batch)
            else:
                task.receive(side, batch)
        for item in envelope.driver:
            self._outbox.to_driver(item)
        if envelope.watermarks:
            self._take_in(envelope.watermarks)
        self._final = self._final or envelope.final
        self.fire_processing_time()
        yield from self._outbox.take_full()

    @property
    def ended(self) -> bool:
        """Whether the last batch was the last of all."""
        return self._final

    def mark_final(self) -> None:
        """No source will give another record."""
        self._final = True

    def fire_processing_time(self) -> None:
        now = self.clock()
        for task in self.tasks.values():
            task.advance_processing_time(now)

    def next_processing_time(self) -> int | None:
        """When the earliest processing-time timer is due."""
        times = [task.timers.next_time(PROCESSING_TIME) for task in self.tasks.values()]
        return min((time for time in times if time is not None), default=None)

    def end_batch(self) -> Iterator[Row]:
        """The micro-batch is over: time moves on, operators flush, everything left goes out."""
        self._report_watermarks()
        table = self._watermarks()
        for task in self.tasks.values():
            task.advance_watermark(MAX_TIMESTAMP if self._final else _watermark(task, table))
            if self._final and self.plan.batch:
                task.advance_processing_time(MAX_TIMESTAMP)
            if self._final:
                task.finish()
            yield from self._outbox.take_full()
        for task in self.tasks.values():
            task.end_batch()
            counts = {"incarnation": self._incarnation, **task.counts()}
            self._outbox.to_driver((task.vertex.id, self.subtask, COUNTS, counts))
        due = self.next_processing_time()
        if due is not None and not self._final:
            self._outbox.to_driver((NO_VERTEX, self.subtask, WAKE, due))
        yield from self._outbox.take_all(table, self._final)

    def _report_watermarks(self) -> None:
        for task in self._timekeepers():
            if self.level == 0:
                self._take_in({task.vertex.id: task.reported})
            elif self.subtask < task.vertex.parallelism:
                newest = max(task.reported.values(), default=MIN_TIMESTAMP)
                self._take_in({task.vertex.id: {str(self.subtask): newest}})

    # The watermarks heard of so far are state: they must not go back after a failure.

    def _table(self) -> MapState[int, dict[str, int]]:
        return self.state.broadcast(_ENGINE_UID, _WATERMARKS)  # type: ignore[return-value]

    def _watermarks(self) -> Watermarks:
        return dict(self._table().items())

    def _take_in(self, news: Watermarks) -> None:
        table = self._table()
        for origin, splits in news.items():
            known = {origin: dict(table.get(origin) or {})}
            merge_watermarks(known, {origin: splits})
            if known[origin] != table.get(origin):
                table.put(origin, known[origin])

    def restore_clock(self) -> None:
        """After state was restored, operators see the watermark as it stood."""
        table = self._watermarks()
        for task in self.tasks.values():
            task.watermark = _watermark(task, table)

    def abandon(self) -> None:
        """Close what can be closed after a failure, which matters more than another one."""
        for task in self.tasks.values():
            with suppress(Exception):
                task.close()

    def close(self) -> None:
        for task in self.tasks.values():
            task.close()


def _watermark(task: VertexTask, table: Watermarks) -> int:
    origins = task.vertex.watermark_origins
    return min(
        (min(table.get(origin, {}).values(), default=MIN_TIMESTAMP) for origin in origins),
        default=MIN_TIMESTAMP,
    )


def _fed_by(plan: PhysicalPlan, source: int) -> list[Vertex]:
    reached = {source}
    for vertex in plan.vertices.values():
        if vertex.id in reached:
            reached.update(edge.target for edge in vertex.edges if edge.exchange is None)
    return [vertex for vertex in plan.vertices.values() if vertex.id in reached]
