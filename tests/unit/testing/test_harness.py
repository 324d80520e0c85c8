"""The harness that users test their functions with."""

from __future__ import annotations

import pytest

from headrace.common import Types
from headrace.datastream import (
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    TimeDomain,
)
from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from headrace.errors import InvalidArgument, StateAccessError, TypeMismatch, UserFunctionFailed
from headrace.testing import OperatorHarness

LATE = OutputTag("late", Types.STRING())
RULES = MapStateDescriptor("rules")


class Counter(KeyedProcessFunction):
    """Counts per key; a timer ten after each record gives the count."""

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        if ctx.timestamp() is not None:
            if ctx.timestamp() <= ctx.timer_service().current_watermark():
                yield LATE, value
                return
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()

    def on_timer(self, timestamp, ctx):
        yield "timer", ctx.get_current_key(), self.count.value()


def counter(**options):
    return OperatorHarness.keyed(Counter(), lambda word: word[0], **options)


def test_outputs_and_records():
    with counter() as harness:
        harness.send("apple")
        harness.send_all(["avocado", "banana"])
        assert harness.outputs == [("apple", 1), ("avocado", 2), ("banana", 1)]
        assert harness.take_outputs() == [("apple", 1), ("avocado", 2), ("banana", 1)]
        assert harness.outputs == []
        harness.send("apple", timestamp=5)
        assert harness.take_records() == [(("apple", 3), 5)]


def test_watermarks_fire_timers_and_make_records_late():
    with counter() as harness:
        harness.send_all(["apple", "banana"], [20, 3])
        harness.take_outputs()
        assert harness.timers() == [(13, "b"), (30, "a")]
        harness.advance_watermark(13)
        assert harness.take_records() == [(("timer", "b", 1), 13)]
        assert harness.watermark == 13
        harness.send("berry", timestamp=13)
        assert harness.outputs == []
        assert harness.side_outputs() == ["late"]
        assert harness.side_output(LATE) == ["berry"]
        assert harness.take_side_output("late") == ["berry"]
        assert harness.side_output(LATE) == []
        harness.finish()
        assert harness.take_outputs() == [("timer", "a", 1)]


def test_a_snapshot_goes_into_a_fresh_harness():
    with counter() as first:
        first.send_all(["apple", "banana"], [20, 3])
        first.advance_watermark(5)
        snapshot = first.snapshot()
        first.send("apple", timestamp=21)
    with counter() as second:
        second.restore(snapshot)
        assert second.watermark == 5
        assert second.state_of("count") == {"a": 1, "b": 1}
        second.send("banana", timestamp=5)
        assert second.side_output(LATE) == ["banana"]
        second.advance_watermark(30)
        assert second.take_outputs() == [("timer", "b", 1), ("timer", "a", 1)]


class Forgetful(KeyedProcessFunction):
    """Keeps its count in a field, where a crash loses it."""

    def __init__(self):
        self.count = 0

    def process_element(self, value, ctx):
        self.count += 1
        yield self.count


def test_what_is_not_in_state_does_not_survive_a_crash():
    with OperatorHarness.keyed(Forgetful(), lambda value: value) as harness:
        harness.send_all(["a", "a"])
        harness.crash()
        harness.send("a")
        assert harness.outputs == [1, 2, 1]


def test_state_is_what_the_function_sees():
    with counter() as harness:
        harness.send_all(["apple", "apple"])
        assert harness.state("count", "a") == 2
        assert harness.state("count", "z") is None
        with pytest.raises(InvalidArgument, match=r"(?s)called 'cuont'.*The states are: count"):
            harness.state_of("cuont")


class Alarm(KeyedProcessFunction):
    def process_element(self, value, ctx):
        now = ctx.timer_service().current_processing_time()
        ctx.timer_service().register_processing_time_timer(now + value)

    def on_timer(self, timestamp, ctx):
        yield timestamp


def test_processing_time_is_the_tests():
    with OperatorHarness.keyed(Alarm(), lambda _: "k", processing_time=1000) as harness:
        harness.send_all([50, 20])
        assert harness.timers(TimeDomain.PROCESSING_TIME) == [(1020, "k"), (1050, "k")]
        assert harness.timers("processing") == [(1020, "k"), (1050, "k")]
        harness.advance_processing_time(1019)
        assert harness.outputs == []
        harness.advance_processing_time(2000)
        assert harness.outputs == [1020, 1050]
        assert harness.processing_time == 2000


class Sides(CoProcessFunction):
    def process_element1(self, value, ctx):
        yield 1, value

    def process_element2(self, value, ctx):
        yield 2, value


def test_two_inputs():
    with OperatorHarness.co(Sides()) as harness:
        harness.send("x")
        harness.send("y", side=1)
        assert harness.outputs == [(1, "x"), (2, "y")]
        with pytest.raises(InvalidArgument, match="no input 2"):
            harness.send("z", side=2)


