"""An unbounded job as one query of Spark's real-time mode."""

from __future__ import annotations

import pickle
import queue
import re
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.errors import HeadraceError, JobFailed, Unsupported
from headrace.plan.physical import WATERMARK_INTERVAL, PhysicalPlan
from headrace.runtime.flow.assignment import tasks_of
from headrace.runtime.flow.coordinator import TooManyFailures
from headrace.runtime.flow.master import Master
from headrace.runtime.flow.messages import DriverItem, Failed, Hold, TaskId, Told
from headrace.spark.alignment import Aligner
from headrace.spark.failures import from_spark
from headrace.spark.flow.channel import HUNG_UP, Server
from headrace.spark.flow.checkpoint_files import STATE, CheckpointFiles, begin_attempt
from headrace.spark.flow.clock import clock
from headrace.spark.flow.query import exchanged, start_query
from headrace.spark.flow.state_files import FileClerk, mounted_at
from headrace.spark.flow.worker import FlowPlan, read_sources, run_level
from headrace.spark.job_folder import JobFolder
from headrace.spark.savepoints.opening import Start
from headrace.spark.savepoints.restore import Restored
from headrace.spark.session import local_slots
from headrace.spark.shipment import Shipment
from headrace.spark.stream import Listener, StreamSettings
from headrace.spark.worker import SCHEMA

_DISCOVER_EVERY = 1.0
_LOOK_EVERY = 0.5
_FAREWELL = 5.0
"""Seconds in which tasks close their functions."""
_LAST_WORDS = 10.0
"""Seconds in which it becomes known why a task is gone."""
_USUAL_MARK_INTERVAL = 200
_NO_SLOTS = "CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT"
_HUNG_UP = re.compile(r"Broken pipe|Connection reset|EOFException|exited unexpectedly")
"""What Spark says of a worker that has gone without a word."""
_NOBODY = TaskId(-1, 0)


def slots_needed(plan: PhysicalPlan) -> int:
    """How many tasks of a plan run at once."""
    return len(tasks_of(plan))


