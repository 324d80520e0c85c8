"""A context for one trigger or assigner at a time: clocks, timers and state in plain dicts."""

from __future__ import annotations

from typing import Any

from headrace.core.metrics import MetricGroup
from headrace.core.state import ReducingStateDescriptor
from headrace.core.time import MIN_LONG_VALUE
from headrace.core.triggers import Trigger


class DictState:
    """Value or reducing state of the window its context is at."""

    def __init__(self, context: PretendedContext, descriptor: Any):
        self._context = context
        self._name = descriptor.name
        self._reduce = (
            descriptor.reducer() if isinstance(descriptor, ReducingStateDescriptor) else None
        )

    @property
    def _key(self) -> tuple[str, Any]:
        return self._name, self._context.window

    def get(self) -> Any:
        return self._context.held.get(self._key)

    value = get

    def add(self, value: Any) -> None:
        old = self.get()
        assert self._reduce is not None
        self.update(value if old is None else self._reduce(old, value))

    def update(self, value: Any) -> None:
        self._context.held[self._key] = value

    def clear(self) -> None:
        self._context.held.pop(self._key, None)


class PretendedContext(Trigger.OnMergeContext):
    """Set `window`, `watermark` and `clock`; look at `held` and the timers."""

    def __init__(self) -> None:
        self.window: Any = None
        self.merged: list[Any] = []
        self.watermark = MIN_LONG_VALUE
        self.clock = 0
        self.held: dict[tuple[str, Any], Any] = {}
        self.event_timers: set[int] = set()
        self.clock_timers: set[int] = set()

    def get_current_processing_time(self) -> int:
        return self.clock

    def get_current_watermark(self) -> int:
        return self.watermark

    def get_metric_group(self) -> MetricGroup:
        return MetricGroup()

    def register_event_time_timer(self, time: int) -> None:
        self.event_timers.add(time)

    def delete_event_time_timer(self, time: int) -> None:
        self.event_timers.discard(time)

    def register_processing_time_timer(self, time: int) -> None:
        self.clock_timers.add(time)

    def delete_processing_time_timer(self, time: int) -> None:
        self.clock_timers.discard(time)

    def get_partitioned_state(self, state_descriptor: Any) -> DictState:
        return DictState(self, state_descriptor)

    def merge_partitioned_state(self, state_descriptor: Any) -> None:
        for window in self.merged:
            found = self.held.pop((state_descriptor.name, window), None)
            if found is not None:
                self.get_partitioned_state(state_descriptor).add(found)

    # As an assigner's context.

    def get_runtime_context(self) -> PretendedContext:
        return self

    get_state = get_partitioned_state
