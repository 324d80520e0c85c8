"""DataStream: a stream of records and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headrace.core.exchange import (
    Broadcast,
    Custom,
    Exchange,
    Forward,
    Global,
    Rebalance,
    Rescale,
    Shuffle,
)
from headrace.core.execution_config import ExecutionConfig
from headrace.core.functions import (
    FilterFunction,
    FlatMapFunction,
    KeySelector,
    MapFunction,
    Partitioner,
)
from headrace.core.operator import Operator
from headrace.core.output_tag import OutputTag
from headrace.core.process_functions import ProcessFunction
from headrace.core.sink import Sink
from headrace.core.sink_functions import SinkFunction, TwoPhaseCommitSinkFunction, own_invoke
from headrace.core.state import MapStateDescriptor
from headrace.core.types import PickledBytesTypeInfo, TupleTypeInfo, TypeInformation, Types
from headrace.core.watermarks import WatermarkStrategy
from headrace.core.windows import WindowAssigner
from headrace.datastream.checks import (
    function_or_callable,
    instance_of,
    key_function,
    partition_function,
    type_info,
)
from headrace.datastream.collecting import CloseableIterator, collect
from headrace.datastream.data_stream_sink import DataStreamSink
from headrace.datastream.tuning import Tunable
from headrace.errors import TypeMismatch, Unsupported
from headrace.graph.nodes import OperatorNode, PartitionNode, SideOutputNode, SinkNode, UnionNode
from headrace.operators.base import FunctionOperator
from headrace.operators.process import ProcessOperator
from headrace.operators.sink_functions import InvokeOperator, TransactionOperator
from headrace.operators.sinks import DiscardOperator, PrintOperator, WriteOperator
from headrace.operators.stateless import FilterOperator, FlatMapOperator, MapOperator
from headrace.operators.timestamps import TimestampsOperator
from headrace.origin import calling_origin

if TYPE_CHECKING:
    from headrace.datastream.connected_streams import BroadcastStream, ConnectedStreams
    from headrace.datastream.joined_streams import CoGroupedStreams, JoinedStreams
    from headrace.datastream.keyed_stream import KeyedStream
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headrace.datastream.windowed_stream import AllWindowedStream


class DataStream(Tunable):
    """A stream of records of one type. Methods add to the job; nothing runs before execute()."""

    def __init__(self, env: StreamExecutionEnvironment, node_id: int):
        super().__init__(env.builder, node_id)
        self._env = env
        self._late_types: dict[str, TypeInformation | None] = {}
        """By the tag for late records: their type, which need not be declared again."""

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        return self._env

    def get_execution_config(self) -> ExecutionConfig:
        return self._env.get_config()

    def get_type(self) -> TypeInformation:
        return self.builder[self.node_id].type or Types.PICKLED_BYTE_ARRAY()

    def _then(
        self, name: str, operator: Operator, declared: TypeInformation | None = None
    ) -> DataStream:
        if isinstance(operator, FunctionOperator):
            operator.reuses_objects = self._env.get_config().is_object_reuse_enabled()
        node_id = self.builder.add(
            OperatorNode, name, (self.node_id,), operator=operator, type=declared
        )
        return DataStream(self._env, node_id)

    # What happens to each record.

    def map(
        self, func: Callable[[Any], Any] | MapFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Replace each record by what `func` returns for it."""
        function = function_or_callable(func, MapFunction, "map")
        return self._then("Map", MapOperator(function), type_info(output_type, "map"))

    def flat_map(
        self, func: Callable[[Any], Any] | FlatMapFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:  # fmt: skip
        """Replace each record by all that `func` yields for it."""
        function = function_or_callable(func, FlatMapFunction, "flat_map")
        return self._then("Flat Map", FlatMapOperator(function), type_info(output_type, "flat_map"))

    def filter(self, func: Callable[[Any], Any] | FilterFunction) -> DataStream:
        """Keep the records for which `func` is true."""
        function = function_or_callable(func, FilterFunction, "filter")
        return self._then("Filter", FilterOperator(function), self.builder[self.node_id].type)

    def process(
        self, func: ProcessFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Hand each record, with its time and side outputs, to a ProcessFunction."""
        function = instance_of(
            func, ProcessFunction, "process",
            "A KeyedProcessFunction needs a keyed stream: call key_by(...) first.",
        )  # fmt: skip
        return self._then("PROCESS", ProcessOperator(function), type_info(output_type, "process"))

    def project(self, *field_indexes: int) -> DataStream:
        """Keep only some fields of a stream of tuples, in the order given."""
        kind = self.get_type()
        if not isinstance(kind, TupleTypeInfo):
            raise TypeMismatch(
                f"only a stream of tuples can be projected; this one has type {kind}",
                origin=calling_origin(),
                hint="Declare the type: output_type=Types.TUPLE([...]).",
            )
        fields = kind.get_field_types()
        for index in field_indexes:
            if not isinstance(index, int) or not 0 <= index < len(fields):
                raise TypeMismatch(
                    f"there is no field {index!r} in a tuple of {len(fields)}",
                    origin=calling_origin(),
                )
        chosen = Types.TUPLE([fields[index] for index in field_indexes])
        return self._then(
            "Projection",
            MapOperator(lambda record: tuple(record[index] for index in field_indexes)),
            chosen,
        )

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """Give records their event time, and let it advance as the strategy says."""
        strategy = instance_of(
            watermark_strategy, WatermarkStrategy, "assign_timestamps_and_watermarks"
        )
        return self._then(
            "Timestamps/Watermarks", TimestampsOperator(strategy), self.builder[self.node_id].type
        )

    # How records are distributed.

    def key_by(
        self, key_selector: Callable[[Any], Any] | KeySelector,
        key_type: TypeInformation | None = None,
    ) -> KeyedStream:  # fmt: skip
        """Bring records with equal keys together, so that state can be kept per key."""
        from headrace.datastream.keyed_stream import KeyedStream

        declared = type_info(key_type, "key_by")
        return KeyedStream(self._env, self, key_function(key_selector, "key_by"), declared)

    def _partition(self, exchange: Exchange) -> DataStream:
        node_id = self.builder.add(
            PartitionNode, exchange.label.title(), (self.node_id,), exchange=exchange,
            type=self.builder[self.node_id].type,
        )  # fmt: skip
        return DataStream(self._env, node_id)

    def shuffle(self) -> DataStream:
        """Distribute records at random."""
        return self._partition(Shuffle())

    def rebalance(self) -> DataStream:
        """Distribute records round robin."""
        return self._partition(Rebalance())

    def rescale(self) -> DataStream:
        """Distribute records round robin among nearby subtasks."""
        return self._partition(Rescale())

    def forward(self) -> DataStream:
        """Keep records in their subtask."""
        return self._partition(Forward())

    def global_(self) -> DataStream:
        """Send all records to the first subtask."""
        return self._partition(Global())

    def partition_custom(
        self, partitioner: Callable[[Any, int], int] | Partitioner,
        key_selector: Callable[[Any], Any] | KeySelector,
    ) -> DataStream:  # fmt: skip
        """Let `partitioner(key, number of subtasks)` choose the subtask."""
        key = key_function(key_selector, "partition_custom")
        return self._partition(Custom(partition_function(partitioner), key))

    def broadcast(
        self, broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> Any:  # fmt: skip
        """Send every record to every subtask; with descriptors, as broadcast state."""
        from headrace.datastream.connected_streams import BroadcastStream

        if broadcast_state_descriptor is None:
            return self._partition(Broadcast())
        descriptors = (broadcast_state_descriptor, *other_broadcast_state_descriptors)
        for descriptor in descriptors:
            instance_of(descriptor, MapStateDescriptor, "broadcast")
        return BroadcastStream(self, list(descriptors))

    # Streams together.

    def union(self, *streams: DataStream) -> DataStream:
        """The records of this and other streams of the same type."""
        kind = self.builder[self.node_id].type
        for stream in streams:
            instance_of(stream, DataStream, "union")
            other = self.builder[stream.node_id].type if stream._env is self._env else kind
            if kind is not None and other is not None and other != kind:
                raise TypeMismatch(
                    f"streams of different types cannot be united: {kind} and {other}",
                    origin=calling_origin(), hint="Map them to a common type first.",
                )  # fmt: skip
            self._same_environment(stream, "united")
        inputs = (self.node_id, *(stream.node_id for stream in streams))
        return DataStream(self._env, self.builder.add(UnionNode, "Union", inputs, type=kind))

    def connect(self, ds: DataStream | BroadcastStream) -> ConnectedStreams | Any:
        """Process this stream and another together, each record knowing its side."""
        from headrace.datastream.connected_streams import (
            BroadcastConnectedStream,
            BroadcastStream,
            ConnectedStreams,
        )

        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(self, ds)
        other = instance_of(ds, DataStream, "connect")
        self._same_environment(other, "connected")
        return ConnectedStreams(self, other)

    def join(self, other_stream: DataStream) -> JoinedStreams:
        """Pair records with equal keys, window by window."""
        from headrace.datastream.joined_streams import JoinedStreams

        other = instance_of(other_stream, DataStream, "join")
        self._same_environment(other, "joined")
        return JoinedStreams(self, other)

    def co_group(self, other_stream: DataStream) -> CoGroupedStreams:
        """See the records of both streams with equal keys together, window by window."""
        from headrace.datastream.joined_streams import CoGroupedStreams

        other = instance_of(other_stream, DataStream, "co_group")
        self._same_environment(other, "grouped together")
        return CoGroupedStreams(self, other)

    def _same_environment(self, other: DataStream, verb: str) -> None:
        if other._env is not self._env:
            raise TypeMismatch(
                f"streams of different environments cannot be {verb}", origin=calling_origin(),
                hint="Make both streams from one StreamExecutionEnvironment.",
            )  # fmt: skip

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """The records an operator sent to a tag."""
        tag = instance_of(output_tag, OutputTag, "get_side_output")
        declared: TypeInformation = tag.type_info
        if isinstance(declared, PickledBytesTypeInfo):
            declared = self._late_types.get(tag.tag_id) or declared
        node_id = self.builder.add(
            SideOutputNode, f"Side output {tag.tag_id}", (self.node_id,),
            tag=tag.tag_id, type=declared,
        )  # fmt: skip
        return DataStream(self._env, node_id)

    # Where records go.

    def _sink(self, name: str, operator: Operator) -> DataStreamSink:
        return DataStreamSink(
            self.builder, self.builder.add(SinkNode, name, (self.node_id,), operator=operator)
        )

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Print each record's text, where the job was started."""
        operator = PrintOperator(self.builder[self.node_id].type, sink_identifier)
        return self._sink("Print to Std. Out", operator)

    def sink_to(self, sink: Any) -> DataStreamSink:
        """Write to a sink."""
        if getattr(sink, "discards", False):
            return self._sink("Sink", DiscardOperator())
        checked: Sink[Any] = instance_of(sink, Sink, "sink_to")
        return self._sink("Sink", WriteOperator(checked.with_type(self.builder[self.node_id].type)))

    def add_sink(self, sink_func: Any) -> DataStreamSink:
        """Give each record to a sink function written in Python, or to a sink."""
        if isinstance(sink_func, Sink):
            return self.sink_to(sink_func)
        if isinstance(sink_func, TwoPhaseCommitSinkFunction):
            return self._sink("Sink", TransactionOperator(sink_func))
        function = instance_of(
            sink_func, SinkFunction, "add_sink",
            "Subclass SinkFunction or TwoPhaseCommitSinkFunction of headrace.datastream.functions.",
        )  # fmt: skip
        if not own_invoke(function):
            raise TypeMismatch(
                f"{type(function).__name__} does not override invoke(value, context)",
                origin=calling_origin(),
            )
        return self._sink("Sink", InvokeOperator(function))

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[Any]:
        """Run the job and give its records to this program."""
        found = collect(self._env, self.node_id, job_execution_name)
        return found if limit is None else found.take(limit)

    def cache(self) -> Any:
        raise Unsupported("cached streams are not there yet", origin=calling_origin())

    # Windows over the whole stream.

    def window_all(self, window_assigner: WindowAssigner[Any, Any]) -> AllWindowedStream:
        """Group all records by window, in one subtask."""
        from headrace.datastream.windowed_stream import AllWindowedStream

        return AllWindowedStream(self, window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream:
        """Group so many records at a time, a group starting every `slide` of them."""
        from headrace.datastream.windowed_stream import AllWindowedStream, count_windows

        return AllWindowedStream(self, count_windows(size, slide))
