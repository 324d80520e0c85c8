"""How event time advances: idle splits, generators, watermarks between records."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common import Duration, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner, Watermark, WatermarkGenerator
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.jobs.watermarks import WatermarkBoard
from headrace.plan.planner import plan
from headrace.testing import JobHarness, ScriptedSource
from tests.unit.memory.split_rows import Rows


class Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Seen(KeyedProcessFunction):
    """Yields each record with the watermark it saw, and sets a timer at its time."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timer_service().current_watermark()
        ctx.timer_service().register_event_time_timer(value[1] + 5)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield "timer", ctx.get_current_key(), timestamp


def monotonous() -> WatermarkStrategy:
    return WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(2)
    return environment


SILENT = {"busy": [[("b", n * 10)] for n in range(1, 8)], "silent": [[("s", 1)], [], [], [], [],
          [], [("s", 2)]]}  # fmt: skip


def seen(env: StreamExecutionEnvironment, strategy: WatermarkStrategy, **options: Any) -> Any:
    stream = env.from_source(Rows(SILENT), strategy, "rows").key_by(lambda v: v[0]).process(Seen())
    return JobHarness(**options).run(stream).values


def test_a_silent_split_holds_time_back(env):
    assert (("b", 60), 0) in seen(env, monotonous(), processing_time=1, tick=100)


def test_an_idle_split_does_not(env):
    values = seen(
        env, monotonous().with_idleness(Duration.of_millis(250)), processing_time=1, tick=100
    )
    assert (("b", 20), 0) in values  # not idle yet
    assert (("b", 60), 49) in values
    assert (("s", 2), 59) in values  # it comes back, and time does not


def test_time_stays_when_a_split_that_was_idle_is_read_after_a_crash(env):
    strategy = monotonous().with_idleness(Duration.of_millis(250))
    stream = env.from_source(Rows(SILENT), strategy, "rows").key_by(lambda v: v[0]).process(Seen())
    whole = JobHarness(processing_time=1, tick=100).run(stream).values
    for crash in range(1, 8):
        harness = JobHarness(processing_time=1, tick=100)
        assert Counter(harness.run(stream, crash_after={crash}).values) == Counter(whole)


class EveryTenth(WatermarkGenerator):
    """Punctuated: records that end a ten say so."""

    def on_event(self, event, event_timestamp, output):
        if event_timestamp % 10 == 0:
            output.emit_watermark(Watermark(event_timestamp))
        if event[0] == "gone":
            output.mark_idle()

    def on_periodic_emit(self, output):
        pass


def generated() -> WatermarkStrategy:
    return WatermarkStrategy.for_generator(EveryTenth).with_timestamp_assigner(Second())


def test_a_punctuated_generator(env):
    script = [[("a", 10), ("a", 13)], [("a", 5)], [("a", 30)], [("a", 31)]]
    stream = env.from_source(ScriptedSource(script), generated(), "script")
    values = dict(
        v for v in JobHarness().run(stream.key_by(str).process(Seen())).values if len(v) == 2
    )
    assert values["a", 13] == -(2**63)  # the watermark goes out with the micro-batch
    assert values["a", 5] == 10
    assert values["a", 31] == 30


def test_a_generator_may_call_its_split_idle(env):
    rows = {"one": [[("gone", 3)], [], []], "two": [[("t", 10)], [("t", 20)], [("t", 30)]]}
    stream = env.from_source(Rows(rows), generated(), "rows").key_by(lambda v: v[0])
    values = JobHarness().run(stream.process(Seen())).values
    assert (("t", 20), 10) in values
    assert (("t", 30), 20) in values


@pytest.mark.parametrize("strategy", [monotonous(), generated()], ids=["monotonous", "generated"])
def test_watermarks_between_records(env, strategy):
    """With interval 0 a record sees the watermark of those before it, wherever batches are cut."""
    env.get_config().set_auto_watermark_interval(0)
    script = [[("a", 10), ("a", 20), ("a", 15), ("a", 30)], [("a", 12), ("a", 40)]]
    stream = env.from_source(ScriptedSource(script), strategy, "script")
    values = JobHarness().run(stream.key_by(lambda v: v[0]).process(Seen())).values
    late = 9 if strategy.kind == "monotonous" else 10
    assert values[:5] == [
        (("a", 10), -(2**63)), (("a", 20), late), ("timer", "a", 15), (("a", 15), late + 10),
        (("a", 30), late + 10),
    ]  # fmt: skip
    assert (("a", 12), late + 20) in values


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 60)), max_size=25),
    st.lists(st.integers(1, 8), max_size=6),
    st.sets(st.integers(1, 5)),
)
def test_interval_zero_does_not_depend_on_cuts(records, cuts, crashes):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.get_config().set_auto_watermark_interval(0)

    def stream() -> Any:
        timed = env.from_collection(records).assign_timestamps_and_watermarks(monotonous())
        first = timed.key_by(lambda v: v[0]).process(Seen())
        return first.filter(lambda v: len(v) == 2).key_by(lambda v: v[0][1]).process(Late())

    whole = JobHarness().run(stream()).values
    cut = JobHarness().run(stream(), batches=cuts, crash_after=crashes).values
    assert Counter(cut) == Counter(whole)


class Late(KeyedProcessFunction):
    """Says of each record whether it was late, two exchanges after its watermark was made."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timestamp() <= value[1]


def test_who_holds_time_back_can_be_asked(env):
    rows = {"busy": [[("b", 1000)], [("b", 2000)]], "slow": [[("s", 7)], [("s", 8)], [("s", 9)]]}
    stream = env.from_source(Rows(rows), monotonous(), "rows").key_by(lambda v: v[0])
    output = JobHarness(processing_time=1, tick=10).run(stream.process(Seen()))
    seen_by_process = next(each for each in output.watermarks() if "PROCESS" in each.operator)
    assert {split.split for split in seen_by_process.splits} == {"busy", "slow"}
    assert "all input has been read" in str(seen_by_process)


def test_the_slowest_split_is_named():
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(Rows({"p": [[("b", 1)]]}), monotonous(), "rows").key_by(str)
    plan = plan_of(stream.process(Seen()))
    origin = next(v.id for v in plan.vertices.values() if v.name == "Timestamps/Watermarks")
    board = WatermarkBoard(plan, clock=lambda: 90_000)
    board.take_in(origin, {"fast": (5000, 1), "slow": (1000, 1)})
    times = board.report({max(plan.vertices): 1000})
    assert str(times[0]).endswith(
        "1970-01-01T00:00:01.000+00:00; held back by 'Source: rows', split 'slow' at "
        "1970-01-01T00:00:01.000+00:00 since 00:01:30 UTC"
    )


def plan_of(stream: Any) -> Any:
    return plan(stream._env.builder.peek("job", **stream._env._graph_settings()))


def test_ingestion_time(env):
    """Records are as old as their arrival, and time follows them."""
    before = time.time_ns() // 1_000_000
    script = ScriptedSource([[("a", 0)], [("b", 0)]])
    stream = env.from_source(script, WatermarkStrategy.for_ingestion_time(), "script")
    output = JobHarness().run(stream.key_by(str).process(TimeSeen()))
    stamps = [stamp for stamp, _ in output.values]
    assert before <= stamps[0] <= stamps[1] <= time.time_ns() // 1_000_000
    assert output.values[1][1] == stamps[0] - 1


class TimeSeen(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield ctx.timestamp(), ctx.timer_service().current_watermark()
