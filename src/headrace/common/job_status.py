"""The states of a job."""

from headrace.core.job_status import JobStatus

__all__ = ["JobStatus"]
