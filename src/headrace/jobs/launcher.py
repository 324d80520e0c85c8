"""Starting a job: from a plan to something running, as a batch or as a stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Thread
from typing import Any

from headrace.core.job_id import JobID
from headrace.jobs.client import JobClient
from headrace.jobs.execution_result import JobExecutionResult
from headrace.jobs.journal import CommitJournal
from headrace.jobs.results import CollectListener, JobResults
from headrace.plan.physical import PhysicalPlan
from headrace.spark.batch import run_batch
from headrace.spark.dependencies import Dependencies, prepare
from headrace.spark.inputs import with_local_files
from headrace.spark.job_folder import job_folder
from headrace.spark.session import get_session
from headrace.spark.shipment import pack
from headrace.spark.stream import StreamRun, StreamSettings
from headrace.spark.stream_inputs import with_positions


@dataclass(frozen=True)
class JobSettings:
    """What a job is run with, besides its plan."""

    spark: Mapping[str, str] = field(default_factory=dict)
    dependencies: Dependencies = field(default_factory=Dependencies)
    stream: StreamSettings = field(default_factory=StreamSettings)
    as_stream: bool = False
    """Run as a stream even if every source is bounded."""


def launch(
    plan: PhysicalPlan,
    settings: JobSettings,
    on_collect: Mapping[int, CollectListener] | None = None,
) -> JobClient:
    """Start a job; the client is how to wait for it or stop it."""
    job_id = JobID()
    spark = get_session(settings.spark)
    output_id = str(job_id)
    folder = None
    plan = with_local_files(plan, settings.stream.files_per_batch)
    if settings.as_stream or not plan.bounded:
        plan = with_positions(plan)
        folder = job_folder(settings.stream.checkpoint_dir, settings.stream.job_number)
        output_id = folder.claim(plan, output_id)
    plan = replace(plan, settings={**plan.settings, "output_id": output_id})
    shipment = pack(plan, str(job_id), **prepare(spark, settings.dependencies))
    journal = CommitJournal(folder.journal if folder is not None else None)
    results = JobResults(plan, on_collect, journal=journal)
    stream = None
    work: Callable[[], None] = partial(run_batch, spark, plan, shipment, results.handle)
    if folder is not None:
        stream = StreamRun(spark, plan, shipment, results.handle, settings.stream, folder)
        work = stream.run
    done: Future[JobExecutionResult] = Future()
    Thread(
        target=_run, args=(spark, job_id, work, results, done), daemon=True,
        name=f"headrace-{job_id}",
    ).start()  # fmt: skip
    return JobClient(job_id, done, results, _stopper(spark, stream, job_id))


def _run(
    spark: Any, job_id: JobID, work: Callable[[], None], results: JobResults,
    done: Future[JobExecutionResult],
) -> None:  # fmt: skip
    # The group is how a running batch is found again to be cancelled.
    spark.sparkContext.setJobGroup(str(job_id), "headrace", interruptOnCancel=True)
    started = time.monotonic()
    try:
        work()
    except BaseException as error:
        done.set_exception(error)
        return
    elapsed = int((time.monotonic() - started) * 1000)
    done.set_result(JobExecutionResult(job_id, elapsed, results.accumulators(), results.metrics()))


def _stopper(spark: Any, stream: StreamRun | None, job_id: JobID) -> Any:
    if stream is not None:
        return stream.stop
    # Also what the group is about to start: a job may be cancelled before Spark has heard of it.
    return lambda: spark.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(str(job_id))
