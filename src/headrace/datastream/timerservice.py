"""Time and timers as a user function sees them."""

from headrace.core.timers import TimerService

__all__ = ["TimerService"]
