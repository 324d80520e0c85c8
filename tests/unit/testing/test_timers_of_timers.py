"""Timers that are set while timers fire, and times before 1970.

What fires when was found by running the same functions on PyFlink.
"""

from __future__ import annotations

import pytest

from headrace.common import Time, Types
from headrace.core.operator import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.datastream import KeyedCoProcessFunction, KeyedProcessFunction, TimeDomain
from headrace.datastream.functions import ProcessWindowFunction
from headrace.datastream.state import ValueStateDescriptor
from headrace.datastream.window import (
    EventTimeSessionWindows,
    GlobalWindows,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)
from headrace.testing import OperatorHarness


class Again(KeyedProcessFunction):
    """Each timer sets the next one, at a distance from its own time, until there were six."""

    def __init__(self, distance: int):
        self.distance = distance

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1])
        ctx.timer_service().register_event_time_timer(value[1] + 50)

    def on_timer(self, timestamp, ctx):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield ctx.get_current_key(), timestamp, ctx.timer_service().current_watermark()
        if count < 6:
            ctx.timer_service().register_event_time_timer(timestamp + self.distance)


class AgainOfTwo(KeyedCoProcessFunction):
    def process_element1(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value)

    process_element2 = process_element1

    def on_timer(self, timestamp, ctx):
        yield timestamp
        if timestamp < 4:
            ctx.timer_service().register_event_time_timer(timestamp + 1)


AT_THE_END = {
    -10: "a1000 a1050 b2000 b2050 a3000 a3050 | a990 a1040 b1990 b2040 a2990 a3040"
    " | a980 b1980 b2030 | b1970",
    0: "a1000 a1050 b2000 b2050 a3000 a3050 | a1000 a1050 b2000 b2050 a3000 a3050"
    " | a1000 b2000 b2050 | b2000",
    10: "a1000 a1050 b2000 b2050 a3000 a3050 | a1010 a1060 b2010 b2060 a3010 a3060"
    " | a1020 b2020 b2070 | b2030",
    1000: "a1000 a1050 b2000 b2050 a3000 a3050 | a2000 a2050 b3000 b3050 a4000 a4050"
    " | a3000 b4000 b4050 | b5000",
}
"""For each distance what fires at the end of the input, in rounds: as PyFlink gave it."""


def again(distance):
    return OperatorHarness.keyed(Again(distance), lambda value: value[0])


@pytest.mark.parametrize("distance", AT_THE_END)
def test_timers_set_by_timers_fire_when_all_that_were_due_have_fired(distance):
    with again(distance) as harness:
        for value in (("a", 1000), ("b", 2000), ("a", 3000)):
            harness.send(value)
        harness.finish()
        wanted = AT_THE_END[distance].replace("| ", "").split()
        fired = harness.take_outputs()
    assert [f"{key}{time}" for key, time, _ in fired] == wanted
    assert {watermark for *_, watermark in fired} == {MAX_TIMESTAMP}


def test_those_for_later_wait_for_their_watermark():
    with again(1000) as harness:
        harness.send(("a", 1000))
        harness.advance_watermark(2020)
        assert [time for _, time, _ in harness.take_outputs()] == [1000, 1050, 2000]
        harness.crash()
        harness.advance_watermark(2060)
        assert [time for _, time, _ in harness.take_outputs()] == [2050]


def test_timers_of_two_inputs_set_timers_to_the_end():
    function = AgainOfTwo()
    with OperatorHarness.keyed_co(function, lambda value: "k", lambda value: "k") as harness:
        harness.send(1)
        harness.finish()
        assert harness.take_outputs() == [1, 2, 3, 4]


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
        for timestamp in (7, 8, 15):
            ctx.timer_service().register_event_time_timer(timestamp)

    def on_timer(self, timestamp, ctx):
        yield timestamp
        if timestamp == 7:
            ctx.timer_service().register_event_time_timer(6)
            for other in (6, 8, 15):
                ctx.timer_service().delete_event_time_timer(other)


def test_a_timer_deletes_what_it_has_just_set_and_what_is_not_due():
    with OperatorHarness.keyed(Unset(), lambda value: "k") as harness:
        harness.send(0)
        harness.advance_watermark(10)
        harness.advance_watermark(20)
        assert harness.take_outputs() == [7, 8]


class EverySecond(Trigger):
    """Sets a timer a second after each of its timers, until the window ends."""

    def on_element(self, element, timestamp, window, ctx):
        ctx.register_event_time_timer(timestamp + 1000)
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        if time < window.max_timestamp():
            ctx.register_event_time_timer(time + 1000)
        return TriggerResult.FIRE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        pass

    def clear(self, window, ctx):
        pass


def test_timers_of_a_trigger_that_timers_set_come_after_the_end_of_the_window_if_it_is_due():
    def build(stream):
        keyed = stream.key_by(lambda value: "k", key_type=Types.STRING())
        windowed = keyed.window(TumblingEventTimeWindows.of(Time.seconds(5)))
        return windowed.trigger(EverySecond()).process(Spans())

    with OperatorHarness(build) as harness:
        harness.send(1, timestamp=500)
        harness.advance_watermark(3600)  # 1500, then 2500, then 3500
        assert harness.take_outputs() == [(0, 5000, [1])] * 3
        harness.finish()  # 4500 and the end; what 4500 sets finds nothing any more
        assert harness.take_outputs() == [(0, 5000, [1])] * 2


class RingsByTheClock(EverySecond):
    """A timer of processing time that sets one for the past, one for later, and deletes one."""

    def on_element(self, element, timestamp, window, ctx):
        ctx.register_processing_time_timer(1000)
        return TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        if time == 1000:
            for other in (-5, 1060, 1090):
                ctx.register_processing_time_timer(other)
            ctx.delete_processing_time_timer(1090)
        return TriggerResult.FIRE


def test_timers_of_a_trigger_by_the_clock_set_others_for_the_past_and_for_later():
    def build(stream):
        keyed = stream.key_by(lambda value: "k", key_type=Types.STRING())
        windowed = keyed.window(GlobalWindows.create())
        return windowed.trigger(RingsByTheClock()).process(Held())

    with OperatorHarness(build, processing_time=900) as harness:
        harness.send(1)
        fired = []
        for now in (1000, 1050, 1060, 1100):
            harness.advance_processing_time(now)
            fired.append(len(harness.take_outputs()))
        assert fired == [2, 0, 1, 0]


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


class Held(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield list(elements)


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
