"""Triggers: when windows fire, which timers they set, and what is left of them."""

from __future__ import annotations

import pickle

import cloudpickle
import pytest

from headrace.common import Duration, Time
from headrace.core.time import MAX_LONG_VALUE, MIN_LONG_VALUE
from headrace.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EventTimeTrigger,
    GlobalWindow,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    TimeWindow,
    Trigger,
    TriggerResult,
)
from headrace.errors import InvalidArgument, TypeMismatch
from tests.unit.windows.pretended_context import PretendedContext

CONTINUE, FIRE = TriggerResult.CONTINUE, TriggerResult.FIRE
PURGE, FIRE_AND_PURGE = TriggerResult.PURGE, TriggerResult.FIRE_AND_PURGE
MS = Time.milliseconds
WINDOW = TimeWindow(0, 10)
LATER = TimeWindow(5, 15)
WHOLE = TimeWindow(0, 15)


@pytest.fixture
def ctx() -> PretendedContext:
    context = PretendedContext()
    context.window = WINDOW
    return context


def merge(trigger: Trigger, ctx: PretendedContext) -> None:
    ctx.window, ctx.merged = WHOLE, [WINDOW, LATER]
    trigger.on_merge(WHOLE, ctx)


def at(ctx: PretendedContext, window: TimeWindow) -> PretendedContext:
    ctx.window = window
    return ctx


def test_results_say_what_they_do():
    told = {result: (result.is_fire(), result.is_purge()) for result in TriggerResult}
    assert told == {
        CONTINUE: (False, False), FIRE: (True, False),
        PURGE: (False, True), FIRE_AND_PURGE: (True, True),
    }  # fmt: skip


# By time.


def test_event_time_fires_at_the_end(ctx):
    trigger = EventTimeTrigger.create()
    assert trigger.on_element("a", 1, WINDOW, ctx) is CONTINUE
    assert ctx.event_timers == {9}
    assert trigger.on_event_time(8, WINDOW, ctx) is CONTINUE
    assert trigger.on_event_time(9, WINDOW, ctx) is FIRE
    assert trigger.on_processing_time(9, WINDOW, ctx) is CONTINUE


def test_event_time_fires_at_once_for_a_window_that_is_over(ctx):
    ctx.watermark = 9
    assert EventTimeTrigger().on_element("late", 1, WINDOW, ctx) is FIRE
    assert not ctx.event_timers


def test_event_time_merges_into_one_timer(ctx):
    trigger = EventTimeTrigger()
    trigger.on_element("a", 1, WINDOW, ctx)
    trigger.on_element("b", 5, LATER, at(ctx, LATER))
    merge(trigger, ctx)
    for window in (WINDOW, LATER):
        trigger.clear(window, at(ctx, window))
    trigger.on_merge(WHOLE, at(ctx, WHOLE))
    assert ctx.event_timers == {14}
    trigger.clear(WHOLE, ctx)
    assert not ctx.event_timers


def test_event_time_sets_no_timer_for_a_merged_window_that_is_over(ctx):
    ctx.watermark = 14
    merge(EventTimeTrigger(), ctx)
    assert not ctx.event_timers


def test_processing_time_fires_by_the_clock(ctx):
    trigger = ProcessingTimeTrigger.create()
    assert trigger.on_element("a", 1, WINDOW, ctx) is CONTINUE
    assert (ctx.clock_timers, ctx.event_timers) == ({9}, set())
    assert trigger.on_processing_time(9, WINDOW, ctx) is FIRE
    assert trigger.on_event_time(9, WINDOW, ctx) is CONTINUE
    trigger.clear(WINDOW, ctx)
    assert not ctx.clock_timers


@pytest.mark.parametrize(("clock", "timers"), [(3, {14}), (14, set())])
def test_processing_time_merges(ctx, clock, timers):
    ctx.clock = clock
    merge(ProcessingTimeTrigger(), ctx)
    assert ctx.clock_timers == timers


def test_never(ctx):
    trigger = NeverTrigger()
    results = {
        trigger.on_element("a", 1, GlobalWindow(), ctx),
        trigger.on_event_time(1, GlobalWindow(), ctx),
        trigger.on_processing_time(1, GlobalWindow(), ctx),
    }
    assert results == {CONTINUE}
    assert not trigger.can_merge()


# Again and again.


def test_continuous_event_time(ctx):
    trigger = ContinuousEventTimeTrigger.of(MS(4))
    window = ctx.window = TimeWindow(0, 11)
    assert trigger.on_element("a", 5, window, ctx) is CONTINUE
    assert trigger.on_element("b", 1, window, ctx) is CONTINUE, "the first record decides"
    assert ctx.event_timers == {8, 10}
    assert trigger.on_event_time(7, window, ctx) is CONTINUE
    assert trigger.on_event_time(8, window, ctx) is FIRE
    assert ctx.held == {("trigger:fire-time", window): 10}, "the next one is no later than the end"
    assert trigger.on_event_time(10, window, ctx) is FIRE
    trigger.clear(window, ctx)
    assert not ctx.held


