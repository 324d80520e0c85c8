"""What a window holds while it is open, and how two windows' contents become one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.core.functions import AggregateFunction
from headrace.core.isolation import isolated
from headrace.core.operator import Context, KeyScope
from headrace.core.state import ListState, ListStateDescriptor, ValueState, ValueStateDescriptor
from headrace.core.types import Types
from headrace.errors import TypeMismatch

INTERNAL = "headrace:"
"""Before the names of the operators' own state, since window functions name theirs freely."""
NAME = INTERNAL + "window-contents"
_TIMED = Types.TUPLE([Types.PICKLED_BYTE_ARRAY(), Types.LONG()])


def something(kept: Any, call: str) -> Any:
    """What a user's method made of the contents; None, which most often is a `return` that was
    forgotten, would be taken for an empty window."""
    if kept is None:
        raise TypeMismatch(
            f"{call}() returned None, so the contents of a window would be lost",
            hint=f"Let {call}() return the new accumulator, or the reduced record.",
        )
    return kept


class Kept(ABC):
    """The contents of the window in scope, over state."""

    @abstractmethod
    def add(self, value: Any, stamp: int | None) -> None:
        """Take a record in."""

    @abstractmethod
    def get(self) -> Any:
        """What the window function is given; None when there is nothing."""

    @abstractmethod
    def clear(self) -> None:
        """Forget everything."""

    @abstractmethod
    def merge(self, scope: KeyScope, target: Any, sources: list[Any]) -> None:
        """Bring the contents of the pairs `sources` into that of the pair `target`."""


class Contents(ABC):
    """How records are kept: folded into one value as they come, or all of them."""

    @abstractmethod
    def open(self, ctx: Context) -> Kept:
        """The contents over state."""

    def first(self, value: Any) -> Any:
        """What a window's first record is kept as."""
        return value

    @property
    @abstractmethod
    def fold(self) -> Callable[[Any, Any], Any] | None:
        """Gives what is kept and a record, what is kept then; None if all records are kept."""

    def result(self, kept: Any) -> Any:
        """What the window function is given."""
        return kept

    call = "add"
    """The user's method that `first` and `fold` call."""

    def result_of_all(self, values: list[Any]) -> Any:
        """The same, for records that were all kept, as an evictor needs them."""
        if not values:
            return None
        first = values[0]
        kept = self.first(isolated(first))  # the window keeps its records for the next time
        for value in values[1:]:
            assert self.fold is not None
            kept = something(self.fold(kept, value), self.call)
        return self.result(kept)


class Folding(Contents):
    """Contents that are one value, folded as records come."""

    @property
    @abstractmethod
    def fold(self) -> Callable[[Any, Any], Any]: ...

    @abstractmethod
    def combine(self, one: Any, other: Any) -> Any:
        """What is kept of two windows that become one."""

    def open(self, ctx: Context) -> Kept:
        return Folded(self, ctx)


@dataclass(frozen=True)
class Reducing(Folding):
    """Records are reduced to one of their kind."""

    reduce: Callable[[Any, Any], Any]
    call = "reduce"

    @property
    def fold(self) -> Callable[[Any, Any], Any]:
        return self.reduce

    def combine(self, one: Any, other: Any) -> Any:
        return something(self.reduce(one, other), "reduce")


@dataclass(frozen=True)
class Aggregating(Folding):
    """Records are added to an accumulator."""

    function: AggregateFunction

    @property
    def fold(self) -> Callable[[Any, Any], Any]:
        add = self.function.add
        return lambda accumulator, value: add(value, accumulator)

    def first(self, value: Any) -> Any:
        return self.function.add(value, self.function.create_accumulator())

    def combine(self, one: Any, other: Any) -> Any:
        return something(self.function.merge(one, other), "merge")

    def result(self, kept: Any) -> Any:
        return self.function.get_result(kept)

    def result_of_all(self, values: list[Any]) -> Any:
        if not values:  # all were evicted
            return self.function.get_result(self.function.create_accumulator())
        return super().result_of_all(values)


@dataclass(frozen=True)
class Listing(Contents):
    """All records are kept."""

    @property
    def fold(self) -> None:
        return None

    def result_of_all(self, values: list[Any]) -> Any:
        return values

    def open(self, ctx: Context) -> Kept:
        return Listed(ctx, timed=False)


class Folded(Kept):
    """One value: what the records so far come to."""

    def __init__(self, contents: Folding, ctx: Context):
        self.state: ValueState[Any] = ctx.window_state(ValueStateDescriptor(NAME))
        self._contents = contents
        self._fold = contents.fold

    def add(self, value: Any, stamp: int | None) -> None:
        kept = self.state.value()
        new = self._contents.first(value) if kept is None else self._fold(kept, value)
        self.state.update(something(new, self._contents.call))

    def get(self) -> Any:
        kept = self.state.value()
        return None if kept is None else self._contents.result(kept)

    def clear(self) -> None:
        self.state.clear()

    def merge(self, scope: KeyScope, target: Any, sources: list[Any]) -> None:
        found = []
        for pair in (target, *sources):
            scope.key = pair
            kept = self.state.value()
            if kept is not None:
                found.append(kept)
                self.state.clear()
        if found:
            merged = found[0]
            for kept in found[1:]:
                merged = self._contents.combine(merged, kept)
            scope.key = target
            self.state.update(merged)


class Listed(Kept):
    """Every record; with its timestamp if `timed`."""

    def __init__(self, ctx: Context, *, timed: bool):
        self.state: ListState[Any] = ctx.window_state(
            ListStateDescriptor(NAME, _TIMED if timed else None)
        )
        self._timed = timed

    def add(self, value: Any, stamp: int | None) -> None:
        self.state.add((value, stamp) if self._timed else value)

    def get(self) -> list[Any] | None:
        return list(self.state.get() or ()) or None

    def put_back(self, records: list[Any]) -> None:
        self.state.update(records)

    def clear(self) -> None:
        self.state.clear()

    def merge(self, scope: KeyScope, target: Any, sources: list[Any]) -> None:
        for pair in sources:
            scope.key = pair
            records = list(self.state.get() or ())
            self.state.clear()
            scope.key = target
            self.state.add_all(records)
