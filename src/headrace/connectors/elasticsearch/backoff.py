"""How often what could not be written is written again, and after how long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import repeat

from headrace.connectors.pauses import FIRST_S, growing_pauses, pauses_for

__all__ = ["Backoff", "FlushBackoffType"]

_IN_ALL_S = 60.0


class FlushBackoffType(Enum):
    """Pauses that are all the same, that get longer and longer, or no second try."""

    CONSTANT = 0
    EXPONENTIAL = 1
    NONE = 2


@dataclass(frozen=True, slots=True)
class Backoff:
    """Unless a kind is given: longer and longer pauses, for a minute."""

    kind: FlushBackoffType | None = None
    max_retries: int = 0
    delay_ms: int = 0
    forever: bool = False
    """Whether there is no last try."""

    def pauses(self) -> Iterator[float]:
        """Seconds to wait before each further try."""
        delay_s = self.delay_ms / 1000
        if self.forever:
            return growing_pauses(delay_s or FIRST_S)
        match self.kind:
            case FlushBackoffType.NONE:
                return iter(())
            case FlushBackoffType.CONSTANT:
                return repeat(delay_s, self.max_retries)
            case FlushBackoffType.EXPONENTIAL:
                return (delay_s * 2**tried for tried in range(self.max_retries))
            case None:
                return pauses_for(_IN_ALL_S)
