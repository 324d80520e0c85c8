"""Triggers that look at the records of a window, or at another trigger."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.core.isolation import isolated
from headrace.core.state import ReducingStateDescriptor, ValueStateDescriptor
from headrace.core.triggers import (
    CONTINUE,
    FIRE,
    FIRE_AND_PURGE,
    QuietTrigger,
    Trigger,
    TriggerResult,
)
from headrace.core.types import TypeInformation, Types
from headrace.core.windows import Window, milliseconds, whole_number
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.origin import calling_origin

if TYPE_CHECKING:
    from headrace.core.time import Time


def _sum(one: int, two: int) -> int:
    return one + two


_COUNT = ReducingStateDescriptor("trigger:count", _sum, Types.LONG())
_TIMEOUT = ValueStateDescriptor("trigger:timeout", Types.LONG())


class CountTrigger(QuietTrigger[Window]):
    """Fires for every so many records of a window."""

    def __init__(self, window_size: int):
        self._window_size = whole_number(window_size, "the size of a CountTrigger")
        if window_size <= 0:
            raise InvalidArgument(
                f"a CountTrigger cannot fire for every {window_size} records",
                origin=calling_origin(), hint="The count must be at least 1.",
            )  # fmt: skip

    @staticmethod
    def of(window_size: int) -> CountTrigger:
        return CountTrigger(window_size)

    def on_element(
        self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        count = ctx.get_partitioned_state(_COUNT)
        count.add(1)
        if (count.get() or 0) < self._window_size:
            return CONTINUE
        count.clear()
        return FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(_COUNT)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(_COUNT).clear()

    def __repr__(self) -> str:
        return f"CountTrigger({self._window_size})"


class DeltaTrigger(QuietTrigger[Window]):
    """Fires when a record is further than `threshold` from the one that fired before it."""

    def __init__(
        self, threshold: float, delta_function: Callable[[Any, Any], float],
        state_type: TypeInformation | None = None,
    ):  # fmt: skip
        check_delta(threshold, delta_function, "DeltaTrigger")
        self._threshold = threshold
        self._delta = delta_function
        self._last = ValueStateDescriptor("trigger:last-element", state_type)

    @staticmethod
    def of(
        threshold: float, delta_function: Callable[[Any, Any], float],
        state_type: TypeInformation | None = None,
    ) -> DeltaTrigger:  # fmt: skip
        """`delta_function(old, new)` gives the distance of two records."""
        return DeltaTrigger(threshold, delta_function, state_type)

    def on_element(
        self, element: Any, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        last = ctx.get_partitioned_state(self._last)
        old = last.value()
        # Isolated, for the window may change its record while it reduces.
        if old is None:
            last.update(isolated(element))
        elif self._delta(old, element) > self._threshold:
            last.update(isolated(element))
            return FIRE
        return CONTINUE

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self._last).clear()

    def __repr__(self) -> str:
        return f"DeltaTrigger({self._threshold})"


class PurgingTrigger(Trigger[Any, Any]):
    """Drops a window's contents whenever another trigger fires."""

    def __init__(self, nested_trigger: Trigger[Any, Any]):
        self.nested_trigger = nested(nested_trigger, "PurgingTrigger")

    @staticmethod
    def of(nested_trigger: Trigger[Any, Any]) -> PurgingTrigger:
        return PurgingTrigger(nested_trigger)

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def on_processing_time(
        self, time: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def can_merge(self) -> bool:
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Any, ctx: Trigger.OnMergeContext) -> None:
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        self.nested_trigger.clear(window, ctx)

    def __repr__(self) -> str:
        return f"PurgingTrigger({self.nested_trigger!r})"


class ProcessingTimeoutTrigger(QuietTrigger[Any]):
    """Fires as another trigger does, or when the clock has run for a while since a record came.

    `reset_timer_on_new_record` counts from the last record instead of the first;
    `should_clear_on_timeout` lets the other trigger start afresh after a timeout.
    """

    def __init__(
        self, nested_trigger: Trigger[Any, Any], interval: int,
        reset_timer_on_new_record: bool = False, should_clear_on_timeout: bool = True,
    ):  # fmt: skip
        self._nested = nested(nested_trigger, "ProcessingTimeoutTrigger")
        self._interval = whole_number(interval, "the timeout of a trigger")
        if self._interval <= 0:
            raise InvalidArgument(
                f"a trigger cannot time out after {self._interval} ms", origin=calling_origin(),
                hint="The timeout must be longer than 0.",
            )  # fmt: skip
        self._reset = reset_timer_on_new_record
        self._clears = should_clear_on_timeout

    @staticmethod
    def of(
        nested_trigger: Trigger[Any, Any], timeout: Time,
        reset_timer_on_new_record: bool = False, should_clear_on_timeout: bool = True,
    ) -> ProcessingTimeoutTrigger:  # fmt: skip
        return ProcessingTimeoutTrigger(
            nested_trigger, milliseconds(timeout, "the timeout of a trigger"),
            reset_timer_on_new_record, should_clear_on_timeout,
        )  # fmt: skip

    def on_element(
        self, element: Any, timestamp: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        result = self._nested.on_element(element, timestamp, window, ctx)
        if result.is_fire():
            self.clear(window, ctx)
            return result
        timeout = ctx.get_partitioned_state(_TIMEOUT)
        due = timeout.value()
        if due is not None and self._reset:
            ctx.delete_processing_time_timer(due)
            due = None
        if due is None:
            due = ctx.get_current_processing_time() + self._interval
            timeout.update(due)
            ctx.register_processing_time_timer(due)
        return result

    def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._timed_out(self._nested.on_event_time(time, window, ctx), window, ctx)

    def on_processing_time(
        self, time: int, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return self._timed_out(self._nested.on_processing_time(time, window, ctx), window, ctx)

    def _timed_out(
        self, result: TriggerResult, window: Any, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if self._clears:
            self.clear(window, ctx)
        return FIRE_AND_PURGE if result.is_purge() else FIRE

    def clear(self, window: Any, ctx: Trigger.TriggerContext) -> None:
        timeout = ctx.get_partitioned_state(_TIMEOUT)
        due = timeout.value()
        if due is not None:
            ctx.delete_processing_time_timer(due)
            timeout.clear()
        self._nested.clear(window, ctx)

    def __repr__(self) -> str:
        return f"ProcessingTimeoutTrigger({self._nested!r}, {self._interval})"


def _purging(result: TriggerResult) -> TriggerResult:
    return FIRE_AND_PURGE if result is FIRE else result


def nested(trigger: Any, outer: str) -> Trigger[Any, Any]:
    """A trigger inside another one, checked."""
    if isinstance(trigger, Trigger):
        return trigger
    raise TypeMismatch(
        f"{outer} needs a Trigger inside, not {trigger!r}", origin=calling_origin(),
        hint=f"For instance {outer}.of(CountTrigger.of(10), ...).",
    )  # fmt: skip


def check_delta(threshold: Any, delta_function: Any, what: str) -> None:
    """Check what a DeltaTrigger or DeltaEvictor is made of."""
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise TypeMismatch(
            f"the threshold of a {what} is a number, not {threshold!r}", origin=calling_origin(),
            hint=f"Write {what}.of(threshold, function).",
        )  # fmt: skip
    if not callable(delta_function):
        raise TypeMismatch(
            f"a {what} needs a function of two records, not {delta_function!r}",
            origin=calling_origin(), hint="For instance lambda old, new: new[1] - old[1].",
        )  # fmt: skip
