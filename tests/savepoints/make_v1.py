"""The job of the savepoint in `v1/`: state of every kind, and values of every sort.

Names, types and what is stored must stay as they are: the savepoint was written by this program.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace.common import Configuration, Duration, Row, Time, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.core.source import Boundedness, Source, Split, SplitEnumerator, SplitReader
from headrace.datastream import (
    AggregateFunction,
    CheckpointedFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())
RECORDS = [("a", 1, 1000), ("b", 2, 2000), ("c", 3, 3000), ("a", 4, 11_000), ("b", 5, 12_000)]
"""(key, number, event time): what was processed before the savepoint was taken."""
AFTERWARDS = [("a", 6, 13_000), ("c", 7, 2500), ("d", 8, 40_000)]
"""What a resumed job is given; the second one is late."""
A_CENTURY = 100 * 365 * 24 * 3600
ROW = Types.ROW_NAMED(["name", "n", "note"], [Types.STRING(), Types.INT(), Types.STRING()])


class Records(Source[Any]):
    """The records before the savepoint for ever, or those and the ones afterwards to the end."""

    def __init__(self, *, ends: bool):
        self._ends = ends

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED if self._ends else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        return _OneByOne(len(RECORDS) + len(AFTERWARDS) * self._ends)

    def create_reader(self) -> SplitReader[Any]:
        return _Reader()


class _OneByOne(SplitEnumerator):
    def __init__(self, size: int):
        self._size = size

    def splits(self) -> list[Split]:
        return [Split("records")]

    def latest_position(self, split: Split, start: Any) -> Any:
        return min(start + 1, self._size)


class _Reader(SplitReader[Any]):
    def read(self, split: Split, start: Any, end: Any) -> list[Any]:
        return [*RECORDS, *AFTERWARDS][start:end]


class RecordTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[2])


class Point:
    """A class without a type of its own: its objects are pickled."""

    def __init__(self, x: int, y: int):
        self.x, self.y = x, y

    def __repr__(self) -> str:
        return f"Point({self.x}, {self.y})"


class Widest(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> str:
        return f"{accumulator[0]} in {accumulator[1]}"

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class SumOfSeconds(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + int(value[1])

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


class Keyed(KeyedProcessFunction):
    """Each kind of keyed state, each sort of value, timers of both domains."""

    def open(self, runtime_context: Any) -> None:
        ctx = runtime_context
        self.count = ctx.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.text = ctx.get_state(ValueStateDescriptor("text", Types.STRING()))
        self.ratio = ctx.get_state(ValueStateDescriptor("ratio", Types.DOUBLE()))
        self.row = ctx.get_state(ValueStateDescriptor("row", ROW))
        self.pair = ctx.get_state(
            ValueStateDescriptor("pair", Types.TUPLE([Types.STRING(), Types.INT()]))
        )
        self.point = ctx.get_state(ValueStateDescriptor("point"))
        self.anything = ctx.get_list_state(ListStateDescriptor("anything"))
        self.numbers = ctx.get_list_state(ListStateDescriptor("numbers", Types.INT()))
        self.by_name = ctx.get_map_state(
            MapStateDescriptor("by name", Types.STRING(), Types.LONG())
        )
        self.total = ctx.get_reducing_state(ReducingStateDescriptor("total", _plus, Types.LONG()))
        self.widest = ctx.get_aggregating_state(AggregatingStateDescriptor("widest", Widest()))
        ttl = StateTtlConfig.new_builder(Time.seconds(A_CENTURY)).build()
        aging = ValueStateDescriptor("aging", Types.STRING())
        aging.enable_time_to_live(ttl)
        self.aging = ctx.get_state(aging)
        aging_map = MapStateDescriptor("aging map", Types.INT(), Types.STRING())
        aging_map.enable_time_to_live(ttl)
        self.aging_map = ctx.get_map_state(aging_map)

    def process_element(self, value: Any, ctx: Any) -> Iterator[str]:
        key, number, time = value
        late = time <= ctx.timer_service().current_watermark()
        yield f"keyed {key} {number}{' late' if late else ''}: {self._told()}"
        self.count.update((self.count.value() or 0) + 1)
        self.text.update(f"{key}\u00e9\n")
        self.ratio.update(number / 4)
        self.row.update(Row(name=key, n=number, note=None))
        self.pair.update((key, number))
        self.point.update(Point(number, -number))
        self.anything.add(None if number % 2 else (key, 1.5))
        self.numbers.add(number)
        self.by_name.put(f"{key}{number}", number)
        self.total.add(number)
        self.widest.add(number)
        self.aging.update(key)
        self.aging_map.put(number, key)
        ctx.timer_service().register_event_time_timer(time + 20_000)
        ctx.timer_service().register_processing_time_timer(A_CENTURY * 1000 * 2)

    def _told(self) -> tuple[Any, ...]:
        return (
            self.count.value(), self.text.value(), self.ratio.value(), self.row.value(),
            self.pair.value(), self.point.value(), list(self.anything.get() or ()),
            list(self.numbers.get() or ()), list(self.by_name.items()), self.total.get(),
            self.widest.get(), self.aging.value(), list(self.aging_map.items()),
        )  # fmt: skip

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        yield f"timer {ctx.get_current_key()} {timestamp}"


def _plus(a: int, b: int) -> int:
    return a + b


class Told(ProcessWindowFunction):
    def __init__(self, name: str):
        self.name = name

    def process(self, key: str, context: Any, elements: Any) -> Iterator[str]:
        fired = context.global_state().get_state(ValueStateDescriptor("fired", Types.INT()))
        fired.update((fired.value() or 0) + 1)
        total = sum(each[1] if isinstance(each, tuple) else each for each in elements)
        window = context.window()
        yield f"{self.name} {key} {window.start} {window.end} {total} {fired.value()}"


class Kept(ProcessFunction, CheckpointedFunction):
    """List state and union list state of the operator's instances."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.some = store.get_list_state(ListStateDescriptor("some", Types.INT()))
        self.all = store.get_union_list_state(ListStateDescriptor("all", Types.STRING()))
        self.numbers = list(self.some.get())
        self.names = sorted(set(self.all.get()))

    def snapshot_state(self, context: Any) -> None:
        self.some.update(self.numbers)
        self.all.update(self.names)

    def process_element(self, value: Any, ctx: Any) -> Iterator[str]:
        yield f"kept {value[1]}: {sorted(self.numbers)} {self.names}"
        self.numbers.append(value[1])
        self.names = sorted({*self.names, value[0]})


