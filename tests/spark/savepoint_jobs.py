"""A job with every kind of keyed state and timers, and a source that gives what a test allows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.core.serialization import Encoder
from headrace.core.source import Source, Split, SplitEnumerator, SplitReader
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import FileSink, RollingPolicy
from headrace.datastream.data_stream import DataStream
from headrace.datastream.functions import (
    AggregateFunction,
    KeyedProcessFunction,
    RuntimeContext,
)
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)


class Tap(Source[int]):
    """Numbers from 0 up to what a file says, for ever."""

    def __init__(self, valve: Path, splits: int = 2):
        self.valve = valve
        self.splits = splits

    def create_enumerator(self) -> SplitEnumerator:
        return _Enumerator(self.valve, self.splits)

    def create_reader(self) -> SplitReader[int]:
        return _Reader(self.splits)


class _Enumerator(SplitEnumerator):
    def __init__(self, valve: Path, splits: int):
        self._valve = valve
        self._splits = splits

    def splits(self) -> list[Split]:
        return [Split(f"s{number}", number) for number in range(self._splits)]

    def latest_position(self, split: Split, start: Any) -> Any:
        limit = int(self._valve.read_text() or 0)
        return max(start, (limit - split.info + self._splits - 1) // self._splits)


class _Reader(SplitReader[int]):
    def __init__(self, splits: int):
        self._splits = splits

    def read(self, split: Split, start: Any, end: Any) -> Iterable[int]:
        return [position * self._splits + split.info for position in range(start, end)]

    def timestamp(self, record: int) -> int:
        return record * 10


class _Largest(AggregateFunction):
    def create_accumulator(self) -> int:
        return -1

    def add(self, value: int, accumulator: int) -> int:
        return max(value, accumulator)

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return max(a, b)


class EveryState(KeyedProcessFunction):
    """Says for each record what all its states hold; a timer for each hundred records."""

    def open(self, runtime_context: RuntimeContext) -> None:
        ctx = runtime_context
        self.count = ctx.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.seen = ctx.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.by_rest = ctx.get_map_state(
            MapStateDescriptor("by rest", Types.STRING(), Types.LONG())
        )
        self.total = ctx.get_reducing_state(
            ReducingStateDescriptor("total", lambda a, b: a + b, Types.LONG())
        )
        self.largest = ctx.get_aggregating_state(
            AggregatingStateDescriptor("largest", _Largest(), Types.LONG())
        )

    def process_element(self, value: int, ctx: Any) -> Iterator[str]:
        self.count.update((self.count.value() or 0) + 1)
        self.seen.add(value)
        self.by_rest.put(str(value % 3), value)
        self.total.add(value)
        self.largest.add(value)
        ctx.timer_service().register_event_time_timer(value // 100 * 1000 + 999)
        rests = dict(sorted(self.by_rest.items()))
        yield (f"{ctx.get_current_key()}: {self.count.value()} {len(list(self.seen.get()))} "
               f"{rests} {self.total.get()} {self.largest.get()}")  # fmt: skip

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        yield f"{ctx.get_current_key()} at {timestamp}: {self.total.get()}"


def expected(limit: int) -> list[str]:
    """What EveryState says of the numbers up to a limit, but for timers."""
    states: dict[int, list[int]] = {}
    lines = []
    for value in range(limit):
        seen = states.setdefault(value % 7, [])
        seen.append(value)
        rests = dict(sorted((str(each % 3), each) for each in seen))
        lines.append(f"{value % 7}: {len(seen)} {len(seen)} {rests} {sum(seen)} {max(seen)}")
    return lines


def settings(folder: Path, **more: str) -> Configuration:
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", str(folder))
    for key, value in more.items():
        configuration.set_string(key.replace("__", "-").replace("_", "."), value)
    return configuration


def every_state(env: StreamExecutionEnvironment, valve: Path, splits: int = 1) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    numbers = env.from_source(Tap(valve, splits), strategy, "tap", Types.LONG()).uid("tap")
    keyed = numbers.key_by(lambda value: value % 7, Types.LONG())
    return keyed.process(EveryState(), Types.STRING()).uid("every-state")


def to_files(stream: DataStream, folder: Path, uid: str = "files") -> None:
    sink = FileSink.for_row_format(str(folder), Encoder.simple_string_encoder())
    stream.sink_to(
        sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build()
    ).uid(uid)
