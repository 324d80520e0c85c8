"""What is left when a job has finished."""

from __future__ import annotations

from typing import Any

from headrace.core.job_id import JobID


class JobExecutionResult:
    """Id, run time, accumulators and metrics of a finished job."""

    def __init__(
        self, job_id: JobID, net_runtime_ms: int, accumulators: dict[str, Any],
        metrics: dict[str, dict[str, Any]],
    ):  # fmt: skip
        self._job_id = job_id
        self._net_runtime_ms = net_runtime_ms
        self._accumulators = accumulators
        self._metrics = metrics

    def get_job_id(self) -> JobID:
        return self._job_id

    def get_net_runtime(self) -> int:
        """Milliseconds from start to end, without the start of Spark."""
        return self._net_runtime_ms

    def is_job_execution_result(self) -> bool:
        return True

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """What a function counted under a name; None if there is no such accumulator."""
        return self._accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        return dict(self._accumulators)

    def get_metrics(self) -> dict[str, dict[str, Any]]:
        """The metrics user functions registered, by operator name."""
        return self._metrics

    def __str__(self) -> str:
        return (
            f"Program execution finished\nJob with JobID {self._job_id} has finished.\n"
            f"Job Runtime: {self._net_runtime_ms} ms"
        )
