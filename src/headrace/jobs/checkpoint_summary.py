"""Least, greatest, mean and quantiles of a figure of all completed checkpoints."""

from __future__ import annotations

from collections import deque
from typing import Any

_WINDOW = 10_000
"""Quantiles are those of so many of the latest values, as in Flink."""

_QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}


class Summary:
    """One figure; least, greatest and mean are those of all values there ever were."""

    def __init__(self) -> None:
        self._latest: deque[int] = deque(maxlen=_WINDOW)
        self._count = 0
        self._sum = 0
        self.min = 0
        self.max = 0

    def add(self, value: int) -> None:
        self.min = min(value, self.min) if self._count else value
        self.max = max(value, self.max) if self._count else value
        self._latest.append(value)
        self._count += 1
        self._sum += value

    @property
    def avg(self) -> int:
        return self._sum // self._count if self._count else 0

    def quantile(self, share: float) -> float:
        """Interpolated between the two nearest values; not a number if there is none."""
        return _quantile(sorted(self._latest), share)

    def to_json(self) -> dict[str, Any]:
        ordered = sorted(self._latest)
        # Flink writes what is no number as a string: JSON has no word for it.
        quantiles = {name: _quantile(ordered, share) if ordered else "NaN"
                     for name, share in _QUANTILES.items()}  # fmt: skip
        return {"min": self.min, "max": self.max, "avg": self.avg, **quantiles}


def _quantile(ordered: list[int], share: float) -> float:
    if not ordered:
        return float("nan")
    # The position among n values is share * (n + 1), counted from 1.
    position = share * (len(ordered) + 1)
    below = int(position)
    if below < 1:
        return float(ordered[0])
    if below >= len(ordered):
        return float(ordered[-1])
    low, high = ordered[below - 1], ordered[below]
    return low + (position - below) * (high - low)
