"""Functions that patterns are made of, and those that are given their matches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

from headrace.core.functions import Function
from headrace.core.output_tag import OutputTag

IN = TypeVar("IN")
OUT = TypeVar("OUT")

Match = Mapping[str, list[Any]]
"""The events of a match by the name of their stage."""


class IterativeCondition(Function, Generic[IN]):
    """Decides on an event with regard to the events the match has already."""

    class Context(ABC):
        """Valid only while the call it was given to runs."""

        @abstractmethod
        def get_events_for_pattern(self, name: str) -> Iterable[Any]:
            """The events already taken by the stage of that name, in order."""

        @abstractmethod
        def timestamp(self) -> int:
            """The time of the event: its event time, or when it came."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """What the clock shows."""

    @abstractmethod
    def filter(self, value: IN, context: IterativeCondition.Context) -> bool:
        """Whether the event fits."""


class SimpleCondition(Function, Generic[IN]):
    """Decides on an event by itself."""

    @abstractmethod
    def filter(self, value: IN) -> bool:
        """Whether the event fits."""


class PatternProcessFunction(Function, Generic[IN, OUT]):
    """Is given each match; what it yields is emitted, `yield tag, value` to a side output."""

    class Context(ABC):
        """Valid only while the call it was given to runs."""

        @abstractmethod
        def timestamp(self) -> int:
            """The time of the match: that of its last event, or of its end."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """What the clock shows."""

        @abstractmethod
        def output(self, output_tag: OutputTag, value: Any) -> None:
            """Send something to a side output."""

    @abstractmethod
    def process_match(
        self, match: Match, ctx: PatternProcessFunction.Context
    ) -> Iterable[OUT] | None:
        """The results of a match."""


class TimedOutPartialMatchHandler(ABC):
    """A PatternProcessFunction that is also this one is told of matches that came to no end."""

    @abstractmethod
    def process_timed_out_match(
        self, match: Match, ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        """What to send to side outputs for the events a match had when its time was over."""


class PatternSelectFunction(Function, Generic[IN, OUT]):
    """Makes one result of each match."""

    @abstractmethod
    def select(self, match: Match) -> OUT:
        """The result of a match."""


class PatternFlatSelectFunction(Function, Generic[IN, OUT]):
    """Makes any number of results of each match."""

    @abstractmethod
    def flat_select(self, match: Match) -> Iterable[OUT] | None:
        """The results of a match."""


class PatternTimeoutFunction(Function, Generic[IN, OUT]):
    """Makes one result of each match that came to no end in time."""

    @abstractmethod
    def timeout(self, match: Match, timeout_timestamp: int) -> OUT:
        """The result for the events there were when time was over."""


class PatternFlatTimeoutFunction(Function, Generic[IN, OUT]):
    """Makes any number of results of each match that came to no end in time."""

    @abstractmethod
    def timeout(self, match: Match, timeout_timestamp: int) -> Iterable[OUT] | None:
        """The results for the events there were when time was over."""
