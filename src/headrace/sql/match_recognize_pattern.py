"""PATTERN, AFTER MATCH and WITHIN as a pattern of events, with the restrictions Flink has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.core import logical_types as lt
from headrace.core.patterns import (
    AfterMatch,
    Contiguity,
    EventPattern,
    Repetition,
    Skip,
    Stage,
)
from headrace.errors import InvalidQuery, Unsupported
from headrace.sql.constants import constant_of
from headrace.sql.nodes import MatchRecognize, PatternPart, position_of
from headrace.sql.position import did_you_mean
from headrace.sql.resolver import Resolver
from headrace.sql.to_unresolved import unresolved

_SKIPS = {
    "past_last": Skip.PAST_LAST_EVENT,
    "to_next": Skip.TO_NEXT,
    "to_first": Skip.TO_FIRST,
    "to_last": Skip.TO_LAST,
}
_KINDS = {
    "alternation": ("alternatives, A | B,", "one variable whose condition is the OR of both"),
    "permute": ("PERMUTE", None),
    "exclusion": ("rows left out, {- A -},", "leave the variable out of MEASURES"),
}


def event_pattern(node: MatchRecognize, resolver: Resolver) -> EventPattern:
    """The pattern without the conditions of its stages."""
    _check_clauses(node)
    written = list(_variables(node.args["pattern"]))
    stages = tuple(_stage(part) for part in written)
    _check_names(written)
    _check_order(written, stages)
    return EventPattern(
        stages, _within_ms(node, resolver), _after_match(node, [stage.name for stage in stages])
    )


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


def mandatory(pattern: EventPattern) -> frozenset[str]:
    """Variables that every match has rows of."""
    return frozenset(
        part.name for part in pattern.parts if isinstance(part, Stage) and not part.optional
    )


def _check_clauses(node: MatchRecognize) -> None:
    at = position_of(node)
    rows = str(node.args.get("rows") or "ONE ROW PER MATCH")
    if rows != "ONE ROW PER MATCH":
        raise Unsupported(
            f"{rows} cannot be had", origin=at,
            hint="use ONE ROW PER MATCH with what you need of the rows in MEASURES",
        )  # fmt: skip
    if any(node.args.get("anchors") or ()):
        raise Unsupported(
            "^ and $ cannot be had: a partition of a stream has no end", origin=at,
            hint="leave the anchors out of PATTERN",
        )  # fmt: skip


def _variables(part: PatternPart) -> Iterator[PatternPart]:
    """The variables of a pattern in their order."""
    kind = part.args["kind"]
    if kind == "variable":
        yield part
        return
    if kind != "sequence":
        what, hint = _KINDS[kind]
        raise Unsupported(
            f"{what} cannot be had in PATTERN", origin=position_of(part),
            hint=None if hint is None else f"write {hint}",
        )  # fmt: skip
    if part.args.get("low") is not None:
        raise Unsupported(
            "a group with a quantifier cannot be had in PATTERN", origin=position_of(part),
            hint="quantifiers are for single variables, such as A+ B*",
        )  # fmt: skip
    for inner in part.expressions:
        yield from _variables(inner)


def _stage(part: PatternPart) -> Stage:
    name = part.this.name
    low, high = part.args.get("low"), part.args.get("high")
    if low is None:
        return Stage(name)
    greedy = not part.args.get("reluctant")
    if high is not None and (high < low or high == 0):
        raise InvalidQuery(
            f"variable {name} may occur {low} to {high} times, which is never",
            origin=position_of(part), hint="the second number must be greater than 0 and the first",
        )  # fmt: skip
    if (low, high) == (0, 1):
        if not greedy:
            raise Unsupported(
                f"{name}?? cannot be had: optional variables are taken where they can be",
                origin=position_of(part), hint=f"write {name}?",
            )  # fmt: skip
        return Stage(name, optional=True)
    repetition = Repetition(max(low, 1), high, Contiguity.STRICT, greedy)
    return Stage(name, repetition=repetition, optional=low == 0)


def _check_names(parts: Sequence[PatternPart]) -> None:
    seen: set[str] = set()
    for part in parts:
        if part.this.name in seen:
            raise Unsupported(
                f"variable {part.this.name} is in PATTERN twice", origin=position_of(part),
                hint="give the second place a variable of its own with the same condition",
            )  # fmt: skip
        seen.add(part.this.name)


def _check_order(parts: Sequence[PatternPart], stages: Sequence[Stage]) -> None:
    if all(stage.optional for stage in stages):
        raise InvalidQuery(
            "the pattern matches without any row", origin=position_of(parts[0]),
            hint="at least one variable must occur: write A+ instead of A*",
        )  # fmt: skip
    for before, stage, part in zip(stages, stages[1:], parts[1:], strict=False):
        if _is_greedy(before) and stage.optional:
            raise InvalidQuery(
                f"optional variable {stage.name} comes after the greedy variable {before.name}",
                origin=position_of(part),
                hint=f"make {before.name} reluctant with a ? after its quantifier, or "
                f"{stage.name} not optional",
            )
    last = stages[-1]
    if _is_greedy(last):
        raise InvalidQuery(
            f"the last variable of PATTERN, {last.name}, is greedy: it is never known whether one "
            "more row belongs to the match",
            origin=position_of(parts[-1]),
            hint="end with a variable without quantifier, or make it reluctant with a ? after its "
            "quantifier",
        )


def _is_greedy(stage: Stage) -> bool:
    """Whether it depends on later rows where the variable ends."""
    repetition = stage.repetition
    return repetition is not None and repetition.greedy and (
        repetition.at_least != repetition.at_most or stage.optional
    )  # fmt: skip


def _after_match(node: MatchRecognize, variables: Sequence[str]) -> AfterMatch:
    skip = node.args.get("skip")
    if skip is None:
        return AfterMatch(Skip.TO_NEXT)
    kind = _SKIPS[skip.args["kind"]]
    if skip.this is None:
        return AfterMatch(kind)
    name = skip.this.name
    if name not in variables:
        raise InvalidQuery(
            f"PATTERN has no variable {name} to skip to", origin=position_of(skip.this),
            hint=did_you_mean(name, variables, f"its variables are {', '.join(variables)}"),
        )  # fmt: skip
    return AfterMatch(kind, name, must_exist=True)


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
