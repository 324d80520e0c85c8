"""The jobs of a session of `headrace sql`."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

import pytest

from headrace.cli.sql_client.jobs import Jobs, bad_row_lines
from headrace.core.completable_future import CompletableFuture
from headrace.core.job_id import JobID
from headrace.core.job_status import JobStatus
from headrace.errors import JobFailed


class FakeClient:
    """A job that ends when the test says so."""

    def __init__(self) -> None:
        self._id = JobID()
        self._done: Future[Any] = Future()
        self._status = JobStatus.RUNNING
        self.counts: dict[str, int] = {}

    def get_job_id(self) -> JobID:
        return self._id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return CompletableFuture.completed(self._status)

    def get_job_execution_result(self) -> CompletableFuture[Any]:
        return CompletableFuture(self._done)

    def get_accumulators(self) -> CompletableFuture[dict[str, int]]:
        return CompletableFuture.completed(self.counts)

    def fail(self) -> None:
        self._status = JobStatus.FAILED
        self._done.set_exception(JobFailed("no"))


def jobs_of(*clients: FakeClient) -> Jobs:
    jobs = Jobs()
    for client in clients:
        jobs.add(client, "insert")  # type: ignore[arg-type]
    return jobs


def test_waiting_ends_with_the_last_job() -> None:
    client = FakeClient()
    jobs = jobs_of(client)
    threading.Timer(0.2, client.fail).start()
    jobs.wait()
    assert not jobs.running()
    ((_, error),) = jobs.newly_failed()
    assert isinstance(error, JobFailed)
    assert jobs.newly_failed() == []


def test_jobs_are_listed() -> None:
    client = FakeClient()
    ((id, name, status, _),) = jobs_of(client).rows()
    assert (id, name, status) == (str(client.get_job_id()), "insert", "RUNNING")


@pytest.mark.parametrize(
    ("counts", "lines"),
    [
        ({"bad rows of t (skipped)": 1, "other": 5}, ["1 bad row of t (skipped)"]),
        ({"bad rows of t (skipped)": 1200}, ["1,200 bad rows of t (skipped)"]),
        ({"bad rows of t (skipped)": 0}, []),
    ],
)
def test_bad_rows_are_told(counts: dict[str, int], lines: list[str]) -> None:
    client = FakeClient()
    client.counts = counts
    assert bad_row_lines(client) == lines  # type: ignore[arg-type]
