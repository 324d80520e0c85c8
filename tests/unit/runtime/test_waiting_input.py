"""In BATCH mode what is broadcast is seen first, and keyed records in the order of their time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from headrace.common import Time, Types, WatermarkStrategy
from headrace.core.watermarks import TimestampAssigner
from headrace.datastream import (
    DataStream,
    KeyedCoProcessFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from headrace.datastream.functions import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from headrace.datastream.state import MapStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.testing import JobHarness

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())
EVENTS = [("a", 5), ("b", 3), ("a", 1), ("a", 9), ("b", 2)]


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(1)
    return env


def timed(env: StreamExecutionEnvironment, events: list[Any]) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())
    return env.from_collection(events).assign_timestamps_and_watermarks(strategy)


def printed(env: StreamExecutionEnvironment) -> list[str]:
    return JobHarness().run(env).printed


def first(event: Any) -> Any:
    return event[0]


def test_records_of_a_key_come_in_the_order_of_their_time(env: StreamExecutionEnvironment) -> None:
    joined = timed(env, EVENTS).key_by(first).reduce(lambda one, two: (*one, two[1]))
    joined.print()
    assert sorted(printed(env)) == ["('a', 1, 5, 9)", "('b', 2, 3)"]


def test_records_of_all_keys_come_in_the_order_of_their_time(
    env: StreamExecutionEnvironment,
) -> None:
    windows = timed(env, EVENTS).window_all(TumblingEventTimeWindows.of(Time.seconds(1)))
    windows.reduce(lambda one, two: (*one, two[1])).print()
    assert printed(env) == ["('a', 1, 2, 3, 5, 9)"]


def test_without_times_records_come_as_they_are(env: StreamExecutionEnvironment) -> None:
    joined = env.from_collection(EVENTS).key_by(first).reduce(lambda one, two: (*one, two[1]))
    joined.print()
    assert sorted(printed(env)) == ["('a', 5, 1, 9)", "('b', 3, 2)"]


class Tell(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[str]:
        yield f"one {value[1]}"

    def process_element2(self, value: Any, ctx: Any) -> Iterable[str]:
        yield f"two {value[1]}"


def test_two_inputs_are_merged_by_time(env: StreamExecutionEnvironment) -> None:
    one, two = timed(env, [("a", 5), ("a", 1)]), timed(env, [("a", 7), ("a", 3)])
    one.key_by(first).connect(two.key_by(first)).process(Tell()).print()
    assert printed(env) == ["one 1", "two 3", "one 5", "two 7"]


class Rules(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, sorted(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.get_broadcast_state(RULES).put(value, len(value))
        return ()


class KeyedRules(KeyedBroadcastProcessFunction):
    process_element = Rules.process_element
    process_broadcast_element = Rules.process_broadcast_element


@pytest.mark.parametrize("keyed", [False, True])
def test_what_is_broadcast_is_seen_first(env: StreamExecutionEnvironment, keyed: bool) -> None:
    records = env.from_collection(["x"])
    rules = env.from_collection(["a", "bb"]).broadcast(RULES)
    if keyed:
        records.key_by(lambda value: value).connect(rules).process(KeyedRules()).print()
    else:
        records.connect(rules).process(Rules()).print()
    assert printed(env) == ["('x', [('a', 1), ('bb', 2)])"]


def test_what_is_broadcast_is_seen_before_what_an_operator_of_the_same_level_emits(
    env: StreamExecutionEnvironment,
) -> None:
    records = timed(env, EVENTS).key_by(first).reduce(lambda one, two: two)
    rules = env.from_collection(["a"]).broadcast(RULES)
    records.connect(rules).process(Rules()).print()
    assert sorted(printed(env)) == ["(('a', 9), [('a', 1)])", "(('b', 3), [('a', 1)])"]
