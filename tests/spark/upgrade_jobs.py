"""A job in several versions: windows, timers and states that must survive each change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.common import Duration, Row, Time, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import (
    AggregateFunction,
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import MapStateDescriptor, StateTtlConfig, ValueStateDescriptor
from headrace.datastream.window import (
    CountEvictor,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.testing import ScriptedSource
from tests.spark.savepoint_jobs import to_files
from tests.spark.stopped_jobs import Gated

Record = tuple[str, int, int]
"""(key, number, event time)"""
LATE = OutputTag("late")
LISTS: list[list[Record]] = [
    [("a", 1, 1), ("b", 2, 2), ("c", 3, 3)],
    [("a", 4, 11), ("b", 5, 14), ("d", 6, 12)],
    [("a", 7, 22), ("c", 8, 25), ("e", 9, 24)],
    [("a", 10, 3), ("b", 11, 26), ("d", 12, 4)],  # two of them are late
    [("a", 13, 31), ("b", 14, 27), ("e", 15, 33)],
    [("c", 16, 9), ("d", 17, 38), ("f", 18, 40)],
    [("a", 19, 45), ("f", 20, 46), ("b", 21, 31)],
    [("c", 22, 60), ("a", 23, 61), ("e", 24, 12)],
]


@dataclass(frozen=True)
class Version:
    """What differs from one version of the job to another."""

    renamed: bool = False
    """Other names and another order, an exchange more before one operator, one operator more."""
    removable: bool = True
    second_source: bool = False
    max_parallelism: int = 128


class RecordTime(TimestampAssigner):
    def extract_timestamp(self, value: Record, record_timestamp: int) -> int:
        return value[2]


class Counter(KeyedProcessFunction):
    def __init__(self, name: str):
        self.name = name

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Record, ctx: Any) -> Iterator[str]:
        self.count.update((self.count.value() or 0) + value[1])
        yield f"{self.name} {ctx.get_current_key()} {self.count.value()}"


class Alarms(KeyedProcessFunction):
    """For each record a timer of event time, and one of processing time for each key."""

    def open(self, runtime_context: Any) -> None:
        self.set = runtime_context.get_state(ValueStateDescriptor("set", Types.BOOLEAN()))

    def process_element(self, value: Record, ctx: Any) -> Iterator[str]:
        timers = ctx.timer_service()
        timers.register_event_time_timer(value[2] + 20)
        if not self.set.value():
            self.set.update(True)
            timers.register_processing_time_timer(timers.current_processing_time() + 1500)
        yield f"late {value}" if value[2] <= timers.current_watermark() else f"in time {value}"

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        domain = ctx.time_domain().name
        at = timestamp if domain == "EVENT_TIME" else ""
        yield f"{ctx.get_current_key()}: {domain} {at}"


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Record, accumulator: int) -> int:
        return accumulator + value[1]

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


class Told(ProcessWindowFunction):
    """The window, its sum, and how often the key has had one."""

    def __init__(self, name: str):
        self.name = name

    def process(self, key: str, context: Any, elements: Iterable[Any]) -> Iterator[str]:
        fired = context.global_state().get_state(ValueStateDescriptor("fired", Types.INT()))
        fired.update((fired.value() or 0) + 1)
        total = sum(e[1] if isinstance(e, tuple) else e for e in elements)
        yield f"{self.name} {key} {context.window()} {total} {fired.value()}"


def numbers(env: StreamExecutionEnvironment, upto: int | None, uid: str = "numbers") -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(0))
    source = Gated(ScriptedSource(LISTS), upto)
    timed = strategy.with_timestamp_assigner(RecordTime())
    return env.from_source(source, timed, uid).uid(uid)


def windows(records: DataStream) -> list[DataStream]:
    def keyed() -> Any:
        return records.key_by(lambda r: r[0], Types.STRING())

    millis = Time.milliseconds
    tumbling = (keyed().window(TumblingEventTimeWindows.of(millis(10)))
                .side_output_late_data(LATE).allowed_lateness(2)
                .aggregate(Sum(), Told("tumbling")).uid("tumbling"))  # fmt: skip
    return [
        tumbling,
        tumbling.get_side_output(LATE).map(lambda r: f"too late {r}"),
        keyed().window(SlidingEventTimeWindows.of(millis(20), millis(5)))
        .aggregate(Sum(), Told("sliding")).uid("sliding"),
        keyed().window(EventTimeSessionWindows.with_gap(millis(12)))
        .process(Told("session")).uid("session"),
        keyed().window(EventTimeSessionWindows.with_gap(millis(7)))
        .aggregate(Sum(), Told("session sum")).uid("session-sum"),
        keyed().count_window(2).reduce(lambda a, b: (a[0], a[1] + b[1], b[2])).uid("counted")
        .map(lambda r: f"counted {r}"),
        keyed().window(SlidingEventTimeWindows.of(millis(30), millis(10)))
        .evictor(CountEvictor.of(2)).process(Told("evicting")).uid("evicting"),
    ]  # fmt: skip


def build(
    env: StreamExecutionEnvironment, version: Version, upto: int | None
) -> dict[str, DataStream]:
    """The job's results: what every version gives, and what only some give."""
    env.set_max_parallelism(version.max_parallelism)
    records = numbers(env, upto)
    to_count = records
    if version.renamed:
        to_count = records.key_by(lambda r: r[1]).map(lambda r: r).key_by(lambda r: r[2])
        to_count = to_count.map(lambda r: r)
    count = to_count.key_by(lambda r: r[0], Types.STRING()).process(Counter("count")).uid("counter")
    alarms = records.key_by(lambda r: r[0]).process(Alarms()).uid("alarms")
    parts = [count, alarms, *windows(records)]
    if version.renamed:
        count.name("counting, by another name")
        parts.reverse()
    extra = []
    if version.renamed:
        extra.append(records.key_by(lambda r: r[0]).process(Counter("added")).uid("added"))
    if version.removable:
        extra.append(records.key_by(lambda r: r[0]).process(Counter("removable")).uid("removable"))
    if version.second_source:
        extra.append(numbers(env, upto, "more").map(lambda r: f"more {r}"))
    return {"always": parts[0].union(*parts[1:]), **({"some": extra[0].union(*extra[1:])}
                                                     if extra else {})}  # fmt: skip


