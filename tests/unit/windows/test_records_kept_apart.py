"""Functions that change what they are given: windows, firings and results stay apart."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Time
from headrace.datastream import ProcessWindowFunction
from headrace.datastream.window import (
    CountEvictor,
    CountTrigger,
    DeltaTrigger,
    GlobalWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from headrace.testing import OperatorHarness


def key_of(record: dict[str, int]) -> int:
    return record["key"]


def added(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    one["n"] += other["n"]
    return one


def summed(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {"key": one["key"], "n": one["n"] + other["n"]}


class Raise(ProcessWindowFunction[Any, Any, Any, Any]):
    """Changes the records of its window."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        for element in elements:
            element["n"] += 100
        yield [element["n"] for element in elements]


def records(*numbers: int) -> list[dict[str, int]]:
    return [{"key": 1, "n": number} for number in numbers]


def overlapping(stream: Any) -> Any:
    windows = SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5))
    return stream.key_by(key_of).window(windows)


def firing_often(stream: Any) -> Any:
    windows = TumblingEventTimeWindows.of(Time.milliseconds(10))
    return stream.key_by(key_of).window(windows).trigger(CountTrigger.of(1))


@pytest.mark.parametrize("restored", [False, True])
def test_overlapping_windows_reduce_in_place(restored):
    with OperatorHarness(lambda s: overlapping(s).reduce(added)) as harness:
        harness.send_all(records(1), [6])
        if restored:
            harness.crash()
        harness.send_all(records(1), [7])
        harness.advance_watermark(100)
        assert harness.outputs == records(2, 2)


def test_overlapping_windows_share_their_records():
    with OperatorHarness(lambda s: overlapping(s).process(Raise())) as harness:
        harness.send_all(records(1, 2), [6, 7])
        harness.advance_watermark(100)
        assert harness.outputs == [[101, 102], [101, 102]]


def test_a_window_fires_again_with_what_it_was_given():
    with OperatorHarness(lambda s: firing_often(s).process(Raise())) as harness:
        harness.send_all(records(1, 2), [1, 2])
        assert harness.outputs == [[101], [101, 102]]


def test_a_window_function_changes_the_reduced_record():
    with OperatorHarness(lambda s: firing_often(s).reduce(summed, Raise())) as harness:
        harness.send_all(records(1, 2), [1, 2])
        assert harness.outputs == [[101], [103]]


def test_an_evicting_window_reduces_in_place():
    def build(stream: Any) -> Any:
        windows = stream.key_by(key_of).window(GlobalWindows.create())
        return windows.trigger(CountTrigger.of(1)).evictor(CountEvictor.of(5)).reduce(added)

    with OperatorHarness(build) as harness:
        harness.send_all(records(1, 1, 1))
        assert harness.outputs == records(1, 2, 3)


def test_a_delta_trigger_remembers_the_record_as_it_came():
    def build(stream: Any) -> Any:
        trigger = DeltaTrigger.of(5, lambda old, new: new["n"] - old["n"])
        windows = stream.key_by(key_of).window(GlobalWindows.create())
        return windows.trigger(trigger).reduce(added)

    with OperatorHarness(build) as harness:
        harness.send_all(records(1, 3, 5, 7))
        assert harness.outputs == records(16)
