"""Writing patterns: a chain of stages, each with conditions, a quantifier, a time limit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import Enum
from typing import Any, Self

from headrace.cep.after_match import AfterMatchSkipStrategy
from headrace.cep.conditions import AnyCondition, condition_of, of_type
from headrace.cep.drawing import Drawing, drawn
from headrace.cep.explaining import Explanation, explained
from headrace.cep.quantifiers import Amount, Quantifiers
from headrace.core.functions import Function
from headrace.core.patterns import (
    Absence,
    Always,
    Condition,
    Contiguity,
    EventPattern,
    Group,
    Part,
    Stage,
)
from headrace.core.windows import milliseconds
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported
from headrace.operators.cep.boolean import both, either
from headrace.operators.cep.compiler import compiled
from headrace.origin import calling_origin

__all__ = ["GroupPattern", "Pattern", "WithinType"]


class WithinType(Enum):
    """Between which events a time limit holds."""

    FIRST_AND_LAST = "first and last"
    PREVIOUS_AND_CURRENT = "previous and current"


class Pattern(Quantifiers):
    """A sequence of stages; what a method says holds for the last one.

    Unlike a stream a pattern is changed by its methods, and returned for the next call.
    """

    def __init__(self, part: Part, previous: Pattern | None, after_match: AfterMatchSkipStrategy):
        self._part = part
        self._previous: Pattern | None = previous
        self._after_match = after_match
        self._within: int | None = None
        self._functions: list[Function] = []

    # Stages and groups.

    @staticmethod
    def begin(
        first: str | Pattern, after_match_skip_strategy: AfterMatchSkipStrategy | None = None
    ) -> Pattern:
        """A pattern that begins with a stage of this name, or with a group."""
        skip = after_match_skip_strategy or AfterMatchSkipStrategy.no_skip()
        if not isinstance(skip, AfterMatchSkipStrategy):
            raise TypeMismatch(
                f"begin() needs an AfterMatchSkipStrategy, not {skip!r}", origin=calling_origin(),
                hint="For example AfterMatchSkipStrategy.skip_past_last_event().",
            )  # fmt: skip
        return _part(first, Contiguity.STRICT, None, skip, "begin")

    def next(self, name: str | Pattern) -> Pattern:
        """Then, as the very next event."""
        return self._then(name, Contiguity.STRICT)

    def followed_by(self, name: str | Pattern) -> Pattern:
        """Then, after events that do not fit."""
        return self._then(name, Contiguity.RELAXED)

    def followed_by_any(self, name: str | Pattern) -> Pattern:
        """Then, after any events: one that fits may also be passed over for a later one."""
        return self._then(name, Contiguity.ANY)

    def not_next(self, name: str) -> Pattern:
        """The very next event must not be one of this stage."""
        return self._absent(name, Absence.NEXT)

    def not_followed_by(self, name: str) -> Pattern:
        """No event of this stage before the next one, or, at the end, within the time limit."""
        return self._absent(name, Absence.BEFORE_NEXT_STAGE)

    def _then(self, name: str | Pattern, contiguity: Contiguity) -> Pattern:
        return _part(name, contiguity, self, self._after_match, contiguity.value)

    def _absent(self, name: str, absence: Absence) -> Pattern:
        if self._part.optional:
            raise Unsupported(
                f"{absence.value}({name!r}) after an optional stage: whether it is forbidden would "
                "depend on whether the stage before it occurred",
                origin=calling_origin(),
                hint="Use two patterns, one with the optional stage and one without it.",
            )
        stage = Stage(_name(name, absence.value), absence=absence)
        return Pattern(stage, self, self._after_match)

    # Conditions.

    def where(self, condition: AnyCondition) -> Self:
        """An event must meet this, and what was asked before."""
        return self._ask(both, condition, "where")

    def or_(self, condition: AnyCondition) -> Self:
        """An event may also meet this instead of what was asked before."""
        return self._ask(either, condition, "or_")

    def _ask(self, combined: Any, written: AnyCondition, method: str) -> Self:
        stage = self._stage(method)
        condition = self._condition(written, method)
        asked = stage.condition
        first = asked == Always()
        self._part = replace(stage, condition=condition if first else combined(asked, condition))
        return self

    def subtype(self, subtype_class: type) -> Self:
        """An event must be an instance of a class."""
        stage = self._stage("subtype")
        self._part = replace(stage, condition=both(stage.condition, of_type(subtype_class)))
        return self

    def until(self, condition: AnyCondition) -> Self:
        """The stage takes no more events once one meets this; that one is not taken either."""
        if self._part.until is not None:
            raise self._malformed("has an until condition already", "Only one can be given.")
        if self._part.repetition is None or self._part.repetition.at_most is not None:
            raise self._malformed(
                "does not go on for ever, so until() has nothing to end",
                "Call one_or_more() or times_or_more(n) first.",
            )
        self._part = replace(self._part, until=self._condition(condition, "until"))
        return self

    def _condition(self, written: AnyCondition, method: str) -> Condition:
        if isinstance(written, Function):
            self._functions.append(written)
        return condition_of(written, method)

    # Time.

    def within(
        self, window_time: Amount, within_type: WithinType = WithinType.FIRST_AND_LAST
    ) -> Self:
        """A match must not take longer than this, or this stage not come later than this after the
        event before it."""
        limit = milliseconds(window_time, "the time given to within()")
        if limit <= 0:
            raise InvalidArgument(f"within() was given {limit} ms", origin=calling_origin(),
                                  hint="Give a time longer than none.")  # fmt: skip
        if within_type is WithinType.FIRST_AND_LAST:
            self._within = limit
        else:
            self._part = replace(self._stage("within"), gap_ms=limit)
        return self

    # What it has become.

    def get_previous(self) -> Pattern | None:
        """The pattern without its last stage."""
        return self._previous

    def get_after_match_skip_strategy(self) -> AfterMatchSkipStrategy:
        return self._after_match

    def parts(self) -> tuple[Part, ...]:
        """The stages and groups, the first one first."""
        return tuple(pattern._part for pattern in self._chain())

    def plan(self) -> EventPattern:
        """The pattern as the compiler sees it; one that has no meaning is refused."""
        limits = [pattern._within for pattern in self._chain() if pattern._within is not None]
        plan = EventPattern(self.parts(), min(limits, default=None), self._after_match.plan)
        compiled(plan)
        return plan

    def functions(self) -> list[Function]:
        """The conditions that are to be opened and closed."""
        return [function for pattern in self._chain() for function in pattern._functions]

    def draw(self) -> Drawing:
        """The states and edges of the pattern: `.svg()`, or as text when printed."""
        plan = self.plan()
        return drawn(compiled(plan), plan)

    def explain(
        self, events: Iterable[Any], timestamps: Iterable[int] | None = None
    ) -> Explanation:
        """Match a few events here and now, and tell which event took which edge."""
        return explained(compiled(self.plan()), events, timestamps)

    def _chain(self) -> list[Pattern]:
        found: list[Pattern] = []
        pattern: Pattern | None = self
        while pattern is not None:
            found.append(pattern)
            pattern = pattern._previous
        return found[::-1]

    def _stage(self, method: str) -> Stage:
        if isinstance(self._part, Group):
            raise Unsupported(
                f"{method}() does not apply to a group", origin=calling_origin(),
                hint=f"Call {method}() on the stages of the group.",
            )  # fmt: skip
        return self._part

    def __repr__(self) -> str:
        return f"Pattern({' → '.join(pattern.get_name() for pattern in self._chain())})"


class GroupPattern(Pattern):
    """A pattern whose last part is a group of stages."""


def _part(
    what: str | Pattern, contiguity: Contiguity, previous: Pattern | None,
    skip: AfterMatchSkipStrategy, method: str,
) -> Pattern:  # fmt: skip
    if not isinstance(what, Pattern):
        return Pattern(Stage(_name(what, method), contiguity=contiguity), previous, skip)
    limits = [pattern._within for pattern in what._chain() if pattern._within is not None]
    group = GroupPattern(Group(what.parts(), contiguity), previous, skip)
    group._functions = what.functions()
    group._within = min(limits, default=None)
    return group


def _name(name: Any, method: str) -> str:
    if isinstance(name, str) and name:
        return name
    raise TypeMismatch(
        f"{method}() needs the name of a stage, or a pattern, not {name!r}",
        origin=calling_origin(), hint='For example Pattern.begin("start").',
    )  # fmt: skip
