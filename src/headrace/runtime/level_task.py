"""One task: the operators of one level, in one subtask, wired together.

How records and time come to it and go on, `headrace.runtime.flow.level` says. It knows nothing of
Spark or of the in-process engine.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from headrace.core.operator import MAX_TIMESTAMP, MIN_TIMESTAMP, PROCESSING_TIME, Batch, TaskInfo
from headrace.core.state import MapState, MapStateDescriptor
from headrace.plan.physical import PER_RECORD_WATERMARKS, PhysicalPlan, Vertex
from headrace.runtime.backends import backend_of
from headrace.runtime.carried_time import CLOCKS, ENGINE_UID, REACHED, WATERMARKS
from headrace.runtime.event_time import ANY_SPLIT, EventTime, Progress, Watermarks
from headrace.runtime.outbox import Outbox
from headrace.runtime.source_task import SourceOperator
from headrace.runtime.subtask_state import SubtaskState
from headrace.runtime.vertex_task import VertexTask
from headrace.runtime.waiting_input import waiting_input

COUNTS = "counts"
PROGRESS = "progress"
"""Kind of a driver item that says how far the splits of an origin have come."""
WRITTEN = "written"
"""Kind of a driver item that says what a slot has written of its state."""
NO_VERTEX = -1

Row = tuple[int, bytes]
DriverItem = tuple[int, int, str, Any]


class LevelTask:
    """The operators of one level in one subtask; of level 0, those fed by one source.

    Functions keep fields of their own, so every task needs a plan of its own, freshly unpickled.
    """

    def __init__(
        self, plan: PhysicalPlan, level: int, subtask: int, clock: Callable[[], int], *,
        source: int | None = None, logged: bool = False, files: Mapping[str, str] | None = None,
        tell: Callable[[DriverItem], None] | None = None,
    ):  # fmt: skip
        """`tell`: the way to the driver; None: through all levels, as in a batch."""
        self.plan = plan
        self.level = level
        self.subtask = subtask
        self.clock = clock
        self.state = SubtaskState(logged=logged, clock=clock, backend=backend_of(plan.settings))
        self._is_last = level == plan.last_level
        self._outbox = Outbox(plan.parallelism, subtask, self._is_last, tell)
        self._incarnation = f"{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self._files = files or {}
        self._per_record = bool(plan.settings.get(PER_RECORD_WATERMARKS)) and not plan.batch
        self._idle_after = _idle_after(plan, level)
        self.time = EventTime(
            self._engine_map(WATERMARKS), self._engine_map(REACHED), self._idle_after, clock
        )
        self._clocks: MapState[str, int] = self._engine_map(CLOCKS)
        members = plan.at(level) if source is None else fed_by(plan, source)
        self.source = source
        self._shared = _fed_by_others(plan, source)
        self.tasks = {vertex.id: self._vertex_task(vertex) for vertex in members}
        for task in self.tasks.values():
            self._wire(task)
        self._timekeepers = [t for t in self.tasks.values() if t.operator.makes_watermarks]
        self._known_behind: dict[frozenset[int], list[VertexTask]] = {}
        self._final = False

    def _vertex_task(self, vertex: Vertex) -> VertexTask:
        info = TaskInfo(
            name=vertex.name, uid=vertex.uid, subtask=self.subtask % vertex.parallelism,
            parallelism=vertex.parallelism, max_parallelism=vertex.max_parallelism,
            job_parameters=self.plan.settings.get("job_parameters", {}), cached_files=self._files,
            partition=self.subtask, output_id=str(self.plan.settings.get("output_id", "")),
            lineage=str(self.plan.settings.get("lineage", "")),
        )  # fmt: skip
        operator = vertex.operator or SourceOperator()
        task = VertexTask(vertex, operator, info, self.state, self.clock, self._outbox.to_driver)
        task.waiting = waiting_input(self.plan, vertex)
        return task

    def _engine_map(self, name: str) -> MapState[Any, Any]:
        return self.state.broadcast(ENGINE_UID, MapStateDescriptor(name))

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

    @property
    def remembers(self) -> bool:
        """Whether functions hold, in fields of their own, what they also write to state."""
        return any(task.operator.checkpointed for task in self.tasks.values())

    def feed(self, vertex: int, batch: Batch, side: int = 0) -> Iterator[Row]:
        """Hand records to an operator; yields output that is ready to go."""
        self.begin_split(batch.split)
        self.tasks[vertex].receive(side, batch)
        if batch.ends_split:
            self.end_split(batch.split)
        yield from self._outbox.take_full()

    def begin_split(self, split: str | None) -> None:
        """The records that follow are of one split of the source."""
        for task in self._timekeepers:
            task.split = self._split_name(task, split)
            task.reported.setdefault(task.split, MIN_TIMESTAMP)
            if task.split not in task.heard:
                task.report_idle(False)

    def end_split(self, split: str | None) -> None:
        """A split has been read to its end: it holds nobody's time back any more."""
        for task in self._timekeepers:
            task.split = self._split_name(task, split)
            task.report_watermark(MAX_TIMESTAMP)

    def _split_name(self, task: VertexTask, split: str | None) -> str:
        name = split or ANY_SPLIT
        # The splits of two sources may have the same names.
        return f"{self.source}:{name}" if task.vertex.id in self._shared else name

    def _hear(self, news: Watermarks) -> None:
        """Take reports in that come between records, and move time on."""
        if self.time.take_in(news):
            self._advance_behind(news)

    def _advance_behind(self, origins: Collection[int]) -> None:
        """Move time on for those whose time depends on any of these origins."""
        times: dict[tuple[int, ...], int] = {}
        for task in self._behind(origins):
            own = task.vertex.watermark_origins
            if own not in times:
                times[own] = self._time_behind(own)
            time = _delayed(times[own], task.vertex.watermark_delay)
            if time > task.watermark:
                task.advance_watermark(time)

    def _behind(self, origins: Collection[int]) -> list[VertexTask]:
        """The tasks whose time depends on any of these origins, in the order of their edges."""
        some = frozenset(origins)
        if some not in self._known_behind:
            self._known_behind[some] = [
                task for task in self.tasks.values()
                if not some.isdisjoint(task.vertex.watermark_origins)
            ]  # fmt: skip
        return self._known_behind[some]

    def _derived(self, origins: Iterable[int]) -> Watermarks:
        """What this task makes of others' reports, for the level after it.

        That level must not judge by the reports themselves: by its clock a split may be idle that
        was not here, and what is still to come from here would be late there.
        """
        channel = self._channel("")
        return {origin: {channel: self.time.progress(origin)} for origin in origins}

    def _channel(self, split: str) -> str:
        """The name of a split for others; after level 0 a task is the split of what it sends."""
        return split if self.level == 0 else f"#{self.subtask}"

    def _progress(self, task: VertexTask, split: str) -> Progress:
        watermark, heard = task.progress(split)
        may_be_idle = task.vertex.id in self._idle_after or task.operator.calls_splits_idle
        return watermark, heard if may_be_idle else 0

    def _time_behind(self, origins: tuple[int, ...]) -> int:
        time = self.time.watermark(origins)
        if self.level == 0 and time == MAX_TIMESTAMP:
            return MIN_TIMESTAMP  # the splits read here have ended, but another one may follow
        return time

    def fire_processing_time(self) -> None:
        now = self.clock()
        for task in self.tasks.values():
            task.advance_processing_time(now)

    def next_processing_time(self) -> int | None:
        """When the earliest processing-time timer is due."""
        times = [task.timers.next_time(PROCESSING_TIME) for task in self.tasks.values()]
        return min((time for time in times if time is not None), default=None)

    def _report_behind_exchange(self, task: VertexTask) -> Progress:
        """What an assigner reports that is fed by other tasks; it ends when all of them have."""
        id = task.vertex.id
        watermark, heard = self._progress(task, ANY_SPLIT)
        if self.time.watermark(_origins_before(self.plan, id)) == MAX_TIMESTAMP:
            watermark = MAX_TIMESTAMP
        if not heard and id in self._idle_after and not self.time.knows(id, self._channel("")):
            heard = max(1, self.clock())  # from now on it may turn out to be idle
        return watermark, heard

    def _keep_clocks(self) -> None:
        self.time.keep()
        # Kept apart from the reports: which of them count depends on when it is asked.
        for task in self.tasks.values():
            if not self._final and task.watermark > self._clocks_of(task):
                self._clocks.put(task.vertex.uid, task.watermark)

    def _clocks_of(self, task: VertexTask) -> int:
        known = self._clocks.get(task.vertex.uid)
        return MIN_TIMESTAMP if known is None else known

    def restore_clock(self) -> None:
        """After state was restored, operators see the watermark as it stood."""
        self.time.restore()
        for task in self.tasks.values():
            task.watermark = self._clocks_of(task)
            task.reported.clear()  # it may be of a batch that has not come to its end

    def abandon(self) -> None:
        """Close what can be closed after a failure, which matters more than another one."""
        for task in self.tasks.values():
            with suppress(Exception):
                task.close()
        self.state.close()

    def close(self) -> None:
        for task in self.tasks.values():
            task.close()
        self.state.close()


