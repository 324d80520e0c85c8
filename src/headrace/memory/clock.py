"""Processing time that moves only when it is told to."""

from __future__ import annotations

from headrace.errors import InvalidArgument
from headrace.origin import calling_origin


class ManualClock:
    """A clock in milliseconds; call it for the time."""

    def __init__(self, now: int = 0):
        self._now = now

    def __call__(self) -> int:
        return self._now

    def advance_to(self, now: int) -> None:
        """Set the time; it never goes back."""
        if now < self._now:
            raise InvalidArgument(
                f"processing time cannot go back from {self._now} to {now}",
                origin=calling_origin(),
            )
        self._now = now
