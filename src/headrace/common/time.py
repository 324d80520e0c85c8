"""Amounts of time and points in time."""

from headrace.core.time import Duration, Instant, Time

__all__ = ["Duration", "Instant", "Time"]