def _delayed(time: int, delay: int) -> int:
    """How far time has come behind operators that emit what lies in the past."""
    return time if time == MAX_TIMESTAMP else max(time - delay, MIN_TIMESTAMP)


def _idle_after(plan: PhysicalPlan, level: int) -> dict[int, int]:
    """The timeouts that tasks of a level apply to its own origins; others learn from the level
    before them what is idle."""
    return {
        vertex.id: vertex.operator.idle_after_ms
        for vertex in plan.vertices.values()
        if vertex.operator is not None and vertex.operator.idle_after_ms is not None
        and vertex.level == level
    }  # fmt: skip


def _origins_before(plan: PhysicalPlan, id: int) -> set[int]:
    return {origin for vertex in plan.vertices.values() for origin in vertex.watermark_origins
            if any(edge.target == id for edge in vertex.edges)}  # fmt: skip


def _fed_by_others(plan: PhysicalPlan, source: int | None) -> set[int]:
    """The vertices that are fed by one source without an exchange, and by others, too."""
    if source is None:
        return set()
    others = [other.id for other in plan.sources if other.id != source]
    reached = {vertex.id for other in others for vertex in fed_by(plan, other)}
    return reached & {vertex.id for vertex in fed_by(plan, source)}


def fed_by(plan: PhysicalPlan, source: int) -> list[Vertex]:
    """The vertices that a source feeds without an exchange, itself among them."""
    reached = {source}
    for vertex in plan.vertices.values():
        if vertex.id in reached:
            reached.update(edge.target for edge in vertex.edges if edge.exchange is None)
    return [vertex for vertex in plan.vertices.values() if vertex.id in reached]
