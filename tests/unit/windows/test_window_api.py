"""Windowed streams: the calls that make them, and what is refused before anything runs."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Duration, Time, Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.core.types import PickledBytesTypeInfo
from headrace.datastream import (
    AggregateFunction,
    DataStream,
    OutputTag,
    ProcessWindowFunction,
    ReduceFunction,
    StreamExecutionEnvironment,
    WindowedStream,
    WindowFunction,
)
from headrace.datastream.data_stream import AllWindowedStream
from headrace.datastream.functions import AllWindowFunction, ProcessAllWindowFunction
from headrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    DeltaTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from headrace.errors import HeadraceError, InvalidArgument, InvalidGraph, TypeMismatch
from headrace.testing import JobHarness, OperatorHarness, ScriptedSource

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
TUMBLING = TumblingEventTimeWindows.of(Time.milliseconds(10))
SESSIONS = EventTimeSessionWindows.with_gap(Time.milliseconds(3))
RECORDS = [("a", 1), ("b", 2), ("a", 4), ("a", 12), ("b", 15), ("b", 11)]
LATE = OutputTag("late")


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[1]


class Sum(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1[0], value1[1] + value2[1]


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Tell(WindowFunction):
    def apply(self, key, window, inputs):
        yield key, window.start, list(inputs)


class TellProcess(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().start, list(elements)


class TellAll(AllWindowFunction):
    def apply(self, window, inputs):
        yield window.start, list(inputs)


class TellProcessAll(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield context.window().start, list(elements)


@pytest.fixture
def stream() -> DataStream:
    """Pairs whose second field is their time."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return env.from_collection(RECORDS, PAIR).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(SecondField())
    )


@pytest.fixture
def windowed(stream) -> WindowedStream:
    return stream.key_by(lambda pair: pair[0]).window(TUMBLING)


@pytest.fixture
def whole(stream) -> AllWindowedStream:
    return stream.window_all(TUMBLING)


def values(stream: DataStream) -> list[Any]:
    return sorted(JobHarness().run(stream).values)


# What a window's records become.


def test_reduce(windowed):
    assert values(windowed.reduce(Sum())) == [("a", 5), ("a", 12), ("b", 2), ("b", 26)]


def test_reduce_with_a_plain_function_and_a_window_function(windowed):
    reduced = windowed.reduce(lambda one, two: (one[0], one[1] + two[1]), Tell())
    assert values(reduced)[0] == ("a", 0, [("a", 5)])
    processed = windowed.reduce(Sum(), window_function=TellProcess())
    assert values(processed)[-1] == ("b", 10, [("b", 26)])


def test_aggregate(windowed):
    assert values(windowed.aggregate(Count())) == [1, 1, 2, 2]
    told = windowed.aggregate(Count(), Tell(), accumulator_type=Types.LONG())
    assert values(told) == [("a", 0, [2]), ("a", 10, [1]), ("b", 0, [1]), ("b", 10, [2])]
    assert values(windowed.aggregate(Count(), TellProcess()))[0] == ("a", 0, [2])


def test_apply_and_process(windowed):
    expected = [
        ("a", 0, [("a", 1), ("a", 4)]), ("a", 10, [("a", 12)]),
        ("b", 0, [("b", 2)]), ("b", 10, [("b", 15), ("b", 11)]),
    ]  # fmt: skip
    assert values(windowed.apply(Tell())) == expected
    assert values(windowed.process(TellProcess())) == expected
    plain = windowed.apply(lambda key, window, inputs: [(key, window.start, list(inputs))])
    assert values(plain) == expected


def test_over_the_whole_stream(whole):
    expected = [
        (0, [("a", 1), ("b", 2), ("a", 4)]), (10, [("a", 12), ("b", 15), ("b", 11)]),
    ]  # fmt: skip
    assert values(whole.apply(TellAll())) == expected
    assert values(whole.process(TellProcessAll())) == expected
    assert values(whole.apply(lambda window, inputs: [(window.start, list(inputs))])) == expected
    assert values(whole.reduce(Sum())) == [("a", 7), ("a", 38)]
    assert values(whole.reduce(Sum(), TellAll())) == [(0, [("a", 7)]), (10, [("a", 38)])]
    assert values(whole.aggregate(Count(), TellProcessAll())) == [(0, [3]), (10, [3])]


