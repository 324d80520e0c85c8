"""Row patterns matched straight from their definition: all ways in order of preference, the first
one counts. Nothing is shared with the matcher it is to judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Any, NamedTuple

from headrace.core.row_pattern_terms import (
    Alternation,
    Anchor,
    Concatenation,
    Exclusion,
    Permutation,
    Quantified,
    Term,
    Variable,
)


class Taken(NamedTuple):
    """A row of a match: its variable, its position, whether it is left out of the output."""

    variable: str
    at: int
    excluded: bool


Way = tuple[Taken, ...]
Holds = Callable[["Partition", Way, str, int], bool]
"""Whether the row at a position may be taken for a variable after these rows."""


@dataclass
class Partition:
    """The rows of one key, of which a match is looked for."""

    prices: list[int]
    conditions: dict[str, Holds]
    within: int | None = None
    """Rows are a second apart: how many seconds a match may last."""
    number: int = 1
    """Of the match that is looked for."""

    def price(self, at: int) -> int | None:
        return self.prices[at] if 0 <= at < len(self.prices) else None

    def ways(self, term: Term, way: Way, start: int, hidden: bool = False) -> Iterator[Way]:
        """All ways to go on after `way` with a term, the preferred ones first."""
        at = start + len(way)
        match term:
            case Variable(name):
                if self._may_take(name, way, at, start):
                    yield (*way, Taken(name, at, hidden))
            case Concatenation(()):
                yield way
            case Concatenation((first, *rest)):
                for longer in self.ways(first, way, start, hidden):
                    yield from self.ways(Concatenation(tuple(rest)), longer, start, hidden)
            case Alternation(parts):
                for part in parts:
                    yield from self.ways(part, way, start, hidden)
            case Permutation(parts):
                for order in permutations(parts):
                    yield from self.ways(Concatenation(order), way, start, hidden)
            case Quantified():
                yield from self._repeated(term, 0, way, start, hidden)
            case Exclusion(part):
                yield from self.ways(part, way, start, True)
            case Anchor(at_end):
                if at == (len(self.prices) if at_end else 0):
                    yield way

    def _may_take(self, name: str, way: Way, at: int, start: int) -> bool:
        if at >= len(self.prices) or (self.within is not None and at - start >= self.within):
            return False
        return self.conditions[name](self, way, name, at)

    def _repeated(
        self, term: Quantified, count: int, way: Way, start: int, hidden: bool
    ) -> Iterator[Way]:
        enough = count >= term.low
        if enough and not term.greedy:
            yield way
        if term.high is None or count < term.high:
            for longer in self.ways(term.part, way, start, hidden):
                # Without an upper bound, a repetition that is not needed must take a row.
                if len(longer) > len(way) or not enough or term.high is not None:
                    yield from self._repeated(term, count + 1, longer, start, hidden)
        if enough and term.greedy:
            yield way


class NowhereToSkip(Exception):
    """A match has no row of the variable that is skipped to, or begins with it."""


def matches(
    partition: Partition, term: Term, skip: str, target: str | None
) -> Iterator[tuple[int, Way | None]]:
    """Starting rows with their matches; None: the row is in no match."""
    start, mapped = 0, -1
    while start < len(partition.prices):
        way = next(partition.ways(term, (), start), None)
        if way is None:
            if start > mapped:
                yield start, None
            start += 1
            continue
        yield start, way
        partition.number += 1
        mapped = max([mapped, *(row.at for row in way)])
        start = _next_start(start, way, skip, target)


def _next_start(start: int, way: Way, skip: str, target: str | None) -> int:
    if not way or skip == "TO NEXT ROW":
        return start + 1
    if skip == "PAST LAST ROW":
        return start + len(way)
    found = [row.at for row in way if row.variable == target]
    if not found or found[0 if skip == "TO FIRST" else -1] == start:
        raise NowhereToSkip
    return found[0 if skip == "TO FIRST" else -1]


def rows_of(
    partition: Partition, term: Term, skip: str, target: str | None, output: str
) -> Iterator[tuple[Any, ...]]:
    """Price, CLASSIFIER(), MATCH_NUMBER(), COUNT(*), FINAL COUNT(*), COUNT(A.*), PREV(price)."""
    number = 0
    for start, way in matches(partition, term, skip, target):
        if way is None:
            if output.endswith("UNMATCHED ROWS"):
                yield (*[None] * 6, partition.prices[start])
            continue
        number += 1
        if not way:
            if not output.endswith("OMIT EMPTY MATCHES"):
                yield None, number, 0, 0, 0, None, partition.prices[start]
            continue
        for index, row in enumerate(way):
            if not row.excluded:
                own = sum(each.variable == "A" for each in way[: index + 1])
                yield (
                    row.variable, number, index + 1, len(way), own, partition.price(row.at - 1),
                    partition.prices[row.at],
                )  # fmt: skip


def sql(term: Term) -> str:
    """A term as PATTERN has it."""
    match term:
        case Variable(name):
            return name
        case Concatenation(parts):
            return f"({' '.join(map(sql, parts))})"
        case Alternation(parts):
            return f"({' | '.join(map(sql, parts))})"
        case Permutation(parts):
            return f"PERMUTE({', '.join(map(sql, parts))})"
        case Exclusion(part):
            return f"{{- {sql(part)} -}}"
        case Anchor(at_end):
            return "$" if at_end else "^"
        case Quantified(part, low, high, greedy):
            bounds = f"{{{low},{'' if high is None else high}}}"
            return f"({sql(part)}){bounds}{'' if greedy else '?'}"
