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
from headrace.core.functions import Function
from headrace.core.patterns import (
    Absence,
    Always,
    Condition,
    Contiguity,
    EventPattern,
    Group,
    Part,
    Repetition,
    Stage,
)
from headrace.core.time import Duration, Time
from headrace.core.windows import milliseconds, whole_number
from headrace.errors import HeadraceError, InvalidArgument, TypeMismatch, Unsupported
from headrace.operators.cep.boolean import both, either
from headrace.operators.cep.compiler import compiled
from headrace.origin import calling_origin

__all__ = ["GroupPattern", "Pattern", "WithinType"]

Amount = Duration | Time


class WithinType(Enum):
    """Between which events a time limit holds."""

    FIRST_AND_LAST = "first and last"
    PREVIOUS_AND_CURRENT = "previous and current"


class Pattern:
    """A sequence of stages; what a method says holds for the last one.

    Unlike a stream a pattern is changed by its methods, and returned for the next call.
    """

    def __init__(self, part: Part, previous: Pattern | None, after_match: AfterMatchSkipStrategy):
        self._part = part
        self._previous = previous
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

    # Quantifiers.

    def one_or_more(self, window_time: Amount | None = None) -> Self:
        """One event or more; `window_time` limits the time between two of them."""
        return self._repeat(1, None, window_time, "one_or_more")

    def times(
        self, from_times: int, to_times: int | None = None, window_time: Amount | None = None
    ) -> Self:
        """So many events, or between so many and so many."""
        least = whole_number(from_times, "the number given to times()")
        most = least if to_times is None else whole_number(to_times, "the number given to times()")
        if to_times is not None and least == 0 and most > 0:
            self._repeat(1, most, window_time, "times")
            return self.optional()
        return self._repeat(least, most, window_time, "times")

    def times_or_more(self, times: int, window_time: Amount | None = None) -> Self:
        """So many events or more."""
        least = whole_number(times, "the number given to times_or_more()")
        return self._repeat(least, None, window_time, "times_or_more")

    def _repeat(self, least: int, most: int | None, gap: Amount | None, method: str) -> Self:
        self._check_occurs(method)
        if self._part.repetition is not None:
            raise self._malformed("has a quantifier already", "Give each stage only one.")
        if least < 1 or (most is not None and most < least):
            shown = f"{least}" if most in (None, least) else f"{least} to {most}"
            raise InvalidArgument(
                f"{method}() was asked for {shown} events", origin=calling_origin(),
                hint="The first number must be at least 1, the second not below the first; for an "
                "event that may be missing use optional().",
            )  # fmt: skip
        limit = None if gap is None else milliseconds(gap, f"the time given to {method}()")
        self._part = replace(self._part, repetition=Repetition(least, most, gap_ms=limit))
        return self

    def optional(self) -> Self:
        """The stage may be missing."""
        self._check_occurs("optional")
        if self._part.optional:
            raise self._malformed("is optional already", "Call optional() only once.")
        before = self._previous._part.repetition if self._previous is not None else None
        if before is not None and before.greedy:
            raise self._malformed(
                "is optional right after a greedy stage, so where that one ends is not clear",
                "Leave out greedy() before it, or make this stage not optional.",
            )
        self._part = replace(self._part, optional=True)
        return self

    def greedy(self) -> Self:
        """The stage takes as many events as it can."""
        self._check_occurs("greedy")
        if isinstance(self._part, Group):
            raise self._malformed("is a group, and groups cannot be greedy",
                                  "Make stages in the group greedy.")  # fmt: skip
        repetition = self._repetition("greedy")
        if repetition.inner is Contiguity.ANY:
            raise self._malformed("allows combinations, so it cannot be greedy",
                                  "Leave out allow_combinations() or greedy().")  # fmt: skip
        self._part = replace(self._part, repetition=replace(repetition, greedy=True))
        return self

    def consecutive(self) -> Self:
        """Nothing may lie between the events of this stage."""
        return self._inside(Contiguity.STRICT, "consecutive")

    def allow_combinations(self) -> Self:
        """Events that fit may be passed over: all combinations of them are matches."""
        return self._inside(Contiguity.ANY, "allow_combinations")

    def _inside(self, contiguity: Contiguity, method: str) -> Self:
        repetition = self._repetition(method)
        if repetition.inner is not Contiguity.RELAXED:
            raise self._malformed(
                "has been told already what may lie between its events",
                "Call only one of consecutive() and allow_combinations(), and only once.",
            )
        if repetition.greedy and contiguity is Contiguity.ANY:
            raise self._malformed("is greedy, so it cannot allow combinations",
                                  "Leave out allow_combinations() or greedy().")  # fmt: skip
        self._part = replace(self._part, repetition=replace(repetition, inner=contiguity))
        return self

    def _repetition(self, method: str) -> Repetition:
        if self._part.repetition is None:
            raise self._malformed(f"takes a single event, to which {method}() does not apply",
                                  "Call one_or_more() or times(n) first.")  # fmt: skip
        return self._part.repetition

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

    def get_name(self) -> str:
        """The name of the last stage."""
        return self._part.name if isinstance(self._part, Stage) else "group"

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

    def _check_occurs(self, method: str) -> None:
        if isinstance(self._part, Stage) and self._part.absence is not None:
            raise self._malformed(f"must not occur, so {method}() does not apply to it",
                                  "Call it on a stage that occurs.")  # fmt: skip

    def _malformed(self, problem: str, hint: str) -> HeadraceError:
        return InvalidArgument(
            f"stage {self.get_name()!r} {problem}", origin=calling_origin(), hint=hint
        )

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
