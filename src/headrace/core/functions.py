"""The base of every user function, and the functions that see one record at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from headrace.errors import Unsupported
from headrace.origin import calling_origin

if TYPE_CHECKING:
    from headrace.core.accumulators import Accumulator
    from headrace.core.metrics import MetricGroup
    from headrace.core.state import (
        IN,
        OUT,
        AggregatingState,
        AggregatingStateDescriptor,
        K,
        ListState,
        ListStateDescriptor,
        MapState,
        MapStateDescriptor,
        ReducingState,
        ReducingStateDescriptor,
        T,
        V,
        ValueState,
        ValueStateDescriptor,
    )

__all__ = [
    "AggregateFunction",
    "CoFlatMapFunction",
    "CoMapFunction",
    "DistributedCache",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "KeySelector",
    "KeyedStateStore",
    "MapFunction",
    "NullByteKeySelector",
    "Partitioner",
    "ReduceFunction",
    "RuntimeContext",
    "SourceFunction",
]


class KeyedStateStore(ABC):
    """Gives out state that belongs to the key being processed."""

    @abstractmethod
    def get_state(self, state_descriptor: ValueStateDescriptor[T]) -> ValueState[T]:
        """One value per key."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        """A list per key."""

    @abstractmethod
    def get_map_state(self, state_descriptor: MapStateDescriptor[K, V]) -> MapState[K, V]:
        """A map per key."""

    @abstractmethod
    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor[T]) -> ReducingState[T]:
        """One value per key, into which each added value is reduced."""

    @abstractmethod
    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor[IN, OUT]
    ) -> AggregatingState[IN, OUT]:
        """An accumulator per key, read as the aggregate function's result."""


class DistributedCache(ABC):
    """The files registered with the environment, as the task sees them."""

    @abstractmethod
    def get_file(self, name: str) -> str:
        """The local path of the file registered under `name`."""


class RuntimeContext(KeyedStateStore):
    """What a function may know of the task that runs it; each parallel instance has its own."""

    @abstractmethod
    def get_task_name(self) -> str:
        """The name of the task."""

    @abstractmethod
    def get_number_of_parallel_subtasks(self) -> int:
        """The parallelism of the task."""

    @abstractmethod
    def get_max_number_of_parallel_subtasks(self) -> int:
        """The number of key groups, the most the task can ever be spread over."""

    @abstractmethod
    def get_index_of_this_subtask(self) -> int:
        """The number of this instance, from 0."""

    @abstractmethod
    def get_attempt_number(self) -> int:
        """How often this instance was started before."""

    @abstractmethod
    def get_task_name_with_subtasks(self) -> str:
        """The task's name and this instance's number, from 1, as in `Map (2/4)#0`."""

    @abstractmethod
    def get_job_parameter(self, key: str, default_value: str) -> str:
        """A value of the job's global parameters."""

    @abstractmethod
    def get_metrics_group(self) -> MetricGroup:
        """Where this function registers its metrics."""

    @abstractmethod
    def add_accumulator(self, name: str, accumulator: Accumulator[Any, Any]) -> None:
        """Register an accumulator, merged over all instances when the job ends."""

    @abstractmethod
    def get_accumulator(self, name: str) -> Accumulator[Any, Any]:
        """This instance's part of a registered accumulator."""

    @abstractmethod
    def get_distributed_cache(self) -> DistributedCache:
        """The files registered with the environment."""


class Function(ABC):
    """The base of every user function."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called once, before the first record."""
        return

    def close(self) -> None:
        """Called once, after the last record or after a failure."""
        return


class MapFunction(Function):
    """One record in, one record out."""

    @abstractmethod
    def map(self, value: Any) -> Any:
        """The record that takes the place of `value`."""


class CoMapFunction(Function):
    """A map over two connected streams, whose methods share the object's fields."""

    @abstractmethod
    def map1(self, value: Any) -> Any:
        """The record that takes the place of a record of the first stream."""

    @abstractmethod
    def map2(self, value: Any) -> Any:
        """The record that takes the place of a record of the second stream."""


class FlatMapFunction(Function):
    """One record in, any number out."""

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[Any]:
        """The records that take the place of `value`; usually a generator."""


class CoFlatMapFunction(Function):
    """A flat map over two connected streams, whose methods share the object's fields."""

    @abstractmethod
    def flat_map1(self, value: Any) -> Iterable[Any]:
        """The records that take the place of a record of the first stream."""

    @abstractmethod
    def flat_map2(self, value: Any) -> Iterable[Any]:
        """The records that take the place of a record of the second stream."""


class ReduceFunction(Function):
    """Combines two values into one of the same type; should be associative."""

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> Any:
        """The value that stands for both."""


class AggregateFunction(Function):
    """An aggregation whose running value may have a type of its own."""

    @abstractmethod
    def create_accumulator(self) -> Any:
        """The running value of no records at all."""

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any:
        """The running value with one more record."""

    @abstractmethod
    def get_result(self, accumulator: Any) -> Any:
        """The result of a running value."""

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """The running value of both; either argument may be changed and returned."""


class KeySelector(Function):
    """Says which key a record belongs to; the same record must always give the same key."""

    @abstractmethod
    def get_key(self, value: Any) -> Any:
        """The key of `value`."""


class NullByteKeySelector(KeySelector):
    """Gives every record the same key."""

    def get_key(self, value: Any) -> int:
        return 0


class FilterFunction(Function):
    """Decides which records stay."""

    @abstractmethod
    def filter(self, value: Any) -> bool:
        """Whether `value` stays."""


class Partitioner(Function):
    """Decides which parallel instance receives a record."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int:
        """The index of the receiver, from 0 to `num_partitions` - 1."""


def _refuse_java(what: str, instead: str) -> NoReturn:
    raise Unsupported(
        f"{what} wraps a Java class, and headrace runs no Flink classes",
        origin=calling_origin(),
        hint=instead,
    )


class SourceFunction:
    """A source written in Java; kept so that a program that names it fails with a reason."""

    def __init__(self, source_func: object) -> None:
        _refuse_java("SourceFunction", "Use a headrace connector, or write the source in Python.")
