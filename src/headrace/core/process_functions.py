"""The process functions: records with their timestamp, their key, timers and side outputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.core.functions import Function

if TYPE_CHECKING:
    from headrace.core.state import (
        BroadcastState,
        K,
        MapStateDescriptor,
        ReadOnlyBroadcastState,
        V,
    )
    from headrace.core.timers import TimeDomain, TimerService

__all__ = [
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "CoProcessFunction",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "ProcessFunction",
]

KEY = TypeVar("KEY")
IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")

# What a process method returns: records, `(OutputTag, record)` pairs, or nothing.
_Results = Iterable[Any] | None


class ProcessFunction(Function):
    """Sees each record of a stream with its timestamp."""

    class Context(ABC):
        """Valid only while the call it was given to runs."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """The clocks; timers need a keyed stream."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """The record's event timestamp, or None if it has none."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> _Results:
        """Results for one record; yield `(tag, value)` for a side output."""


class KeyedProcessFunction(Function):
    """Sees each record of a keyed stream, with state and timers of its key."""

    class Context(ABC):
        """Valid only while the call it was given to runs."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """The key of the record or timer."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """The clocks, and the timers of the key."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """The event timestamp of the record or timer, or None if it has none."""

    class OnTimerContext(Context):
        """The context of a timer that fired."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """The clock of the timer."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> _Results:
        """Results for one record; yield `(tag, value)` for a side output."""

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> _Results:
        """Results for a timer that fired."""
        return None


class CoProcessFunction(Function):
    """Sees the records of two connected streams with their timestamps."""

    class Context(ABC):
        """Valid only while the call it was given to runs."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """The clocks; timers need keyed streams."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """The record's event timestamp, or None if it has none."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> _Results:
        """Results for a record of the first stream."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> _Results:
        """Results for a record of the second stream."""


class KeyedCoProcessFunction(Function):
    """Sees the records of two connected keyed streams; both share state and timers of a key."""

    class Context(ABC):
        """Valid only while the call it was given to runs."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """The key of the record or timer."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """The clocks, and the timers of the key."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """The event timestamp of the record or timer, or None if it has none."""

    class OnTimerContext(Context):
        """The context of a timer that fired."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """The clock of the timer."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> _Results:
        """Results for a record of the first stream."""

    @abstractmethod
    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> _Results:
        """Results for a record of the second stream."""

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> _Results:
        """Results for a timer that fired."""
        return None


class BaseBroadcastProcessFunction(Function):
    """What the two broadcast process functions share: their contexts."""

    class BaseContext(ABC):
        """Valid only while the call it was given to runs."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """The record's event timestamp, or None if it has none."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The wall clock, in milliseconds since the epoch."""

        @abstractmethod
        def current_watermark(self) -> int:
            """The event-time watermark, in milliseconds."""

    class Context(BaseContext):
        """The broadcast side: it may change broadcast state."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor[K, V]
        ) -> BroadcastState[K, V]:
            """The broadcast state; every instance must change it alike."""

    class ReadOnlyContext(BaseContext):
        """The other side: it may read broadcast state."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor[K, V]
        ) -> ReadOnlyBroadcastState[K, V]:
            """The broadcast state, for reading."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """Joins a stream with one that every instance receives whole."""

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """The broadcast side."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """The other side."""

    @abstractmethod
    def process_element(
        self, value: IN1, ctx: BroadcastProcessFunction.ReadOnlyContext
    ) -> Iterable[OUT] | None:
        """Results for a record of the stream that is not broadcast."""

    @abstractmethod
    def process_broadcast_element(
        self, value: IN2, ctx: BroadcastProcessFunction.Context
    ) -> Iterable[OUT] | None:
        """Results for a broadcast record, which every instance sees."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """Joins a keyed stream with one that every instance receives whole."""

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """The broadcast side, where there is no current key."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """The keyed side."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """The clocks, and the timers of the key."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """The key of the record or timer."""

    class OnTimerContext(ReadOnlyContext, ABC):
        """The context of a timer that fired."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """The clock of the timer."""

    @abstractmethod
    def process_element(
        self, value: IN1, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterable[OUT] | None:
        """Results for a record of the keyed stream."""

    @abstractmethod
    def process_broadcast_element(
        self, value: IN2, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Iterable[OUT] | None:
        """Results for a broadcast record, which every instance sees."""

    def on_timer(
        self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext
    ) -> Iterable[OUT] | None:
        """Results for a timer that fired."""
        return None
