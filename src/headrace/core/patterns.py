"""What a pattern of events says, whichever front end it was written in.

A pattern is a sequence of parts. A part is a stage, which takes events, or a group, which is a
sequence again; both may be repeated or optional. The compiler of `headrace.operators.cep` makes
one automaton of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Contiguity(Enum):
    """What may lie between an event and the one taken before it."""

    STRICT = "next"
    """Nothing."""
    RELAXED = "followed_by"
    """Events that do not fit."""
    ANY = "followed_by_any"
    """Anything: an event that fits may also be passed over."""


@dataclass(frozen=True, slots=True)
class Always:
    """Holds for every event."""


@dataclass(frozen=True, slots=True)
class Test:
    """Holds where a function says so; it may want to see what has been matched so far."""

    function: Callable[..., Any]
    iterative: bool = False
    """Whether the function is called with the event and a context, not with the event alone."""

    __test__ = False


@dataclass(frozen=True, slots=True)
class Both:
    """Holds where two conditions hold; the second is only asked where the first one holds."""

    first: Condition
    second: Condition


@dataclass(frozen=True, slots=True)
class Either:
    """Holds where one of two conditions holds."""

    first: Condition
    second: Condition


@dataclass(frozen=True, slots=True)
class Inverse:
    """Holds where a condition does not."""

    condition: Condition


Condition = Always | Test | Both | Either | Inverse


@dataclass(frozen=True, slots=True)
class Repetition:
    """How often a part may occur, and what may lie between two of its events."""

    at_least: int = 1
    at_most: int | None = None
    """None: as often as it likes."""
    inner: Contiguity = Contiguity.RELAXED
    greedy: bool = False
    gap_ms: int | None = None
    """How far two of its events may be apart in time."""


class Absence(Enum):
    """What a stage that must not occur forbids."""

    NEXT = "not_next"
    """The very next event."""
    BEFORE_NEXT_STAGE = "not_followed_by"
    """Any event before the next stage, or before the time limit if there is no next stage."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Takes events that meet a condition, or forbids them."""

    name: str
    condition: Condition = Always()
    contiguity: Contiguity = Contiguity.STRICT
    """To the part before it."""
    repetition: Repetition | None = None
    optional: bool = False
    until: Condition | None = None
    """No event is taken any more once one meets this."""
    absence: Absence | None = None
    gap_ms: int | None = None
    """How long after the event before it an event of this stage may come."""


@dataclass(frozen=True, slots=True)
class Group:
    """A sequence that is repeated, or optional, as a whole."""

    parts: tuple[Part, ...]
    contiguity: Contiguity = Contiguity.STRICT
    repetition: Repetition | None = None
    optional: bool = False
    until: Condition | None = None


Part = Stage | Group


class Skip(Enum):
    """Where matching goes on after a match."""

    NO_SKIP = "no skip"
    TO_NEXT = "to next"
    PAST_LAST_EVENT = "past last event"
    TO_FIRST = "to first"
    TO_LAST = "to last"


@dataclass(frozen=True, slots=True)
class AfterMatch:
    """Which matches are given up because of one that was found."""

    skip: Skip = Skip.NO_SKIP
    stage: str | None = None
    """For TO_FIRST and TO_LAST: of which stage."""
    must_exist: bool = False
    """Whether a match without an event of that stage, or one it begins with, is an error."""


@dataclass(frozen=True, slots=True)
class EventPattern:
    """A whole pattern."""

    parts: tuple[Part, ...]
    within_ms: int | None = None
    """How far the first and the last event of a match may be apart; less than this."""
    after_match: AfterMatch = AfterMatch()


def stages_of(parts: tuple[Part, ...]) -> list[Stage]:
    """All stages, those of groups included, in order."""
    found: list[Stage] = []
    for part in parts:
        if isinstance(part, Group):
            found += stages_of(part.parts)
        else:
            found.append(part)
    return found
