"""Assigners: which windows a record belongs to."""

from __future__ import annotations

import copy
import pickle
from io import BytesIO
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Duration, Time
from headrace.core.time import MAX_LONG_VALUE, MIN_LONG_VALUE
from headrace.datastream.window import (
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    CountWindow,
    CountWindowSerializer,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindow,
    GlobalWindows,
    GlobalWindowSerializer,
    MergingWindowAssigner,
    NeverTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeWindow,
    TimeWindowSerializer,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    Window,
    WindowAssigner,
)
from headrace.errors import InvalidArgument, TypeMismatch
from tests.unit.windows.pretended_context import PretendedContext

MS = Time.milliseconds


class GapField(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return element[1]


class Merges(MergingWindowAssigner.MergeCallback[Any]):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.seen: list[tuple[set[Any], Any]] = []

    def merge(self, to_be_merged: Any, merge_result: Any) -> None:
        self.seen.append((set(to_be_merged), merge_result))


def windows_of(assigner: WindowAssigner[Any, Any], time: int, element: Any = None) -> list[Any]:
    """The windows at a time of either clock, in their order in time."""
    context = PretendedContext()
    context.clock = time
    stamp = time if assigner.is_event_time() else 12345
    return sorted(assigner.assign_windows(element, stamp, context))


# Windows.


@pytest.mark.parametrize("window", [TimeWindow(-5, 2**40), CountWindow(7), GlobalWindow.get()])
def test_windows_are_values(window):
    assert isinstance(window, Window)
    assert pickle.loads(pickle.dumps(window)) == window == copy.deepcopy(window)
    assert type(pickle.loads(pickle.dumps(window))) is type(window)
    assert {window: 1}[copy.copy(window)] == 1


def test_a_time_window_knows_its_bounds():
    window = TimeWindow(1000, 2000)
    assert (window.start, window.end, window.max_timestamp()) == (1000, 2000, 1999)
    assert repr(window) == "TimeWindow(start=1000, end=2000)"
    assert window != TimeWindow(1000, 2001)
    assert TimeWindow(0, 9) < TimeWindow(0, 10) < TimeWindow(1, 2)


def test_other_windows_never_end():
    assert CountWindow(3).max_timestamp() == GlobalWindow.get().max_timestamp() == MAX_LONG_VALUE
    assert CountWindow(3).id == 3
    assert GlobalWindow.get() is GlobalWindow() is pickle.loads(pickle.dumps(GlobalWindow()))
    assert (repr(CountWindow(3)), repr(GlobalWindow())) == ("CountWindow(id=3)", "GlobalWindow")


def test_windows_that_touch_intersect():
    window = TimeWindow(10, 20)
    assert window.intersects(TimeWindow(20, 30))
    assert window.intersects(TimeWindow(0, 10))
    assert window.intersects(TimeWindow(12, 13))
    assert not window.intersects(TimeWindow(21, 30))
    assert window.cover(TimeWindow(15, 40)) == TimeWindow(10, 40)


@pytest.mark.parametrize(
    ("serializer", "window"),
    [
        (TimeWindowSerializer(), TimeWindow(-1, 5)),
        (CountWindowSerializer(), CountWindow(12)),
        (GlobalWindowSerializer(), GlobalWindow.get()),
    ],
)
def test_serializers_write_and_read_windows(serializer, window):
    stream = BytesIO()
    serializer.serialize(window, stream)
    serializer.serialize(window, stream)
    stream.seek(0)
    assert [serializer.deserialize(stream), serializer.deserialize(stream)] == [window, window]


@given(st.integers(-(10**15), 10**15), st.integers(1, 10**6), st.data())
def test_the_start_is_the_last_aligned_time(timestamp, size, data):
    offset = data.draw(st.integers(1 - size, size - 1))
    start = TimeWindow.get_window_start_with_offset(timestamp, offset, size)
    assert start <= timestamp < start + size
    assert (start - offset) % size == 0


def test_local_days_begin_with_an_offset():
    start = TimeWindow.get_window_start_with_offset(1470902048450, -28_800_000, 86_400_000)
    assert start == 1470844800000


# Merging.


def test_merging_reports_only_groups():
    merges = Merges()
    given_windows = [TimeWindow(5, 8), TimeWindow(0, 3), TimeWindow(20, 25), TimeWindow(2, 5)]
    TimeWindow.merge_windows(given_windows, merges)
    assert merges.seen == [
        ({TimeWindow(0, 3), TimeWindow(2, 5), TimeWindow(5, 8)}, TimeWindow(0, 8))
    ]


@pytest.mark.parametrize("given_windows", [[], [TimeWindow(0, 1)], [TimeWindow(0, 1)] * 2])
def test_nothing_to_merge(given_windows):
    merges = Merges()
    TimeWindow.merge_windows(given_windows, merges)
    assert merges.seen == []


def test_a_window_inside_another_does_not_end_the_group():
    merges = Merges()
    parts = [TimeWindow(0, 100), TimeWindow(1, 2), TimeWindow(50, 120)]
    EventTimeSessionWindows.with_gap(MS(1)).merge_windows(parts, merges)
    assert merges.seen == [(set(parts), TimeWindow(0, 120))]


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=12))
def test_merging_joins_exactly_what_is_connected(pairs):
    parts = {TimeWindow(start, start + length) for start, length in pairs}
    merges = Merges()
    TimeWindow.merge_windows(parts, merges)
    whole = {result for _, result in merges.seen}
    merged = set().union(*(group for group, _ in merges.seen))
    left = sorted(whole | (parts - merged))
    assert all(one.end < two.start for one, two in pairwise(left))
    for group, result in merges.seen:
        assert (result.start, result.end) == (min(group).start, max(w.end for w in group))


