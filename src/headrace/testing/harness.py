"""Driving one function step by step, with time in the test's hands."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import Any

from headrace.core.functions import FilterFunction, FlatMapFunction, MapFunction, ReduceFunction
from headrace.core.operator import MIN_TIMESTAMP, Batch
from headrace.core.output_tag import OutputTag
from headrace.core.process_functions import (
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
)
from headrace.core.state import MapStateDescriptor
from headrace.core.timers import TimeDomain
from headrace.core.types import TypeInformation
from headrace.datastream.data_stream import BroadcastConnectedStream, DataStream
from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
from headrace.errors import InvalidArgument
from headrace.memory.clock import ManualClock
from headrace.memory.engine import MemoryEngine, MicroBatch
from headrace.origin import calling_origin
from headrace.plan.physical import PhysicalPlan
from headrace.plan.planner import plan
from headrace.runtime.driver_items import DriverItem
from headrace.testing.inspection import (
    broadcast_state_of,
    keyed_state_of,
    operator_state_of,
    timers_of,
)
from headrace.testing.recordings import Record, Recordings
from headrace.testing.taps import tapped, with_recorder

__all__ = ["OperatorHarness"]

Build = Callable[..., DataStream]
_INPUT = "headrace.testing.input-{}"


class OperatorHarness:
    """Feeds what a test sends to an operation on one or more streams, and keeps what comes out.

    `build` is given `inputs` streams and returns the one to look at. The function travels to the
    operator as it would on Spark, by pickling, so the instance the test holds is never called.
    """

    def __init__(
        self, build: Build, *, inputs: int = 1, parallelism: int = 1, processing_time: int = 0
    ):
        self._build = build
        self._watermarks = [MIN_TIMESTAMP] * inputs
        self._plan_for(parallelism)
        self._recordings = Recordings()
        self._engine = self._new_engine(ManualClock(processing_time))

    # One way to make a harness for each kind of function.

    @classmethod
    def keyed(
        cls, function: KeyedProcessFunction, key_selector: Any,
        key_type: TypeInformation | None = None, *,
        output_type: TypeInformation | None = None, **options: Any,
    ) -> OperatorHarness:  # fmt: skip
        """For a KeyedProcessFunction."""
        return cls(lambda s: s.key_by(key_selector, key_type).process(function, output_type),
                   **options)  # fmt: skip

    @classmethod
    def process(
        cls, function: ProcessFunction, *, output_type: TypeInformation | None = None,
        **options: Any,
    ) -> OperatorHarness:  # fmt: skip
        """For a ProcessFunction."""
        return cls(lambda s: s.process(function, output_type), **options)

    @classmethod
    def co(
        cls, function: CoProcessFunction, *, output_type: TypeInformation | None = None,
        **options: Any,
    ) -> OperatorHarness:  # fmt: skip
        """For a CoProcessFunction; send to it with side=0 and side=1."""
        return cls(lambda a, b: a.connect(b).process(function, output_type), inputs=2, **options)

    @classmethod
    def keyed_co(
        cls, function: KeyedCoProcessFunction, key_selector1: Any, key_selector2: Any,
        key_type: TypeInformation | None = None, *,
        output_type: TypeInformation | None = None, **options: Any,
    ) -> OperatorHarness:  # fmt: skip
        """For a KeyedCoProcessFunction; send to it with side=0 and side=1."""

        def build(a: DataStream, b: DataStream) -> DataStream:
            both = a.connect(b).key_by(key_selector1, key_selector2, key_type)
            return both.process(function, output_type)

        return cls(build, inputs=2, **options)

    @classmethod
    def broadcast(
        cls, function: BroadcastProcessFunction[Any, Any, Any]
        | KeyedBroadcastProcessFunction[Any, Any, Any, Any],
        descriptor: MapStateDescriptor, *others: MapStateDescriptor, key_selector: Any = None,
        output_type: TypeInformation | None = None, **options: Any,
    ) -> OperatorHarness:  # fmt: skip
        """For a (Keyed)BroadcastProcessFunction; side=1 is the broadcast one."""

        def build(data: DataStream, rules: DataStream) -> DataStream:
            stream = data if key_selector is None else data.key_by(key_selector)
            both = BroadcastConnectedStream(stream, rules.broadcast(descriptor, *others))
            return both.process(function, output_type)

        return cls(build, inputs=2, **options)

    @classmethod
    def map(
        cls, function: Callable[[Any], Any] | MapFunction, key_selector: Any = None,
        **options: Any,
    ) -> OperatorHarness:  # fmt: skip
        """For a MapFunction; with a key selector it may use keyed state."""
        return cls(lambda s: _keyed(s, key_selector).map(function), **options)

    @classmethod
    def flat_map(
        cls, function: Callable[[Any], Any] | FlatMapFunction, key_selector: Any = None,
        **options: Any,
    ) -> OperatorHarness:  # fmt: skip
        """For a FlatMapFunction; with a key selector it may use keyed state."""
        return cls(lambda s: _keyed(s, key_selector).flat_map(function), **options)

    @classmethod
    def filter(
        cls, function: Callable[[Any], Any] | FilterFunction, key_selector: Any = None,
        **options: Any,
    ) -> OperatorHarness:  # fmt: skip
        """For a FilterFunction; with a key selector it may use keyed state."""
        return cls(lambda s: _keyed(s, key_selector).filter(function), **options)

    @classmethod
    def reduce(
        cls, function: Callable[[Any, Any], Any] | ReduceFunction, key_selector: Any,
        **options: Any,
    ) -> OperatorHarness:  # fmt: skip
        """For a ReduceFunction."""
        return cls(lambda s: s.key_by(key_selector).reduce(function), **options)

    # What the test does.

    def send(self, value: Any, timestamp: int | None = None, side: int = 0) -> None:
        """Let one record arrive."""
        self.send_all([value], [timestamp], side)

    def send_all(
        self, values: Iterable[Any], timestamps: Iterable[int | None] | None = None, side: int = 0
    ) -> None:
        """Let records arrive, in this order."""
        records = list(values)
        stamps = None if timestamps is None else list(timestamps)
        if stamps is not None and len(stamps) != len(records):
            raise InvalidArgument(
                f"{len(records)} records were given {len(stamps)} timestamps",
                origin=calling_origin(),
            )
        if stamps is not None and all(stamp is None for stamp in stamps):
            stamps = None
        batch = Batch(records, stamps)
        self._engine.run(MicroBatch({self._source(side): [batch]}))

    def advance_watermark(self, timestamp: int, side: int | None = None) -> None:
        """Let event time come to `timestamp`, on one input or on all, and fire what is due."""
        sides = range(len(self._sources)) if side is None else [side]
        for number in sides:
            source = self._source(number)
            if timestamp < self._watermarks[number]:
                raise InvalidArgument(
                    f"the watermark cannot go back from {self._watermarks[number]} to {timestamp}",
                    origin=calling_origin(),
                )
            self._watermarks[number] = timestamp
            self._engine.run(MicroBatch(watermarks={source: timestamp}))

    def advance_processing_time(self, timestamp: int) -> None:
        """Let the clock show `timestamp` and fire what is due."""
        self._engine.clock.advance_to(timestamp)
        self._engine.run(MicroBatch())

    def finish(self) -> None:
        """End the input: event time comes to its end, so every event timer fires."""
        self._engine.run(MicroBatch(final=True))

    def snapshot(self, *, compact: bool = False) -> bytes:
        """All state and timers, for `restore`; `compact` writes only what is there now."""
        return pickle.dumps((self._watermarks, self._engine.snapshot(compact=compact)), 5)

    def restore(self, snapshot: bytes, *, parallelism: int | None = None) -> None:
        """Go on from a snapshot with new instances of the function, in this or a new harness, and
        with another number of subtasks if one is given."""
        self._engine.close()
        if parallelism is not None:
            self._plan_for(parallelism)
        self._resume(snapshot)

    def rescale(self, parallelism: int) -> None:
        """Stop, and go on with another number of subtasks."""
        self.restore(self.snapshot(), parallelism=parallelism)

    def crash(self, *, compact: bool = False) -> None:
        """Lose everything but the state: no function is closed, new instances go on."""
        self._resume(self.snapshot(compact=compact))

    def _resume(self, snapshot: bytes) -> None:
        self._watermarks, state = pickle.loads(snapshot)
        self._engine = self._new_engine(ManualClock(), state)
        told = dict(zip(self._sources, self._watermarks, strict=True))
        self._engine.run(MicroBatch(watermarks=told))

    # What the test looks at.

    @property
    def outputs(self) -> list[Any]:
        """The values emitted so far and not taken yet."""
        return [value for value, _ in self._recordings.records]

    def take_outputs(self) -> list[Any]:
        """The values emitted since outputs were last taken."""
        return [value for value, _ in self._recordings.take()]

    def take_records(self) -> list[Record]:
        """The same, each with its timestamp."""
        return self._recordings.take()

    def side_output(self, tag: OutputTag | str) -> list[Any]:
        """The values sent to a tag so far and not taken yet."""
        return self._recordings.side(tag)

    def take_side_output(self, tag: OutputTag | str) -> list[Any]:
        """The values sent to a tag since they were last taken."""
        return self._recordings.take_side(tag)

    def side_outputs(self) -> list[str]:
        """The names of the tags that have values."""
        return self._recordings.tags()

    def timers(self, domain: TimeDomain | str = TimeDomain.EVENT_TIME) -> list[tuple[int, Any]]:
        """The timers that are set, as (time, key), in the order they would fire."""
        return timers_of(self._engine, domain)

    def state(self, name: str, key: Any) -> Any:
        """What a keyed state holds for a key; None if nothing."""
        return keyed_state_of(self._engine, name).get(key)

    def state_of(self, name: str) -> dict[Any, Any]:
        """What a keyed state holds, by key."""
        return keyed_state_of(self._engine, name)

    def broadcast_state(self, name: str) -> dict[Any, Any]:
        """The entries of a broadcast state."""
        return broadcast_state_of(self._engine, name)

    def operator_state(self, name: str) -> list[Any]:
        """The elements of a list state of a CheckpointedFunction, as of the last snapshot."""
        return operator_state_of(self._engine, name)

    @property
    def watermark(self) -> int:
        """How far event time has come: the least of the inputs."""
        return min(self._watermarks)

    @property
    def processing_time(self) -> int:
        return self._engine.clock()

    def close(self) -> None:
        """Close the functions."""
        self._engine.close()

    def __enter__(self) -> OperatorHarness:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _plan_for(self, parallelism: int) -> None:
        inputs = len(self._watermarks)
        self._plan = _plan(self._build, inputs, parallelism)
        by_uid = {vertex.uid: vertex.id for vertex in self._plan.sources}
        self._sources = [by_uid[_INPUT.format(side)] for side in range(inputs)]

    def _new_engine(self, clock: ManualClock, snapshot: bytes | None = None) -> MemoryEngine:
        return MemoryEngine(self._plan, self._take_in, clock=clock, snapshot=snapshot)

    def _take_in(self, _: int, items: list[DriverItem]) -> None:
        self._recordings.take_in(items)

    def _source(self, side: int) -> int:
        if not 0 <= side < len(self._sources):
            raise InvalidArgument(
                f"there is no input {side}; inputs count from 0 to {len(self._sources) - 1}",
                origin=calling_origin(),
            )
        return self._sources[side]


def _plan(build: Build, inputs: int, parallelism: int) -> PhysicalPlan:
    env = StreamExecutionEnvironment()
    env.set_parallelism(parallelism)
    streams = [env.from_collection(()) for _ in range(inputs)]
    for side, stream in enumerate(streams):
        env.builder.change(stream.node_id, uid=_INPUT.format(side))
    target = build(*streams).node_id
    graph = env.builder.view("harness", [target], **env._graph_settings())
    return tapped(plan(with_recorder(graph, target)))


def _keyed(stream: DataStream, key_selector: Any) -> DataStream:
    return stream if key_selector is None else stream.key_by(key_selector)