class Both(KeyedCoProcessFunction):
    """Remembers the first input's value and sets timers from the second."""

    def open(self, runtime_context):
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element1(self, value, ctx):
        self.seen.update(value)

    def process_element2(self, value, ctx):
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(self, timestamp, ctx):
        yield self.seen.value(), timestamp


def test_the_watermark_of_two_inputs_is_the_lesser():
    with OperatorHarness.keyed_co(Both(), lambda v: "k", lambda v: "k") as harness:
        harness.send("remembered", timestamp=1)
        harness.send(None, timestamp=5, side=1)
        harness.advance_watermark(10, side=0)
        assert harness.outputs == []
        harness.advance_watermark(7, side=1)
        assert harness.outputs == [("remembered", 5)]
        assert harness.watermark == 7


class Ruled(BroadcastProcessFunction):
    def process_element(self, value, ctx):
        yield ctx.get_broadcast_state(RULES).get(value)

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(*value)


@pytest.mark.parametrize("parallelism", [1, 3])
def test_broadcast_state_is_everywhere(parallelism):
    with OperatorHarness.broadcast(Ruled(), RULES, parallelism=parallelism) as harness:
        harness.send(("a", 1), side=1)
        assert harness.broadcast_state("rules") == {"a": 1}
        harness.crash(compact=True)
        harness.send_all(["a", "b"])
        assert harness.outputs == [1, None]


class Doubled(MapFunction):
    def map(self, value):
        return value * 2


def test_small_functions():
    with OperatorHarness.map(Doubled()) as harness:
        harness.send(4)
        assert harness.outputs == [8]
    with OperatorHarness.flat_map(str.split) as harness:
        harness.send("to be")
        assert harness.outputs == ["to", "be"]
    with OperatorHarness.filter(bool) as harness:
        harness.send_all([0, 1])
        assert harness.outputs == [1]
    with OperatorHarness.reduce(max, lambda value: value % 2) as harness:
        harness.send_all([1, 5, 3, 2])
        assert harness.outputs == [1, 5, 5, 2]
        assert harness.state_of("reduced") == {1: 5, 0: 2}


class Clocked(ProcessFunction):
    def process_element(self, value, ctx):
        yield value, ctx.timer_service().current_watermark()


def test_a_function_without_key_sees_the_watermark():
    with OperatorHarness.process(Clocked()) as harness:
        harness.advance_watermark(7)
        harness.send("a")
        harness.crash()
        harness.send("b")
        assert harness.outputs == [("a", 7), ("b", 7)]


def test_any_operation_can_be_driven():
    def build(stream):
        return stream.map(lambda v: (v, 1)).key_by(lambda v: v[0]).sum(1)

    with OperatorHarness(build) as harness:
        harness.send_all(["a", "a"])
        assert harness.outputs == [("a", 1), ("a", 2)]


def test_output_types_are_applied():
    with (
        OperatorHarness.process(Clocked(), output_type=Types.STRING()) as harness,
        pytest.raises(TypeMismatch, match="PROCESS"),
    ):
        harness.send("a")


class NoKey(ProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(1)


class Failing(MapFunction):
    def map(self, value):
        return 1 // value


def test_errors_are_those_of_a_job():
    with (
        OperatorHarness.process(NoKey()) as harness,
        pytest.raises(StateAccessError, match="not keyed"),
    ):
        harness.send(1)
    with OperatorHarness.map(Failing()) as harness, pytest.raises(UserFunctionFailed) as failure:
        harness.send(0)
    assert "record: 0" in str(failure.value)
    assert "test_harness.py" in str(failure.value)
    with pytest.raises(TypeMismatch, match="Counter"):
        OperatorHarness.keyed(Counter, lambda word: word)


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (lambda h: h.advance_watermark(3), "cannot go back from 5 to 3"),
        (lambda h: h.advance_processing_time(-1), "cannot go back from 0 to -1"),
        (lambda h: h.send_all([1, 2], [1]), "2 records were given 1 timestamps"),
        (lambda h: h.timers("lunch"), "'lunch' is no time domain"),
    ],
)
def test_wrong_use_is_refused(wrong, complaint):
    with counter() as harness:
        harness.advance_watermark(5)
        with pytest.raises(InvalidArgument, match=complaint):
            wrong(harness)


class Careless(KeyedBroadcastProcessFunction):
    """Uses keyed state where there is no key."""

    def open(self, runtime_context):
        self.last = runtime_context.get_state(ValueStateDescriptor("last"))

    def process_element(self, value, ctx):
        self.last.update(value)

    def process_broadcast_element(self, value, ctx):
        self.last.update(value)


def test_a_broadcast_record_has_no_key_whatever_came_before():
    with OperatorHarness.broadcast(Careless(), RULES, key_selector=lambda v: v) as harness:
        harness.send("a")
        with pytest.raises(StateAccessError, match="no current key"):
            harness.send("b", side=1)
