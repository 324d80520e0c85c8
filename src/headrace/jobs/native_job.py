"""A job that is one Spark batch from beginning to end: nothing of it runs in our operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from headrace.core.job_id import JobID
from headrace.jobs.client import JobClient
from headrace.jobs.launcher import JobSettings, records_of, start_batch
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
    attempt = partial(run_in_group, session, work)
    return start_batch(session, job_id, attempt, JobResults(plan), records_of(plan, settings))
