"""Functions that see all the records of a window."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Generic, TypeVar

from headrace.core.functions import Function

if TYPE_CHECKING:
    from headrace.core.functions import KeyedStateStore

__all__ = [
    "AllWindowFunction",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "ProcessAllWindowFunction",
    "ProcessWindowFunction",
    "WindowFunction",
]

IN = TypeVar("IN")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")
W = TypeVar("W")
W2 = TypeVar("W2")


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Turns the records of one key's window into results."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """The results of the window."""


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Turns the records of a window over the whole stream into results."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """The results of the window."""


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Turns the records of one key's window into results, with state and the clocks."""

    class Context(ABC, Generic[W2]):
        """Valid only while the call it was given to runs."""

        @abstractmethod
        def window(self) -> W2:
            """The window being evaluated."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The wall clock, in milliseconds since the epoch."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The event-time watermark, in milliseconds."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """State of this key and this window; `clear` must empty it."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """State of this key, shared by all its windows."""

    @abstractmethod
    def process(
        self, key: KEY, context: ProcessWindowFunction.Context[W], elements: Iterable[IN]
    ) -> Iterable[OUT]:
        """The results of the window."""

    def clear(self, context: ProcessWindowFunction.Context[W]) -> None:
        """Called when the window is dropped; empties its window state."""
        return


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Turns the records of a window over the whole stream into results, with state."""

    class Context(ABC, Generic[W2]):
        """Valid only while the call it was given to runs."""

        @abstractmethod
        def window(self) -> W2:
            """The window being evaluated."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """State of this window; `clear` must empty it."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """State shared by all windows."""

    @abstractmethod
    def process(
        self, context: ProcessAllWindowFunction.Context[W], elements: Iterable[IN]
    ) -> Iterable[OUT]:
        """The results of the window."""

    def clear(self, context: ProcessAllWindowFunction.Context[W]) -> None:
        """Called when the window is dropped; empties its window state."""
        return


class PassThroughWindowFunction(WindowFunction[IN, IN, KEY, W]):
    """Gives back the records of the window."""

    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        yield from inputs


class PassThroughAllWindowFunction(AllWindowFunction[IN, IN, W]):
    """Gives back the records of the window."""

    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        yield from inputs
