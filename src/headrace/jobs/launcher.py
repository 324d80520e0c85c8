"""Starting a job: from a plan to something running, as a batch or as a stream."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

from headrace.core.config import Configuration
from headrace.core.job_id import JobID
from headrace.errors import HeadraceError
from headrace.jobs.checkpoints import CheckpointHistory
from headrace.jobs.client import JobClient
from headrace.jobs.dry_run import Planned, is_planning_only
from headrace.jobs.execution_result import JobExecutionResult
from headrace.jobs.failover import ExceptionHistory, run_with_restarts
from headrace.jobs.journal import CommitJournal
from headrace.jobs.recovery_settings import recovery_settings, savepoint_directory
from headrace.jobs.restart import restart_strategy
from headrace.jobs.results import Collector, JobResults
from headrace.jobs.retention import Retention
from headrace.jobs.stateful_uids import warn_of_missing_uids
from headrace.jobs.stream_job import Opened, Records, StreamJob
from headrace.jobs.stream_mode import choose_mode
from headrace.origin import Origin, calling_origin
from headrace.plan.physical import RESTORED_CHECKPOINT, PhysicalPlan
from headrace.runtime.flow.fed import with_fed_sources
from headrace.runtime.flow.sources import with_splits
from headrace.spark.batch import run_batch
from headrace.spark.dependencies import Dependencies, prepare
from headrace.spark.flow.attempt import MICRO_BATCH, REAL_TIME, StreamSettings, driver_host
from headrace.spark.flow.run import slots_needed
from headrace.spark.flow.state_files import mounted_at
from headrace.spark.inputs import with_local_files
from headrace.spark.job_folder import JobFolder, job_folder
from headrace.spark.savepoints.opening import Start, open_run
from headrace.spark.session import Session, get_session
from headrace.spark.shipment import pack


@dataclass(frozen=True)
class JobSettings:
    """What a job is run with, besides its plan."""

    spark: Mapping[str, str] = field(default_factory=dict)
    dependencies: Dependencies = field(default_factory=Dependencies)
    stream: StreamSettings = field(default_factory=StreamSettings)
    as_stream: bool = False
    """Run as a stream even if every source is bounded."""
    checkpointing: bool = False
    retention: Retention = Retention.KEEP
    """What becomes of the job's checkpoints when it ends."""
    configuration: Configuration = field(default_factory=Configuration)


def launch(
    plan: PhysicalPlan,
    settings: JobSettings,
    collectors: Mapping[int, Collector] | None = None,
) -> JobClient:
    """Start a job; the client is how to wait for it or stop it."""
    as_stream = settings.as_stream or not plan.bounded
    if as_stream:
        settings = _with_mode(plan, settings)
    real_time = as_stream and settings.stream.mode == REAL_TIME
    files_per_batch = None if real_time else settings.stream.files_per_batch
    plan = with_local_files(plan, files_per_batch)
    if as_stream:
        plan = with_splits(plan, files_per_batch)
    if real_time:
        plan = with_fed_sources(plan)
    if is_planning_only():
        raise Planned(with_splits(plan))
    job_id = JobID()
    spark = get_session(settings.spark, slots=_slots(plan) if real_time else 0)
    records = records_of(plan, settings)
    if as_stream:
        return _launch_stream(spark, job_id, plan, settings, records, collectors)
    return _launch_batch(spark, job_id, plan, settings, records, collectors)


def _with_mode(plan: PhysicalPlan, settings: JobSettings) -> JobSettings:
    """The settings with the mode in which a stream is run."""
    stream = settings.stream
    if stream.mode == MICRO_BATCH or plan.batch:  # in BATCH mode all input is there before the rest
        return replace(settings, stream=replace(stream, mode=MICRO_BATCH))
    if stream.mode == REAL_TIME:
        return settings
    if is_planning_only():
        mode = MICRO_BATCH if plan.bounded else REAL_TIME
    else:
        flowing = with_fed_sources(with_splits(with_local_files(plan)))
        slots = _slots(flowing)
        mode = choose_mode(flowing, lambda: get_session(settings.spark, slots=slots))
    return replace(settings, stream=replace(stream, mode=mode))


def _slots(plan: PhysicalPlan) -> int:
    # Some more than its tasks take: savepoints and queries of state are Spark jobs as well.
    return slots_needed(plan) + plan.parallelism


def records_of(plan: PhysicalPlan, settings: JobSettings) -> Records:
    configuration = settings.configuration
    parallelism = {vertex.uid: vertex.parallelism for vertex in plan.vertices.values()}
    return Records(
        restart_strategy(configuration, settings.checkpointing),
        ExceptionHistory.configured(configuration),
        CheckpointHistory.configured(configuration, parallelism),
        savepoint_directory(configuration),
    )


def _launch_stream(
    spark: Session, job_id: JobID, plan: PhysicalPlan, settings: JobSettings,
    records: Records, collectors: Mapping[int, Collector] | None,
) -> JobClient:  # fmt: skip
    if settings.checkpointing:
        warn_of_missing_uids(plan)
    folder = job_folder(spark, settings.stream.checkpoint_dir, settings.stream.job_number)
    try:
        return _launched_in(folder, spark, job_id, plan, settings, records, collectors)
    except BaseException:
        folder.leave()
        raise


