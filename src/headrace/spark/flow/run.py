"""An unbounded job as one query of Spark's real-time mode."""

from __future__ import annotations

import logging
import queue
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.core.checkpointed import source_part
from headrace.core.crash_points import reach
from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitSpec
from headrace.errors import HeadraceError, JobFailed, Unsupported
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.flow.coordinator import (
    CheckpointSettings,
    Complete,
    Coordinator,
    TooManyFailures,
)
from headrace.runtime.flow.messages import (
    Acknowledged,
    Assign,
    Begin,
    Completed,
    Declined,
    Drain,
    DriverItem,
    Ended,
    Failed,
    Hello,
    NoMoreSplits,
    Ready,
    TaskId,
    Told,
    Trigger,
)
from headrace.runtime.level_task import WRITTEN
from headrace.spark.failures import from_spark
from headrace.spark.flow.channel import HUNG_UP, Server
from headrace.spark.flow.checkpoint_files import (
    STATE,
    CheckpointFile,
    begin_attempt,
    is_last_attempt,
    remove_old,
)
from headrace.spark.flow.clock import clock
from headrace.spark.flow.worker import FlowPlan, read_sources, run_level
from headrace.spark.job_folder import JobFolder
from headrace.spark.savepoints.opening import Start
from headrace.spark.shipment import Shipment
from headrace.spark.stream import Listener, StreamSettings
from headrace.spark.worker import SCHEMA

import os
_TRACE = os.environ.get("FLOW_TRACE")
_LOG = logging.getLogger("headrace")
_NEVER_ENDS = "3650 days"
"""How long a query of Spark's lasts; checkpoints are our own."""
_DISCOVER_EVERY = 1.0
_LOOK_EVERY = 0.5

SETTINGS = {
    # Real-time mode is meant for queries without Python; these are needed to run others.
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    "spark.sql.streaming.realTimeMode.minBatchDuration": "200",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    "spark.sql.execution.pandas.udf.buffer.size": "8",
}


def slots_needed(plan: PhysicalPlan) -> int:
    """How many tasks of a plan run at once."""
    reading = sum(vertex.parallelism for vertex in plan.sources)
    return reading + plan.last_level * plan.parallelism


