"""What windows make of mistakes: an error that says what and where, or a counted outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.common import Duration, Time, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import (
    AggregateFunction,
    DataStream,
    KeyedStream,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TimeEvictor,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from headrace.errors import HeadraceError, InvalidArgument, InvalidGraph, TypeMismatch
from headrace.testing import JobHarness, ScriptedSource
from tests.windows.comparison import dropped

ms = Time.milliseconds
LATE = OutputTag("late")
FAR_FUTURE = 253_402_300_799_000
"""The last second of the year 9999."""
THIS_FILE = "test_bad_input.py"
EVENT_TIME_WINDOWS = {
    "tumbling": TumblingEventTimeWindows.of(ms(10)),
    "sliding": SlidingEventTimeWindows.of(ms(10), ms(5)),
    "session": EventTimeSessionWindows.with_gap(ms(10)),
}


def keyed(batches: Any = ((),), strategy: WatermarkStrategy | None = None) -> KeyedStream:
    """Records (key, time) in micro-batches."""
    env = StreamExecutionEnvironment.get_execution_environment()
    records = env.from_source(ScriptedSource(batches), WatermarkStrategy.no_watermarks(), "script")
    if strategy is not None:
        records = records.assign_timestamps_and_watermarks(strategy)
    return records.key_by(lambda record: record[0])


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[1]


BY_SECOND_FIELD = WatermarkStrategy.for_bounded_out_of_orderness(
    Duration.of_millis(0)
).with_timestamp_assigner(SecondField())


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


class Elements(ProcessWindowFunction[Any, Any, str, Any]):
    def process(self, key: str, context: Any, elements: Any) -> Any:
        return [tuple(elements)]


def counted(windowed: Any) -> DataStream:
    return windowed.aggregate(Count())


def listed(windowed: Any) -> DataStream:
    return windowed.process(Elements())


FUNCTIONS: list[Callable[[Any], DataStream]] = [counted, listed]


# Mistakes that show when the program is written.


class OwnTrigger(EventTimeTrigger):
    """One that forgot to say how it merges."""

    def can_merge(self) -> bool:
        return False


@pytest.mark.parametrize(
    "trigger",
    [DeltaTrigger.of(1, lambda a, b: 0), PurgingTrigger.of(OwnTrigger()), OwnTrigger()],
    ids=["delta", "nested", "custom"],
)
@pytest.mark.parametrize(
    "sessions",
    [EventTimeSessionWindows.with_gap(ms(5)), ProcessingTimeSessionWindows.with_gap(ms(5)),
     EventTimeSessionWindows.with_dynamic_gap(lambda record: 5)],
    ids=["event time", "processing time", "dynamic"],
)  # fmt: skip
def test_trigger_that_cannot_merge(trigger: Any, sessions: Any) -> None:
    with pytest.raises(InvalidGraph) as raised:
        keyed().window(sessions).trigger(trigger)
    told = str(raised.value)
    assert f"cannot be used with {type(sessions).__name__}" in told
    assert "can_merge" in told
    assert THIS_FILE in told


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: TumblingEventTimeWindows.of(ms(-1)), "size of a window is -1 ms"),
        (lambda: TumblingEventTimeWindows.of(ms(0)), "size of a window is 0 ms"),
        (lambda: TumblingProcessingTimeWindows.of(ms(-1)), "size of a window is -1 ms"),
        (lambda: TumblingEventTimeWindows.of(ms(5), ms(5)), "offset of a window is 5 ms"),
        (lambda: TumblingEventTimeWindows.of(ms(5), ms(-5)), "offset of a window is -5 ms"),
        (lambda: SlidingEventTimeWindows.of(ms(-5), ms(1)), "size of a window is -5 ms"),
        (lambda: SlidingEventTimeWindows.of(ms(5), ms(-1)), "slide of a window is -1 ms"),
        (lambda: SlidingEventTimeWindows.of(ms(5), ms(0)), "slide of a window is 0 ms"),
        (lambda: EventTimeSessionWindows.with_gap(ms(0)), "gap of a session is 0 ms"),
        (lambda: ProcessingTimeSessionWindows.with_gap(ms(-9)), "gap of a session is -9 ms"),
        (lambda: CountTrigger.of(0), "every 0 records"),
        (lambda: ContinuousEventTimeTrigger.of(ms(-1)), "-1 ms"),
        (lambda: CountEvictor.of(-1), "-1 records"),
        (lambda: TimeEvictor.of(ms(-1)), "-1 ms"),
        (lambda: keyed().count_window(0), "size of a count window is 0"),
        (lambda: keyed().count_window(-3), "size of a count window is -3"),
        (lambda: keyed().window(GlobalWindows.create()).allowed_lateness(-1), "-1 ms"),
    ],
)
def test_sizes_no_window_can_have(make: Callable[[], Any], told: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        make()
    assert told in str(raised.value)
    assert "hint:" in str(raised.value)
    assert THIS_FILE in str(raised.value)


@pytest.mark.parametrize(
    ("use", "told"),
    [
        (lambda: TumblingEventTimeWindows.of(5000), "5000, which is no amount of time"),
        (lambda: keyed().window(TumblingEventTimeWindows), "TumblingEventTimeWindows"),
        (lambda: keyed().window("hourly"), "'hourly'"),
        (lambda: keyed().window(GlobalWindows.create()).trigger(CountTrigger), "CountTrigger"),
        (lambda: keyed().window(GlobalWindows.create()).evictor(3), "evictor"),
        (lambda: keyed().window(GlobalWindows.create()).aggregate(max), "aggregate"),
        (lambda: keyed().window(GlobalWindows.create()).process(Elements), "Elements()"),
        (lambda: keyed().window(GlobalWindows.create()).side_output_late_data("late"), "'late'"),
    ],
)
def test_wrong_kinds_of_argument(use: Callable[[], Any], told: str) -> None:
    with pytest.raises(TypeMismatch) as raised:
        use()
    assert told in str(raised.value)
    assert THIS_FILE in str(raised.value)


# Mistakes that show when records come.


def failure_of(stream: DataStream) -> str:
    with pytest.raises(HeadraceError) as raised:
        JobHarness().run(stream)
    return str(raised.value)


def outcome_of(stream: DataStream) -> Any:
    """The records a job gives, or what it says when it fails."""
    try:
        return JobHarness().run(stream).values
    except HeadraceError as error:
        return str(error)


@pytest.mark.parametrize("windows", EVENT_TIME_WINDOWS.values(), ids=EVENT_TIME_WINDOWS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_timestamps_were_assigned(windows: Any, function: Callable[[Any], DataStream]) -> None:
    told = failure_of(function(keyed([[("a", 1)]]).window(windows)))
    assert "without a timestamp" in told
    assert "('a', 1)" in told
    assert "assign_timestamps_and_watermarks" in told


def test_processing_time_needs_no_timestamps() -> None:
    batches = [[("a", 1)], [("a", 2), ("a", 3)]]
    stream = counted(keyed(batches).window(TumblingProcessingTimeWindows.of(ms(10))))
    assert JobHarness(tick=20).run(stream).values == [1, 2]


@pytest.mark.parametrize("timestamp", [None, "noon", 1.5])
def test_timestamp_that_is_no_number(timestamp: Any) -> None:
    records = keyed([[("a", timestamp)]], BY_SECOND_FIELD)
    told = failure_of(counted(records.window(EVENT_TIME_WINDOWS["tumbling"])))
    assert f"extract_timestamp returned {timestamp!r}" in told
    assert "milliseconds since the epoch" in told


@pytest.mark.parametrize("windows", EVENT_TIME_WINDOWS.values(), ids=EVENT_TIME_WINDOWS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_far_future_makes_the_rest_late(windows: Any, function: Any) -> None:
    """One such record moves event time; those behind it are late, and none is lost unseen."""
    batches = [[("a", 3), ("a", FAR_FUTURE)], [("a", 4), ("b", 9)]]
    overlapping = 2 if isinstance(windows, SlidingEventTimeWindows) else 1
    counting = function(keyed(batches, BY_SECOND_FIELD).window(windows))
    output = JobHarness().run(counting)
    assert (output.side_output(LATE), dropped(output.metrics())) == ([], 2)
    assert len(output.values) == 2 * overlapping
    aside = keyed(batches, BY_SECOND_FIELD).window(windows).side_output_late_data(LATE)
    output = JobHarness().run(function(aside))
    assert (output.side_output(LATE), dropped(output.metrics())) == ([("a", 4), ("b", 9)], 0)
    assert len(output.values) == 2 * overlapping


@pytest.mark.parametrize("windows", EVENT_TIME_WINDOWS.values(), ids=EVENT_TIME_WINDOWS)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("timestamp", [2**63 - 1, 2**70])
def test_beyond_the_end_of_time(windows: Any, function: Any, timestamp: int) -> None:
    """No window can end after the last 64-bit millisecond."""
    told = failure_of(function(keyed([[("a", timestamp)]], BY_SECOND_FIELD).window(windows)))
    assert str(timestamp) in told
    assert "milliseconds" in told


class NoGap(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return 0


@pytest.mark.parametrize("function", FUNCTIONS)
def test_dynamic_gap_of_nothing(function: Callable[[Any], DataStream]) -> None:
    sessions = EventTimeSessionWindows.with_dynamic_gap(NoGap())
    told = failure_of(function(keyed([[("a", 1)]], BY_SECOND_FIELD).window(sessions)))
    assert "session gap of ('a', 1) is 0" in told


class StateOfWindow(ProcessWindowFunction[Any, Any, str, Any]):
    def process(self, key: str, context: Any, elements: Any) -> Any:
        context.window_state().get_state(ValueStateDescriptor("seen")).update(True)
        return [key]


def test_state_of_a_window_that_merges() -> None:
    """Nobody could say what becomes of it when two sessions become one."""
    sessions = keyed([[("a", 1)]], BY_SECOND_FIELD).window(EVENT_TIME_WINDOWS["session"])
    told = failure_of(sessions.process(StateOfWindow()))
    assert "window_state" in told or "state of a window" in told
    assert "merg" in told


class ForgottenMerge(Count):
    def merge(self, a: int, b: int) -> int:  # type: ignore[empty-body]
        pass


def test_sliding_aggregate_without_a_merge() -> None:
    """Sliding windows share accumulators: a merge that gives nothing must not lose a window."""
    batches = [[("a", 3), ("a", 7)]]
    stream = keyed(batches, BY_SECOND_FIELD).window(EVENT_TIME_WINDOWS["sliding"])
    found = outcome_of(stream.aggregate(ForgottenMerge()))
    assert found == [1, 2, 1] or "merge" in found