def test_continuous_event_time_after_the_end(ctx):
    ctx.watermark = 9
    assert ContinuousEventTimeTrigger.of(MS(4)).on_element("a", 5, WINDOW, ctx) is FIRE


def test_continuous_event_time_merges_to_the_earliest(ctx):
    trigger = ContinuousEventTimeTrigger.of(MS(4))
    trigger.on_element("a", 9, LATER, at(ctx, LATER))
    trigger.on_element("b", 1, WINDOW, at(ctx, WINDOW))
    ctx.event_timers.clear()
    merge(trigger, ctx)
    assert ctx.held == {("trigger:fire-time", WHOLE): 4}
    assert ctx.event_timers == {4}
    trigger.clear(WHOLE, ctx)
    assert not ctx.event_timers


def test_continuous_event_time_ends_with_the_input(ctx):
    """The global window has no end, so nothing else would stop it."""
    trigger, window = ContinuousEventTimeTrigger.of(MS(4)), GlobalWindow.get()
    trigger.on_element("a", 1, window, ctx)
    ctx.watermark = MAX_LONG_VALUE
    assert trigger.on_event_time(4, window, ctx) is FIRE
    assert ctx.event_timers == {4, MAX_LONG_VALUE}
    assert trigger.on_event_time(MAX_LONG_VALUE, window, ctx) is FIRE


@pytest.mark.parametrize("timestamp", [None, MIN_LONG_VALUE])
def test_continuous_event_time_needs_timestamps(ctx, timestamp):
    with pytest.raises(InvalidArgument, match="without a timestamp"):
        ContinuousEventTimeTrigger.of(MS(4)).on_element("a", timestamp, GlobalWindow(), ctx)


def test_continuous_processing_time(ctx):
    trigger = ContinuousProcessingTimeTrigger.of(Duration.of_millis(4))
    ctx.clock = 5
    assert trigger.on_element("a", 100, WINDOW, ctx) is CONTINUE
    assert ctx.clock_timers == {8}
    assert trigger.on_processing_time(7, WINDOW, ctx) is CONTINUE
    assert trigger.on_processing_time(8, WINDOW, ctx) is FIRE
    assert ctx.held == {("trigger:fire-time", WINDOW): 9}
    assert trigger.on_event_time(9, WINDOW, ctx) is CONTINUE


def test_continuous_processing_time_fires_windows_that_ended_long_ago(ctx):
    """The end of an event-time window says nothing about the clock."""
    trigger = ContinuousProcessingTimeTrigger.of(MS(4))
    ctx.clock = 1001
    trigger.on_element("a", 5, WINDOW, ctx)
    assert ctx.clock_timers == {1004}
    assert trigger.on_processing_time(1004, WINDOW, ctx) is FIRE
    assert ctx.clock_timers == {1004, 1008}


def test_continuous_processing_time_merges_and_clears(ctx):
    trigger = ContinuousProcessingTimeTrigger.of(MS(4))
    trigger.on_element("a", 1, WINDOW, ctx)
    ctx.clock = 8
    trigger.on_element("b", 1, LATER, at(ctx, LATER))
    ctx.clock_timers.clear()
    merge(trigger, ctx)
    assert ctx.clock_timers == {4}
    trigger.clear(WHOLE, ctx)
    assert (ctx.clock_timers, ctx.held) == (set(), {})


# By what comes.


def test_count(ctx):
    trigger = CountTrigger.of(3)
    results = [trigger.on_element(number, number, WINDOW, ctx) for number in range(7)]
    assert results == [CONTINUE, CONTINUE, FIRE, CONTINUE, CONTINUE, FIRE, CONTINUE]
    trigger.clear(WINDOW, ctx)
    assert not ctx.held


def test_counts_add_up_when_windows_merge(ctx):
    trigger = CountTrigger.of(4)
    for window, times in ((WINDOW, 2), (LATER, 1)):
        for _ in range(times):
            trigger.on_element("a", 1, window, at(ctx, window))
    merge(trigger, ctx)
    assert ctx.held == {("trigger:count", WHOLE): 3}
    assert trigger.on_element("b", 1, WHOLE, ctx) is FIRE


def test_delta_compares_with_the_record_that_fired(ctx):
    trigger = DeltaTrigger.of(5, lambda old, new: new - old)
    results = [trigger.on_element(number, 0, WINDOW, ctx) for number in (0, 3, 5, 6, 8, 11, 12)]
    assert results == [CONTINUE, CONTINUE, CONTINUE, FIRE, CONTINUE, CONTINUE, FIRE]
    assert not trigger.can_merge()
    trigger.clear(WINDOW, ctx)
    assert not ctx.held


# Around another trigger.


