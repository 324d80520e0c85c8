"""Sliding windows by slices: what the windows hold is what the records say, at little cost."""

from __future__ import annotations

import pickle
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core.functions import AggregateFunction
from headrace.core.state import ValueStateDescriptor
from headrace.core.triggers import EventTimeTrigger
from headrace.core.window_assigners import SlidingEventTimeWindows
from headrace.core.window_functions import ProcessWindowFunction
from headrace.errors import HeadraceError, TypeMismatch
from headrace.memory.snapshot import Snapshot
from headrace.operators.windows.contents import Aggregating
from headrace.operators.windows.firing import firing
from headrace.operators.windows.sliced import SlicedWindowOperator
from headrace.operators.windows.slices import SlidingGrid
from headrace.operators.windows.window_operator import WindowOperator
from headrace.runtime.flow.snapshots import read_state
from headrace.testing import OperatorHarness

LATE = "late"
SHAPES = [
    (10, 5, 0),
    (10, 10, 0),
    (6, 1, 0),
    (10, 4, 3),
    (7, 3, -1),
    (3, 5, 2),
    (4, 6, 0),
    (20, 1, 0),
]


class Listed(AggregateFunction):
    """All numbers, sorted, in a list that is reused and changed wherever it may be."""

    def create_accumulator(self):
        return []

    def add(self, value, accumulator):
        accumulator.append(value[1])
        return accumulator

    def get_result(self, accumulator):
        accumulator.sort()
        return accumulator

    def merge(self, acc_a, acc_b):
        into, other = (acc_a, acc_b) if len(acc_a) % 2 else (acc_b, acc_a)
        into.extend(other)
        other.clear()
        return into


class Summed(AggregateFunction):
    """Sum and count, as a tuple."""

    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Told(ProcessWindowFunction):
    """Says what it was called with; windows are counted in state of their own."""

    def process(self, key, context, elements):
        (numbers,) = elements
        yield key, tuple(context.window()), list(numbers)

    def clear(self, context):
        pass


def sliced(shape, aggregate, function=None, *, event_time=True, lateness=0):
    operator = SlicedWindowOperator(
        SlidingGrid(*shape), aggregate, firing(function, single=True, merging=False),
        event_time=event_time, lateness_ms=lateness, late_tag=LATE,
    )  # fmt: skip
    return OperatorHarness(lambda s: s.key_by(lambda r: r[0])._then("Sliced", operator, None))


class Plain:
    """The rules of sliding windows over event time, restated over lists of numbers."""

    def __init__(self, shape, lateness):
        self.size, self.slide, self.offset = shape
        self.lateness = lateness
        self.watermark = -(2**63)
        self.windows = {}
        self.out = []
        self.late = []

    def send(self, key, number, time):
        newest = time - (time - self.offset) % self.slide
        ends = [start + self.size for start in range(newest, time - self.size, -self.slide)]
        kept = [end for end in ends if end - 1 + self.lateness > self.watermark]
        if not kept and time + self.lateness <= self.watermark:
            self.late.append((key, number))
        for end in kept:
            self.windows.setdefault((end, key), []).append(number)
            if end - 1 <= self.watermark:
                self.fire(end, key)

    def fire(self, end, key):
        window = (end - self.size, end)
        self.out.append(((key, window, sorted(self.windows[end, key])), end - 1))

    def advance(self, watermark):
        before, self.watermark = self.watermark, max(self.watermark, watermark)
        for end, key in sorted(self.windows):
            if before < end - 1 <= watermark:
                self.fire(end, key)
        self.windows = {
            (end, key): found
            for (end, key), found in self.windows.items()
            if end - 1 + self.lateness > watermark
        }


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.sampled_from("ab"), st.integers(-40, 60)),
        st.tuples(st.just("advance"), st.integers(-40, 60)),
        st.tuples(st.just("crash"), st.booleans()),
    ),
    max_size=40,
)


def played(harness, plain, steps):
    """Both after the same steps; the plain one knows no crashes."""
    for number, step in enumerate(steps):
        match step:
            case "send", key, time:
                harness.send((key, number), time)
                plain.send(key, number, time)
            case "advance", watermark:
                watermark = max(watermark, plain.watermark)
                harness.advance_watermark(watermark)
                plain.advance(watermark)
            case "crash", compact:
                harness.crash(compact=compact)
    harness.advance_watermark(1000)
    plain.advance(1000)


