"""A handle on a job that was started."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any

from headrace.core.completable_future import CompletableFuture
from headrace.core.job_id import JobID
from headrace.core.job_status import JobStatus
from headrace.errors import InvalidArgument, JobCancelled, Unsupported
from headrace.jobs.checkpoints import CheckpointHistory
from headrace.jobs.execution_result import JobExecutionResult
from headrace.jobs.failover import FailureEntry
from headrace.jobs.lag import SourceLag
from headrace.jobs.load import OperatorLoad
from headrace.jobs.results import JobResults
from headrace.jobs.stream_job import Records, StreamJob
from headrace.jobs.watermarks import OperatorTime
from headrace.origin import calling_origin


class JobClient:
    """Waits for a job, asks about it, stops it."""

    def __init__(
        self, job_id: JobID, done: Future[JobExecutionResult], results: JobResults,
        stop: Callable[[], None], *, records: Records, stream: StreamJob | None = None,
    ):  # fmt: skip
        self._job_id = job_id
        self._done = done
        self._results = results
        self._stop = stop
        self._records = records
        self._stream = stream
        self.cancelled = False
        self.saved = False
        """Whether the job was stopped with a savepoint."""
        self._result: Future[JobExecutionResult] = Future()
        done.add_done_callback(self._settle)

    def _settle(self, done: Future[JobExecutionResult]) -> None:
        error = done.exception()
        if self.cancelled:
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
            return JobStatus.CANCELLING if self.cancelled else self._records.status
        if self.cancelled:
            return JobStatus.CANCELED
        return JobStatus.FAILED if self._done.exception() else JobStatus.FINISHED

    def cancel(self) -> CompletableFuture[None]:
        """Stop the job where it is."""
        if not self._done.done():
            self.cancelled = True
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

    def get_lag(self) -> dict[str, SourceLag]:
        """How far the sources are behind what could be read, by uid."""
        return {} if self._stream is None else self._stream.lag()

    def get_load(self) -> dict[str, OperatorLoad]:
        """How busy the operators are and who waits for whom, by uid; only real time counts it."""
        return self._results.loads()

    def get_exceptions(self) -> list[FailureEntry]:
        """Why the job failed and was restarted, the latest first."""
        return self._records.exceptions.entries()

    def get_checkpoints(self) -> CheckpointHistory:
        """The record of the job's checkpoints and savepoints."""
        return self._records.checkpoints

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool = False, savepoint_directory: str | None = None
    ) -> CompletableFuture[str]:
        """Save the job's state and end it; the future gives the savepoint's path.

        With `advance_to_end_of_event_time` all timers fire and all windows close first, as if the
        sources had ended: for a job that will not be resumed.
        """
        stream, directory = self._savable(), self._directory(savepoint_directory)
        self.saved = True
        return _in_background(
            lambda: stream.stop_with_savepoint(directory, drain=advance_to_end_of_event_time)
        )

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture[str]:
        """Save the job's state while it goes on; the future gives the savepoint's path."""
        stream, directory = self._savable(), self._directory(savepoint_directory)
        return _in_background(lambda: stream.savepoint(directory))

    def query_state(self, uid: str, name: str, key: Any) -> Any:
        """What a state of the running job holds for a key, as of its last checkpoint.

        A list of a list state, a dict of a map state; of state kept for windows a dict by window;
        None if there is nothing. The job does not notice.
        """
        return self._running("looked into").query_key(uid, name, key)

    def state(self, uid: str, name: str) -> Any:
        """A Spark DataFrame of a state of the running job, as of its last checkpoint.

        Its columns are those of a savepoint: key_group, key, value, …
        """
        return self._running("looked into").state(uid, name)

    def _savable(self) -> StreamJob:
        return self._running("saved")

    def _running(self, done_to_it: str) -> StreamJob:
        if self._stream is None:
            raise Unsupported(
                f"a bounded job that runs as a batch has no state that could be {done_to_it}",
                origin=calling_origin(), hint="Enable checkpointing: then it runs as a stream.",
            )  # fmt: skip
        if self._done.done():
            raise InvalidArgument(f"the job has ended, so it cannot be {done_to_it}",
                                  origin=calling_origin())  # fmt: skip
        return self._stream

    def _directory(self, given: str | None) -> str:
        directory = given or self._records.savepoint_directory
        if directory is None:
            raise InvalidArgument(
                "no savepoint directory was given", origin=calling_origin(),
                hint="Pass one, or set execution.checkpointing.savepoint-dir.",
            )  # fmt: skip
        return directory


def _in_background(work: Callable[[], str]) -> CompletableFuture[str]:
    found: Future[str] = Future()

    def run() -> None:
        try:
            found.set_result(work())
        except BaseException as error:
            found.set_exception(error)

    Thread(target=run, daemon=True, name="headrace-savepoint").start()
    return CompletableFuture(found)
