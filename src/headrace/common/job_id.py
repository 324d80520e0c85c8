"""What tells one job from another."""

from headrace.core.job_id import JobID

__all__ = ["JobID"]
