"""How long to wait before what has failed is tried again."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["FIRST_S", "growing_pauses", "pauses_for"]

FIRST_S, _LONGEST_S = 0.1, 5.0


def growing_pauses(first_s: float = FIRST_S) -> Iterator[float]:
    """Each twice as long as the one before, up to some seconds; there is no last one."""
    pause = first_s
    while True:
        yield pause
        pause = min(2 * pause, _LONGEST_S)


def pauses_for(seconds: float) -> Iterator[float]:
    """The same, as long as they are not longer than that together."""
    waited = 0.0
    for pause in growing_pauses():
        if waited + pause > seconds:
            return
        waited += pause
        yield pause