class Judged(KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[str]:
        rules = sorted(ctx.get_broadcast_state(RULES).items())
        yield f"judged {value[1]}: {rules}"

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(value[0], value[1])


def build(env: StreamExecutionEnvironment, *, ends: bool) -> DataStream:
    """What the job tells, as lines."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(0))
    timed = strategy.with_timestamp_assigner(RecordTime())
    records = env.from_source(Records(ends=ends), timed, "records").uid("records")

    def keyed() -> Any:
        return records.key_by(lambda record: record[0], Types.STRING())

    millis = Time.milliseconds
    parts = [
        keyed().process(Keyed(), Types.STRING()).uid("keyed"),
        keyed().window(TumblingEventTimeWindows.of(millis(10_000)))
        .process(Told("tumbling"), Types.STRING()).uid("tumbling"),
        keyed().window(SlidingEventTimeWindows.of(millis(20_000), millis(10_000)))
        .aggregate(SumOfSeconds(), Told("sliding")).uid("sliding"),
        keyed().window(EventTimeSessionWindows.with_gap(millis(15_000)))
        .process(Told("session"), Types.STRING()).uid("session"),
        keyed().count_window(3).reduce(lambda a, b: (a[0], a[1] + b[1], b[2])).uid("counted")
        .map(lambda record: f"counted {record}").uid("counted lines"),
        records.rebalance().process(Kept(), Types.STRING()).uid("kept"),
        keyed().connect(records.broadcast(RULES)).process(Judged(), Types.STRING()).uid("judged"),
    ]  # fmt: skip
    return parts[0].union(*parts[1:])


def take(folder: Path) -> None:
    """Run the job up to where the savepoint is to be, and take it."""
    configuration = Configuration()
    with tempfile.TemporaryDirectory() as work:
        configuration.set_string("execution.checkpointing.dir", f"{work}/checkpoints")
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(2)
        env.enable_checkpointing(10)
        build(env, ends=False).print()
        client = env.execute_async("savepoint v1")
        while client.get_checkpoints().counts().completed < len(RECORDS):
            pass
        saved = client.stop_with_savepoint(False, f"{work}/savepoints").result(120)
        client.get_job_execution_result().result(60)
        shutil.copytree(saved.removeprefix("file:"), folder)


if __name__ == "__main__":
    from tests.savepoints import make_v1

    make_v1.take(Path(sys.argv[1]))  # under its own name: classes are found again by it
