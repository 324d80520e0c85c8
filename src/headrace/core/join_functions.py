"""Functions that bring records of two streams together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, Self, TypeVar

from headrace.core.functions import Function

__all__ = [
    "CoGroupFunction",
    "FlatJoinFunction",
    "JoinFunction",
    "ProcessJoinFunction",
    "TaggedUnion",
]

IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")


class JoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Makes one result of each pair."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> OUT:
        """The result of a pair with equal keys."""


class FlatJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Makes any number of results of each pair."""

    @abstractmethod
    def join(self, first: IN1, second: IN2) -> Iterable[OUT] | None:
        """The results of a pair with equal keys."""


class CoGroupFunction(Function, Generic[IN1, IN2, OUT]):
    """Sees the records of both streams with one key in one window; one list may be empty."""

    @abstractmethod
    def co_group(self, first: list[IN1], second: list[IN2]) -> Iterable[OUT] | None:
        """The results of the two groups."""


class ProcessJoinFunction(Function, Generic[IN1, IN2, OUT]):
    """Sees each pair of an interval join, with the time of both records."""

    class Context(ABC):
        """Valid only while the call it was given to runs."""

        @abstractmethod
        def get_left_timestamp(self) -> int:
            """The event time of the left record."""

        @abstractmethod
        def get_right_timestamp(self) -> int:
            """The event time of the right record."""

        @abstractmethod
        def get_timestamp(self) -> int:
            """The event time of the results: the later of the two."""

    @abstractmethod
    def process_element(
        self, left: IN1, right: IN2, ctx: ProcessJoinFunction.Context
    ) -> Iterable[OUT] | None:
        """The results of a pair; yield `(tag, value)` for a side output."""


class TaggedUnion(tuple[int, Any]):
    """A record of one of two streams, and which one that is: what a window of a join holds.

    The assigner, trigger and evictor of such a window see it in place of the record.
    """

    __slots__ = ()

    def __new__(cls, side: int, value: Any) -> Self:
        return tuple.__new__(cls, (side, value))

    def __getnewargs__(self) -> tuple[int, Any]:
        return self[0], self[1]

    def is_one(self) -> bool:
        """Whether the record is of the first stream."""
        return self[0] == 0

    def is_two(self) -> bool:
        """Whether the record is of the second stream."""
        return self[0] == 1

    def get_one(self) -> Any:
        """The record, if it is of the first stream."""
        return self[1] if self[0] == 0 else None

    def get_two(self) -> Any:
        """The record, if it is of the second stream."""
        return self[1] if self[0] == 1 else None

    def __repr__(self) -> str:
        return f"TaggedUnion({'first' if self[0] == 0 else 'second'}, {self[1]!r})"