def write(results: dict[str, DataStream], folder: Path) -> None:
    for name, stream in results.items():
        to_files(stream.map(str, Types.STRING()), folder / name, f"files-{name}")


# Schemas.

_ROW = Types.ROW_NAMED(["a", "b", "c"], [Types.INT(), Types.STRING(), Types.INT()])
_NEW_ROW = Types.ROW_NAMED(["c", "a", "d"], [Types.LONG(), Types.INT(), Types.STRING()])
_PAIR = Types.TUPLE([Types.INT(), Types.STRING()])
_TRIPLE = Types.TUPLE([Types.INT(), Types.STRING(), Types.LONG()])


class Schemas(KeyedProcessFunction):
    """Writes one value of each type in its first version, and tells them in the second."""

    def __init__(self, new: bool = False, **changed: Any):
        self.new = new
        self.changed = changed

    def open(self, runtime_context: Any) -> None:
        types = {"row": _ROW, "n": Types.INT(), "m": Types.LONG(), "pair": _PAIR,
                 "young": Types.STRING(), "old": Types.STRING()}  # fmt: skip
        if self.new:
            types |= {"row": _NEW_ROW, "n": Types.LONG(), "m": Types.DOUBLE(), "pair": _TRIPLE}
        types |= self.changed
        for name, kind in types.items():
            if isinstance(kind, MapStateDescriptor):
                runtime_context.get_map_state(kind)
                continue
            descriptor = ValueStateDescriptor(name, kind)
            if name == ("old" if self.new else "young"):
                descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
            setattr(self, name, runtime_context.get_state(descriptor))

    def process_element(self, value: Record, ctx: Any) -> Iterator[str]:
        if self.new:
            states = (self.row, self.n, self.m, self.pair, self.young, self.old)
            yield f"{value[0]}: {', '.join(repr(state.value()) for state in states)}"
            return
        self.row.update(Row(a=value[1], b="gone", c=-value[1]))
        self.n.update(value[1])
        self.m.update(value[1])
        self.pair.update((value[1], "one"))
        self.young.update("young")
        self.old.update("old")


def build_schemas(
    env: StreamExecutionEnvironment, schemas: Schemas, upto: int | None, *, inserted: bool = False
) -> dict[str, DataStream]:
    records = numbers(env, upto)
    told = records.key_by(lambda r: r[0], Types.STRING()).process(schemas).uid("schemas")
    before = records.map(lambda r: r) if inserted else records
    nameless = before.key_by(lambda r: r[0]).reduce(lambda a, b: b).name("last of each key")
    return {"always": told, "some": nameless}
