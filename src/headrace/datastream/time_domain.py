"""The clock a timer follows."""

from headrace.core.timers import TimeDomain

__all__ = ["TimeDomain"]
