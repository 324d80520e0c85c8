"""What user functions are given: their runtime context and the context of one record or timer."""

from __future__ import annotations

from typing import Any

from headrace.core.accumulators import Accumulator
from headrace.core.functions import DistributedCache, RuntimeContext
from headrace.core.metrics import MetricGroup
from headrace.core.operator import EVENT_TIME, PROCESSING_TIME, Context
from headrace.core.process_functions import (
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
)
from headrace.core.state import (
    IN,
    OUT,
    AggregatingState,
    AggregatingStateDescriptor,
    BroadcastState,
    K,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    S,
    StateDescriptor,
    T,
    V,
    ValueState,
    ValueStateDescriptor,
)
from headrace.core.timers import TimeDomain, TimerService
from headrace.errors import InvalidArgument, StateAccessError
from headrace.origin import calling_origin


class CachedFiles(DistributedCache):
    """Files that came along with the job."""

    def __init__(self, paths: dict[str, str]):
        self._paths = paths

    def get_file(self, name: str) -> str:
        if name not in self._paths:
            raise InvalidArgument(
                f"no cached file is called {name!r}; there are {sorted(self._paths)}",
                origin=calling_origin(), hint="Register it with env.register_cached_file().",
            )  # fmt: skip
        return self._paths[name]


class FunctionRuntimeContext(RuntimeContext):
    """The runtime context over an operator's own context."""

    def __init__(self, ctx: Context, keyed: bool):
        self._ctx = ctx
        self._keyed = keyed

    def _any_state(self, descriptor: StateDescriptor[S]) -> S:
        if not self._keyed:
            raise StateAccessError(
                f"state {descriptor.get_name()!r} was asked for on a stream that is not keyed",
                origin=calling_origin(),
                hint="Call key_by(...) before the function that uses keyed state.",
            )
        return self._ctx.keyed_state(descriptor)

    def get_state(self, state_descriptor: ValueStateDescriptor[T]) -> ValueState[T]:
        return self._any_state(state_descriptor)

    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        return self._any_state(state_descriptor)

    def get_map_state(self, state_descriptor: MapStateDescriptor[K, V]) -> MapState[K, V]:
        return self._any_state(state_descriptor)

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor[T]) -> ReducingState[T]:
        return self._any_state(state_descriptor)

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor[IN, OUT]
    ) -> AggregatingState[IN, OUT]:
        return self._any_state(state_descriptor)

    def get_task_name(self) -> str:
        return self._ctx.task.name

    def get_number_of_parallel_subtasks(self) -> int:
        return self._ctx.task.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self._ctx.task.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        return self._ctx.task.subtask

    def get_attempt_number(self) -> int:
        return self._ctx.task.attempt

    def get_task_name_with_subtasks(self) -> str:
        task = self._ctx.task
        return f"{task.name} ({task.subtask + 1}/{task.parallelism})#{task.attempt}"

    def get_job_parameter(self, key: str, default_value: str) -> str:
        return self._ctx.task.job_parameters.get(key, default_value)

    def get_metrics_group(self) -> MetricGroup:
        return self._ctx.metrics

    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        if name in self._ctx.accumulators:
            raise InvalidArgument(
                f"this function already has an accumulator called {name!r}",
                origin=calling_origin(),
            )
        self._ctx.accumulators[name] = accumulator

    def get_accumulator(self, name: str) -> Accumulator[Any, Any]:
        if name not in self._ctx.accumulators:
            raise InvalidArgument(
                f"no accumulator is called {name!r}", origin=calling_origin(),
                hint="Call add_accumulator(...) in open().",
            )  # fmt: skip
        found: Accumulator[Any, Any] = self._ctx.accumulators[name]
        return found

    def get_distributed_cache(self) -> DistributedCache:
        return CachedFiles(dict(self._ctx.task.cached_files))


