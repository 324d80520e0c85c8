"""Triggers: when a window's results are emitted, and when its contents are dropped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.core.functions import ReduceFunction
from headrace.core.metrics import MetricGroup
from headrace.core.state import ReducingStateDescriptor, S, StateDescriptor
from headrace.core.time import MAX_LONG_VALUE, MIN_LONG_VALUE
from headrace.core.types import Types
from headrace.core.windows import (
    TimeWindow,
    Window,
    milliseconds,
    missing_timestamp,
    whole_number,
)
from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

if TYPE_CHECKING:
    from headrace.core.time import Time

T = TypeVar("T")
W = TypeVar("W")


class TriggerResult(Enum):
    """What happens to a window: whether it is evaluated, and whether its contents are dropped."""

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        return self.value[0]

    def is_purge(self) -> bool:
        return self.value[1]


CONTINUE, FIRE, FIRE_AND_PURGE = (
    TriggerResult.CONTINUE, TriggerResult.FIRE, TriggerResult.FIRE_AND_PURGE,
)  # fmt: skip


class Trigger(ABC, Generic[T, W]):
    """Decides when a window is evaluated.

    One instance serves all keys and windows, so what it must remember goes into the state its
    context offers, never into attributes. For windows that merge, `can_merge` must be true and
    `on_merge` must bring the state and timers of the merged windows together.
    """

    class TriggerContext(ABC):
        """Clocks, timers and state of one key and window."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The wall clock, in milliseconds since the epoch."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """The operator's metrics."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """How far event time has come."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Have `on_processing_time` called when the clock comes to `time`."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Have `on_event_time` called when the watermark comes to `time`."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Forget a processing-time timer, if it is set."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Forget an event-time timer, if it is set."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor[S]) -> S:
            """State of this key and window."""

    class OnMergeContext(TriggerContext):
        """What `on_merge` is given."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Bring the state of the merged windows into that of the resulting one."""

    @abstractmethod
    def on_element(
        self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """A record has been added to the window."""

    @abstractmethod
    def on_processing_time(
        self, time: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """A processing-time timer of the window is due."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """An event-time timer of the window is due."""

    def can_merge(self) -> bool:
        """Whether the trigger may be used with windows that merge."""
        return False

    @abstractmethod
    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Several windows have become `window`."""

    @abstractmethod
    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """The window is gone: delete its timers and state."""


class QuietTrigger(Trigger[Any, W]):
    """A trigger that does nothing where a subclass does not say otherwise."""

    def on_element(
        self, element: Any, timestamp: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return CONTINUE

    def on_processing_time(
        self, time: int, window: W, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return CONTINUE

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return CONTINUE

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        return

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        return

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class NeverTrigger(QuietTrigger[Window]):
    """Never fires; what global windows have unless told otherwise."""


class EventTimeTrigger(QuietTrigger[TimeWindow]):
    """Fires when the watermark passes the end of the window, and for each record after that."""

    @staticmethod
    def create() -> EventTimeTrigger:
        return EventTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        last = window.max_timestamp()
        if last <= ctx.get_current_watermark():
            return FIRE
        ctx.register_event_time_timer(last)
        return CONTINUE

    def on_event_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return FIRE if time == window.max_timestamp() else CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        # A window that is over already fires with the record that is just arriving.
        last = window.max_timestamp()
        if last > ctx.get_current_watermark():
            ctx.register_event_time_timer(last)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


class ProcessingTimeTrigger(QuietTrigger[TimeWindow]):
    """Fires when the clock passes the end of the window."""

    @staticmethod
    def create() -> ProcessingTimeTrigger:
        return ProcessingTimeTrigger()

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        ctx.register_processing_time_timer(window.max_timestamp())
        return CONTINUE

    def on_processing_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        last = window.max_timestamp()
        if last > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(last)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(window.max_timestamp())


class Min(ReduceFunction):
    """The smaller of two values."""

    def reduce(self, value1: Any, value2: Any) -> Any:
        return min(value1, value2)


_NEXT_FIRE = ReducingStateDescriptor("trigger:fire-time", Min(), Types.LONG())


class _Continuous(QuietTrigger[TimeWindow]):
    """Fires again and again; remembers when it fires next, by whichever clock."""

    def __init__(self, interval: int):
        self.interval = whole_number(interval, "the interval of a trigger")
        if self.interval <= 0:
            raise InvalidArgument(
                f"a trigger cannot fire every {self.interval} ms", origin=calling_origin(),
                hint="The interval must be longer than 0.",
            )  # fmt: skip

    def can_merge(self) -> bool:
        return True

    def _fired(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> bool:
        """Whether the timer at `time` is the one that was waited for; if so, sets the next."""
        state = ctx.get_partitioned_state(_NEXT_FIRE)
        if state.get() != time:
            return False
        state.clear()
        self.register_next_fire_timestamp(time, window, ctx, state)
        return True

    def register_next_fire_timestamp(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext,
        fire_timestamp_state: Any,
    ) -> None:  # fmt: skip
        """Wait for the next firing after `time`, at the latest the window's end."""
        following = self._following(time, window.max_timestamp(), ctx)
        fire_timestamp_state.add(following)
        self._register(ctx, following)

    def _following(self, time: int, last: int, ctx: Trigger.TriggerContext) -> int:
        following = time + self.interval
        # By the clock a window of event time may have ended long ago and still get records.
        return last if time < last < following else following

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(_NEXT_FIRE)
        following = ctx.get_partitioned_state(_NEXT_FIRE).get()
        if following is not None:
            self._register(ctx, following)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        state = ctx.get_partitioned_state(_NEXT_FIRE)
        following = state.get()
        if following is not None:
            self._delete(ctx, following)
            state.clear()

    @abstractmethod
    def _register(self, ctx: Trigger.TriggerContext, time: int) -> None: ...

    @abstractmethod
    def _delete(self, ctx: Trigger.TriggerContext, time: int) -> None: ...

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.interval})"


class ContinuousEventTimeTrigger(_Continuous):
    """Fires at every interval of event time, and at the end of the window.

    The global window has no end: when the input has one, it fires once more and no further.
    """

    @staticmethod
    def of(interval: Time) -> ContinuousEventTimeTrigger:
        return ContinuousEventTimeTrigger(milliseconds(interval, "the interval of a trigger"))

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        last = window.max_timestamp()
        if last <= ctx.get_current_watermark():
            return FIRE
        ctx.register_event_time_timer(last)
        state = ctx.get_partitioned_state(_NEXT_FIRE)
        if state.get() is None:
            if timestamp is None or timestamp == MIN_LONG_VALUE:
                raise missing_timestamp(element)
            begin = timestamp - timestamp % self.interval
            self.register_next_fire_timestamp(begin, window, ctx, state)
        return CONTINUE

    def on_event_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if time == window.max_timestamp() or self._fired(time, window, ctx):
            return FIRE
        return CONTINUE

    def _following(self, time: int, last: int, ctx: Trigger.TriggerContext) -> int:
        if last == MAX_LONG_VALUE and ctx.get_current_watermark() == MAX_LONG_VALUE:
            return last
        return min(time + self.interval, last)

    def _register(self, ctx: Trigger.TriggerContext, time: int) -> None:
        ctx.register_event_time_timer(time)

    def _delete(self, ctx: Trigger.TriggerContext, time: int) -> None:
        ctx.delete_event_time_timer(time)


class ContinuousProcessingTimeTrigger(_Continuous):
    """Fires at every interval of the clock."""

    @staticmethod
    def of(interval: Time) -> ContinuousProcessingTimeTrigger:
        return ContinuousProcessingTimeTrigger(milliseconds(interval, "the interval of a trigger"))

    def on_element(
        self, element: Any, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        state = ctx.get_partitioned_state(_NEXT_FIRE)
        if state.get() is None:
            now = ctx.get_current_processing_time()
            self.register_next_fire_timestamp(now - now % self.interval, window, ctx, state)
        return CONTINUE

    def on_processing_time(
        self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return FIRE if self._fired(time, window, ctx) else CONTINUE

    def _register(self, ctx: Trigger.TriggerContext, time: int) -> None:
        ctx.register_processing_time_timer(time)

    def _delete(self, ctx: Trigger.TriggerContext, time: int) -> None:
        ctx.delete_processing_time_timer(time)