def by_key(records):
    return {key: [r for r in records if r[0][0] == key] for key in "ab"}


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(SHAPES), st.sampled_from([0, 1, 5, 12]), STEPS)
def test_panes_and_late_records_are_those_of_plain_lists(shape, lateness, steps):
    plain = Plain(shape, lateness)
    with sliced(shape, Listed(), Told(), lateness=lateness) as harness:
        played(harness, plain, steps)
        assert by_key(harness.take_records()) == by_key(plain.out)
        assert harness.take_side_output(LATE) == plain.late
        assert harness.timers() == []
        assert harness.state_of("headrace:slices") == {}


def general(shape, aggregate, function, lateness):
    """The operator that keeps an accumulator for each window."""
    assigner = SlidingEventTimeWindows(*shape)
    operator = WindowOperator(
        assigner, EventTimeTrigger(), Aggregating(aggregate),
        firing(function, single=True, merging=False), lateness_ms=lateness, late_tag=LATE,
    )  # fmt: skip
    return OperatorHarness(lambda s: s.key_by(lambda r: r[0])._then("Windows", operator, None))


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(SHAPES), st.sampled_from([0, 1, 5, 12]), STEPS)
def test_results_are_those_of_the_general_operator(shape, lateness, steps):
    shape = (*shape[:2], shape[2] % shape[1])
    with (
        sliced(shape, Listed(), Told(), lateness=lateness) as harness,
        general(shape, Listed(), Told(), lateness) as other,
    ):
        played(harness, Plain(shape, lateness), steps)
        played(other, Plain(shape, lateness), steps)
        assert by_key(harness.take_records()) == by_key(other.take_records())
        assert harness.take_side_output(LATE) == other.take_side_output(LATE)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(SHAPES), st.sampled_from([0, 5]), STEPS)
def test_a_tuple_accumulator_gives_the_same_sums(shape, lateness, steps):
    plain = Plain(shape, lateness)
    with sliced(shape, Summed(), lateness=lateness) as harness:
        played(harness, plain, steps)
        found = Counter(harness.take_records())
    assert found == Counter(((sum(n), len(n)), end) for (_, _, n), end in plain.out)


class PlainByClock:
    """The same by the clock: a window that has fired is empty, and may begin again."""

    def __init__(self, shape):
        self.size, self.slide, self.offset = shape
        self.now = 0
        self.windows = {}
        self.out = []

    def send(self, key, number):
        newest = self.now - (self.now - self.offset) % self.slide
        for start in range(newest, self.now - self.size, -self.slide):
            self.windows.setdefault((start + self.size, key), []).append(number)

    def advance(self, now):
        self.now = now
        for end, key in sorted(window for window in self.windows if window[0] - 1 <= now):
            window = (end - self.size, end)
            self.out.append(((key, window, sorted(self.windows.pop((end, key)))), end - 1))


CLOCK_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.sampled_from("ab")),
        st.tuples(st.just("advance"), st.integers(0, 7)),
        st.tuples(st.just("crash"), st.booleans()),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(SHAPES), CLOCK_STEPS)
def test_windows_by_the_clock_hold_what_came_while_they_were_open(shape, steps):
    plain = PlainByClock(shape)
    with sliced(shape, Listed(), Told(), event_time=False) as harness:
        for number, step in enumerate([*steps, ("advance", 1000)]):
            match step:
                case "send", key:
                    # Whatever is due has fired before a micro-batch's first record.
                    plain.advance(plain.now)
                    harness.send((key, number))
                    plain.send(key, number)
                case "advance", step:
                    plain.advance(plain.now + step)
                    harness.advance_processing_time(plain.now)
                case "crash", compact:
                    harness.crash(compact=compact)
                    plain.advance(plain.now)
        assert by_key(harness.take_records()) == by_key(plain.out)
        assert (
            harness.state_of("headrace:slices") == harness.state_of("headrace:slices-again") == {}
        )


class Counted(Summed):
    merges = 0

    def merge(self, acc_a, acc_b):
        Counted.merges += 1
        return super().merge(acc_a, acc_b)


