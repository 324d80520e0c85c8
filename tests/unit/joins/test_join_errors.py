"""Joins that cannot work are refused where they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.common import Duration, Time, Types
from headrace.datastream import MapFunction, StreamExecutionEnvironment
from headrace.datastream.functions import CoGroupFunction, JoinFunction, ProcessJoinFunction
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import InvalidArgument, InvalidGraph, TypeMismatch

ASSIGNER = TumblingEventTimeWindows.of(Time.seconds(1))
SECOND = Time.seconds(1)


class Double(MapFunction):
    def map(self, value: Any) -> Any:
        return 2 * value


class First(JoinFunction[Any, Any, Any]):
    def join(self, first: Any, second: Any) -> Any:
        return first


class Both(CoGroupFunction[Any, Any, Any]):
    def co_group(self, first: list[Any], second: list[Any]) -> Any:
        return [(first, second)]


class Lefts(ProcessJoinFunction[Any, Any, Any]):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Any:
        yield left


def stream() -> Any:
    return StreamExecutionEnvironment().from_collection([1, 2])


def two() -> tuple[Any, Any]:
    env = StreamExecutionEnvironment()
    return env.from_collection([1, 2]), env.from_collection([3, 4])


def keyed(left_type: Any = None, right_type: Any = None) -> tuple[Any, Any]:
    left, right = two()
    return left.key_by(str, left_type), right.key_by(str, right_type)


def interval(lower: Any = SECOND, upper: Any = SECOND) -> Any:
    left, right = keyed()
    return left.interval_join(right).between(lower, upper)


def windowed(method: str = "join") -> Any:
    first, second = two()
    return getattr(first, method)(second).where(str).equal_to(str).window(ASSIGNER)


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: stream().join(stream()), "streams of different environments cannot be joined"),
    (lambda: stream().co_group(stream()), "different environments cannot be grouped together"),
    (lambda: stream().key_by(str).interval_join(stream().key_by(str)), "different environments"),
    (lambda: stream().join([1]), r"join\(\) needs a DataStream, not \[1\]"),
    (lambda: stream().key_by(str).interval_join(stream()), "(?s)needs a KeyedStream.*key_by"),
    (lambda: interval(5), "the lower bound of an interval join is 5, which is no amount of time"),
    (lambda: interval(SECOND, "1 s"), "the upper bound of an interval join is '1 s'"),
    (lambda: interval().process(Double()), "needs a ProcessJoinFunction"),
    (lambda: interval().process(Lefts), r"(?s)the class Lefts.*Write Lefts\(\)"),
    (lambda: interval().process(Lefts(), str), "which is no TypeInformation"),
    (lambda: interval().side_output_left_late_data("late"), "needs a OutputTag, not 'late'"),
    (lambda: interval().side_output_right_late_data("late"), "needs a OutputTag, not 'late'"),
    (lambda: windowed().apply(Double()), r"(?s)apply\(\) needs a JoinFunction.*stream\.map"),
    (lambda: windowed().apply(5), "needs a JoinFunction or something callable, not 5"),
    (lambda: windowed().apply(First), r"(?s)the class First.*Write First\(\)"),
    (lambda: windowed().apply(Both()), "needs a JoinFunction, not a Both"),
    (lambda: windowed("co_group").apply(First()), "needs a CoGroupFunction, not a First"),
    (lambda: windowed().apply(First(), "int"), "which is no TypeInformation"),
    (lambda: windowed().side_output_late_data("a", "b"), "needs a OutputTag, not 'a'"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_wrong_arguments(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeMismatch, match=message) as caught:
        make()
    assert caught.value.origin is not None
    assert caught.value.origin.file == __file__


def test_keys_of_different_types_never_meet() -> None:
    left, right = keyed(Types.INT(), Types.STRING())
    with pytest.raises(TypeMismatch, match="keys of the two streams are of different types"):
        left.interval_join(right)
    first, second = two()
    for pairing in (first.join(second), first.co_group(second)):
        with pytest.raises(TypeMismatch, match="keys of the two streams are of different types"):
            pairing.where(str, Types.INT()).equal_to(str, Types.STRING())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda s, t: s.join(t).window(ASSIGNER), r"window\(.*where\(key_selector\) is missing"),
        (lambda s, t: s.join(t).equal_to(str), r"equal_to\(.*where\(key_selector\) is missing"),
        (lambda s, t: s.co_group(t).apply(Both()), r"apply\(.*where\(key_selector\) is missing"),
        (lambda s, t: s.join(t).where(str).window(ASSIGNER), r"equal_to\(.*is missing"),
        (lambda s, t: s.join(t).where(str).equal_to(str).apply(First()), r"window\(.*is missing"),
        (lambda s, t: s.key_by(str).interval_join(t.key_by(str)).process(Lefts()),
         r"process\(.*between\(lower, upper\) is missing"),
    ],
)  # fmt: skip
def test_calls_out_of_order_name_the_missing_one(
    make: Callable[[Any, Any], Any], message: str
) -> None:
    with pytest.raises(InvalidGraph, match=rf"(?s){message}.*The order is"):
        make(*two())


def test_what_no_step_has_is_simply_not_there() -> None:
    first, second = two()
    assert not hasattr(first.join(second), "wehre")
    with pytest.raises(AttributeError, match="JoinedStreams has no attribute 'wehre'"):
        first.join(second).wehre(str)


@pytest.mark.parametrize(
    "make",
    [
        lambda: interval(Time.seconds(2), Time.seconds(1)),
        lambda: interval(Duration.of_millis(1), Duration.of_millis(-1)),
        lambda: interval(SECOND, SECOND).lower_bound_exclusive().process(Lefts()),
        lambda: interval(SECOND, SECOND).upper_bound_exclusive().process(Lefts()),
    ],
)
def test_an_interval_without_time_in_it(make: Callable[[], Any]) -> None:
    with pytest.raises(InvalidArgument, match=r"(?s)no time lies between.*lower bound first"):
        make()


def test_a_chain_that_is_not_finished_adds_nothing_to_the_job() -> None:
    first, second = two()
    first.join(second).where(str).equal_to(str)
    first.key_by(str).interval_join(second.key_by(str)).between(SECOND, SECOND)
    with pytest.raises(InvalidGraph, match="nothing to execute"):
        first.get_execution_environment().execute()
