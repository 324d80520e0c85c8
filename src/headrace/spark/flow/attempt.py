"""One attempt at running a stream, from its start to its end, and all its checkpoints."""

from __future__ import annotations

import pickle
import queue
import re
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Protocol

from pyspark.sql import SparkSession

from headrace.errors import CorruptState, HeadraceError, JobFailed
from headrace.plan.physical import WATERMARK_INTERVAL, PhysicalPlan
from headrace.runtime.flow.checkpoint import Checkpoint
from headrace.runtime.flow.coordinator import CheckpointSettings
from headrace.runtime.flow.master import Beginning, Ledger, Surroundings
from headrace.runtime.flow.master import Listener as CheckpointListener
from headrace.runtime.flow.messages import Failed, TaskId
from headrace.runtime.flow.place import source_tasks
from headrace.spark.alignment import Aligner
from headrace.spark.failures import from_spark
from headrace.spark.flow.channel import HUNG_UP, Clerk, Server
from headrace.spark.flow.checkpoint_files import (
    STATE,
    CheckpointFiles,
    next_number,
)
from headrace.spark.flow.frames import local_path
from headrace.spark.flow.state_files import FileClerk, mounted_at
from headrace.spark.flow.worker import FlowPlan
from headrace.spark.job_folder import JobFolder
from headrace.spark.savepoints.opening import Start
from headrace.spark.savepoints.restore import Restored
from headrace.spark.session import local_slots
from headrace.spark.shipment import Shipment

AUTO, REAL_TIME, MICRO_BATCH = "auto", "real-time", "micro-batch"
NOBODY = TaskId(-1, 0)
"""Who sends words that the driver says to itself."""
FAREWELL = 5.0
"""Seconds in which tasks close their functions."""
_USUAL_MARK_INTERVAL = 200
_HUNG_UP = re.compile(r"Broken pipe|Connection reset|EOFException|exited unexpectedly")
"""What Spark says of a worker that has gone without a word."""


@dataclass(frozen=True)
class StreamSettings:
    """How a stream is run."""

    checkpoint_dir: str | None = None
    job_number: int = 1
    """Which of the program's jobs this is: each has a folder of its own."""
    interval_ms: int = 0
    """How often a micro-batch reads; 0: as soon as the one before has finished."""
    files_per_batch: int | None = None
    """How many new files a micro-batch reads at most."""
    target_batch_ms: int | None = None
    """How long a micro-batch should last; None: as the interval says; 0: no matter how long."""
    max_records_per_batch: int | None = None
    """How many records of each source a micro-batch reads at most."""
    mode: str = MICRO_BATCH
    """How records flow: in real time, or in micro-batches."""
    checkpoints: CheckpointSettings = field(default_factory=CheckpointSettings)
    """What real time needs to know of them; a micro-batch is one."""
    buffer_timeout_ms: int | None = None
    """In real time: how long records wait for others to go with; -1: until there are many."""
    retained: int | None = None
    """How many of the latest checkpoints are kept."""
    fall_back: bool = False
    """Whether to go on from an earlier checkpoint if the last one is damaged."""


class Listener(CheckpointListener, Protocol):
    """Whoever wants to know how a stream goes on."""

    def idle(self) -> None:
        """Nothing has happened for a moment."""

    @property
    def waits_for_program(self) -> bool:
        """Whether nothing should be read, because the program has not taken what it collects."""


@dataclass(frozen=True)
class Job:
    """What an attempt runs, and where it keeps what it needs."""

    spark: SparkSession
    plan: PhysicalPlan
    shipment: Shipment
    listener: Listener
    settings: StreamSettings
    folder: JobFolder
    start: Start


@dataclass
class Wanted:
    """A checkpoint that somebody waits for."""

    stops: bool
    stays: bool
    number: int = 0
    begun: threading.Event = field(default_factory=threading.Event)


