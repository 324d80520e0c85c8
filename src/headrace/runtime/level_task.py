"""One task: the operators of one level, in one subtask, wired together.

Spark runs it in a worker; the in-process engine runs it as it is. It takes batches or blobs in,
and gives blobs out. It knows nothing of either engine.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from headrace.core.operator import MAX_TIMESTAMP, MIN_TIMESTAMP, PROCESSING_TIME, Batch, TaskInfo
from headrace.core.state import MapState, MapStateDescriptor
from headrace.plan.physical import PER_RECORD_WATERMARKS, PhysicalPlan, Vertex
from headrace.runtime.envelope import MARK, Envelope
from headrace.runtime.event_time import ANY_SPLIT, PASSING, EventTime, Progress, Watermarks
from headrace.runtime.outbox import Outbox
from headrace.runtime.source_task import SourceOperator
from headrace.runtime.subtask_state import SubtaskState
from headrace.runtime.vertex_task import VertexTask

COUNTS = "counts"
PROGRESS = "progress"
"""Kind of a driver item that says how far the splits of an origin have come."""
WAKE = "wake"
"""Kind of a driver item that says when the earliest processing-time timer is due."""
NO_VERTEX = -1
_WATERMARKS = MapStateDescriptor("watermarks")
_CLOCKS = MapStateDescriptor("clocks")
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
        self._per_record = bool(plan.settings.get(PER_RECORD_WATERMARKS)) and not plan.batch
        self._waiting: list[Envelope] = []
        self._any_split = f"{PASSING}{subtask}" if self._per_record else ANY_SPLIT
        self._idle_after = _idle_after(plan)
        self.time = EventTime(self._engine_map(_WATERMARKS), self._idle_after, clock)
        self._clocks: MapState[str, int] = self._engine_map(_CLOCKS)
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
        task = VertexTask(vertex, operator, info, self.state, self.clock, self._outbox.to_driver)
        if self._per_record and operator.makes_watermarks:
            task.on_watermark = self._mark
        return task

    def _engine_map(self, descriptor: MapStateDescriptor) -> MapState[Any, Any]:
        return self.state.broadcast(_ENGINE_UID, descriptor)  # type: ignore[return-value]

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
            task.split = split or self._any_split
            if task.split not in task.reported:
                task.reported[task.split] = MIN_TIMESTAMP
                task.heard[task.split] = self.clock()

    def end_split(self, split: str | None) -> None:
        """A split has been read to its end: it holds nobody's time back any more."""
        for task in self._timekeepers():
            task.split = split or self._any_split
            task.report_watermark(MAX_TIMESTAMP)

    def _timekeepers(self) -> list[VertexTask]:
        return [task for task in self.tasks.values() if task.operator.makes_watermarks]

    def feed_blob(self, blob: bytes) -> Iterator[Row]:
        """Hand over what another level sent."""
        envelope = Envelope.decode(blob)
        if self._per_record and self.level > 0:
            # Which splits will report must be known before the first of them moves time on.
            self._waiting.append(envelope)
        else:
            yield from self._open_envelope(envelope)

    def _open_envelope(self, envelope: Envelope) -> Iterator[Row]:
        for vertex, side, content in envelope.records:
            task = self.tasks.get(vertex)
            if task is not None:
                task.receive(side, content)
            elif vertex == MARK:
                self._pass_mark(content)
            else:  # bound for a later level, on the slot it is on already
                self._outbox.pass_on(self.subtask, vertex, side, content)
        for item in envelope.driver:
            self._outbox.to_driver(item)
        if envelope.watermarks:
            self.time.take_in(envelope.watermarks)
            if self._per_record and self.level > 0:
                self._pass_mark(envelope.watermarks)
        self._final = self._final or envelope.final
        self.fire_processing_time()
        yield from self._outbox.take_full()

    def _open_waiting(self) -> Iterator[Row]:
        channels: dict[int, list[str]] = {}
        for envelope in self._waiting:
            for news in envelope.marks():
                for origin, splits in news.items():
                    channels.setdefault(origin, []).extend(splits)
        self.time.expect(channels)
        waiting, self._waiting = self._waiting, []
        for envelope in waiting:
            yield from self._open_envelope(envelope)

    def _mark(self, task: VertexTask) -> None:
        """A watermark reported here: it goes out between the records, after what it fires."""
        news = {task.vertex.id: {self._channel(task.split): self._progress(task, task.split)}}
        self.time.take_in(news)
        self._advance()
        self._outbox.mark(news)

    def _pass_mark(self, news: Watermarks) -> None:
        self.time.take_in(news)
        self._advance()
        self._outbox.mark(self._derived(news))

    def _derived(self, origins: Iterable[int]) -> Watermarks:
        """What this task makes of others' reports, for the level after it."""
        channel = self._channel("")
        return {origin: {channel: (self.time.watermark((origin,)), 0)} for origin in origins}

    def _channel(self, split: str) -> str:
        """The name of a split for others; after level 0 a task is the split of what it sends."""
        return split if self.level == 0 else f"#{self.subtask}"

    def _progress(self, task: VertexTask, split: str) -> Progress:
        watermark, heard = task.progress(split)
        return watermark, heard if heard < 0 or task.vertex.id in self._idle_after else 0

    def _advance(self) -> None:
        for task in self.tasks.values():
            task.advance_watermark(self.time.watermark(task.vertex.watermark_origins))

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
        yield from self._open_waiting()
        self._report_watermarks()
        if self.level:
            self.time.forget_passing()
        origins = {o for task in self.tasks.values() for o in task.vertex.watermark_origins}
        self.time.start(origins if self.level else ())
        for task in self.tasks.values():
            now = self.time.watermark(task.vertex.watermark_origins)
            task.advance_watermark(MAX_TIMESTAMP if self._final else now)
            if self._final and self.plan.batch:
                task.advance_processing_time(MAX_TIMESTAMP)
            if self._final:
                task.finish()
            yield from self._outbox.take_full()
        for task in self.tasks.values():
            task.end_batch()
            counts = {"incarnation": self._incarnation, **task.counts()}
            self._outbox.to_driver((task.vertex.id, self.subtask, COUNTS, counts))
        self._set_alarm()
        self._keep_clocks()
        news = self.time.reports()
        per_slot = self._per_record and self.level > 0
        yield from self._outbox.take_all(self._derived(news) if per_slot else news, self._final)

    def _set_alarm(self) -> None:
        times = (self.next_processing_time(), self.time.next_idle_time() if self.level else None)
        due = min((time for time in times if time is not None), default=None)
        if due is not None and not self._final:
            self._outbox.to_driver((NO_VERTEX, self.subtask, WAKE, due))

    def _report_watermarks(self) -> None:
        for task in self._timekeepers():
            if self.level == 0:
                news = {split: self._progress(task, split) for split in task.reported}
            elif self.subtask < task.vertex.parallelism:
                newest = max(task.reported.values(), default=MIN_TIMESTAMP)
                heard = max((self._progress(task, split)[1] for split in task.reported), default=0)
                news = {self._channel(""): (newest, heard)}
            else:
                continue
            self.time.take_in({task.vertex.id: news})
            seen = {self._channel(split): task.progress(split) for split in task.reported}
            if seen:
                self._outbox.to_driver((task.vertex.id, self.subtask, PROGRESS, seen))

    def _keep_clocks(self) -> None:
        # Kept apart from the reports: which of them count depends on when it is asked.
        for task in self.tasks.values():
            if not self._final and task.watermark > self._clocks_of(task):
                self._clocks.put(task.vertex.uid, task.watermark)

    def _clocks_of(self, task: VertexTask) -> int:
        known = self._clocks.get(task.vertex.uid)
        return MIN_TIMESTAMP if known is None else known

    def restore_clock(self) -> None:
        """After state was restored, operators see the watermark as it stood."""
        for task in self.tasks.values():
            task.watermark = self._clocks_of(task)

    def abandon(self) -> None:
        """Close what can be closed after a failure, which matters more than another one."""
        for task in self.tasks.values():
            with suppress(Exception):
                task.close()

    def close(self) -> None:
        for task in self.tasks.values():
            task.close()


def _idle_after(plan: PhysicalPlan) -> dict[int, int]:
    return {
        vertex.id: vertex.operator.idle_after_ms
        for vertex in plan.vertices.values()
        if vertex.operator is not None and vertex.operator.idle_after_ms is not None
    }


def _fed_by(plan: PhysicalPlan, source: int) -> list[Vertex]:
    reached = {source}
    for vertex in plan.vertices.values():
        if vertex.id in reached:
            reached.update(edge.target for edge in vertex.edges if edge.exchange is None)
    return [vertex for vertex in plan.vertices.values() if vertex.id in reached]
