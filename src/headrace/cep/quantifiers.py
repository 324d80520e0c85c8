"""How often a stage of a pattern occurs, and what may lie between its events."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from headrace.core.patterns import Contiguity, Group, Part, Repetition, Stage
from headrace.core.time import Duration, Time
from headrace.core.windows import milliseconds, whole_number
from headrace.errors import HeadraceError, InvalidArgument
from headrace.origin import calling_origin

Amount = Duration | Time


class Quantifiers:
    """The part of `Pattern` that says how often its last stage occurs."""

    _part: Part
    _previous: Quantifiers | None

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

    def get_name(self) -> str:
        """The name of the last stage."""
        return self._part.name if isinstance(self._part, Stage) else "group"

    def _check_occurs(self, method: str) -> None:
        if isinstance(self._part, Stage) and self._part.absence is not None:
            raise self._malformed(f"must not occur, so {method}() does not apply to it",
                                  "Call it on a stage that occurs.")  # fmt: skip

    def _malformed(self, problem: str, hint: str) -> HeadraceError:
        return InvalidArgument(
            f"stage {self.get_name()!r} {problem}", origin=calling_origin(), hint=hint
        )
