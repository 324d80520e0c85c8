"""Where matching goes on after a match."""

from __future__ import annotations

from headrace.core.patterns import AfterMatch, Skip
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

__all__ = ["AfterMatchSkipStrategy"]


class AfterMatchSkipStrategy:
    """Which other matches are given up because of one that was found."""

    def __init__(self, plan: AfterMatch):
        self.plan = plan

    @staticmethod
    def no_skip() -> AfterMatchSkipStrategy:
        """All matches are wanted."""
        return AfterMatchSkipStrategy(AfterMatch(Skip.NO_SKIP))

    @staticmethod
    def skip_to_next() -> AfterMatchSkipStrategy:
        """No other match that begins with the same event."""
        return AfterMatchSkipStrategy(AfterMatch(Skip.TO_NEXT))

    @staticmethod
    def skip_past_last_event() -> AfterMatchSkipStrategy:
        """No other match that begins between the first and the last event of this one."""
        return AfterMatchSkipStrategy(AfterMatch(Skip.PAST_LAST_EVENT))

    @staticmethod
    def skip_to_first(pattern_name: str) -> AfterMatchSkipStrategy:
        """No other match that begins before the first event of a stage of this one."""
        return AfterMatchSkipStrategy(AfterMatch(Skip.TO_FIRST, pattern_name))

    @staticmethod
    def skip_to_last(pattern_name: str) -> AfterMatchSkipStrategy:
        """No other match that begins before the last event of a stage of this one."""
        return AfterMatchSkipStrategy(AfterMatch(Skip.TO_LAST, pattern_name))

    def throw_exception_on_miss(self) -> AfterMatchSkipStrategy:
        """A match without an event to skip to, or one it begins with, is an error."""
        if self.plan.stage is None:
            raise InvalidArgument(
                f"{self!r} skips to no stage, so none can be missing", origin=calling_origin(),
                hint="throw_exception_on_miss() is for skip_to_first and skip_to_last.",
            )  # fmt: skip
        return AfterMatchSkipStrategy(AfterMatch(self.plan.skip, self.plan.stage, True))

    def is_skip_strategy(self) -> bool:
        """Whether it gives up any match at all."""
        return self.plan.skip is not Skip.NO_SKIP

    def get_pattern_name(self) -> str | None:
        """The stage it skips to."""
        return self.plan.stage

    def __repr__(self) -> str:
        stage = "" if self.plan.stage is None else f", {self.plan.stage!r}"
        return f"AfterMatchSkipStrategy({self.plan.skip.value}{stage})"
