"""Starting a job: from a plan to something running, as a batch or as a stream."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
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
from headrace.spark.session import get_session
from headrace.spark.shipment import pack
from headrace.spark.stream import StreamRun, StreamSettings, journal_folder, output_identity
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
    streams = settings.as_stream or not plan.bounded
    output_id = str(job_id)
    if streams:
        plan = with_positions(plan)
        output_id = output_identity(settings.stream, output_id)
    plan = replace(plan, settings={**plan.settings, "output_id": output_id})
    shipment = pack(plan, str(job_id), **prepare(spark, settings.dependencies))
    journal = CommitJournal(journal_folder(settings.stream) if streams else None)
    results = JobResults(plan, on_collect, journal=journal)
    done: Future[JobExecutionResult] = Future()
    stream = None
    if streams:
        stream = StreamRun(spark, plan, shipment, results.handle, settings.stream)

    def run() -> None:
        started = time.monotonic()
        try:
            if stream is None:
                run_batch(spark, plan, shipment, results.handle)
            else:
                stream.run()
        except BaseException as error:
            done.set_exception(error)
            return
        elapsed = int((time.monotonic() - started) * 1000)
        done.set_result(
            JobExecutionResult(job_id, elapsed, results.accumulators(), results.metrics())
        )

    client = JobClient(job_id, done, results, _stopper(spark, stream, job_id))
    thread = Thread(target=_grouped, args=(spark, str(job_id), run), daemon=True,
                    name=f"headrace-{job_id}")  # fmt: skip
    thread.start()
    return client


def _grouped(spark: Any, group: str, run: Any) -> None:
    # The group is how a running batch is found again to be cancelled.
    spark.sparkContext.setJobGroup(group, "headrace", interruptOnCancel=True)
    run()


def _stopper(spark: Any, stream: StreamRun | None, job_id: JobID) -> Any:
    if stream is not None:
        return stream.stop
    # Also what the group is about to start: a job may be cancelled before Spark has heard of it.
    return lambda: spark.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(str(job_id))
