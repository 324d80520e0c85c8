"""AFTER MATCH, WITHIN and SUBSET, and a PATTERN that Flink could have as a pattern of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.core import logical_types as lt
from headrace.core.patterns import (
    AfterMatch,
    Contiguity,
    EventPattern,
    Repetition,
    Skip,
    Stage,
)
from headrace.core.row_pattern_terms import Concatenation, Quantified, Term, Variable
from headrace.errors import InvalidQuery
from headrace.sql.constants import constant_of
from headrace.sql.nodes import MatchRecognize, position_of
from headrace.sql.position import did_you_mean
from headrace.sql.resolver import Resolver
from headrace.sql.to_unresolved import unresolved

_SKIPS = {
    "past_last": Skip.PAST_LAST_EVENT,
    "to_next": Skip.TO_NEXT,
    "to_first": Skip.TO_FIRST,
    "to_last": Skip.TO_LAST,
}


def event_pattern(
    node: MatchRecognize, resolver: Resolver, term: Term | None, after: AfterMatch
) -> EventPattern:
    """The pattern without the conditions of its stages; without a term it has no stages."""
    stages = () if term is None else tuple(_stages(term))
    return EventPattern(stages, _within_ms(node, resolver), after)


def _stages(term: Term) -> list[Stage]:
    if isinstance(term, Concatenation):
        return [stage for part in term.parts for stage in _stages(part)]
    if isinstance(term, Variable):
        return [Stage(term.name)]
    assert isinstance(term, Quantified)
    assert isinstance(term.part, Variable)
    name, low, high = term.part.name, term.low, term.high
    if (low, high) == (0, 1):
        return [Stage(name, optional=True)]
    repetition = Repetition(max(low, 1), high, Contiguity.STRICT, term.greedy)
    return [Stage(name, repetition=repetition, optional=low == 0)]


def subsets(node: MatchRecognize, variables: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """SUBSET U = (A, B): names that stand for several variables, in the pattern's order."""
    found: dict[str, tuple[str, ...]] = {}
    for each in node.args.get("subsets") or ():
        name = each.args["alias"].name
        if name in variables or name in found:
            raise InvalidQuery(
                f"SUBSET gives the name {name} once more", origin=position_of(each),
                hint="a subset needs a name that no variable and no other subset has",
            )  # fmt: skip
        for part in each.this.expressions:
            if part.name not in variables:
                raise InvalidQuery(
                    f"PATTERN has no variable {part.name}", origin=position_of(part),
                    hint=did_you_mean(part.name, variables, f"it has {', '.join(variables)}"),
                )  # fmt: skip
        parts = [part.name for part in each.this.expressions]
        found[name] = tuple(name for name in variables if name in parts)
    return found


def after_match(
    node: MatchRecognize, variables: Sequence[str], sets: Mapping[str, tuple[str, ...]],
    usual: Skip,
) -> tuple[AfterMatch, tuple[str, ...]]:  # fmt: skip
    """Where to go on after a match, and the variables that a name in it stands for."""
    skip = node.args.get("skip")
    if skip is None:
        return AfterMatch(usual), ()
    kind = _SKIPS[skip.args["kind"]]
    if skip.this is None:
        return AfterMatch(kind), ()
    name = skip.this.name
    if name not in variables and name not in sets:
        raise InvalidQuery(
            f"PATTERN has no variable {name} to skip to", origin=position_of(skip.this),
            hint=did_you_mean(name, variables, f"its variables are {', '.join(variables)}"),
        )  # fmt: skip
    return AfterMatch(kind, name, must_exist=True), sets.get(name, (name,))


def _within_ms(node: MatchRecognize, resolver: Resolver) -> int | None:
    within = node.args.get("within")
    if within is None:
        return None
    at = position_of(within)
    expression = resolver.resolve(unresolved(within))
    value = constant_of(expression, "the time of WITHIN", at)
    if not isinstance(expression.type, lt.DayTimeIntervalType) or value is None or value <= 0:
        raise InvalidQuery(
            f"WITHIN takes an interval of days to seconds, this is {expression.type}", origin=at,
            hint="write WITHIN INTERVAL '1' HOUR",
        )  # fmt: skip
    return int(value)