# Time windows.


@pytest.mark.parametrize("kind", [TumblingEventTimeWindows, TumblingProcessingTimeWindows])
def test_tumbling(kind):
    plain, shifted = kind.of(MS(5000)), kind.of(MS(5000), MS(-100))
    assert windows_of(plain, 0) == windows_of(plain, 4999) == [TimeWindow(0, 5000)]
    assert windows_of(plain, 5000) == [TimeWindow(5000, 10000)]
    assert windows_of(plain, -1) == [TimeWindow(-5000, 0)]
    assert windows_of(shifted, 4899) == [TimeWindow(-100, 4900)]
    assert windows_of(shifted, 4900) == [TimeWindow(4900, 9900)]


@pytest.mark.parametrize("kind", [SlidingEventTimeWindows, SlidingProcessingTimeWindows])
def test_sliding(kind):
    plain, shifted = kind.of(MS(5000), MS(1000)), kind.of(MS(5000), MS(1000), MS(500))
    starts = range(0, 5000, 1000)
    assert windows_of(plain, 4999) == [TimeWindow(start, start + 5000) for start in starts]
    assert [window.start for window in windows_of(shifted, 100)] == list(range(-4500, 0, 1000))


@pytest.mark.parametrize("kind", [SlidingEventTimeWindows, SlidingProcessingTimeWindows])
def test_sliding_by_more_than_the_size_leaves_gaps(kind):
    assigner = kind.of(MS(2), MS(5))
    assert [len(windows_of(assigner, time)) for time in range(5)] == [1, 1, 0, 0, 0]


@given(st.integers(-1000, 1000), st.integers(1, 50), st.integers(1, 50), st.data())
def test_sliding_windows_are_all_that_hold_the_time(time, size, slide, data):
    offset = data.draw(st.integers(1 - slide, slide - 1))
    found = windows_of(SlidingEventTimeWindows(size, slide, offset), time)
    starts = [start for start in range(time - size + 1, time + 1) if (start - offset) % slide == 0]
    assert found == [TimeWindow(start, start + size) for start in starts]


@pytest.mark.parametrize("kind", [EventTimeSessionWindows, ProcessingTimeSessionWindows])
def test_sessions(kind):
    assert windows_of(kind.with_gap(Duration.of_seconds(3)), 7) == [TimeWindow(7, 3007)]
    dynamic = kind.with_dynamic_gap(GapField())
    assert windows_of(dynamic, 7, ("a", 10)) == [TimeWindow(7, 17)]
    assert windows_of(kind.with_dynamic_gap(lambda element: 5), 7) == [TimeWindow(7, 12)]


@pytest.mark.parametrize("gap", [0, -1, None, 1.5, True])
def test_a_dynamic_gap_must_be_positive(gap):
    with pytest.raises(InvalidArgument, match="session gap") as caught:
        windows_of(DynamicEventTimeSessionWindows.with_dynamic_gap(GapField()), 7, ("a", gap))
    assert caught.value.hint


def test_dynamic_sessions_by_name():
    event = EventTimeSessionWindows.with_dynamic_gap(GapField())
    clock = ProcessingTimeSessionWindows.with_dynamic_gap(GapField())
    assert isinstance(event, DynamicEventTimeSessionWindows)
    assert isinstance(clock, DynamicProcessingTimeSessionWindows)


EVENT_TIME = [
    TumblingEventTimeWindows.of(MS(5)),
    SlidingEventTimeWindows.of(MS(5), MS(1)),
    EventTimeSessionWindows.with_gap(MS(5)),
    DynamicEventTimeSessionWindows(GapField()),
]
CLOCK = [
    TumblingProcessingTimeWindows.of(MS(5)),
    SlidingProcessingTimeWindows.of(MS(5), MS(1)),
    ProcessingTimeSessionWindows.with_gap(MS(5)),
    DynamicProcessingTimeSessionWindows(GapField()),
]


@pytest.mark.parametrize("timestamp", [None, MIN_LONG_VALUE])
@pytest.mark.parametrize("assigner", EVENT_TIME, ids=repr)
def test_event_time_needs_timestamps(assigner, timestamp):
    with pytest.raises(InvalidArgument, match="without a timestamp") as caught:
        assigner.assign_windows(("a", 1), timestamp, PretendedContext())
    assert "assign_timestamps_and_watermarks" in str(caught.value.hint)


