"""A job that is one Spark batch from beginning to end: nothing of it runs in our operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from threading import Event

from headrace.core.job_id import JobID
from headrace.core.job_status import JobStatus
from headrace.jobs.client import JobClient
from headrace.jobs.execution_result import JobExecutionResult
from headrace.jobs.failover import run_with_restarts
from headrace.jobs.launcher import JobSettings, records_of, start
from headrace.jobs.results import JobResults
from headrace.plan.physical import PhysicalPlan
from headrace.spark.fail_fast import run_in_group
from headrace.spark.session import Session, get_session


def native_session(settings: JobSettings, options: Mapping[str, str]) -> Session:
    """A session for native queries, with settings of its own."""
    session = get_session(settings.spark)
    for key, value in options.items():
        session.conf.set(key, value)
    return session


def launch_native(
    session: Session, name: str, work: Callable[[], None], settings: JobSettings
) -> JobClient:
    """Start work that runs Spark jobs in this thread's job group; the client can cancel it."""
    job_id = JobID()
    plan = PhysicalPlan(name=name, vertices={}, parallelism=1, batch=True)
    records, results, stopped = records_of(plan, settings), JobResults(plan), Event()

    def attempt(_: int) -> None:
        run_in_group(session, work)

    def stop() -> None:
        stopped.set()
        session.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(str(job_id))

    def status(now: JobStatus) -> None:
        records.status = now

    def run() -> None:
        run_with_restarts(attempt, records.strategy, records.exceptions, stopped, on_status=status)

    done: Future[JobExecutionResult] = Future()
    client = JobClient(job_id, done, results, stop, records=records)
    start(session, job_id, run, results, done)
    return client