@pytest.mark.parametrize("jump", [1, 10, 1000])
def test_a_pane_costs_few_merges_however_many_slices_it_has(jump, monkeypatch):
    monkeypatch.setattr(Counted, "merges", 0)
    seconds = 1000
    with sliced((100, 1, 0), Counted()) as harness:
        for second in range(0, seconds, jump):
            times = range(second, second + jump)
            harness.send_all([("a", 1)] * jump, times)
            harness.advance_watermark(second + jump - 1)
        harness.advance_watermark(5000)
        panes = len(harness.take_outputs())
    assert panes == seconds + 99
    assert Counted.merges < 3.1 * panes


def test_a_key_has_one_timer_and_none_when_its_windows_are_over():
    with sliced((60, 1, 0), Summed()) as harness:
        harness.send_all([("a", 1)] * 50, range(50))
        assert harness.timers() == [(0, "a")]
        harness.advance_watermark(20)
        assert harness.timers() == [(21, "a")]
        harness.send(("a", 1), 500)
        harness.advance_watermark(108)
        assert harness.timers() == [(500, "a")]
        harness.advance_watermark(559)
        assert harness.timers() == []


class Cleared(Told):
    """Counts evaluations in window state; tells it when the window is cleared."""

    SEEN = "seen"

    def process(self, key, context, elements):
        seen = context.window_state().get_state(ValueStateDescriptor(self.SEEN))
        log = context.global_state().get_state(ValueStateDescriptor("log"))
        seen.update((seen.value() or 0) + 1)
        yield context.window().end, seen.value(), log.value() or ""

    def clear(self, context):
        context.window_state().get_state(ValueStateDescriptor(self.SEEN)).clear()
        log = context.global_state().get_state(ValueStateDescriptor("log"))
        log.update((log.value() or "") + f"{context.window().end} ")


def test_a_window_is_cleared_once_when_its_lateness_is_over():
    with sliced((4, 2, 0), Summed(), Cleared(), lateness=3) as harness:
        harness.send(("a", 1), 1)
        harness.advance_watermark(3)
        harness.send(("a", 1), 1)
        assert harness.take_outputs() == [(2, 1, ""), (4, 1, ""), (4, 2, ""), (2, 2, "")]
        harness.crash()
        harness.advance_watermark(6)
        harness.send(("a", 1), 8)
        harness.advance_watermark(9)
        assert harness.take_outputs() == [(10, 1, "2 4 ")]


def test_what_a_worker_remembers_is_dropped_when_its_state_was_replaced():
    """As on Spark, where another worker may run a batch in between."""
    with sliced((6, 1, 0), Listed(), Told()) as harness:
        for time in range(6):
            harness.send(("a", time), time)
        harness.advance_watermark(6)
        before = harness.snapshot()
        harness.send(("a", 100), 7)
        harness.advance_watermark(8)
        harness.take_records()
        _, task = harness._engine.tasks()
        task.state.reset()
        kept: Snapshot = pickle.loads(pickle.loads(before)[1])
        (files,) = kept.slots.values()
        read_state(task.state, files, kept.files.__getitem__)
        task.time.restore()
        harness.send(("a", 200), 7)
        harness.advance_watermark(20)
        assert harness.take_outputs()[0] == ("a", (2, 8), [2, 3, 4, 5, 200])


def test_a_record_without_a_timestamp_is_refused_with_its_reason():
    with (
        sliced((6, 1, 0), Summed()) as harness,
        pytest.raises(HeadraceError, match="without a timestamp"),
    ):
        harness.send(("a", 1))


def test_a_timestamp_past_the_end_of_time_is_refused_with_its_reason():
    with (
        sliced((6, 1, 0), Summed()) as harness,
        pytest.raises(HeadraceError, match="ends after the last time there is"),
    ):
        harness.send(("a", 1), 2**63 - 3)


class Forgetful(Summed):
    def add(self, value, accumulator):
        return None


def test_an_add_that_returns_nothing_is_an_error():
    harness = sliced((6, 3, 0), Forgetful())
    with pytest.raises(TypeMismatch, match=r"add\(\) returned None"):
        harness.send(("a", 1), 1)
