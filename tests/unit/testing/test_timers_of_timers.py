"""Timers that are set while timers fire, and times before 1970.

What fires when was found by running the same functions on PyFlink.
"""

from __future__ import annotations

import pytest

from headrace.common import Time, Types
from headrace.core.operator import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.datastream import KeyedCoProcessFunction, KeyedProcessFunction, TimeDomain
from headrace.datastream.functions import ProcessWindowFunction
from headrace.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from headrace.testing import OperatorHarness


class Again(KeyedProcessFunction):
    """Each timer sets the next one, at a distance from its own time."""

    def __init__(self, distance: int):
        self.distance = distance

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value)

    def on_timer(self, timestamp, ctx):
        yield timestamp, ctx.timer_service().current_watermark()
        ctx.timer_service().register_event_time_timer(timestamp + self.distance)


class AgainOfTwo(KeyedCoProcessFunction):
    def process_element1(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value)

    process_element2 = process_element1

    def on_timer(self, timestamp, ctx):
        yield timestamp
        ctx.timer_service().register_event_time_timer(timestamp)


def again(distance):
    return OperatorHarness.keyed(Again(distance), lambda value: "k")


@pytest.mark.parametrize("distance", [-500, 0, 500])
def test_a_timer_set_by_a_timer_for_a_time_that_has_passed_waits_for_the_next_watermark(distance):
    with again(distance) as harness:
        harness.send(3000)
        for watermark in (5000, 6000, 7000):
            harness.advance_watermark(watermark)
        harness.crash()
        harness.advance_watermark(7000)
        times = [3000 + step * distance for step in range(3)]
        assert harness.take_outputs() == list(zip(times, (5000, 6000, 7000), strict=True))


def test_timers_that_set_timers_end_with_the_input():
    for distance in (-1, 0, 1):
        with again(distance) as harness:
            harness.send(3000)
            harness.finish()
            assert harness.take_outputs() == [(3000, MAX_TIMESTAMP)]
    function = AgainOfTwo()
    with OperatorHarness.keyed_co(function, lambda value: "k", lambda value: "k") as harness:
        harness.send(1)
        harness.finish()
        assert harness.take_outputs() == [1]


class AgainByTheClock(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_processing_time_timer(value)

    def on_timer(self, timestamp, ctx):
        yield timestamp
        if timestamp > 970:
            ctx.timer_service().register_processing_time_timer(timestamp - 10)


def test_of_processing_time_they_fire_at_once():
    with OperatorHarness.keyed(
        AgainByTheClock(), lambda value: "k", processing_time=900
    ) as harness:
        harness.send(1000)
        harness.advance_processing_time(1000)
        assert harness.take_outputs() == [1000, 990, 980, 970]
        assert harness.timers(TimeDomain.PROCESSING_TIME) == []


class Unset(KeyedProcessFunction):
    """The timer at 7 deletes one that is due as well, and one that it has only just set."""

    def process_element(self, value, ctx):
        for timestamp in (7, 8):
            ctx.timer_service().register_event_time_timer(timestamp)

    def on_timer(self, timestamp, ctx):
        yield timestamp
        if timestamp == 7:
            ctx.timer_service().register_event_time_timer(6)
            ctx.timer_service().delete_event_time_timer(6)
            ctx.timer_service().delete_event_time_timer(8)


def test_a_timer_may_delete_what_it_has_just_set():
    with OperatorHarness.keyed(Unset(), lambda value: "k") as harness:
        harness.send(0)
        harness.advance_watermark(10)
        harness.advance_watermark(20)
        assert harness.take_outputs() == [7]


# Before 1970.


class At(KeyedProcessFunction):
    def process_element(self, value, ctx):
        for timestamp in (MIN_TIMESTAMP, -2500, -1, 0, 1, MAX_TIMESTAMP):
            ctx.timer_service().register_event_time_timer(timestamp)

    def on_timer(self, timestamp, ctx):
        yield timestamp, ctx.timestamp(), ctx.timer_service().current_watermark()


def test_timers_may_be_set_for_any_time():
    with OperatorHarness.keyed(At(), lambda value: "k") as harness:
        harness.send("x", timestamp=-3000)
        harness.advance_watermark(-1)
        harness.advance_watermark(1)
        harness.finish()
        assert harness.take_outputs() == [
            (MIN_TIMESTAMP, MIN_TIMESTAMP, -1), (-2500, -2500, -1), (-1, -1, -1),
            (0, 0, 1), (1, 1, 1), (MAX_TIMESTAMP, MAX_TIMESTAMP, MAX_TIMESTAMP),
        ]  # fmt: skip


class Spans(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield context.window().start, context.window().end, list(elements)


def spans(assigner):
    def build(stream):
        windowed = stream.key_by(lambda value: "k", key_type=Types.STRING()).window(assigner)
        return windowed.process(Spans())

    with OperatorHarness(build) as harness:
        for number in range(6):
            harness.send(number, timestamp=(number - 3) * 1000)
        harness.advance_watermark(-1500)
        early = harness.take_outputs()
        harness.finish()
        return early, harness.take_outputs()


def test_windows_before_1970_are_aligned_as_those_after():
    of_two = TumblingEventTimeWindows.of(Time.seconds(2))
    assert spans(of_two) == (
        [(-4000, -2000, [0])], [(-2000, 0, [1, 2]), (0, 2000, [3, 4]), (2000, 4000, [5])],
    )  # fmt: skip
    shifted = TumblingEventTimeWindows.of(Time.seconds(2), Time.milliseconds(500))
    assert spans(shifted) == ([(-3500, -1500, [0, 1])], [(-1500, 500, [2, 3]), (500, 2500, [4, 5])])
    early, later = spans(EventTimeSessionWindows.with_gap(Time.milliseconds(500)))
    assert early == [(-3000, -2500, [0]), (-2000, -1500, [1])]
    assert later == [(start, start + 500, [start // 1000 + 3]) for start in (-1000, 0, 1000, 2000)]
