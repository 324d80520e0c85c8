"""Random keyed programs, as data: what each record does to state, timers and outputs.

A program's results must not depend on where micro-batches are cut. So its records carry all that
decides: a function's outputs depend on the records of one key and one input, in their order, and
timers either fire only at the end (no watermarks) or emit nothing but their own time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from headrace.common import Duration, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import (
    AggregateFunction,
    CoMapFunction,
    DataStream,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from headrace.testing import ScriptedSource

SIDE = OutputTag("side")
ACTIONS = (
    "count", "append", "put", "drop entry", "reduce", "average", "clear", "timer", "cancel timer",
    "side",
)  # fmt: skip
SHAPES = ("process", "union", "connect", "reduce", "two levels", "fan out")

Record = tuple[str, str, int, int]
"""(key, action, number, event time)."""


@dataclass(frozen=True)
class Program:
    """A shape of job, its input in micro-batches, and whether event time advances meanwhile."""

    shape: str
    batches: tuple[tuple[Record, ...], ...]
    watermarks: bool

    def one_batch(self) -> list[Record]:
        return [record for batch in self.batches for record in batch]


def programs() -> st.SearchStrategy[Program]:
    record = st.tuples(
        st.sampled_from(("a", "b", "c", "d", "e")),
        st.sampled_from(ACTIONS),
        st.integers(0, 9),
        st.integers(0, 1000),
    )
    batch = st.lists(record, min_size=1, max_size=6).map(tuple)
    batches = st.lists(batch, min_size=1, max_size=4).map(tuple)
    return st.builds(Program, st.sampled_from(SHAPES), batches, st.booleans())


class Average(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class Interpreter:
    """Does what a record says with the state of its key."""

    def __init__(self, name: str, ends_read_state: bool):
        self.name = name
        self.ends_read_state = ends_read_state

    def open(self, ctx: Any) -> None:
        name = self.name
        self.count = ctx.get_state(ValueStateDescriptor(f"{name} count", Types.INT()))
        self.items = ctx.get_list_state(ListStateDescriptor(f"{name} items", Types.INT()))
        self.entries = ctx.get_map_state(
            MapStateDescriptor(f"{name} entries", Types.INT(), Types.INT())
        )
        self.sum = ctx.get_reducing_state(
            ReducingStateDescriptor(f"{name} sum", lambda a, b: a + b, Types.INT())
        )
        self.fired = ctx.get_map_state(MapStateDescriptor(f"{name} fired", Types.LONG()))
        self.average = ctx.get_aggregating_state(
            AggregatingStateDescriptor(f"{name} average", Average())
        )

    def run(self, record: Record, ctx: Any) -> Iterator[Any]:
        key, action, number, time = record
        timers = ctx.timer_service()
        if action == "count":
            self.count.update((self.count.value() or 0) + number + 1)
            yield self.name, key, self.count.value()
        elif action == "append":
            self.items.add(number)
            yield self.name, key, tuple(self.items.get())
        elif action == "put":
            self.entries.put(number % 3, number)
            yield self.name, key, tuple(sorted(self.entries.items()))
        elif action == "drop entry":
            self.entries.remove(number % 3)
            yield self.name, key, self.entries.contains(0), self.entries.is_empty()
        elif action == "reduce":
            self.sum.add(number)
            yield self.name, key, self.sum.get()
        elif action == "average":
            self.average.add(number)
            yield self.name, key, self.average.get()
        elif action == "clear":
            for state in (self.count, self.items, self.entries, self.sum, self.average):
                state.clear()
        elif action == "timer":
            # Beyond all records' times when timers may look at state: they fire at the end.
            timers.register_event_time_timer(time + (10_000 if self.ends_read_state else 0))
        elif action == "cancel timer" and self.ends_read_state:
            timers.delete_event_time_timer(time + 10_000)
        elif action == "side":
            yield SIDE, (self.name, key, number)

    def timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        key = ctx.get_current_key()
        if self.ends_read_state:
            self.count.update((self.count.value() or 0) + 1)
            yield self.name, "timer", key, timestamp, self.count.value(), tuple(self.items.get())
        elif not self.fired.contains(timestamp):
            # A timer that is set again after it fired fires again, and that depends on the cuts.
            self.fired.put(timestamp, True)
            yield self.name, "timer", key, timestamp


class OneInput(KeyedProcessFunction):
    def __init__(self, name: str, ends_read_state: bool):
        self.interpreter = Interpreter(name, ends_read_state)

    def open(self, runtime_context: Any) -> None:
        self.interpreter.open(runtime_context)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield from self.interpreter.run(value, ctx)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield from self.interpreter.timer(timestamp, ctx)


class TwoInputs(KeyedCoProcessFunction):
    """Each side has state of its own, so that the order between the sides does not matter."""

    def __init__(self, name: str):
        self.sides = (Interpreter(f"{name} left", False), Interpreter(f"{name} right", False))

    def open(self, runtime_context: Any) -> None:
        for side in self.sides:
            side.open(runtime_context)

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield from self.sides[0].run(value, ctx)

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield from self.sides[1].run(value, ctx)


class LabelSides(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return ("first", value)

    def map2(self, value: Any) -> Any:
        return ("second", value)


class RecordTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[3])


def build(env: StreamExecutionEnvironment, program: Program, name: str, cut: bool) -> DataStream:
    """The program as a job; with `cut`, its source gives the program's micro-batches."""
    batches = program.batches if cut else (tuple(program.one_batch()),)
    source = env.from_source(
        ScriptedSource(batches), WatermarkStrategy.no_watermarks(), f"{name} source"
    )
    strategy = (
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(0))
        if program.watermarks
        else WatermarkStrategy.no_watermarks()
    )
    timed = source.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(RecordTime()))
    return _shaped(timed, program, name)


def _shaped(timed: DataStream, program: Program, name: str) -> DataStream:
    keyed = timed.key_by(lambda record: record[0])
    at_end = not program.watermarks
    match program.shape:
        case "process":
            done = keyed.process(OneInput(name, at_end))
            return done.union(done.get_side_output(SIDE))
        case "union":
            marked = timed.map(lambda r: (r[0] + "'", *r[1:]))
            done = timed.union(marked).key_by(lambda r: r[0]).process(OneInput(name, at_end))
            return done.union(done.get_side_output(SIDE))
        case "connect":
            other = timed.filter(lambda r: r[2] % 2 == 0).key_by(lambda r: r[0])
            return keyed.connect(other).process(TwoInputs(name))
        case "reduce":
            reduced = keyed.reduce(lambda a, b: (a[0], a[1], a[2] + b[2], a[3]))
            return reduced.map(lambda r: (name, *r))
        case "two levels":
            first = keyed.process(OneInput(name, at_end))
            counted = first.map(lambda result: (result[1], "count", 1, 0))
            return counted.key_by(lambda r: r[0]).process(OneInput(f"{name} second", True))
        case _:
            done = keyed.process(OneInput(name, at_end))
            left = done.map(lambda r: (name, "left", *r))
            return left.connect(done.map(lambda r: (name, "right", *r))).map(LabelSides())
