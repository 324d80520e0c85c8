"""Two streams processed together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.exchange import Broadcast
from headrace.core.functions import CoFlatMapFunction, CoMapFunction, KeySelector
from headrace.core.operator import Operator
from headrace.core.process_functions import (
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
)
from headrace.core.state import MapStateDescriptor
from headrace.core.types import TypeInformation
from headrace.datastream.checks import instance_of, type_info
from headrace.datastream.keyed_stream import KeyedStream
from headrace.datastream.stream import DataStream
from headrace.errors import InvalidGraph
from headrace.graph.nodes import OperatorNode, PartitionNode
from headrace.operators.base import FunctionOperator
from headrace.operators.process import BroadcastProcessOperator, CoProcessOperator
from headrace.operators.stateless import CoFlatMapOperator, CoMapOperator
from headrace.origin import calling_origin


def _together(
    first: DataStream, second: int, name: str, operator: Operator, declared: TypeInformation | None
) -> DataStream:
    env = first.get_execution_environment()
    if isinstance(operator, FunctionOperator):
        operator.reuses_objects = env.get_config().is_object_reuse_enabled()
    node_id = env.builder.add(
        OperatorNode, name, (first.node_id, second), operator=operator, type=declared
    )
    return DataStream(env, node_id)


class ConnectedStreams:
    """Two streams, of different types if need be, for one function with two sides."""

    def __init__(self, stream1: DataStream, stream2: DataStream):
        self.stream1 = stream1
        self.stream2 = stream2

    def key_by(
        self, key_selector1: Callable[[Any], Any] | KeySelector,
        key_selector2: Callable[[Any], Any] | KeySelector,
        key_type: TypeInformation | None = None,
    ) -> ConnectedStreams:  # fmt: skip
        """Bring records of both streams with equal keys together."""
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type),
            self.stream2.key_by(key_selector2, key_type),
        )

    def _is_keyed(self) -> bool:
        keyed = [isinstance(s, KeyedStream) for s in (self.stream1, self.stream2)]
        if any(keyed) and not all(keyed):
            raise InvalidGraph(
                "only one of the connected streams is keyed", origin=calling_origin(),
                hint="Key both, or call key_by(selector1, selector2) on the connected streams.",
            )  # fmt: skip
        return all(keyed)

    def map(self, func: CoMapFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Replace each record with map1 or map2."""
        function = instance_of(func, CoMapFunction, "map")
        operator = CoMapOperator(function, keyed=self._is_keyed())
        return self._run("Co-Map", operator, type_info(output_type, "map"))

    def flat_map(
        self, func: CoFlatMapFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Replace each record by what flat_map1 or flat_map2 yields."""
        function = instance_of(func, CoFlatMapFunction, "flat_map")
        operator = CoFlatMapOperator(function, keyed=self._is_keyed())
        return self._run("Co-Flat Map", operator, type_info(output_type, "flat_map"))

    def process(
        self, func: CoProcessFunction | KeyedCoProcessFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:  # fmt: skip
        """Hand records to process_element1 or process_element2; keyed, with state and timers."""
        keyed = self._is_keyed()
        kind: type[Any] = KeyedCoProcessFunction if keyed else CoProcessFunction
        hint = "Keyed streams need a KeyedCoProcessFunction, others a CoProcessFunction."
        function = instance_of(func, kind, "process", hint)
        operator = CoProcessOperator(function, keyed=keyed)
        return self._run("Co-Process", operator, type_info(output_type, "process"))

    def _run(self, name: str, operator: Operator, declared: TypeInformation | None) -> DataStream:
        return _together(self.stream1, self.stream2.node_id, name, operator, declared)


class BroadcastStream:
    """A stream on its way to every subtask, as broadcast state."""

    def __init__(self, stream: DataStream, descriptors: list[MapStateDescriptor]):
        self.input_stream = stream
        self.broadcast_state_descriptors = descriptors


class BroadcastConnectedStream:
    """A stream and a broadcast stream, for one function."""

    def __init__(self, stream: DataStream, broadcast: BroadcastStream):
        self.non_broadcast_stream = stream
        self.broadcast_stream = broadcast

    def process(
        self, func: BroadcastProcessFunction[Any, Any, Any]
        | KeyedBroadcastProcessFunction[Any, Any, Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:  # fmt: skip
        """Hand records to process_element, broadcast ones to process_broadcast_element."""
        stream = self.non_broadcast_stream
        keyed = isinstance(stream, KeyedStream)
        kind: type[Any] = KeyedBroadcastProcessFunction if keyed else BroadcastProcessFunction
        hint = "A keyed stream needs a KeyedBroadcastProcessFunction, another one does not."
        function = instance_of(func, kind, "process", hint)
        builder = stream.builder
        everywhere = builder.add(
            PartitionNode, "Broadcast", (self.broadcast_stream.input_stream.node_id,),
            exchange=Broadcast(),
        )  # fmt: skip
        name = "Co-Process-Broadcast-Keyed" if keyed else "Co-Process-Broadcast"
        states = self.broadcast_stream.broadcast_state_descriptors
        names = tuple(state.get_name() for state in states)
        operator = BroadcastProcessOperator(function, names, keyed=keyed)
        return _together(stream, everywhere, name, operator, type_info(output_type, "process"))