class FlowRun:
    """One query, from its start to its end, and all its checkpoints."""

    def __init__(
        self, spark: SparkSession, plan: PhysicalPlan, shipment: Shipment, listener: Listener,
        settings: StreamSettings, folder: JobFolder, start: Start, before: FlowRun | None = None,
    ):  # fmt: skip
        """`before`: the attempt that this one follows, if there was one."""
        self._spark = spark
        self._plan = plan
        self._shipment = shipment
        self._listener = listener
        self._settings = settings
        self.store = folder.run
        self._inbox: queue.Queue[tuple[TaskId, Any]] = queue.Queue()
        self._wanted: deque[_Wanted] = deque()
        self._query: StreamingQuery | None = None
        self._stop_asked = False
        self._failure: HeadraceError | None = None
        self._progressed = threading.Condition()
        self.ended = threading.Event()
        self._aligner = Aligner(plan)
        self._ahead: dict[str, list[str]] = {}
        self._source_tasks = [(vertex.id, number) for vertex in plan.sources
                              for number in range(vertex.parallelism)]  # fmt: skip
        follows = None if before is None or before.store.uri != self.store.uri else before.number
        number, restored = begin_attempt(self.store, follows)
        self.number: int = number
        self._server = Server(
            driver_host(spark),
            lambda task, said: self._inbox.put((task, said)),
            partial(FileClerk, self.store.child(STATE), start.restored),
        )
        run, kept = self.store, max(1, settings.retained or 1)
        self.files = CheckpointFiles(run, self.number, kept, lambda: folder.is_in(run))
        self._master = Master(
            plan, self.number, restored, settings.checkpoints,
            self.files, listener, self._server.send, _begun_with(start, plan),
        )  # fmt: skip

    @property
    def last(self) -> int | None:
        """The last checkpoint that is complete."""
        return self._master.last

    @property
    def ended_in(self) -> int | None:
        """The checkpoint in which the job came to its end."""
        return self._master.last if self._master.ended else None

    @property
    def query_started(self) -> bool:
        return self._query is not None

    def run(self) -> None:
        """Run until stopped, failed, or all sources have come to their end."""
        try:
            self._query = self._start()
            self._watch()
        except TooManyFailures as error:
            raise JobFailed(
                str(error),
                hint="Raise execution.checkpointing.timeout or "
                "execution.checkpointing.tolerable-failed-checkpoints; where records wait for a "
                "slow function, execution.checkpointing.unaligned.enabled lets barriers overtake "
                "them.",
            ) from None
        except Exception as error:
            raise self._failure or from_spark(error) from None
        finally:
            # The tasks first: they close their functions, and have nobody to complain to.
            self._server.dismiss(_FAREWELL)
            self._master.close()
            if self._query is not None:
                with suppress(Exception):
                    self._query.stop()
            self.ended.set()
        if self._failure is not None:
            raise self._failure

    def _start(self) -> StreamingQuery:
        needed, has = len(self._master.tasks), local_slots(self._spark)
        if has is not None and has < needed:
            raise _too_few_slots(f"it needs {needed} slots at once, and Spark has {has}")
        self.store.delete("spark")  # what Spark noted of earlier attempts
        notes = f"{self.store.uri}/spark/{self.number}"
        return start_query(self._spark, self.lower(), notes)

    def lower(self) -> DataFrame:
        """The streaming DataFrame of all levels; it has no rows to show for itself."""
        sources = self._source_tasks
        flow = FlowPlan(
            self._shipment, self._server.address, mounted_at(self.store.child(STATE)),
            tuple(sources),
            buffer_ms=self._settings.buffer_timeout_ms, mark_ms=self._mark_interval(),
            checkpoints=self._settings.checkpoints.interval is not None,
        )  # fmt: skip
        frame = clock(self._spark, len(sources)).mapInArrow(read_sources(flow), SCHEMA)
        for level in range(1, self._plan.last_level + 1):
            frame = exchanged(frame, self._plan.parallelism)
            frame = frame.mapInArrow(run_level(flow, level), SCHEMA)
        return frame

    def _mark_interval(self) -> int:
        return int(self._plan.settings.get(WATERMARK_INTERVAL, _USUAL_MARK_INTERVAL))

    # What happens while it runs.

    def _watch(self) -> None:
        discover_at = 0.0
        while not self._stop_asked and self._failure is None and not self._master.ended:
            now = time.monotonic()
            if now >= discover_at:
                self._master.discover()
                discover_at = now + _DISCOVER_EVERY
            self._begin_wanted(now)
            self._master.look_at_clock(now)
            self._take_in(self._wait(now))

    def _wait(self, now: float) -> tuple[TaskId, Any] | None:
        due = self._master.coordinator.next_due(now)
        until = now + _LOOK_EVERY if due is None else min(due, now + _LOOK_EVERY)
        try:
            return self._inbox.get(timeout=max(0.0, until - now))
        except queue.Empty:
            self._look_at_query()
            return None

    def _look_at_query(self) -> None:
        self._listener.idle()
        if self._query is not None and not self._query.isActive:
            error = self._query.exception()
            self._failure = _from_spark(error) if error else JobFailed("Spark has ended the query")

    def _take_in(self, said: tuple[TaskId, Any] | None) -> None:
        if said is None:
            return
        task, message = said
        if isinstance(message, _Wanted):
            self._wanted.append(message)
        elif isinstance(message, Failed):
            self._failure = from_spark(Exception(message.text))
        elif message is HUNG_UP:
            self._failure = self._why_lost(task)
        else:
            if isinstance(message, Told):
                self._align(message.items)
            before = self._master.last
            self._master.take_in(task, message, time.monotonic())
            if self._master.last != before:
                with self._progressed:
                    self._progressed.notify_all()

    def _align(self, items: tuple[DriverItem, ...]) -> None:
        """Let splits wait that are ahead of others in their group."""
        self._aligner.take_in(items)
        ahead = self._aligner.ahead()
        if ahead != self._ahead:
            self._ahead = ahead
            for number, (vertex, _) in enumerate(self._source_tasks):
                waiting = frozenset(ahead.get(str(vertex), ()))
                self._server.send(TaskId(0, number), Hold(waiting))

    def _begin_wanted(self, now: float) -> None:
        """Take a checkpoint for somebody, once tasks have begun and none is under way."""
        if self._wanted and self._master.coordinator.may_trigger:
            wanted = self._wanted.popleft()
            # Whoever asks wants to go on from it with another program or parallelism.
            if wanted.stays:
                self.files.want(self._master.coordinator.next_number)
            wanted.number = self._master.trigger(now, stops=wanted.stops, is_exact=True)
            wanted.begun.set()

    def _why_lost(self, lost: TaskId) -> HeadraceError:
        """A task has gone without a word: another one, or Spark, may know why."""
        assert self._query is not None
        deadline = time.monotonic() + _LAST_WORDS
        while self._query.isActive and time.monotonic() < deadline:
            with suppress(queue.Empty):
                _, message = self._inbox.get(timeout=0.05)
                if isinstance(message, Failed):
                    return from_spark(Exception(message.text))
        error = self._query.exception()
        return _from_spark(error) if error else _worker_gone(lost)

    # What others ask for.

    def stop(self) -> None:
        """End it where it is."""
        self._stop_asked = True
        self._inbox.put((_NOBODY, None))

    def fail(self, error: HeadraceError) -> None:
        """End it as if it had failed."""
        self._failure = error
        self._inbox.put((_NOBODY, None))

    def drain(self) -> None:
        """Let all sources end here."""
        self._master.drain()

    def checkpoint(self, timeout: float, *, stops: bool = False, stays: bool = False) -> int | None:
        """Take a checkpoint now; its number, or None if none could be had.

        `stays`: until it was held, see `files`.
        """
        wanted = _Wanted(stops, stays)
        self._inbox.put((_NOBODY, wanted))
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline and not self.ended.is_set():
            if wanted.begun.wait(0.05) and self.wait_for(wanted.number, 0.5):
                return wanted.number
        if self._master.ended:
            return wanted.number
        self.files.forget(wanted.number)
        return None

    def wait_for(self, number: int, timeout: float) -> bool:
        """Wait until a checkpoint is complete."""
        with self._progressed:
            return self._progressed.wait_for(lambda: (self.last or -1) >= number, timeout)


