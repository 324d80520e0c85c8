"""A handle on a job that was started."""

from headrace.jobs.client import JobClient

__all__ = ["JobClient"]
