"""The graph a pattern becomes: states, and edges that hold where a condition holds.

An event either is taken (it becomes part of the match), is ignored, or, on the way to that, lets
the automaton proceed to another state at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from headrace.core.patterns import AfterMatch, Condition


class Kind(Enum):
    """What reaching a state means."""

    NORMAL = "normal"
    START = "start"
    FINAL = "final"
    """The match is complete."""
    STOP = "stop"
    """An event came that must not come: the partial match is given up."""
    PENDING = "pending"
    """Complete once the time limit has passed and nothing forbidden has come."""


class Action(Enum):
    """What an edge does with the event."""

    TAKE = "take"
    IGNORE = "ignore"
    PROCEED = "proceed"


@dataclass(eq=False, slots=True)
class Edge:
    """From one state to another."""

    action: Action
    source: State
    target: State
    condition: Condition


@dataclass(eq=False, slots=True)
class State:
    """A point a partial match may have come to."""

    name: str
    """Unique in its automaton: the stage's name, with a number if it is not its only state."""
    stage: str
    kind: Kind = Kind.NORMAL
    edges: list[Edge] = field(default_factory=list)
    gap_ms: int | None = None
    """How long it may wait for an event after the one before."""

    def take(self, target: State, condition: Condition) -> None:
        self.edges.append(Edge(Action.TAKE, self, target, condition))

    def ignore(self, target: State, condition: Condition) -> None:
        self.edges.append(Edge(Action.IGNORE, self, target, condition))

    def proceed(self, target: State, condition: Condition) -> None:
        self.edges.append(Edge(Action.PROCEED, self, target, condition))

    def __repr__(self) -> str:
        return f"State({self.name!r}, {self.kind.value})"


@dataclass(frozen=True, slots=True)
class Automaton:
    """What a pattern was compiled to."""

    start: State
    states: tuple[State, ...]
    """All states that were made, the final one first."""
    stages: tuple[str, ...]
    """The names of the pattern's stages, in order."""
    within_ms: int | None
    after_match: AfterMatch