def test_one_field(windowed, whole):
    assert values(windowed.sum(1)) == [("a", 5), ("a", 12), ("b", 2), ("b", 26)]
    assert values(whole.min(1)) == [("a", 1), ("a", 11)]
    assert values(whole.max(1)) == [("a", 4), ("a", 15)]
    assert values(whole.min_by(1)) == [("a", 1), ("b", 11)]
    assert values(whole.max_by(1)) == [("a", 4), ("b", 15)]


def test_count_windows(stream):
    keyed = stream.key_by(lambda pair: pair[0])
    assert values(keyed.count_window(2).sum(1)) == [("a", 5), ("b", 17)]
    assert values(keyed.count_window(2, 1).sum(1)) == [("a", 5), ("a", 16), ("b", 17), ("b", 26)]
    assert values(stream.count_window_all(3).sum(1)) == [("a", 7), ("a", 38)]
    assert values(stream.count_window_all(4, 2).aggregate(Count())) == [4, 4]


def test_a_trigger_and_an_evictor(stream):
    windows = stream.key_by(lambda pair: pair[0]).window(GlobalWindows.create())
    firing = windows.trigger(CountTrigger.of(2)).evictor(CountEvictor.of(1))
    assert values(firing.sum(1)) == [("a", 4), ("b", 15)]


def test_global_windows_without_a_trigger_never_fire(stream):
    assert values(stream.window_all(GlobalWindows.create()).sum(1)) == []


def test_sessions_merge(stream):
    sessions = stream.key_by(lambda pair: pair[0]).window(SESSIONS)
    assert values(sessions.sum(1)) == [("a", 5), ("a", 12), ("b", 2), ("b", 11), ("b", 15)]


# What the graph says.


def node(stream: DataStream) -> Any:
    return stream.builder[stream.node_id]


def test_names_and_types(windowed, whole):
    reduced = windowed.reduce(Sum(), Tell(), output_type=Types.STRING())
    assert reduced.get_name() == "TumblingEventTimeWindows"
    described = "Window(TumblingEventTimeWindows(10, 0), EventTimeTrigger, Sum, Tell)"
    assert node(reduced).description == described
    assert reduced.get_type() == Types.STRING()
    assert whole.sum(1).get_type() == windowed.reduce(Sum()).get_type() == PAIR
    assert isinstance(windowed.aggregate(Count()).get_type(), PickledBytesTypeInfo)
    assert windowed.aggregate(Count(), output_type=Types.LONG()).get_type() == Types.LONG()
    assert windowed.apply(Tell(), Types.INT()).get_type() == Types.INT()
    assert windowed.process(TellProcess(), Types.INT()).get_type() == Types.INT()


def test_what_windows_are_over(stream, windowed, whole):
    for windows in (windowed, whole):
        assert windows.get_input_type() == PAIR
        assert windows.get_execution_environment() is stream.get_execution_environment()


def test_the_whole_stream_passes_through_one_subtask(windowed, whole):
    made = node(whole.sum(1))
    assert (made.parallelism, made.max_parallelism) == (1, 1)
    assert made.description.startswith("AllWindow(")
    assert node(windowed.sum(1)).parallelism is None


def test_options_return_the_stream_they_were_set_on(windowed):
    assert windowed.trigger(CountTrigger.of(3)) is windowed
    assert windowed.evictor(CountEvictor.of(3)) is windowed
    assert windowed.allowed_lateness(5) is windowed
    assert windowed.side_output_late_data(LATE) is windowed


# Late records.


def late(stream: DataStream, *batches: int) -> list[Any]:
    return JobHarness().run(stream, batches=batches).values


@pytest.fixture
def out_of_order() -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    records = env.from_collection([("a", 1), ("a", 25), ("a", 2), ("a", 21)], PAIR)
    return records.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(SecondField()))


def test_late_records_have_the_type_of_the_input(out_of_order):
    result = out_of_order.window_all(TUMBLING).side_output_late_data(LATE).sum(1).name("sums")
    side = result.get_side_output(LATE)
    assert side.get_type() == PAIR
    assert late(side, 2) == [("a", 2)]
    assert isinstance(result.get_side_output(OutputTag("other")).get_type(), PickledBytesTypeInfo)
    declared = result.get_side_output(OutputTag("late", Types.STRING()))
    assert declared.get_type() == Types.STRING()


