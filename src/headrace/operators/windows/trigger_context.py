"""What triggers, assigners and evictors are given."""

from __future__ import annotations

from typing import Any

from headrace.core.evictors import Evictor
from headrace.core.functions import RuntimeContext
from headrace.core.metrics import MetricGroup
from headrace.core.operator import EVENT_TIME, PROCESSING_TIME, Context
from headrace.core.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    ReducingStateDescriptor,
    S,
    StateDescriptor,
)
from headrace.core.triggers import Trigger
from headrace.core.windows import WindowAssigner
from headrace.errors import Unsupported
from headrace.operators.function_context import FunctionRuntimeContext
from headrace.origin import calling_origin


class WindowAssignerContext(WindowAssigner.WindowAssignerContext):
    """The clock, and state of the record's key."""

    def __init__(self, ctx: Context):
        self._ctx = ctx
        self._runtime = FunctionRuntimeContext(ctx, keyed=True)

    def get_current_processing_time(self) -> int:
        return self._ctx.processing_time()

    def get_runtime_context(self) -> RuntimeContext:
        return self._runtime


class EvictorContext(Evictor.EvictorContext):
    """The clocks and metrics."""

    def __init__(self, ctx: Context):
        self._ctx = ctx

    def get_current_processing_time(self) -> int:
        return self._ctx.processing_time()

    def get_metric_group(self) -> MetricGroup:
        return self._ctx.metrics

    def get_current_watermark(self) -> int:
        return self._ctx.watermark


class WindowTriggerContext(Trigger.OnMergeContext):
    """Timers and state of the pair of key and window that is in scope."""

    def __init__(self, ctx: Context):
        self._ctx = ctx
        self._timers = ctx.timers
        self._states: dict[str, Any] = {}
        self.merged: list[Any] = []
        """While windows merge: the pairs that go into the one in scope."""

    def get_current_processing_time(self) -> int:
        return self._ctx.processing_time()

    def get_metric_group(self) -> MetricGroup:
        return self._ctx.metrics

    def get_current_watermark(self) -> int:
        return self._ctx.watermark

    def register_processing_time_timer(self, time: int) -> None:
        if not self._ctx.clock_stopped:
            self._timers.register(PROCESSING_TIME, time)

    def register_event_time_timer(self, time: int) -> None:
        self._timers.register(EVENT_TIME, time)

    def delete_processing_time_timer(self, time: int) -> None:
        self._timers.delete(PROCESSING_TIME, time)

    def delete_event_time_timer(self, time: int) -> None:
        self._timers.delete(EVENT_TIME, time)

    def get_partitioned_state(self, state_descriptor: StateDescriptor[S]) -> S:
        name = state_descriptor.name
        if name not in self._states:  # asked for with every record
            self._states[name] = self._ctx.window_state(state_descriptor)
        state: S = self._states[name]
        return state

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        state: Any = self.get_partitioned_state(state_descriptor)
        scope = self._ctx.window_scope
        target = scope.key
        for pair in self.merged:
            scope.key = pair
            found = _take(state, state_descriptor)
            scope.key = target
            for item in found:
                _put(state, state_descriptor, item)


def _take(state: Any, descriptor: StateDescriptor) -> list[Any]:
    """The contents of a state that can be merged, which is empty then."""
    match descriptor:
        case ListStateDescriptor():
            found = list(state.get())
        case ReducingStateDescriptor():
            found = [state.get()]
        case AggregatingStateDescriptor():
            found = [state.accumulator()]
        case _:
            raise Unsupported(
                f"the {descriptor.kind} state {descriptor.name!r} of a trigger cannot be merged",
                origin=calling_origin(),
                hint="Keep what must survive a merge in list, reducing or aggregating state.",
            )
    state.clear()
    return [item for item in found if item is not None]


def _put(state: Any, descriptor: StateDescriptor, item: Any) -> None:
    if isinstance(descriptor, AggregatingStateDescriptor):
        state.add_accumulator(item)
    else:
        state.add(item)