def test_default_triggers_follow_the_clock():
    assert {type(assigner.get_default_trigger(None)) for assigner in EVENT_TIME} == {
        EventTimeTrigger
    }
    assert {type(assigner.get_default_trigger(None)) for assigner in CLOCK} == {
        ProcessingTimeTrigger
    }
    assert all(assigner.is_event_time() for assigner in EVENT_TIME)
    assert not any(assigner.is_event_time() for assigner in CLOCK)
    for assigner in EVENT_TIME + CLOCK:
        assert isinstance(assigner.get_window_serializer(), TimeWindowSerializer)


# Global and count windows.


def test_global_windows():
    assigner = GlobalWindows.create()
    assert windows_of(assigner, 5) == [GlobalWindow.get()]
    assert isinstance(assigner.get_default_trigger(None), NeverTrigger)
    assert isinstance(assigner.get_window_serializer(), GlobalWindowSerializer)
    assert not assigner.is_event_time()


def ids(assigner: WindowAssigner[Any, Any], records: int) -> list[list[int]]:
    context = PretendedContext()
    assigned = (assigner.assign_windows(None, 0, context) for _ in range(records))
    return [sorted(window.id for window in windows) for windows in assigned]


def test_count_windows_number_the_records_of_a_key():
    assert ids(CountTumblingWindowAssigner.of(2), 5) == [[0], [0], [1], [1], [2]]
    assert ids(CountSlidingWindowAssigner.of(3, 1), 5) == [
        [0], [0, 1], [0, 1, 2], [1, 2, 3], [2, 3, 4],
    ]  # fmt: skip
    assert ids(CountSlidingWindowAssigner.of(2, 3), 6) == [[0], [0], [], [1], [1], []]


def test_full_count_windows_are_let_go():
    for assigner in (CountTumblingWindowAssigner(3), CountSlidingWindowAssigner(3, 2)):
        trigger = assigner.get_default_trigger(None)
        assert isinstance(trigger, PurgingTrigger)
        assert isinstance(trigger.nested_trigger, CountTrigger)
        assert not assigner.is_event_time()
        assert isinstance(assigner.get_window_serializer(), CountWindowSerializer)


# Bad arguments.


@pytest.mark.parametrize(
    "make",
    [
        lambda: TumblingEventTimeWindows.of(MS(0)),
        lambda: TumblingProcessingTimeWindows.of(MS(-5)),
        lambda: TumblingEventTimeWindows.of(MS(5), MS(5)),
        lambda: TumblingEventTimeWindows.of(MS(5), MS(-5)),
        lambda: SlidingEventTimeWindows.of(MS(0), MS(1)),
        lambda: SlidingEventTimeWindows.of(MS(5), MS(0)),
        lambda: SlidingProcessingTimeWindows.of(MS(5), MS(-1)),
        lambda: SlidingEventTimeWindows.of(MS(5), MS(2), MS(2)),
        lambda: EventTimeSessionWindows.with_gap(MS(0)),
        lambda: ProcessingTimeSessionWindows.with_gap(MS(-1)),
        lambda: CountTumblingWindowAssigner.of(0),
        lambda: CountSlidingWindowAssigner.of(3, 0),
        lambda: CountSlidingWindowAssigner.of(-3, 1),
    ],
)
def test_impossible_sizes(make):
    with pytest.raises(InvalidArgument) as caught:
        make()
    assert caught.value.hint
    assert "test_assigners.py" in str(caught.value.origin)


@pytest.mark.parametrize(
    "make",
    [
        lambda: TumblingEventTimeWindows.of(None),
        lambda: TumblingEventTimeWindows.of(5),
        lambda: TumblingProcessingTimeWindows.of(MS(5), "1 s"),
        lambda: SlidingEventTimeWindows.of(MS(5), None),
        lambda: EventTimeSessionWindows.with_gap(3.5),
        lambda: EventTimeSessionWindows.with_dynamic_gap(None),
        lambda: ProcessingTimeSessionWindows.with_dynamic_gap(GapField),
        lambda: CountTumblingWindowAssigner.of("3"),
        lambda: CountTumblingWindowAssigner.of(True),
        lambda: TumblingEventTimeWindows(MS(5), 0),
    ],
)
def test_wrong_types(make):
    with pytest.raises(TypeMismatch) as caught:
        make()
    assert caught.value.hint
    assert "test_assigners.py" in str(caught.value.origin)


def test_assigners_say_what_they_are():
    assert repr(TumblingEventTimeWindows.of(MS(5), MS(1))) == "TumblingEventTimeWindows(5, 1)"
    assert repr(SlidingEventTimeWindows.of(MS(5), MS(2))) == "SlidingEventTimeWindows(5, 2, 0)"
    assert repr(EventTimeSessionWindows.with_gap(MS(5))) == "EventTimeSessionWindows(5)"
    assert repr(GlobalWindows.create()) == "GlobalWindows()"
    assert repr(CountSlidingWindowAssigner(3, 2)) == "CountSlidingWindowAssigner(3, 2)"
