"""A job that runs as a stream: started, restarted after failures, saved and stopped."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.core.crash_points import reach
from headrace.core.job_status import JobStatus
from headrace.errors import InvalidArgument, JobFailed, Unsupported
from headrace.jobs.checkpoint_entry import CheckpointFigures, OperatorFigures
from headrace.jobs.checkpoints import CheckpointHistory
from headrace.jobs.failover import ExceptionHistory, run_with_restarts
from headrace.jobs.journal import CommitJournal
from headrace.jobs.lag import SourceLag, flowing_lags, source_lags
from headrace.jobs.restart import RestartStrategy
from headrace.jobs.results import JobResults
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.driver_items import DriverItem
from headrace.runtime.flow import checkpoint as flow
from headrace.runtime.flow.master import Superseded
from headrace.runtime.flow.messages import TaskFigures
from headrace.runtime.flow.task import TASK
from headrace.spark.failures import from_spark
from headrace.spark.file_store import FileStore, file_store
from headrace.spark.flow.attempt import REAL_TIME, Attempt, Job, StreamSettings
from headrace.spark.flow.checkpoint_files import begin_attempt, end_run
from headrace.spark.flow.rounds import RoundRun
from headrace.spark.flow.run import FlowRun
from headrace.spark.job_folder import JobFolder
from headrace.spark.savepoints.checkpoint import Checkpoint
from headrace.spark.savepoints.opening import (
    Start,
    deal_out_on_resume,
    is_dealt_out_on_resume,
    remove_earlier_runs,
)
from headrace.spark.savepoints.querying import query_key, state_frame
from headrace.spark.savepoints.writer import write_savepoint
from headrace.spark.session import Session
from headrace.spark.shipment import Shipment

_DRAINED_WITHIN = 600.0
_SAVED_WITHIN = 600.0
_PROBE = "_probe"


@dataclass
class Records:
    """What is remembered of a job's failures and checkpoints, and how they are met."""

    strategy: RestartStrategy
    exceptions: ExceptionHistory
    checkpoints: CheckpointHistory
    savepoint_directory: str | None = None
    """Where savepoints go that are not told where to go."""
    status: JobStatus = JobStatus.RUNNING
    figures: dict[int, list[Any]] = field(default_factory=dict)
    """What slots wrote of their state, by checkpoints that are not complete yet."""

    def set_status(self, status: JobStatus) -> None:
        self.status = status


@dataclass(frozen=True)
class Opened:
    """A run of a job's folder, and what runs in it."""

    plan: PhysicalPlan
    shipment: Shipment
    start: Start


