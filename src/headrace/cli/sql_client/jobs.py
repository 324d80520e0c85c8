"""The jobs a session has started."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from headrace.core.job_status import JobStatus
from headrace.errors import HeadraceError, InvalidQuery, JobCancelled
from headrace.jobs.client import JobClient
from headrace.sql import statements as st

BAD_ROWS = "bad rows of "
"""How the accumulators begin that count rows nobody could read."""
_ENDED = (JobStatus.CANCELED, JobStatus.FAILED, JobStatus.FINISHED)


@dataclass
class StartedJob:
    client: JobClient
    name: str
    began: float = field(default_factory=time.time)
    reported: bool = False

    @property
    def id(self) -> str:
        return str(self.client.get_job_id())

    @property
    def status(self) -> JobStatus:
        return self.client.get_job_status().result()

    @property
    def running(self) -> bool:
        return self.status not in _ENDED

    def failure(self) -> BaseException | None:
        """Why it failed, if it did."""
        if self.status is not JobStatus.FAILED:
            return None
        return self.client.get_job_execution_result().exception()


class Jobs:
    """Knows the jobs by their ids."""

    def __init__(self) -> None:
        self._started: dict[str, StartedJob] = {}

    def add(self, client: JobClient, name: str) -> StartedJob:
        job = StartedJob(client, name)
        self._started[job.id] = job
        return job

    def __iter__(self) -> Iterator[StartedJob]:
        return iter(self._started.values())

    def running(self) -> list[StartedJob]:
        return [job for job in self if job.running]

    def rows(self) -> list[tuple[str, str, str, str]]:
        return [
            (job.id, job.name, job.status.name, time.strftime("%F %T", time.localtime(job.began)))
            for job in self
        ]

    def find(self, job_id: str, statement: st.Statement) -> StartedJob:
        found = self._started.get(job_id)
        if found is None:
            raise InvalidQuery(
                f"there is no job '{job_id}' of this session", origin=statement.at,
                hint="SHOW JOBS lists them",
            )  # fmt: skip
        return found

    def stop(self, statement: st.StopJob) -> str:
        """End a job; the text says where its state is, if that was asked for."""
        job = self.find(statement.job_id, statement)
        if statement.savepoint:
            path = job.client.stop_with_savepoint(statement.drain).result()
            return f"Savepoint: {path}"
        job.client.cancel().result()
        return f"Job {job.id} was cancelled."

    def newly_failed(self) -> list[tuple[StartedJob, BaseException]]:
        """Jobs that failed since this was last asked."""
        found = []
        for job in self:
            error = None if job.reported else job.failure()
            if error is not None:
                job.reported = True
                found.append((job, error))
        return found

    def wait(self) -> None:
        """Wait until all have ended, however they end."""
        for job in self:
            with suppress(Exception):  # `newly_failed` tells of those that failed
                job.client.get_job_execution_result().result()

    def cancel_all(self) -> None:
        for job in self.running():
            job.client.cancel().result()


def bad_row_lines(client: JobClient) -> list[str]:
    """What the client says of rows that a job could not read."""
    try:
        found = client.get_accumulators().result()
    except (HeadraceError, JobCancelled):
        return []
    return [
        f"{count:,} {name}" if count != 1 else f"1 {name.replace('rows', 'row', 1)}"
        for name, count in sorted(found.items())
        if name.startswith(BAD_ROWS) and count
    ]