def _launched_in(
    folder: JobFolder, spark: Session, job_id: JobID, plan: PhysicalPlan, settings: JobSettings,
    records: Records, collectors: Mapping[int, Collector] | None,
) -> JobClient:  # fmt: skip
    recovery = recovery_settings(settings.configuration)
    sent_along = prepare(spark, settings.dependencies)

    def opened(path: str | None) -> Opened:
        job = {"id": str(job_id), "name": plan.name}
        start = open_run(
            spark,
            folder,
            plan,
            job,
            path,
            recovery.allow_non_restored,
            fall_back=settings.stream.fall_back,
        )
        named = _named(spark, plan, folder, start, records)
        assert folder.note is not None
        # Attempts are counted anew in each run: what a worker kept of another is not of this one.
        run_id = f"{job_id}-{folder.note.run}"
        shipment = pack(named, run_id, alive=str(folder.notes), **sent_along)
        return Opened(named, shipment, start)

    first = opened(recovery.path)
    results = JobResults(
        first.plan, collectors, journal=CommitJournal(folder.journal),
        may_lose_output=recovery.allow_non_restored, may_repeat_output=settings.stream.fall_back,
    )  # fmt: skip
    job_run = StreamJob(
        spark, first, lambda: opened(None), results, settings.stream, folder, records
    )
    done: Future[JobExecutionResult] = Future()
    client = JobClient(job_id, done, results, job_run.stop, records=records, stream=job_run)
    _start(spark, job_id, lambda: settings.retention.applied(job_run.run, client, folder),
           results, done)  # fmt: skip
    return client


def _named(
    spark: Session, plan: PhysicalPlan, folder: JobFolder, start: Start, records: Records
) -> PhysicalPlan:
    """The plan of a run: it says how the run's output is named and what it started from."""
    assert folder.note is not None
    extra: dict[str, Any] = {
        "output_id": folder.note.run_output_id, "lineage": folder.note.output_id,
        "kept_folder": str(mounted_at(folder.store.child("kept")) or ""),
        "driver_host": driver_host(spark),
    }  # fmt: skip
    if start.restored is not None:
        batch = start.restored.metadata.batch
        extra[RESTORED_CHECKPOINT] = batch
        records.checkpoints.restored(batch, folder.note.restored_from, is_savepoint=True)
    return replace(plan, settings={**plan.settings, **extra})


def _launch_batch(
    spark: Session, job_id: JobID, plan: PhysicalPlan, settings: JobSettings,
    records: Records, collectors: Mapping[int, Collector] | None,
) -> JobClient:  # fmt: skip
    kept = str(Path(tempfile.gettempdir()) / f"headrace-kept-{job_id}")
    named = {"output_id": str(job_id), "kept_folder": kept, "driver_host": driver_host(spark)}
    plan = replace(plan, settings={**plan.settings, **named})
    shipment = pack(plan, str(job_id), **prepare(spark, settings.dependencies))
    results = JobResults(plan, collectors)

    def attempt() -> None:
        if not results.batches:  # what failed may be the commit alone
            results.commits.recover(None)
            run_batch(spark, plan, shipment, results.handle)
        results.commits.commit_upto(0)
        results.commits.tick(final=True)

    return start_batch(spark, job_id, attempt, results, records)


def start_batch(
    spark: Session, job_id: JobID, attempt: Callable[[], None], results: JobResults,
    records: Records,
) -> JobClient:  # fmt: skip
    """Start work that runs Spark jobs in its thread's job group, again after failures as the
    restart strategy says; the client can cancel it."""
    stopped = Event()

    def stop() -> None:
        stopped.set()
        # Also what the group is about to start: a job may be cancelled before Spark knows of it.
        spark.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(str(job_id))

    def run() -> None:
        try:
            run_with_restarts(
                lambda _: attempt(), records.strategy, records.exceptions, stopped,
                on_status=records.set_status,
            )  # fmt: skip
        finally:
            results.commits.close()

    done: Future[JobExecutionResult] = Future()
    client = JobClient(job_id, done, results, stop, records=records)
    _start(spark, job_id, run, results, done)
    return client


def _start(
    spark: Session, job_id: JobID, work: Callable[[], None], results: JobResults,
    done: Future[JobExecutionResult],
) -> None:  # fmt: skip
    """Do the work in a thread; what fails and names no line is told with the one that began it."""
    begun_at = calling_origin(only_users=True)
    Thread(
        target=_run, args=(spark, job_id, work, results, done, begun_at), daemon=True,
        name=f"headrace-{job_id}",
    ).start()  # fmt: skip


def _run(
    spark: Session, job_id: JobID, work: Callable[[], None], results: JobResults,
    done: Future[JobExecutionResult], begun_at: Origin | None,
) -> None:  # fmt: skip
    # The group is how a running batch is found again to be cancelled.
    spark.sparkContext.setJobGroup(str(job_id), "headrace", interruptOnCancel=True)
    started = time.monotonic()
    try:
        work()
        elapsed = int((time.monotonic() - started) * 1000)
        result = JobExecutionResult(job_id, elapsed, results.accumulators(), results.metrics())
    except BaseException as error:
        if isinstance(error, HeadraceError):
            error.came_from(begun_at)
        done.set_exception(error)
    else:
        done.set_result(result)