def test_purging_purges_when_the_other_fires(ctx):
    trigger = PurgingTrigger.of(CountTrigger.of(2))
    assert trigger.on_element("a", 1, WINDOW, ctx) is CONTINUE
    assert trigger.on_element("a", 1, WINDOW, ctx) is FIRE_AND_PURGE
    timed = PurgingTrigger.of(EventTimeTrigger())
    assert timed.on_event_time(9, WINDOW, ctx) is FIRE_AND_PURGE
    by_clock = PurgingTrigger.of(ProcessingTimeTrigger())
    assert by_clock.on_processing_time(9, WINDOW, ctx) is FIRE_AND_PURGE


def test_purging_is_the_other_in_all_else(ctx):
    trigger = PurgingTrigger.of(EventTimeTrigger())
    merge(trigger, ctx)
    assert ctx.event_timers == {14}
    trigger.clear(WHOLE, ctx)
    assert not ctx.event_timers
    assert trigger.can_merge()
    assert not PurgingTrigger.of(NeverTrigger()).can_merge()


def test_a_timeout_fires_what_the_other_trigger_waits_with(ctx):
    trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(3), MS(100))
    ctx.clock = 10
    assert trigger.on_element("a", 1, WINDOW, ctx) is CONTINUE
    ctx.clock = 60
    assert trigger.on_element("b", 1, WINDOW, ctx) is CONTINUE
    assert ctx.clock_timers == {110}, "counted from the first record"
    assert trigger.on_processing_time(110, WINDOW, ctx) is FIRE
    assert (ctx.held, ctx.clock_timers) == ({}, set()), "both start afresh"


def test_no_timeout_once_the_other_trigger_has_fired(ctx):
    trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(2), MS(100))
    assert trigger.on_element("a", 1, WINDOW, ctx) is CONTINUE
    assert trigger.on_element("b", 1, WINDOW, ctx) is FIRE
    assert (ctx.held, ctx.clock_timers) == ({}, set())


def test_a_timeout_from_the_last_record(ctx):
    trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(5), MS(100), True)
    trigger.on_element("a", 1, WINDOW, ctx)
    ctx.clock = 60
    trigger.on_element("b", 1, WINDOW, ctx)
    assert ctx.clock_timers == {160}


def test_a_timeout_that_leaves_the_other_trigger_alone(ctx):
    trigger = ProcessingTimeoutTrigger.of(CountTrigger.of(3), MS(100), False, False)
    trigger.on_element("a", 1, WINDOW, ctx)
    assert trigger.on_processing_time(100, WINDOW, ctx) is FIRE
    assert ctx.held[("trigger:count", WINDOW)] == 1


def test_a_timeout_of_a_purging_trigger_purges(ctx):
    nested = PurgingTrigger.of(ProcessingTimeTrigger())
    trigger = ProcessingTimeoutTrigger.of(nested, MS(100))
    assert trigger.on_processing_time(9, WINDOW, ctx) is FIRE_AND_PURGE
    assert trigger.on_event_time(9, WINDOW, ctx) is FIRE


# Together.

EVERY = [
    EventTimeTrigger(), ProcessingTimeTrigger(), NeverTrigger(), CountTrigger(2),
    ContinuousEventTimeTrigger(5), ContinuousProcessingTimeTrigger(5),
    PurgingTrigger(CountTrigger(2)), ProcessingTimeoutTrigger(CountTrigger(2), 5),
    DeltaTrigger(1, max),
]  # fmt: skip


@pytest.mark.parametrize("trigger", EVERY, ids=repr)
def test_triggers_travel_and_say_what_they_are(trigger):
    assert repr(pickle.loads(cloudpickle.dumps(trigger))) == repr(trigger)
    assert repr(trigger).startswith(type(trigger).__name__)


@pytest.mark.parametrize(
    "make",
    [
        lambda: CountTrigger.of(0),
        lambda: CountTrigger.of(-1),
        lambda: ContinuousEventTimeTrigger.of(MS(0)),
        lambda: ContinuousProcessingTimeTrigger.of(MS(-1)),
        lambda: ProcessingTimeoutTrigger.of(CountTrigger(1), MS(0)),
    ],
)
def test_impossible_amounts(make):
    with pytest.raises(InvalidArgument) as caught:
        make()
    assert caught.value.hint
    assert "test_triggers.py" in str(caught.value.origin)


@pytest.mark.parametrize(
    "make",
    [
        lambda: CountTrigger.of(None),
        lambda: CountTrigger.of(1.5),
        lambda: ContinuousEventTimeTrigger.of(5),
        lambda: ContinuousProcessingTimeTrigger.of(None),
        lambda: PurgingTrigger.of(None),
        lambda: PurgingTrigger.of(CountTrigger),
        lambda: ProcessingTimeoutTrigger.of("trigger", MS(1)),
        lambda: ProcessingTimeoutTrigger.of(CountTrigger(1), 100),
        lambda: DeltaTrigger.of("5", max),
        lambda: DeltaTrigger.of(5, None),
    ],
)
def test_wrong_types(make):
    with pytest.raises(TypeMismatch) as caught:
        make()
    assert caught.value.hint
    assert "test_triggers.py" in str(caught.value.origin)
