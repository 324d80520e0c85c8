"""Assigners, merges, triggers and names that are allowed, if odd, or told to be wrong."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Time, Types
from headrace.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import (
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    MergingWindowAssigner,
    PurgingTrigger,
    TimeWindow,
    TumblingEventTimeWindows,
    Window,
)
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.testing import JobHarness, OperatorHarness

TEN = Time.milliseconds(10)
MIN_TIMESTAMP = -(2**63)


def key_of(record: Any) -> Any:
    return record[0]


def summed(one: Any, other: Any) -> Any:
    return one[0], one[1] + other[1]


class Merging(MergingWindowAssigner[Any, TimeWindow]):
    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[TimeWindow]:
        return [TimeWindow(timestamp, timestamp + 5)]

    def get_default_trigger(self, env: Any) -> Any:
        return EventTimeTrigger.create()

    def is_event_time(self) -> bool:
        return True


class Aligning(Merging):
    """Tells also of windows that are alone, and makes them larger."""

    def merge_windows(self, windows: Any, callback: Any) -> None:
        groups: dict[int, list[TimeWindow]] = {}
        for window in windows:
            groups.setdefault(window.start // 10, []).append(window)
        for number, group in groups.items():
            callback.merge(group, TimeWindow(number * 10, number * 10 + 20))


class IntoTheFirst(Merging):
    """Merges into a window that it does not name among the parts."""

    def merge_windows(self, windows: Any, callback: Any) -> None:
        first, *others = sorted(set(windows))
        if others:
            callback.merge(others, first)


@pytest.mark.parametrize(
    ("assigner", "expected"),
    [(Aligning(), [(("a", 3), 19), (("a", 7), 49)]), (IntoTheFirst(), [(("a", 10), 5)])],
)
def test_no_record_is_lost_in_an_odd_merge(assigner, expected):
    windows = lambda s: s.key_by(key_of).window(assigner).reduce(summed)  # noqa: E731
    with OperatorHarness(windows) as harness:
        harness.send_all([("a", 1), ("a", 2), ("a", 3), ("a", 4)], [1, 2, 31, 33])
        harness.advance_watermark(1000)
        assert harness.take_records() == expected
        assert harness.state_of("headrace:merging-windows") == {}
        assert harness.timers() == []


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int | None:
        return accumulator if accumulator != 2 else None

    def merge(self, one: int, other: int) -> int:
        return one + other


@pytest.mark.parametrize(
    "assigner", [TumblingEventTimeWindows.of(TEN), EventTimeSessionWindows.with_gap(TEN)]
)
@pytest.mark.parametrize("trigger", [EventTimeTrigger(), PurgingTrigger(EventTimeTrigger())])
def test_an_aggregate_of_none_is_no_result(assigner, trigger):
    def build(stream: Any) -> Any:
        return stream.key_by(key_of).window(assigner).trigger(trigger).aggregate(Count())

    with OperatorHarness(build) as harness:
        harness.send_all([("a", 1), ("a", 1), ("b", 1)], [1, 2, 3])
        harness.advance_watermark(100)
        assert harness.outputs == [1]


def test_an_aggregate_of_a_window_whose_records_are_all_evicted():
    def build(stream: Any) -> Any:
        windows = stream.key_by(key_of).window(GlobalWindows.create()).trigger(CountTrigger.of(1))
        return windows.evictor(CountEvictor.of(0)).aggregate(Count())

    with OperatorHarness(build) as harness:
        harness.send(("a", 1))
        assert harness.outputs == [0]


class CountFirings(ProcessWindowFunction[Any, Any, Any, Any]):
    """Keeps state by a name that the operator or its trigger could think of, too."""

    def __init__(self, name: str, *, per_window: bool):
        self._state = ValueStateDescriptor(name, Types.LONG())
        self._per_window = per_window

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        store = context.window_state() if self._per_window else context.global_state()
        state = store.get_state(self._state)
        state.update((state.value() or 0) + 1)
        yield state.value(), len(list(elements))


@pytest.mark.parametrize("name", ["count", "window-contents"])
def test_per_window_state_may_have_any_name(name):
    def build(stream: Any) -> Any:
        windows = stream.key_by(key_of).window(TumblingEventTimeWindows.of(TEN))
        return windows.trigger(CountTrigger.of(2)).process(CountFirings(name, per_window=True))

    with OperatorHarness(build) as harness:
        harness.send_all([("a", 1)] * 6, range(6))
        assert harness.outputs == [(1, 2), (2, 4), (3, 6)]


def test_global_state_may_be_called_sessions():
    def build(stream: Any) -> Any:
        windows = stream.key_by(key_of).window(EventTimeSessionWindows.with_gap(TEN))
        return windows.reduce(summed, CountFirings("sessions", per_window=False))

    with OperatorHarness(build) as harness:
        harness.send_all([("a", 1), ("a", 1)], [0, 50])
        harness.advance_watermark(100)
        assert harness.outputs == [(1, 1), (2, 1)]


def test_the_smallest_timestamp_is_none():
    def build(stream: Any) -> Any:
        return stream.key_by(key_of).window(TumblingEventTimeWindows.of(TEN)).reduce(summed)

    with (
        OperatorHarness(build) as harness,
        pytest.raises(InvalidArgument, match="without a timestamp"),
    ):
        harness.send(("a", 1), MIN_TIMESTAMP)


# What is told to be wrong.


class Nameless(Window):
    """A window without equality."""

    def max_timestamp(self) -> int:
        return 10


class Returning(TumblingEventTimeWindows):
    """An assigner that returns what it was made with."""

    def __init__(self, windows: Any):
        super().__init__(10)
        self._windows = windows

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Any:
        return self._windows


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        (None, "returned None, not a collection of windows"),
        (TimeWindow(0, 10), r"returned TimeWindow\(start=0, end=10\), not a collection"),
        ([Nameless()], "windows of Nameless cannot be told apart by value"),
    ],
)
def test_what_an_assigner_must_not_return(returned, problem):
    def build(stream: Any) -> Any:
        return stream.key_by(key_of).window(Returning(returned)).reduce(summed)

    with OperatorHarness(build) as harness, pytest.raises(TypeMismatch, match=problem):
        harness.send(("a", 1), 1)


class Forgetful(EventTimeTrigger):
    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> Any:
        pass


@pytest.mark.parametrize("trigger", [Forgetful(), PurgingTrigger.of(Forgetful())])
def test_a_trigger_must_return_a_result(trigger):
    def build(stream: Any) -> Any:
        windows = stream.key_by(key_of).window(TumblingEventTimeWindows.of(TEN))
        return windows.trigger(trigger).reduce(summed)

    with (
        OperatorHarness(build) as harness,
        pytest.raises(TypeMismatch, match="returned None, not a TriggerResult"),
    ):
        harness.send(("a", 1), 1)


# In BATCH mode all timers of processing time fire at the end; nobody may set new ones for ever.


class Periodic(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(10)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        ctx.timer_service().register_processing_time_timer(timestamp + 10)
        yield timestamp


def test_the_clock_of_a_batch_job_comes_to_its_end():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    keyed = env.from_collection([("a", 1), ("a", 2)]).key_by(key_of)
    trigger = ContinuousProcessingTimeTrigger.of(TEN)
    windows = keyed.window(GlobalWindows.create()).trigger(trigger)
    assert JobHarness().run(windows.reduce(summed)).values == [("a", 3)]
    assert JobHarness().run(keyed.process(Periodic())).values == [10]
