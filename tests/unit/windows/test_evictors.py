"""Evictors: which records leave a window, and when."""

from __future__ import annotations

import pytest

from headrace.common import Time
from headrace.datastream.window import (
    CountEvictor,
    DeltaEvictor,
    Evictor,
    TimeEvictor,
    TimestampedValue,
    TimeWindow,
)
from headrace.errors import InvalidArgument, TypeMismatch

WINDOW = TimeWindow(0, 100)
MS = Time.milliseconds


def records(*pairs):
    return [TimestampedValue(value, stamp) for value, stamp in pairs]


def kept(evictor: Evictor, elements: list[TimestampedValue]) -> tuple[list, list]:
    """The values left before and after the window function."""
    evictor.evict_before(elements, len(elements), WINDOW, None)
    before = [element.value for element in elements]
    evictor.evict_after(elements, len(elements), WINDOW, None)
    return before, [element.value for element in elements]


def test_a_record_and_its_time():
    timed, untimed = TimestampedValue("a", 5), TimestampedValue("b")
    assert (timed.get_value(), timed.has_timestamp(), timed.get_timestamp()) == ("a", True, 5)
    assert not untimed.has_timestamp()
    with pytest.raises(InvalidArgument, match="no timestamp"):
        untimed.get_timestamp()


def test_count_keeps_the_last():
    elements = [("a", 1), ("b", 2), ("c", 3)]
    assert kept(CountEvictor.of(2), records(*elements)) == (["b", "c"], ["b", "c"])
    assert kept(CountEvictor.of(2, True), records(*elements)) == (["a", "b", "c"], ["b", "c"])
    assert kept(CountEvictor.of(5), records(*elements))[1] == ["a", "b", "c"]
    assert kept(CountEvictor.of(0), records(*elements))[1] == []
    assert kept(CountEvictor.of(2), []) == ([], [])


def test_time_keeps_what_is_near_the_newest():
    elements = [("a", 10), ("newest", 20), ("b", 15), ("c", 16)]
    left = ["newest", "c"]
    assert kept(TimeEvictor.of(MS(5)), records(*elements)) == (left, left)
    assert kept(TimeEvictor.of(MS(5), do_evict_after=True), records(*elements))[1] == left
    assert kept(TimeEvictor.of(MS(5), True), records(*elements))[0] == ["a", "newest", "b", "c"]


def test_time_keeps_all_without_timestamps():
    assert kept(TimeEvictor.of(MS(5)), records(("a", None), ("b", None)))[1] == ["a", "b"]
    assert kept(TimeEvictor.of(MS(5)), []) == ([], [])


def test_delta_keeps_what_is_near_the_last():
    elements = [(1, 0), (6, 0), (20, 0), (10, 0)]
    evictor = DeltaEvictor.of(5, lambda value, last: abs(value - last))
    assert kept(evictor, records(*elements)) == ([6, 10], [6, 10])
    after = DeltaEvictor.of(5, lambda value, last: abs(value - last), do_evict_after=True)
    assert kept(after, records(*elements)) == ([1, 6, 20, 10], [6, 10])
    assert kept(evictor, []) == ([], [])


def test_evictors_say_what_they_are():
    made = [CountEvictor.of(3), TimeEvictor.of(MS(5)), DeltaEvictor.of(0.5, max)]
    assert [repr(evictor) for evictor in made] == [
        "CountEvictor(3)", "TimeEvictor(5)", "DeltaEvictor(0.5)",
    ]  # fmt: skip


@pytest.mark.parametrize("make", [lambda: CountEvictor.of(-1), lambda: TimeEvictor.of(MS(-1))])
def test_impossible_amounts(make):
    with pytest.raises(InvalidArgument) as caught:
        make()
    assert caught.value.hint
    assert "test_evictors.py" in str(caught.value.origin)


@pytest.mark.parametrize(
    "make",
    [
        lambda: CountEvictor.of(None),
        lambda: CountEvictor.of(2.0),
        lambda: CountEvictor.of(2, do_evict_after=None),
        lambda: TimeEvictor.of(5),
        lambda: DeltaEvictor.of(None, max),
        lambda: DeltaEvictor.of(1, "max"),
    ],
)
def test_wrong_types(make):
    with pytest.raises(TypeMismatch) as caught:
        make()
    assert caught.value.hint
    assert "test_evictors.py" in str(caught.value.origin)