class StreamJob:
    """Runs a stream until it ends, is stopped, or has failed too often."""

    def __init__(
        self, spark: Session, opened: Opened, reopen: Callable[[], Opened], results: JobResults,
        settings: StreamSettings, folder: JobFolder, records: Records,
    ):  # fmt: skip
        """`reopen` makes the folder's next run, with the state of the last one dealt out anew."""
        self._spark = spark
        self._opened = opened
        self._reopen = reopen
        self._settings = settings
        self._results = results
        self._folder = folder
        self._records = records
        self._stopped = threading.Event()
        self._attempt: Attempt | None = None
        self._begun = threading.Event()
        self._over = threading.Event()
        self._saving = threading.Lock()
        self._cleaned_up = False

    def run(self) -> None:
        """Run it, again after failures as the restart strategy says."""
        try:
            self.recover_earlier_runs()
            run_with_restarts(
                self._run_once, self._records.strategy, self._records.exceptions, self._stopped,
                started=lambda: self._attempt is not None and self._attempt.query_started,
                on_status=self._records.set_status,
            )  # fmt: skip
            with self._saving:  # the job has not ended before its last savepoint is written
                self._results.commits.tick(final=True)
        finally:
            self._over.set()
            self._results.commits.close()

    def recover_earlier_runs(self) -> None:
        """Commit what runs before this one had checkpointed and not committed."""
        for run in self._folder.earlier_runs():
            number, last = end_run(run, self._folder.claims(run))
            journal = CommitJournal(run.child("journal"))
            self._results.commits.recover(last, number, journal)

    def _new_attempt(self) -> Attempt:
        number, last = self._take_over()
        if last is not None and is_dealt_out_on_resume(self._folder):
            self._begin_anew()
            number, last = self._take_over()
        if last is not None:
            self._records.checkpoints.restored(last.number, self._folder.run.uri)
        opened = self._opened
        job = Job(
            self._spark,
            opened.plan,
            opened.shipment,
            self,
            self._settings,
            self._folder,
            opened.start,
        )
        kind = FlowRun if self._settings.mode == REAL_TIME else RoundRun
        return kind(job, number, last)

    def _take_over(self) -> tuple[int, flow.Checkpoint | None]:
        """Begin another attempt, and finish what those before it left: its number, and the
        checkpoint it goes on from.

        In this order: whoever has not heard of it yet may still complete a checkpoint before that
        is chosen, and none afterwards.
        """
        folder, run = self._folder, self._folder.run
        number, last = begin_attempt(run, folder.claims(run), fall_back=self._settings.fall_back)
        if last is None and self._attempt is not None and self._results.gave_records:
            raise self._would_repeat()
        try:
            self._results.commits.recover(
                None if last is None else last.id,
                number,
                is_current=lambda: folder.is_current(run),
            )
        except Exception:
            if not folder.is_current(run):  # what it was looking for another may have cleared away
                raise Superseded from None
            raise
        return number, last

    def _would_repeat(self) -> Unsupported:
        failures = self._records.exceptions.entries()
        why = failures[0].message if failures else "an error"
        return Unsupported(
            "the job cannot start again: it has no checkpoint, and records that the program has "
            f"collected would come twice; what it failed with: {why}",
            hint="Call env.enable_checkpointing(1000): then records are collected once, with the "
            "checkpoint they belong to.",
        )

    def _begin_anew(self) -> None:
        """Go on in a new run: state that all subtasks must see is dealt out when one starts."""
        self._opened = self._reopen()
        self._results.begin_anew(self._opened.plan, CommitJournal(self._folder.journal))
        self._records.figures.clear()
        self._cleaned_up = False

    def _run_once(self, number: int) -> None:
        try:
            attempt = self._attempt = self._new_attempt()
        except Exception as error:
            raise from_spark(error) from None
        self._begun.set()
        if self._stopped.is_set():
            attempt.leave()
            return
        with self._records.checkpoints.of_attempt():
            attempt.run()

    # What the stream tells.

    def begun(self, number: int) -> None:
        self._records.checkpoints.begin(number)

    def failed(self, number: int, reason: str) -> None:
        self._records.checkpoints.fail(number, reason)

    def arrived(self, number: int, items: list[DriverItem]) -> None:
        self._results.handle(number, items)
        written = self._records.figures[number] = self._results.take_written()
        if any(figures["union"] for figures in written):
            # Before the checkpoint is complete: a job that dies right after it must know.
            deal_out_on_resume(self._folder)

    def told(self, items: list[DriverItem]) -> None:
        self._results.show(items)

    def committed(self, number: int) -> None:
        self._results.commits.commit_upto(number)
        written = self._records.figures.pop(number, [])
        self._records.checkpoints.complete(number, _figures(written), self._folder.run.uri)
        reach("cleanup.before", number)
        if self._folder.lasting and not self._cleaned_up:
            remove_earlier_runs(self._folder)
            self._cleaned_up = True
        reach("cleanup.after", number)

    def idle(self) -> None:
        self._results.commits.tick()

    @property
    def waits_for_program(self) -> bool:
        return self._results.waits_for_program

    # What others ask for.

    def lag(self) -> dict[str, SourceLag]:
        """How far the sources are behind what could be read, by uid."""
        self._begun.wait(timeout=60)
        attempt = self._attempt
        if isinstance(attempt, RoundRun):
            return source_lags(self._opened.plan, attempt.admission, attempt.reaches())
        return flowing_lags(self._opened.plan, self._results.reach)

    def stop(self) -> None:
        """End it where it is."""
        self._stopped.set()
        if self._attempt is not None:
            self._attempt.stop()

    def savepoint(self, directory: str) -> str:
        """Take a checkpoint and save it, while the stream goes on."""
        target = self._target(directory)
        with self._saving:
            return self._save(self._running(), target)

    def _save(self, attempt: Attempt, target: FileStore, *, stops: bool = False) -> str:
        number = attempt.checkpoint(_SAVED_WITHIN, stops=stops, stays=True)
        if number is None:
            failed = JobFailed("the job has not come to a checkpoint that could be saved")
            if stops:
                attempt.fail(failed)  # its sources wait: it goes on from its last checkpoint
            raise failed
        with attempt.files.hold(number) as held:
            return self._write(target, attempt.store, held)

    def stop_with_savepoint(self, directory: str, *, drain: bool) -> str:
        """Stop with a checkpoint and save it; drained, after all timers have fired."""
        target = self._target(directory)
        with self._saving:
            attempt = self._running()
            if not drain:
                saved = self._save(attempt, target, stops=True)
                self.stop()
                attempt.ended.wait(timeout=_DRAINED_WITHIN)
                return saved
            attempt.drain()
            attempt = self._wait_for_end()
            self.stop()
            attempt.ended.wait(timeout=_DRAINED_WITHIN)
            return self._write(target, attempt.store, attempt.last)

    def query_key(self, uid: str, name: str, key: Any) -> Any:
        """What a state holds for a key, as of the last checkpoint."""
        with self._last_checkpoint() as held:
            return query_key(self._spark, self._folder.run, uid, name, key, held)

    def state(self, uid: str, name: str) -> Any:
        """All rows of a state, as of the last checkpoint."""
        with self._last_checkpoint() as held:
            return state_frame(self._spark, self._folder.run, uid, name, held)

    @contextmanager
    def _last_checkpoint(self) -> Iterator[int | None]:
        """The number of a checkpoint that stays meanwhile; None if there is none."""
        attempt = self._running()
        only_asked_for = self._settings.checkpoints.interval is None
        if attempt.last is None or only_asked_for:
            attempt.checkpoint(_SAVED_WITHIN)
        with attempt.files.hold() as held:
            yield held

    def _wait_for_end(self) -> Attempt:
        """The attempt that has seen the end; one that fails meanwhile is followed by another."""
        deadline = time.monotonic() + _DRAINED_WITHIN
        while True:
            attempt = self._attempt
            assert attempt is not None
            if attempt.ledger.ended:
                return attempt
            if time.monotonic() > deadline or self._stopped.is_set() or self._over.is_set():
                raise JobFailed("the job did not come to its end")
            time.sleep(0.02)

    def _target(self, directory: str) -> FileStore:
        """A new folder for a savepoint; what cannot be written to is refused at once."""
        target = file_store(self._spark, directory).child(f"savepoint-{uuid.uuid4().hex[:12]}")
        try:
            target.write(_PROBE, b"")
            target.delete(_PROBE)
        except Exception as error:
            raise InvalidArgument(
                f"a savepoint cannot be written to {directory}: {str(error).splitlines()[0]}",
                hint="Give a folder that exists or can be made, on a file system with space left.",
            ) from None
        return target

    def _running(self) -> Attempt:
        """The attempt that is at work."""
        self._begun.wait(timeout=60)
        attempt = self._attempt
        if attempt is None or self._stopped.is_set() or self._over.is_set():
            raise InvalidArgument("the job is not running, so it cannot be saved")
        return attempt

    def _write(self, target: FileStore, run: FileStore, number: int | None) -> str:
        begin = time.time()
        checkpoint = Checkpoint(self._spark, run, number)
        try:
            metadata = write_savepoint(self._spark, checkpoint, target)
        except Exception:
            target.delete()
            raise
        size = sum(size for size, _ in metadata.files.values())
        self._records.checkpoints.add_savepoint(
            checkpoint.batch, target.uri, int(begin * 1000), CheckpointFigures(size, size)
        )
        return target.uri


