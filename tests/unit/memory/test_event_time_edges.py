"""Event time where splits end, appear, fall silent and come back, and over several exchanges."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common import Duration, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner, Watermark, WatermarkGenerator
from headrace.core.operator import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.core.state import MapStateDescriptor
from headrace.datastream import KeyedProcessFunction, ProcessFunction, StreamExecutionEnvironment
from headrace.memory.clock import ManualClock
from headrace.runtime.event_time import EventTime
from headrace.runtime.subtask_state import SubtaskState
from headrace.testing import JobHarness, ScriptedSource, job_harness
from tests.unit.memory.split_rows import Rows

NOW = 1_700_000_000_000
A_MINUTE = Duration.of_minutes(1)
UNTIMED = WatermarkStrategy.no_watermarks()


class Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Seen(KeyedProcessFunction):
    """Yields each record with the watermark it saw."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timer_service().current_watermark()


class SeenAtOnce(ProcessFunction):
    """The same before any exchange."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.timer_service().current_watermark()


class Saying(WatermarkGenerator):
    """Records of key "gone" call their split idle, those of key "both" do and go on at once."""

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        if event[0] in ("gone", "both"):
            output.mark_idle()
        if event[0] != "gone":
            output.emit_watermark(Watermark(event[1]))

    def on_periodic_emit(self, output: Any) -> None:
        pass


def monotonous() -> WatermarkStrategy:
    return WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())


def environment(*, per_record: bool = False) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    if per_record:
        env.get_config().set_auto_watermark_interval(0)
    return env


def seen(stream: Any, **options: Any) -> dict[Any, int]:
    return dict(JobHarness(**options).run(stream.key_by(lambda v: v[0]).process(Seen())).values)


def test_nothing_is_late_two_exchanges_on_when_splits_may_be_idle():
    env = environment(per_record=True)
    records = [("abc"[n % 3], n) for n in range(12)]
    strategy = monotonous().with_idleness(A_MINUTE)
    stream = env.from_source(ScriptedSource([records]), strategy, "script")
    again = stream.key_by(lambda v: v[0]).map(lambda v: v).key_by(lambda v: v[1]).process(Seen())
    values = JobHarness(processing_time=NOW).run(again).values
    assert all(watermark < record[1] for record, watermark in values)


@pytest.mark.parametrize("options", [{}, {"processing_time": NOW, "tick": 100}])
def test_a_split_that_called_itself_idle_counts_again_with_its_next_record(options):
    rows = {"one": [[("gone", 3)], [("x", 4)], [("gone", 5)], [("x", 25)]],
            "two": [[("t", 10)], [("t", 20)], [("t", 30)], [("t", 40)], [("t", 50)]]}  # fmt: skip
    strategy = WatermarkStrategy.for_generator(Saying)
    times = seen(environment().from_source(Rows(rows), strategy, "rows"), **options)
    assert [times["t", n] for n in (20, 30, 40)] == [10, 10, 30]


def test_a_watermark_ends_idleness():
    rows = {"one": [[("both", 3)], [], []], "two": [[("t", 10)], [("t", 20)]]}
    strategy = WatermarkStrategy.for_generator(Saying)
    times = seen(environment().from_source(Rows(rows), strategy, "rows"))
    assert times["t", 20] == 3


def test_time_does_not_end_when_one_split_has_ended_and_the_other_is_idle():
    rows = {"ends": [[("a", 3)], [("a", 4)]],
            "idle": [[("t", 10)], [], [], [], [], [("t", 20)], [("t", 30)]]}  # fmt: skip
    strategy = monotonous().with_idleness(Duration.of_millis(150))
    stream = environment().from_source(Rows(rows), strategy, "rows")
    times = seen(stream, processing_time=NOW, tick=100)
    assert [times["t", 20], times["t", 30]] == [9, 19]


def test_splits_of_two_sources_before_one_assigner_are_not_mixed_up():
    """Both call their only split the same, and one of them ends first."""
    env = environment()
    short = env.from_source(ScriptedSource([[("a", 1)]]), UNTIMED, "short")
    long = env.from_source(ScriptedSource([[("b", 1)], [("b", 2)], [("b", 3)]]), UNTIMED, "long")
    times = seen(short.union(long).assign_timestamps_and_watermarks(monotonous()))
    assert [times["b", n] for n in (1, 2, 3)] == [MIN_TIMESTAMP, 0, 1]


def test_a_generator_needs_no_timestamps():
    source = ScriptedSource([[("b", 1)], [("b", 2)], [("b", 3)]])
    times = seen(environment().from_source(source, WatermarkStrategy.for_generator(Saying), "s"))
    assert [times["b", n] for n in (1, 2, 3)] == [MIN_TIMESTAMP, 1, 2]


@pytest.mark.parametrize("per_record", [False, True])
def test_the_end_of_a_split_is_not_the_end_of_time_before_an_exchange(per_record):
    rows = {"one": [[("a", 3)]], "two": [[("t", 10)], [("t", 20)], [("t", 30)]]}
    stream = environment(per_record=per_record).from_source(Rows(rows), monotonous(), "rows")
    times = dict(JobHarness().run(stream.process(SeenAtOnce())).values)
    assert [times["t", 20], times["t", 30]] == [9, 19]


def test_an_assigner_behind_an_exchange_is_idle_only_after_its_timeout():
    source = ScriptedSource([[("a", 100)], [("b", 50), ("c", 50), ("d", 50)], [("a", 200)]])
    stream = environment().from_source(source, UNTIMED, "script").key_by(lambda v: v[0])
    strategy = monotonous().with_idleness(A_MINUTE)
    timed = stream.map(lambda v: v).assign_timestamps_and_watermarks(strategy)
    times = seen(timed, processing_time=NOW)
    assert {times[key, 50] for key in "bcd"} == {MIN_TIMESTAMP}
    assert times["a", 200] == 49


def test_an_assigner_behind_an_exchange_that_never_hears_a_record_becomes_idle():
    source = ScriptedSource([[("a", 100)], [("a", 200)], [("a", 300)]])
    stream = environment().from_source(source, UNTIMED, "script").key_by(lambda v: v[0])
    strategy = monotonous().with_idleness(A_MINUTE)
    timed = stream.map(lambda v: v).assign_timestamps_and_watermarks(strategy)
    assert seen(timed, processing_time=NOW, tick=70_000)["a", 300] == 199


def test_an_assigner_behind_an_exchange_ends_with_its_input():
    env = environment()
    short = env.from_source(ScriptedSource([[("a", 1)]]), UNTIMED, "short").key_by(lambda v: v[0])
    long = ScriptedSource([[("b", 1)], [("b", 2)], [("b", 3)]])
    timed = short.map(lambda v: v).assign_timestamps_and_watermarks(monotonous())
    times = seen(timed.union(env.from_source(long, monotonous(), "long")))
    assert [times["b", 2], times["b", 3]] == [0, 1]


def test_a_failure_behind_a_generator_is_not_said_to_be_the_generators():
    def fail(value: Any) -> Any:
        raise ValueError("mine")

    stream = environment(per_record=True).from_source(
        ScriptedSource([[("a", 1)]]), WatermarkStrategy.for_generator(Saying), "script"
    )
    with pytest.raises(Exception, match="mine") as raised:
        JobHarness().run(stream.map(fail))
    assert "on_event" not in str(raised.value)


def event_time(clock: Any, **idle_after: int) -> EventTime:
    state = SubtaskState(logged=False, clock=clock)
    maps = [state.broadcast("time", MapStateDescriptor(name)) for name in ("reports", "reached")]
    timeouts = {int(name[1:]): timeout for name, timeout in idle_after.items()}
    return EventTime(*maps, timeouts, clock)  # type: ignore[arg-type]


def test_an_origin_never_goes_back():
    """What it told the level after it cannot be taken back: both must see the same."""
    time = event_time(lambda: 0)
    time.take_in({1: {"a": (100, 0)}, 2: {"c": (5, 0)}})
    assert time.watermark((1, 2)) == 5
    time.take_in({1: {"b": (7, 0)}, 2: {"c": (50, 0)}})
    assert time.progress(1)[0] == 100
    assert time.watermark((1, 2)) == 50
    time.keep()
    time.restore()
    assert time.watermark((1,)) == 100


def test_an_ended_origin_does_not_hide_an_idle_one():
    time = event_time(lambda: 1000, _2=100)
    time.take_in({1: {"a": (MAX_TIMESTAMP, 0)}, 2: {"b": (50, 1)}})
    assert time.watermark((1, 2)) == 50
    assert time.progress(2) == (50, -1000)
    time.take_in({2: {"b": (MAX_TIMESTAMP, 2)}})
    assert time.watermark((1, 2)) == MAX_TIMESTAMP


class Running(ManualClock):
    """A clock that moves on while a micro-batch runs."""

    def __call__(self) -> int:
        self._now += 7
        return self._now


class Echo(KeyedProcessFunction):
    """Gives each record back with a timer, just after its time."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(value[1] + 1)
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp


