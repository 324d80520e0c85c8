"""What tasks have to say to the driver, apart from records."""

from __future__ import annotations

from typing import Any

DriverItem = tuple[int, int, str, Any]
"""Vertex, subtask, kind and payload."""
NO_VERTEX = -1

# Kinds, beside those that operators have of their own.
COUNTS = "counts"
LOAD = "load"
"""Among the counts of an operator: what its task has spent its time on."""
PROGRESS = "progress"
"""How far time has come in the splits of an origin."""
REACH = "reach"
"""How far the splits have come that a task reads."""
WRITTEN = "written"
"""What a task has written of its state."""


class DriverItems:
    """What a task has to say: at once, or with its next checkpoint."""

    def __init__(self, *, checkpoints: bool = True) -> None:
        """`checkpoints`: whether there are any before the end."""
        self._waits = ("commit", "collect") if checkpoints else ("commit",)
        self._news: list[DriverItem] = []
        self._kept: list[DriverItem] = []

    def add(self, item: DriverItem) -> None:
        (self._kept if item[2] in self._waits else self._news).append(item)

    def take_news(self) -> tuple[DriverItem, ...]:
        news, self._news = self._news, []
        return tuple(news)

    def take_all(self) -> tuple[DriverItem, ...]:
        kept, self._kept = self._kept, []
        return (*kept, *self.take_news())