def driver_host(spark: SparkSession) -> str:
    """Where tasks find the driver: nobody but this machine has business with a local job."""
    if local_slots(spark) is not None:
        return "127.0.0.1"
    return str(spark.sparkContext.getConf().get("spark.driver.host"))


def _from_spark(error: BaseException) -> HeadraceError:
    if _NO_SLOTS in str(error):
        return _too_few_slots("Spark has too few free slots for all its tasks at once")
    found = from_spark(error)
    return _worker_gone() if _HUNG_UP.search(found.message) else found


def _worker_gone(task: TaskId | None = None) -> JobFailed:
    which = "a worker of the job" if task is None else f"the worker of task {task}"
    return JobFailed(
        f"{which} is gone",
        hint="Somebody has killed it, perhaps the system for want of memory: its log or the "
        "system's may say why. With checkpoints enabled a job goes on from the last one.",
    )


def _too_few_slots(what: str) -> JobFailed:
    return JobFailed(
        f"the job cannot run in real time: {what}",
        hint="Lower the parallelism, give Spark more cores, or set headrace.stream.mode to "
        "micro-batch.",
    )


@dataclass
class _Wanted:
    """A checkpoint that somebody waits for."""

    stops: bool
    stays: bool
    number: int = 0
    begun: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True)
class _Savepoint:
    """A savepoint that the tasks of a job begin with."""

    restored: Restored
    plan: PhysicalPlan

    @property
    def number(self) -> int:
        return self.restored.metadata.batch

    @property
    def positions(self) -> dict[str, dict[str, Any]]:
        saved = self.restored.metadata.sources
        for uid, at in saved.items():
            if at.get("files"):
                raise Unsupported(
                    f"the savepoint lists the files that micro-batches have read of {uid!r} (uid), "
                    "and a job in real time cannot go on from that yet",
                    hint="Set headrace.stream.mode to micro-batch.",
                )
        return {uid: dict(at.get("splits", {})) for uid, at in saved.items()}

    def given_to(self, task: TaskId) -> bytes | None:
        if task.level == 0:
            return None
        return pickle.dumps(self.restored.taken_over(self.plan, task.level, task.number), 5)


def _begun_with(start: Start, plan: PhysicalPlan) -> _Savepoint | None:
    return None if start.restored is None else _Savepoint(start.restored, plan)
