"""What is left when a job has finished."""

from headrace.jobs.execution_result import JobExecutionResult

__all__ = ["JobExecutionResult"]
