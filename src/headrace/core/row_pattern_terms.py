"""PATTERN of MATCH_RECOGNIZE as it is written: a regular expression over the variables of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Variable:
    """One row for which the variable's condition holds."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Concatenation:
    """One after the other; of nothing, it is the pattern () that takes no row."""

    parts: tuple[Term, ...]

    def __str__(self) -> str:
        return f"({' '.join(map(str, self.parts))})"


@dataclass(frozen=True, slots=True)
class Alternation:
    """One of them, the earlier ones preferred."""

    parts: tuple[Term, ...]

    def __str__(self) -> str:
        return f"({' | '.join(map(str, self.parts))})"


@dataclass(frozen=True, slots=True)
class Permutation:
    """All of them in any order; orders are preferred as a dictionary would list them."""

    parts: tuple[Term, ...]

    def __str__(self) -> str:
        return f"PERMUTE({', '.join(map(str, self.parts))})"


@dataclass(frozen=True, slots=True)
class Quantified:
    """So many times; a greedy one prefers many, a reluctant one prefers few."""

    part: Term
    low: int
    high: int | None = None
    """None: as often as it likes. Then a repetition after the first `low` takes a row at least."""
    greedy: bool = True

    def __str__(self) -> str:
        high = "" if self.high is None else self.high
        return f"{self.part}{{{self.low},{high}}}{'' if self.greedy else '?'}"


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Its rows belong to the match, but are not among those of ALL ROWS PER MATCH."""

    part: Term

    def __str__(self) -> str:
        return f"{{- {self.part} -}}"


@dataclass(frozen=True, slots=True)
class Anchor:
    """Takes no row: it stands before the first or after the last row of a partition."""

    at_end: bool

    def __str__(self) -> str:
        return "$" if self.at_end else "^"


Term = Variable | Concatenation | Alternation | Permutation | Quantified | Exclusion | Anchor


class RowsPerMatch(Enum):
    """Which rows a match gives."""

    ONE = "ONE ROW PER MATCH"
    ALL = "ALL ROWS PER MATCH"
    NOT_EMPTY = "ALL ROWS PER MATCH OMIT EMPTY MATCHES"
    UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"


def walk(term: Term) -> Iterator[Term]:
    """A term and all below it, in the order they are written."""
    yield term
    for part in parts_of(term):
        yield from walk(part)


def parts_of(term: Term) -> tuple[Term, ...]:
    """What it is directly made of."""
    match term:
        case Concatenation(parts) | Alternation(parts) | Permutation(parts):
            return parts
        case Quantified(part) | Exclusion(part):
            return (part,)
        case _:
            return ()


def variables_of(term: Term) -> tuple[str, ...]:
    """The variables, each once, in the order they are written."""
    return tuple(dict.fromkeys(part.name for part in walk(term) if isinstance(part, Variable)))


def can_be_empty(term: Term) -> bool:
    """Whether it may match without taking a row."""
    match term:
        case Variable():
            return False
        case Alternation(parts):
            return any(map(can_be_empty, parts))
        case Concatenation(parts) | Permutation(parts):
            return all(map(can_be_empty, parts))
        case Quantified(part, low):
            return low == 0 or can_be_empty(part)
        case Exclusion(part):
            return can_be_empty(part)
        case Anchor():
            return True


def always_taken(term: Term) -> frozenset[str]:
    """Variables that every match has rows of."""
    match term:
        case Variable(name):
            return frozenset((name,))
        case Alternation(parts):
            return frozenset.intersection(*map(always_taken, parts))
        case Concatenation(parts) | Permutation(parts):
            return frozenset().union(*map(always_taken, parts))
        case Quantified(part, low):
            return always_taken(part) if low else frozenset()
        case Exclusion(part):
            return always_taken(part)
        case Anchor():
            return frozenset()