class FlowRun:
    """One query, from its start to its end, and all its checkpoints."""

    def __init__(
        self, spark: SparkSession, plan: PhysicalPlan, shipment: Shipment, listener: Listener,
        settings: StreamSettings, folder: JobFolder, start: Start,
    ):  # fmt: skip
        self._spark = spark
        self._plan = plan
        self._shipment = shipment
        self._listener = listener
        self._settings = settings
        self.store = folder.run
        self._start_with = start
        self._inbox: queue.Queue[tuple[TaskId, Any]] = queue.Queue()
        self._asked: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._query: StreamingQuery | None = None
        self._stop_asked = False
        self._failure: HeadraceError | None = None
        self._kept: list[CheckpointFile] = []
        self._sources = [_SourceTasks(vertex) for vertex in plan.sources]
        self.ended = threading.Event()
        self.gate = threading.Lock()
        self.ended_in: int | None = None
        self._progressed = threading.Condition()
        self.attempt, self._restored = begin_attempt(self.store)
        tasks = [task.id for task in self._source_tasks()]
        tasks += [TaskId(level, slot) for level in range(1, plan.last_level + 1)
                  for slot in range(plan.parallelism)]  # fmt: skip
        self._tasks = tasks
        next_number = 1 if self._restored is None else self._restored.number + 1
        self._coordinator = Coordinator(tasks, _checkpoints(settings), next_number=next_number)
        self.last = None if self._restored is None else self._restored.number

    @property
    def watch(self) -> FlowRun:
        return self

    def wait_for(self, number: int, timeout: float) -> bool:
        """Wait until a checkpoint is complete."""
        with self._progressed:
            return self._progressed.wait_for(
                lambda: self.last is not None and self.last >= number, timeout
            )

    def wake(self) -> None:
        """Take a checkpoint soon."""
        self._asked.put("checkpoint")

    def settle(self) -> None:
        """Output is committed as soon as its checkpoint is complete."""

    @property
    def query_started(self) -> bool:
        return self._query is not None

    def _source_tasks(self) -> list[_SourceTask]:
        found: list[_SourceTask] = []
        for source in self._sources:
            for number in range(source.tasks):
                found.append(_SourceTask(TaskId(0, len(found)), source.vertex.id, number))
        return found

    def run(self) -> None:
        """Run until stopped, failed, or all sources have come to their end."""
        server = Server("127.0.0.1", lambda task, message: self._inbox.put((task, message)))
        self._server = server
        try:
            for key, value in SETTINGS.items():
                self._spark.conf.set(key, value)
            self._query = self._start()
            self._watch()
        except TooManyFailures as error:
            raise JobFailed(str(error)) from None
        finally:
            server.close()
            for source in self._sources:
                source.close()
            if self._query is not None:
                with suppress(Exception):
                    self._query.stop()
            self.ended.set()
        if self._failure is not None:
            raise self._failure

    def _start(self) -> StreamingQuery:
        writer = self.lower().writeStream.format("noop").outputMode("update")
        spark_notes = f"{self.store.uri}/spark/{self.attempt}"
        writer = writer.option("checkpointLocation", spark_notes)
        started: StreamingQuery = writer.trigger(realTime=_NEVER_ENDS).start()  # type: ignore[call-overload]
        return started

    def lower(self) -> DataFrame:
        """The streaming DataFrame of all levels; it has no rows to show for itself."""
        source_tasks = self._source_tasks()
        flow = FlowPlan(
            self._shipment, self._server.address, f"{self.store.uri}/{STATE}",
            tuple((task.vertex, task.number) for task in source_tasks), flush_ms=5, mark_ms=200,
        )  # fmt: skip
        frame = clock(self._spark, len(source_tasks)).mapInArrow(read_sources(flow), SCHEMA)
        for level in range(1, self._plan.last_level + 1):
            frame = frame.repartitionById(self._plan.parallelism, "slot")
            # What writes rows to Python asks for the next one before it lets one go.
            frame = frame.selectExpr("slot", "explode(array(blob, cast(null as binary))) as blob")
            frame = frame.mapInArrow(run_level(flow, level), SCHEMA)
        return frame

    # What happens while it runs.

    def _watch(self) -> None:
        discover_at = 0.0
        while not self._stop_asked and self._failure is None:
            now = time.monotonic()
            if self._coordinator.running and now >= discover_at:
                self._discover()
                discover_at = now + _DISCOVER_EVERY
            for number in self._coordinator.expire(now):
                _LOG.warning("checkpoint %d has taken too long and is given up", number)
            if self._coordinator.is_due(now):
                self._trigger(now)
            self._take_in(self._wait(now, discover_at))
            if self._coordinator.all_ended:
                last = self._coordinator.complete_at_end(time.monotonic())
                self._complete(last)
                self.ended_in = last.number
                return

    def _wait(self, now: float, discover_at: float) -> tuple[TaskId, Any] | None:
        due = self._coordinator.next_due(now)
        until = min(now + _LOOK_EVERY, *(at for at in (due,) if at is not None), now + 1)
        try:
            return self._inbox.get(timeout=max(0.0, until - now))
        except queue.Empty:
            self._look_at_query()
            return None

    def _look_at_query(self) -> None:
        self._listener.idle()
        assert self._query is not None
        if not self._query.isActive:
            error = self._query.exception()
            self._failure = from_spark(error) if error else JobFailed("Spark has ended the query")

    def _trigger(self, now: float) -> None:
        number = self._coordinator.trigger(now)
        self._listener.begun(number)
        reach("checkpoint-triggered", number)
        for task in self._source_tasks():
            self._server.send(task.id, Trigger(number))

    def _take_in(self, said: tuple[TaskId, Any] | None) -> None:
        if said is None:
            return
        task, message = said
        if _TRACE:
            print(f"{time.time() % 1000:.3f} {task} {type(message).__name__}", flush=True)
        match message:
            case Hello():
                self._server.send(task, self._beginning_of(task))
            case Ready():
                self._coordinator.ready(task)
            case Told(items=items):
                self._listener.told(list(items))
            case Acknowledged(checkpoint=number, part=part, figures=figures):
                part = _with_figures(task, part, figures)
                complete = self._coordinator.acknowledge(task, number, part, time.monotonic())
                if complete is not None:
                    self._complete(complete)
            case Declined(checkpoint=number, reason=reason):
                if self._coordinator.decline(number, time.monotonic()):
                    _LOG.warning("checkpoint %d came to nothing: %s", number, reason)
            case Ended(part=part, figures=figures):
                part = _with_figures(task, part, figures)
                for complete in self._coordinator.end(task, part, time.monotonic()):
                    self._complete(complete)
            case Failed(text=text):
                self._failure = from_spark(Exception(text))
            case _ if message is HUNG_UP:
                self._lost(task)

    def _lost(self, task: TaskId) -> None:
        """A task has gone without a word: Spark will say why, or nobody will."""
        assert self._query is not None
        deadline = time.monotonic() + 10
        while self._query.isActive and time.monotonic() < deadline:
            try:
                _, message = self._inbox.get(timeout=0.05)
            except queue.Empty:
                continue
            if isinstance(message, Failed):
                self._failure = from_spark(Exception(message.text))
                return
        error = self._query.exception()
        lost = JobFailed(f"the worker of task {task} is gone")
        self._failure = from_spark(error) if error else lost

    def _beginning_of(self, task: TaskId) -> Begin:
        number = self._coordinator.next_number
        if self._restored is None:
            return Begin(self.attempt, number)
        state = self._restored.slots.get(task)
        by_others = False
        return Begin(self.attempt, number, state, self._restored.number, by_others)

    def _discover(self) -> None:
        tasks = {(task.vertex, task.number): task.id for task in self._source_tasks()}
        for source in self._sources:
            saved = {} if self._restored is None else self._restored.positions
            for number, assigned in source.discover(saved.get(source.vertex.uid, {})).items():
                self._server.send(tasks[source.vertex.id, number], Assign(tuple(assigned)))
            if source.has_all and not source.told:
                source.told = True
                for number in range(source.tasks):
                    self._server.send(tasks[source.vertex.id, number], NoMoreSplits())

    def _complete(self, complete: Complete) -> None:
        """All parts of a checkpoint are durable: now it is written down, and committed."""
        before = {n: _items(parts) for n, parts in complete.unclaimed.items()}
        for number in range(0 if self.last is None else self.last + 1, complete.number):
            self._listener.arrived(number, before.get(number, []))
        self._listener.arrived(complete.number, _items(complete.parts))
        file = CheckpointFile(
            complete.number,
            self.attempt,
            {task: part.state for task, part in complete.parts.items() if part.state is not None},
            self._positions(complete),
        )
        reach("metadata.before", complete.number)
        if not is_last_attempt(self.store, self.attempt):
            raise JobFailed(
                "the job was started a second time, and this is no longer the one that counts"
            )
        file.write(self.store)
        reach("metadata.after", complete.number)
        self._kept = [*self._kept, file][-max(1, self._settings.retained or 1) :]
        self.last = complete.number
        self._listener.committed(complete.number)
        for task in self._tasks:
            self._server.send(task, Completed(complete.number))
        remove_old(self.store, self._kept)
        with self._progressed:
            self._progressed.notify_all()

    def _positions(self, complete: Complete) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for task in self._source_tasks():
            uid = self._plan.vertices[task.vertex].uid
            known = found.setdefault(uid, {})
            known.update({id: list(at) for id, at in complete.parts[task.id].positions.items()})
        return found

    # What others ask for.

    def stop(self) -> None:
        """End it where it is."""
        self._stop_asked = True
        self._inbox.put((TaskId(-1, 0), None))

    def fail(self, error: HeadraceError) -> None:
        self._failure = error

    def drain(self) -> None:
        """Let all sources end here."""
        for task in self._source_tasks():
            self._server.send(task.id, Drain())