@pytest.mark.parametrize("lateness", [100, Time.milliseconds(100), Duration.of_millis(100)])
def test_allowed_lateness_fires_again(out_of_order, lateness):
    sums = out_of_order.window_all(TUMBLING).allowed_lateness(lateness).sum(1)
    assert late(sums, 2) == [("a", 1), ("a", 3), ("a", 46)]


def test_the_clock_knows_no_lateness(stream):
    windows = stream.window_all(TumblingProcessingTimeWindows.of(Time.seconds(1)))
    made = windows.allowed_lateness(1000).side_output_late_data(LATE).sum(1)
    assert late(made.get_side_output(LATE)) == []


# What is refused.


def refused(kind: type[HeadraceError], words: str, call: Any, *arguments: Any) -> str:
    with pytest.raises(kind, match=words) as caught:
        call(*arguments)
    assert "test_window_api.py" in str(caught.value.origin)
    assert caught.value.hint
    return caught.value.hint


def test_triggers_that_cannot_merge(stream):
    for windows in (stream.key_by(lambda pair: pair[0]).window(SESSIONS),
                    stream.window_all(SESSIONS)):  # fmt: skip
        trigger = PurgingTrigger.of(DeltaTrigger.of(1, max))
        hint = refused(InvalidGraph, "EventTimeSessionWindows", windows.trigger, trigger)
        assert "can_merge" in hint
        windows.trigger(CountTrigger.of(3))


def test_an_assigner_whose_own_trigger_cannot_merge(stream):
    class Broken(EventTimeSessionWindows):
        def get_default_trigger(self, env):
            return DeltaTrigger.of(1, max)

    windows = stream.window_all(Broken(5))
    refused(InvalidGraph, "Broken", windows.sum, 1)
    assert values(windows.trigger(CountTrigger.of(6)).sum(1)) == []


def test_an_assigner_may_have_a_trigger_that_merges_without_saying_so(stream):
    class Merging(DeltaTrigger):
        def on_merge(self, window, ctx):
            ctx.register_event_time_timer(window.max_timestamp())

    class Sessions(EventTimeSessionWindows):
        def get_default_trigger(self, env):
            return Merging(100, max)

    assert values(stream.window_all(Sessions(5)).sum(1)) is not None
    refused(InvalidGraph, "Sessions", stream.window_all(Sessions(5)).trigger, Merging(1, max))


def test_lateness_must_be_an_amount(windowed):
    refused(InvalidArgument, "negative", windowed.allowed_lateness, -1)
    refused(InvalidArgument, "negative", windowed.allowed_lateness, Time.seconds(-1))
    for wrong in (None, 1.5, "1 s", True):
        refused(TypeMismatch, "lateness", windowed.allowed_lateness, wrong)


def test_assigners_triggers_evictors_and_tags_are_what_they_should_be(stream, windowed):
    keyed = stream.key_by(lambda pair: pair[0])
    for wrong in (None, TumblingEventTimeWindows, Time.seconds(5), CountTrigger.of(1)):
        refused(TypeMismatch, "WindowAssigner", keyed.window, wrong)
        refused(TypeMismatch, "WindowAssigner", stream.window_all, wrong)
    for wrong in (None, ProcessingTimeTrigger, TUMBLING, CountEvictor.of(1)):
        refused(TypeMismatch, "Trigger", windowed.trigger, wrong)
        refused(TypeMismatch, "Evictor|CountEvictor", windowed.evictor, None)
    refused(TypeMismatch, "OutputTag", windowed.side_output_late_data, None)
    refused(TypeMismatch, "OutputTag", windowed.side_output_late_data, "late")


def test_count_windows_need_counts(stream):
    keyed = stream.key_by(lambda pair: pair[0])
    for sizes in ((0,), (-1,), (3, -1)):
        refused(InvalidArgument, "count window", keyed.count_window, *sizes)
        refused(InvalidArgument, "count window", stream.count_window_all, *sizes)
    for wrong in ((None,), ("3",), (3, None), (Time.seconds(1),)):
        refused(TypeMismatch, "count window", keyed.count_window, *wrong)


