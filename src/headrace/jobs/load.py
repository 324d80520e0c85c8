"""How busy the operators of a running job are, and who holds whom up."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.runtime.flow.load import Spent


@dataclass(frozen=True, slots=True)
class OperatorLoad:
    """Shares of the last second or so, between 0 and 1; of several subtasks, the worst.

    Operators that run in one task have the same: nobody looks into the task.
    """

    name: str
    busy: float
    backpressured: float
    """Waiting for those behind it, who are slower: look for a busy one there."""
    idle: float

    def __str__(self) -> str:
        return (
            f"{self.name}: {self.busy:.0%} busy, {self.backpressured:.0%} backpressured, "
            f"{self.idle:.0%} idle"
        )


def load_of(name: str, subtasks: list[Spent]) -> OperatorLoad:
    """The load of an operator, by what each of its subtasks has spent."""
    shares = [
        (each.busy / each.total, each.backpressured / each.total, each.idle / each.total)
        for each in subtasks
    ]
    busy, backpressured, idle = zip(*shares, strict=True)
    return OperatorLoad(name, max(busy), max(backpressured), min(idle))