@pytest.mark.parametrize("idle_after", range(50, 2500, 200))
def test_what_timers_give_is_not_late_because_clocks_differ(monkeypatch, idle_after):
    """By the clock of the second level a split may be idle that was not in the first."""
    monkeypatch.setattr(job_harness, "ManualClock", Running)
    rows = {"busy": [[(key, n * 10) for key in "abcdefgh"] for n in range(1, 12)],
            "silent": [[("s", 1)], *[[]] * 12, [("s", 2)]]}  # fmt: skip
    strategy = monotonous().with_idleness(Duration.of_millis(idle_after))
    stream = environment().from_source(Rows(rows), strategy, "rows").key_by(lambda v: v[0])
    again = stream.process(Echo()).key_by(lambda v: v[1]).process(Seen())
    values = JobHarness(processing_time=1000, tick=50).run(again).values
    assert [v for v in values if v[0][0] != "s" and v[1] >= v[0][1]] == []


RISING = st.lists(st.integers(0, 40), max_size=12).map(sorted)


@settings(max_examples=40, deadline=None)
@given(RISING, RISING, RISING, st.lists(st.integers(1, 5), max_size=5), st.sets(st.integers(1, 4)),
       st.booleans(), st.booleans())  # fmt: skip
def test_what_is_in_order_is_never_late(one, two, three, cuts, crashes, per_record, idle):
    """However splits and sources are cut, and two exchanges after the union of them."""
    env = environment(per_record=per_record)
    strategy = monotonous().with_idleness(A_MINUTE) if idle else monotonous()
    splits = {"one": [[("x", n)] for n in one], "two": [[("y", n), ("z", n)] for n in two]}
    first = env.from_source(Rows(splits), strategy, "rows")
    other = env.from_collection([("w", n) for n in three])
    both = first.union(other.assign_timestamps_and_watermarks(strategy))
    stream = both.key_by(lambda v: v[0]).map(lambda v: v).key_by(lambda v: v[1] % 3)
    output = JobHarness(processing_time=NOW, tick=10).run(
        stream.process(Seen()), batches=cuts, crash_after=crashes
    )
    assert all(watermark < record[1] for record, watermark in output.values)
    assert len(Counter(output.values)) <= len(one) + 2 * len(two) + len(three)