@pytest.mark.parametrize(
    ("method", "function", "hint"),
    [
        ("apply", TellProcess(), "process"),
        ("process", Tell(), "apply"),
        ("apply", TellAll(), "window_all"),
        ("process", TellProcessAll(), "window_all"),
        ("apply", Tell, "Tell()"),
        ("process", TellProcess, "TellProcess()"),
        ("apply", None, "WindowFunction"),
        ("apply", Sum(), "WindowFunction"),
        ("process", lambda key, context, elements: [], "ProcessWindowFunction"),
        ("aggregate", Sum(), "reduce"),
        ("aggregate", lambda one, two: one, "reduce"),
        ("aggregate", None, "reduce"),
    ],
)
def test_functions_of_another_kind(windowed, method, function, hint):
    assert hint in refused(TypeMismatch, method, getattr(windowed, method), function)


def test_functions_for_keys_do_not_fit_whole_streams(whole):
    assert "key_by" in refused(TypeMismatch, "AllWindowFunction", whole.apply, Tell())
    assert "key_by" in refused(TypeMismatch, "ProcessAll", whole.process, TellProcess())
    refused(TypeMismatch, "AllWindowFunction or", whole.reduce, Sum(), Tell())


def test_the_functions_after_a_reduction_are_checked(windowed):
    for wrong in (TellAll(), Tell, Sum(), "function"):
        refused(TypeMismatch, "reduce", windowed.reduce, Sum(), wrong)
        refused(TypeMismatch, "aggregate", windowed.aggregate, Count(), wrong)
    with pytest.raises(TypeMismatch, match="reduce"):
        windowed.reduce(None)
    with pytest.raises(TypeMismatch, match="reduce"):
        windowed.reduce(Count())


def test_types_are_types(windowed):
    for call in (
        lambda: windowed.reduce(Sum(), output_type=int),
        lambda: windowed.aggregate(Count(), output_type="INT"),
        lambda: windowed.aggregate(Count(), accumulator_type=int),
        lambda: windowed.apply(Tell(), tuple),
        lambda: windowed.process(TellProcess(), tuple),
    ):
        refused(TypeMismatch, "TypeInformation", call)


def test_fields_are_named_or_numbered(windowed, whole):
    for wrong in (None, 1.5, True, ("a",)):
        refused(TypeMismatch, "field", windowed.sum, wrong)
        refused(TypeMismatch, "field", whole.max_by, wrong)


class ForgetsToReturn(AggregateFunction):
    def create_accumulator(self):
        return []

    def add(self, value, accumulator):
        accumulator.append(value)

    def get_result(self, accumulator):
        return len(accumulator)

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


@pytest.mark.parametrize(
    "assigner",
    [
        TumblingEventTimeWindows.of(Time.milliseconds(10)),
        SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5)),
        EventTimeSessionWindows.with_gap(Time.milliseconds(10)),
        GlobalWindows.create(),
    ],
)
def test_an_accumulator_that_is_lost_is_an_error(assigner):
    harness = OperatorHarness(
        lambda stream: stream.key_by(lambda v: v).window(assigner).aggregate(ForgetsToReturn())
    )
    with pytest.raises(TypeMismatch, match=r"add\(\) returned None"):
        harness.send("a", 1)


def test_each_operator_of_a_name_counts_for_itself():
    """Two windows of one kind must not hide each other's dropped records."""
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    script = ScriptedSource([[("a", 50)], [("a", 1)]])
    source = env.from_source(script, strategy.with_timestamp_assigner(SecondField()), "script")
    source = source.key_by(lambda v: v[0])
    ten = TumblingEventTimeWindows.of(Time.milliseconds(10))
    forty = TumblingEventTimeWindows.of(Time.milliseconds(40))
    panes = [source.window(each).reduce(lambda a, b: b) for each in (ten, forty)]
    metrics = JobHarness().run(panes[0].union(panes[1])).metrics()
    dropped = [counts["numLateRecordsDropped"]["count"] for name, counts in metrics.items()
               if name.startswith("TumblingEventTimeWindows")]  # fmt: skip
    assert dropped == [1, 1]