class Attempt(ABC):
    """What both ways of running a stream have: tasks that speak with the driver, checkpoints."""

    ledger: Ledger

    def __init__(self, job: Job, number: int, restored: Checkpoint | None):
        """`number`: which attempt at the job it is; `restored`: the checkpoint it goes on from."""
        self.job = job
        self.store = job.folder.run
        """Where its checkpoints are; the folder may be in another run by the time they are read."""
        self.first = next_number(self.store)
        """The number of its first checkpoint."""
        self.number = number
        self.restored = restored
        self._inbox: queue.Queue[tuple[TaskId, Any]] = queue.Queue()
        self._wanted: deque[Wanted] = deque()
        self._failure: HeadraceError | None = None
        self._stop_asked = False
        self._progressed = threading.Condition()
        self.ended = threading.Event()
        """Set when nothing more will come of it, not even a commit."""
        self.query_started = False
        run = self.store
        kept = max(2 if job.settings.fall_back else 1, job.settings.retained or 1)
        self.files = CheckpointFiles(run, self.number, kept, lambda: job.folder.is_current(run))
        self.server = Server(
            driver_host(job.spark),
            lambda task, said: self._inbox.put((task, said)),
            self.clerk,
        )
        self._aligner = Aligner(job.plan)
        self._flow = FlowPlan(
            job.shipment,
            self.server.address,
            mounted_at(self.store.child(STATE)),
            source_tasks(job.plan),
            buffer_ms=job.settings.buffer_timeout_ms,
            mark_ms=int(job.plan.settings.get(WATERMARK_INTERVAL, _USUAL_MARK_INTERVAL)),
            checkpoints=job.settings.checkpoints.interval is not None,
        )
        try:
            self._prepare()
        except BaseException:
            self.server.dismiss(0)
            raise

    @abstractmethod
    def _prepare(self) -> None:
        """Make what knows the sources, which may be out of reach."""

    def clerk(self) -> Clerk:
        """Who answers a task that asks for something, one for each."""
        return FileClerk(self.store.child(STATE), self.job.start.restored)

    def beginning(self) -> Beginning:
        plan = self.job.plan
        savepoint = begun_with(self.job.start, plan, self.restored)
        return Beginning(plan, self.number, self.restored, savepoint, self.first)

    def surroundings(self) -> Surroundings:
        return Surroundings(self.files, self.job.listener, self.server.send)

    @property
    def last(self) -> int | None:
        """The last checkpoint that is complete."""
        return self.ledger.last

    def run(self) -> None:
        """Run until stopped, failed, or all sources have come to their end."""
        try:
            self._run()
        except Exception as error:
            self._failure = self._failure or from_spark(error)
        finally:
            self.leave()
        if self._failure is not None:
            raise self._failure

    def leave(self) -> None:
        """Let the tasks go, whatever state they are in. What goes wrong then is what has failed if
        nothing had before."""
        try:
            self._leave()
        except Exception as error:
            self._failure = self._failure or from_spark(error)
        finally:
            self.ended.set()

    @abstractmethod
    def _run(self) -> None:
        """Have Spark run the tasks, and hear what they say."""

    @abstractmethod
    def _leave(self) -> None:
        """Let the tasks go, and all else that is open; none of it only if the rest goes well."""

    @abstractmethod
    def drain(self) -> None:
        """Let all sources end here."""

    @property
    def _goes_on(self) -> bool:
        return not self._stop_asked and self._failure is None and not self.ledger.ended

    def _take_in(self, task: TaskId, message: Any) -> None:
        """What a task says, or somebody asks for."""
        if isinstance(message, Wanted):
            self._wanted.append(message)
        elif isinstance(message, Failed):
            self._failure = self._located(from_spark(Exception(message.text)))
        elif message is HUNG_UP:
            self._failure = self._why_lost(task)
        elif message is not None:
            before = self.ledger.last
            self.ledger.take_in(task, message, time.monotonic())
            if self.ledger.last != before:
                with self._progressed:
                    self._progressed.notify_all()

    def _located(self, error: HeadraceError) -> HeadraceError:
        """Tasks know the names of files, not where these are."""
        if not isinstance(error, CorruptState):
            return error
        return CorruptState(f"{error.message} (in {self.store.uri})", hint=error.hint)

    @abstractmethod
    def _why_lost(self, lost: TaskId) -> HeadraceError | None:
        """A task has gone without a word; None: it had nothing more to say."""

    # What others ask for.

    def stop(self) -> None:
        """End it where it is."""
        self._stop_asked = True
        self._inbox.put((NOBODY, None))

    def fail(self, error: HeadraceError) -> None:
        """End it as if it had failed."""
        self._failure = error
        self._inbox.put((NOBODY, None))

    def checkpoint(self, timeout: float, *, stops: bool = False, stays: bool = False) -> int | None:
        """Take a checkpoint now; its number, or None if none could be had.

        `stops`: nothing is read after it. `stays`: until it was held, see `files`.
        """
        wanted = Wanted(stops, stays)
        self._inbox.put((NOBODY, wanted))
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline and not self.ended.is_set():
            if wanted.begun.wait(0.05) and self.wait_for(wanted.number, 0.5):
                return wanted.number
        if self.ledger.ended:
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


def explain_loss(error: BaseException | None, lost: TaskId | None = None) -> HeadraceError:
    """Why a task is gone, by what Spark says of it."""
    found = None if error is None else from_spark(error)
    if found is not None and not _HUNG_UP.search(found.message):
        return found
    which = "a worker of the job" if lost is None else f"the worker of task {lost}"
    return JobFailed(
        f"{which} is gone",
        hint="Somebody has killed it, perhaps the system for want of memory: its log or the "
        "system's may say why. With checkpoints enabled a job goes on from the last one.",
    )


@dataclass(frozen=True)
class Savepoint:
    """A savepoint that the tasks of a job begin with."""

    restored: Restored
    plan: PhysicalPlan

    @property
    def number(self) -> int:
        return self.restored.metadata.batch

    @property
    def positions(self) -> dict[str, dict[str, Any]]:
        saved = self.restored.metadata.sources
        return {uid: splits_of(at) for uid, at in saved.items()}

    def given_to(self, task: TaskId) -> bytes | None:
        if task.level == 0:
            return None
        return pickle.dumps(self.restored.taken_over(self.plan, task.level, task.number), 5)


def splits_of(saved: dict[str, Any]) -> dict[str, Any]:
    """Where the splits of a source stood; savepoints once listed files that had been read."""
    files = {path: [[path, 0, _READ], _READ] for path in map(local_path, saved.get("files", ()))}
    return {**files, **saved.get("splits", {})}


_READ = 1 << 62
"""After the end of any file."""


def begun_with(start: Start, plan: PhysicalPlan, restored: Checkpoint | None) -> Savepoint | None:
    if restored is not None or start.restored is None:
        return None
    return Savepoint(start.restored, plan)