def _figures(written: list[Any]) -> CheckpointFigures:
    """What all slots together have written of their state."""
    size = in_flight = 0
    operators: dict[str, OperatorFigures] = {}
    for figures in written:
        size += figures["bytes"]
        for uid, (wrote, changed, entries) in figures["operators"].items():
            known = operators.get(uid, OperatorFigures())
            operators[uid] = replace(
                known, bytes_written=known.bytes_written + wrote,
                entries_changed=known.entries_changed + changed, entries=known.entries + entries,
            )  # fmt: skip
        task: TaskFigures | None = figures.get(TASK)
        if task is not None:
            in_flight += task.in_flight
            for uid in task.uids:
                operators[uid] = _with_times(operators.get(uid, OperatorFigures()), task)
    bytes_written = sum(each.bytes_written for each in operators.values())
    operators.pop("headrace", None)
    return CheckpointFigures(size, bytes_written, operators, in_flight_bytes=in_flight)


def _with_times(known: OperatorFigures, task: TaskFigures) -> OperatorFigures:
    return replace(
        known,
        start_delay_ms=max(known.start_delay_ms, task.start_delay),
        alignment_ms=max(known.alignment_ms, task.alignment),
        sync_ms=max(known.sync_ms, task.sync),
        async_ms=max(known.async_ms, task.asynchronous),
        in_flight_bytes=known.in_flight_bytes + task.in_flight,
    )