@dataclass(frozen=True)
class _SourceTask:
    id: TaskId
    vertex: int
    number: int


class _SourceTasks:
    """The splits of one source, and which of its tasks reads which."""

    def __init__(self, vertex: Vertex):
        if not isinstance(vertex.source, SplitSpec):
            raise Unsupported(f"{vertex.name!r} cannot be read in real time", origin=vertex.origin)
        self.vertex = vertex
        self._source: Source[Any] = vertex.source.source
        self._enumerator: SplitEnumerator = source_part(self._source.create_enumerator())
        self._bounded = self._source.boundedness() is Boundedness.BOUNDED
        self._assigned: set[str] = set()
        self._next = 0
        self.tasks = vertex.parallelism
        self.has_all = False
        self.told = False

    def discover(self, saved: dict[str, Any]) -> dict[int, list[tuple[Split, Any]]]:
        """Splits that nobody reads yet, by the task that shall."""
        if self.has_all:
            return {}
        known = {split.id: split for split in self._enumerator.splits()}
        # A checkpoint's splits count even if the source no longer names them: they were read.
        known = {**{id: Split(id, info) for id, (info, _) in saved.items()}, **known}
        new = [split for id, split in known.items() if id not in self._assigned]
        found: dict[int, list[tuple[Split, Any]]] = {}
        for split in new:
            at = (saved[split.id][1] if split.id in saved
                  else self._enumerator.initial_position(split))  # fmt: skip
            found.setdefault(self._next % self.tasks, []).append((split, at))
            self._assigned.add(split.id)
            self._next += 1
        self.has_all = self._bounded and not new
        return found

    def close(self) -> None:
        self._enumerator.close()


def _checkpoints(settings: StreamSettings) -> CheckpointSettings:
    return CheckpointSettings(settings.interval_ms or None)


def _items(parts: dict[TaskId, Any]) -> list[DriverItem]:
    return [item for part in parts.values() for item in part.items]


def _with_figures(task: TaskId, part: Any, figures: dict[str, Any]) -> Any:
    if not figures:
        return part
    from dataclasses import replace

    return replace(part, items=(*part.items, (-1, task.number, WRITTEN, figures)))