class FunctionTimerService(TimerService):
    """Clocks for all functions, timers for keyed ones."""

    def __init__(self, ctx: Context, keyed: bool):
        self._ctx = ctx
        self._keyed = keyed

    def current_processing_time(self) -> int:
        return self._ctx.processing_time()

    def current_watermark(self) -> int:
        return self._ctx.watermark

    def register_processing_time_timer(self, timestamp: int) -> None:
        self._check(timestamp)
        if not self._ctx.clock_stopped:
            self._ctx.timers.register(PROCESSING_TIME, timestamp)

    def register_event_time_timer(self, timestamp: int) -> None:
        self._check(timestamp)
        self._ctx.timers.register(EVENT_TIME, timestamp)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self._check(timestamp)
        self._ctx.timers.delete(PROCESSING_TIME, timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._check(timestamp)
        self._ctx.timers.delete(EVENT_TIME, timestamp)

    def _check(self, timestamp: int) -> None:
        if not self._keyed:
            raise StateAccessError(
                "a timer was used on a stream that is not keyed", origin=calling_origin(),
                hint="Call key_by(...) before the function that sets timers.",
            )  # fmt: skip
        if not isinstance(timestamp, int):
            raise InvalidArgument(
                f"a timer needs a time in milliseconds, not {timestamp!r}",
                origin=calling_origin(),
                hint="ctx.timestamp() is None unless timestamps were assigned to the stream.",
            )


class RecordContext(
    ProcessFunction.Context, KeyedProcessFunction.OnTimerContext, CoProcessFunction.Context,
    KeyedCoProcessFunction.OnTimerContext, KeyedBroadcastProcessFunction.OnTimerContext,
    BroadcastProcessFunction.ReadOnlyContext,
):  # fmt: skip
    """The context of one record or timer; one object, moved from record to record."""

    def __init__(self, ctx: Context, keyed: bool):
        self._ctx = ctx
        self._scope = ctx.scope
        self._timer_service = FunctionTimerService(ctx, keyed)
        self.stamp: int | None = None
        self.domain: TimeDomain | None = None
        self.broadcast_names: tuple[str, ...] = ()

    def timestamp(self) -> int | None:
        return self.stamp

    def timer_service(self) -> TimerService:
        return self._timer_service

    def get_current_key(self) -> Any:
        return self._scope.key

    def current_processing_time(self) -> int:
        return self._ctx.processing_time()

    def current_watermark(self) -> int:
        return self._ctx.watermark

    def time_domain(self) -> TimeDomain:
        assert self.domain is not None
        return self.domain

    def get_broadcast_state(self, state_descriptor: Any) -> Any:
        return _ReadOnly(_broadcast_state(self._ctx, state_descriptor, self.broadcast_names))


class BroadcastContext(BroadcastProcessFunction.Context, KeyedBroadcastProcessFunction.Context):
    """The context of a broadcast record: its state may be written, and there is no key."""

    def __init__(self, ctx: Context, names: tuple[str, ...]):
        self._ctx = ctx
        self._names = names
        self.stamp: int | None = None

    def timestamp(self) -> int | None:
        return self.stamp

    def current_processing_time(self) -> int:
        return self._ctx.processing_time()

    def current_watermark(self) -> int:
        return self._ctx.watermark

    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor[K, V]
    ) -> BroadcastState[K, V]:
        return _broadcast_state(self._ctx, state_descriptor, self._names)


def _broadcast_state(
    ctx: Context, descriptor: MapStateDescriptor[K, V], names: tuple[str, ...]
) -> BroadcastState[K, V]:
    if descriptor.get_name() not in names:
        raise StateAccessError(
            f"no broadcast state is called {descriptor.get_name()!r}; there is {list(names)}",
            origin=calling_origin(),
            hint="Pass its descriptor to stream.broadcast(...).",
        )
    return ctx.broadcast_state(descriptor)


class _ReadOnly:
    """Broadcast state as the other side sees it."""

    _WRITES = frozenset({"put", "put_all", "remove", "clear", "__setitem__", "__delitem__"})

    def __init__(self, state: Any):
        self._state = state

    def __getattr__(self, name: str) -> Any:
        if name in self._WRITES:
            raise StateAccessError(
                "broadcast state can only be changed in process_broadcast_element",
                origin=calling_origin(),
            )
        return getattr(self._state, name)

    def __getitem__(self, key: Any) -> Any:
        return self._state[key]

    def __contains__(self, key: Any) -> bool:
        return key in self._state

    def __iter__(self) -> Any:
        return iter(self._state)
