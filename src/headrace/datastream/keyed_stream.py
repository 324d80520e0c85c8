"""KeyedStream: a stream divided by key."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, NoReturn

from headrace.core.exchange import Exchange, Hash
from headrace.core.functions import FilterFunction, FlatMapFunction, MapFunction, ReduceFunction
from headrace.core.process_functions import KeyedProcessFunction
from headrace.core.rows import Row, named_row
from headrace.core.types import TypeInformation
from headrace.core.windows import WindowAssigner
from headrace.datastream.checks import function_or_callable, instance_of, type_info
from headrace.datastream.collecting import CloseableIterator
from headrace.datastream.stream import DataStream
from headrace.errors import InvalidGraph, TypeMismatch
from headrace.graph.nodes import PartitionNode
from headrace.operators.process import ProcessOperator
from headrace.operators.reduce import ReduceOperator
from headrace.operators.rolling import RollingAggregate
from headrace.operators.stateless import FilterOperator, FlatMapOperator, MapOperator
from headrace.origin import calling_origin

if TYPE_CHECKING:
    from headrace.datastream.interval_join import IntervalJoin
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headrace.datastream.windowed_stream import WindowedStream


class _WithKey(MapFunction):
    """A record with its key before it."""

    def __init__(self, selector: Callable[[Any], Any]):
        self._selector = selector

    def map(self, value: Any) -> Row:
        return named_row(("f0", "f1"), [self._selector(value), value])


class KeyedStream(DataStream):
    """A stream whose functions have state and timers for each key."""

    class AccumulateType(Enum):
        MIN = 1
        MAX = 2
        MIN_BY = 3
        MAX_BY = 4
        SUM = 5

    def __init__(
        self, env: StreamExecutionEnvironment, origin: DataStream,
        selector: Callable[[Any], Any], key_type: TypeInformation | None,
    ):  # fmt: skip
        node_id = env.builder.add(
            PartitionNode, "Key By", (origin.node_id,), exchange=Hash(selector, key_type),
            type=env.builder[origin.node_id].type,
        )  # fmt: skip
        super().__init__(env, node_id)
        self.selector = selector
        self.key_type = key_type
        self._origin_stream = origin

    def map(
        self, func: Callable[[Any], Any] | MapFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Replace each record; the function may use keyed state."""
        function = function_or_callable(func, MapFunction, "map")
        return self._then("Map", MapOperator(function, keyed=True), type_info(output_type, "map"))

    def flat_map(
        self, func: Callable[[Any], Any] | FlatMapFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:  # fmt: skip
        """Replace each record by any number; the function may use keyed state."""
        function = function_or_callable(func, FlatMapFunction, "flat_map")
        operator = FlatMapOperator(function, keyed=True)
        return self._then("Flat Map", operator, type_info(output_type, "flat_map"))

    def filter(self, func: Callable[[Any], Any] | FilterFunction) -> DataStream:
        """Keep some records; the function may use keyed state."""
        function = function_or_callable(func, FilterFunction, "filter")
        operator = FilterOperator(function, keyed=True)
        return self._then("Filter", operator, self.builder[self.node_id].type)

    def process(  # type: ignore[override]
        self, func: KeyedProcessFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Hand each record to a function with state, timers and side outputs."""
        function = instance_of(
            func, KeyedProcessFunction, "process",
            "On a keyed stream subclass KeyedProcessFunction.",
        )  # fmt: skip
        return self._then(
            "KEYED PROCESS",
            ProcessOperator(function, keyed=True),
            type_info(output_type, "process"),
        )

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the job and give its keys and records to this program, as rows of both."""
        pairs = self._then("Keys and values", MapOperator(_WithKey(self.selector)), None)
        return pairs.execute_and_collect(job_execution_name, limit)

    def reduce(self, func: Callable[[Any, Any], Any] | ReduceFunction) -> DataStream:
        """Combine each record with what came before it for its key.

        A stream gets every intermediate result; in BATCH mode only the last of each key.
        """
        function = function_or_callable(func, ReduceFunction, "reduce")
        operator = ReduceOperator(function)
        return self._then("Keyed Reduce", operator, self.builder[self.node_id].type)

    def _rolling(self, kind: str, position: int | str) -> DataStream:
        if not isinstance(position, int | str):
            raise TypeMismatch(
                f"{kind}() needs the position or the name of a field, not {position!r}",
                origin=calling_origin(),
            )
        return self.reduce(RollingAggregate(kind, position))

    def sum(self, position_to_sum: int | str = 0) -> DataStream:
        """A rolling sum of one field; the others are those of the key's first record."""
        return self._rolling("sum", position_to_sum)

    def min(self, position_to_min: int | str = 0) -> DataStream:
        """A rolling minimum of one field; the others are those of the key's first record."""
        return self._rolling("min", position_to_min)

    def max(self, position_to_max: int | str = 0) -> DataStream:
        """A rolling maximum of one field; the others are those of the key's first record."""
        return self._rolling("max", position_to_max)

    def min_by(self, position_to_min_by: int | str = 0) -> DataStream:
        """The record with the smallest field so far; of equals, the first."""
        return self._rolling("min_by", position_to_min_by)

    def max_by(self, position_to_max_by: int | str = 0) -> DataStream:
        """The record with the largest field so far; of equals, the first."""
        return self._rolling("max_by", position_to_max_by)

    def key_by(self, key_selector: Any, key_type: TypeInformation | None = None) -> KeyedStream:
        """Divide by another key."""
        return self._origin_stream.key_by(key_selector, key_type)

    def interval_join(self, other_stream: KeyedStream) -> IntervalJoin:
        """Join with the records of another keyed stream that are near in event time."""
        from headrace.datastream.interval_join import IntervalJoin

        other = instance_of(
            other_stream, KeyedStream, "interval_join",
            "Call key_by(...) on the other stream, too.",
        )  # fmt: skip
        self._same_environment(other, "joined")
        return IntervalJoin(self, other)

    def _partition(self, exchange: Exchange) -> DataStream:
        raise InvalidGraph(
            f"a keyed stream cannot be distributed by {exchange.label.lower()}: its keys decide",
            origin=calling_origin(), hint="Distribute before key_by(...) or after an operation.",
        )  # fmt: skip

    def _change(self, **fields: Any) -> NoReturn:
        raise InvalidGraph(
            f"a keyed stream has no {' or '.join(fields).replace('_', ' ')} of its own",
            origin=calling_origin(),
            hint="Set it on the operation that follows key_by(...), or on the one before.",
        )

    def window(self, window_assigner: WindowAssigner[Any, Any]) -> WindowedStream:
        """Group the records of each key by window."""
        from headrace.datastream.windowed_stream import WindowedStream

        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Group so many records of a key at a time, a group starting every `slide` of them."""
        from headrace.datastream.windowed_stream import WindowedStream, count_windows

        return WindowedStream(self, count_windows(size, slide))
