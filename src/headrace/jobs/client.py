"""A handle on a job that was started."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from headrace.core.completable_future import CompletableFuture
from headrace.core.job_id import JobID
from headrace.core.job_status import JobStatus
from headrace.errors import JobCancelled, Unsupported
from headrace.jobs.execution_result import JobExecutionResult
from headrace.jobs.results import JobResults
from headrace.jobs.watermarks import OperatorTime
from headrace.origin import calling_origin


class JobClient:
    """Waits for a job, asks about it, stops it."""

    def __init__(
        self, job_id: JobID, done: Future[JobExecutionResult], results: JobResults,
        stop: Callable[[], None],
    ):  # fmt: skip
        self._job_id = job_id
        self._done = done
        self._results = results
        self._stop = stop
        self._cancelled = False
        self._result: Future[JobExecutionResult] = Future()
        done.add_done_callback(self._settle)

    def _settle(self, done: Future[JobExecutionResult]) -> None:
        error = done.exception()
        if self._cancelled:
            error = JobCancelled(f"job {self._job_id} was cancelled")
        if error is not None:
            self._result.set_exception(error)
        else:
            self._result.set_result(done.result())

    def get_job_id(self) -> JobID:
        return self._job_id

    def get_job_status(self) -> CompletableFuture[JobStatus]:
        return CompletableFuture.completed(self._status())

    def _status(self) -> JobStatus:
        if not self._done.done():
            return JobStatus.CANCELLING if self._cancelled else JobStatus.RUNNING
        if self._cancelled:
            return JobStatus.CANCELED
        return JobStatus.FAILED if self._done.exception() else JobStatus.FINISHED

    def cancel(self) -> CompletableFuture[None]:
        """Stop the job where it is."""
        if not self._done.done():
            self._cancelled = True
            self._stop()
        finished: Future[None] = Future()
        self._done.add_done_callback(lambda _: finished.set_result(None))
        return CompletableFuture(finished)

    def get_job_execution_result(self) -> CompletableFuture[JobExecutionResult]:
        return CompletableFuture(self._result)

    def get_accumulators(self) -> CompletableFuture[dict[str, Any]]:
        """The accumulators as they stand."""
        return CompletableFuture.completed(self._results.accumulators())

    def get_watermarks(self) -> list[OperatorTime]:
        """For each operator how far event time has come, and which split holds it back."""
        return self._results.watermarks()

    def stop_with_savepoint(self, *_: Any, **__: Any) -> Any:
        raise Unsupported("savepoints are not there yet", origin=calling_origin())

    def trigger_savepoint(self, *_: Any, **__: Any) -> Any:
        raise Unsupported("savepoints are not there yet", origin=calling_origin())
