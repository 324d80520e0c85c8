"""Time and state over many micro-batches of a stream."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Duration, Time, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors import FileSource, StreamFormat
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.testing.sources import ScriptedSource

Collect = Callable[[DataStream], Counter[Any]]
NO_TIME = WatermarkStrategy.no_watermarks()


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Gather(KeyedProcessFunction):
    """Emits what came for a key until its timer, ten after the first record."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._items = runtime_context.get_list_state(ListStateDescriptor("items", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if value[1] <= ctx.timer_service().current_watermark():
            yield "late", value[0], value[1]
            return
        if not list(self._items.get() or ()):
            ctx.timer_service().register_event_time_timer(value[1] + 10)
        self._items.add(value[1])

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        items = tuple(self._items.get())
        self._items.clear()
        yield ctx.get_current_key(), items, timestamp, ctx.timer_service().current_watermark()


@pytest.mark.usefixtures("streaming")
@pytest.mark.smoke
def test_event_time_over_micro_batches(env: StreamExecutionEnvironment, collected: Collect) -> None:
    batches = [
        [("a", 1), ("b", 2)],
        [("a", 5)],  # the watermark is 3 after this batch
        [("b", 9), ("a", 30)],  # and 28 after this one: both timers fire
        [("a", 7), ("b", 40)],  # 7 is late
    ]
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(1)
    ).with_timestamp_assigner(SecondField())
    records = env.from_source(ScriptedSource(batches), strategy, "script")
    found = collected(records.key_by(lambda r: r[0]).process(Gather()))
    end = 2**63 - 1
    assert found == Counter([
        ("a", (1, 5, 30), 11, 28), ("b", (2, 9), 12, 28), ("late", "a", 7), ("b", (40,), 50, end)
    ])  # fmt: skip


class Everything(KeyedProcessFunction):
    """Many changes of every kind of state, so that the log is compacted on the way."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))
        self._list = runtime_context.get_list_state(ListStateDescriptor("list", Types.INT()))
        self._map = runtime_context.get_map_state(
            MapStateDescriptor("map", Types.INT(), Types.INT())
        )

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        self._list.add(value[1])
        self._map.put(value[1] % 3, count)
        if count % 4 == 0:
            self._map.remove(0)
        ctx.timer_service().register_event_time_timer(2**62 + 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        entries = tuple(sorted(self._map.items()))
        yield ctx.get_current_key(), self._count.value(), tuple(self._list.get()), entries


@pytest.mark.usefixtures("streaming")
@pytest.mark.slow
@pytest.mark.smoke
def test_state_over_many_micro_batches(
    env: StreamExecutionEnvironment, collected: Collect, monkeypatch: pytest.MonkeyPatch
) -> None:
    env.configuration.set_integer("headrace.state.compact-at-bytes", 200)
    batches = [[(key, 10 * number + key) for key in range(6)] for number in range(12)]
    records = env.from_source(ScriptedSource(batches), NO_TIME, "script")
    found = collected(records.key_by(lambda r: r[0]).process(Everything()))
    monkeypatch.setenv("HEADRACE_MODE", "batch")
    again = env.from_source(ScriptedSource(batches), NO_TIME, "script")
    assert found == collected(again.key_by(lambda r: r[0]).process(Everything()))
    assert {count for _, count, _, _ in found} == {12}


class Expiring(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        seen = ValueStateDescriptor("seen", Types.INT())
        seen.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(300)).build())
        self._seen = runtime_context.get_state(seen)
        self._always = runtime_context.get_state(ValueStateDescriptor("always", Types.INT()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield value[1], self._seen.value(), self._always.value()
        self._seen.update(value[1])
        self._always.update(value[1])
        service = ctx.timer_service()
        service.register_processing_time_timer(service.current_processing_time() + 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield "timer", self._always.value()


def test_watched_folder_timers_and_expiry(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    """Files appear while the job runs, an old one too; a timer fires though none does; state
    expires."""
    folder = tmp_path / "watched"
    folder.mkdir()
    source = (
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))
        .monitor_continuously(Duration.of_millis(100))
        .build()
    )
    lines = env.from_source(source, NO_TIME, "watched")
    numbers = lines.map(lambda line: ("all", int(line)))
    add_file(folder, 1)
    with numbers.key_by(lambda r: r[0]).process(Expiring()).execute_and_collect() as records:
        assert [next(records), next(records)] == [(1, None, None), ("timer", 1)]
        time.sleep(0.4)
        add_file(folder, 2, modified=0)
        assert [next(records), next(records)] == [(2, None, 1), ("timer", 2)]


def add_file(folder: Path, number: int, modified: float | None = None) -> None:
    """Files are moved into a watched folder whole."""
    hidden = folder.parent / f"{number}.txt"
    hidden.write_text(f"{number}\n")
    if modified is not None:
        os.utime(hidden, (modified, modified))
    hidden.rename(folder / hidden.name)


@pytest.mark.smoke
def test_socket_text_stream(env: StreamExecutionEnvironment, line_server: Any) -> None:
    lines = env.socket_text_stream("127.0.0.1", line_server.port)
    words = lines.flat_map(str.split).map(lambda word: (word, 1)).key_by(lambda pair: pair[0])
    with words.sum(1).execute_and_collect() as counts:
        line_server.send(["to be", "to"])
        first = {next(counts) for _ in range(3)}
        assert first == {("to", 1), ("be", 1), ("to", 2)}
        line_server.send(["be"])
        assert next(counts) == ("be", 2)
