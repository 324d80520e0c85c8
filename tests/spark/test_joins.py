"""Joins on Spark, as a batch and over micro-batches of a stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.common import Time, Types, WatermarkStrategy
from headrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from headrace.datastream.functions import ProcessJoinFunction
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.testing.sources import ScriptedSource

Collect = Callable[[DataStream], Counter[Any]]
RECORD = Types.TUPLE([Types.STRING(), Types.LONG()])
LATE_FIRST = OutputTag("late first", RECORD)
LATE_SECOND = OutputTag("late second", RECORD)
in_step = pytest.mark.micro_batch("two scripts are in step with each other in micro-batches")
TEN = TumblingEventTimeWindows.of(Time.milliseconds(10))


class Times(ProcessJoinFunction[Any, Any, Any]):
    def process_element(
        self, left: Any, right: Any, ctx: ProcessJoinFunction.Context
    ) -> Iterator[Any]:
        yield left[0], ctx.get_left_timestamp(), ctx.get_right_timestamp()


def timed(env: StreamExecutionEnvironment, *batches: list[tuple[str, int]]) -> DataStream:
    source = ScriptedSource(batches, timestamp=lambda record: record[1])
    return env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "script")


def first(record: Any) -> Any:
    return record[0]


def within_five(left: DataStream, right: DataStream) -> Any:
    join = left.key_by(first, Types.STRING()).interval_join(right.key_by(first))
    return join.between(Time.milliseconds(-5), Time.milliseconds(5)).upper_bound_exclusive()


@pytest.mark.usefixtures("mode")
@pytest.mark.smoke
def test_interval_join(env: StreamExecutionEnvironment, collected: Collect) -> None:
    keys = [f"key {number}" for number in range(20)]
    left = timed(env, [(key, 10) for key in keys])
    right = timed(env, [(key, stamp) for key in keys for stamp in (4, 5, 14, 15)])
    found = collected(within_five(left, right).process(Times()))
    assert found == Counter((key, 10, stamp) for key in keys for stamp in (5, 14))


@in_step
@pytest.mark.usefixtures("streaming")
def test_interval_join_over_micro_batches(
    env: StreamExecutionEnvironment, collected: Collect
) -> None:
    """Records wait in state for partners of later micro-batches; what comes too late is told."""
    left = timed(env, [("a", 10), ("b", 11)], [("a", 20), ("c", 30)], [("a", 12), ("a", 40)])
    right = timed(env, [("x", 1)], [("a", 9), ("b", 13), ("c", 31)], [("a", 22), ("a", 41)])
    join = within_five(left, right).side_output_left_late_data(LATE_FIRST)
    joined = join.side_output_right_late_data(LATE_SECOND).process(Times())
    late = joined.get_side_output(LATE_FIRST).map(lambda record: ("late left", *record))
    late_too = joined.get_side_output(LATE_SECOND).map(lambda record: ("late right", *record))
    assert collected(joined.union(late, late_too)) == Counter([
        ("a", 10, 9), ("b", 11, 13), ("c", 30, 31), ("a", 40, 41),
        ("late left", "a", 12), ("late right", "a", 22),
    ])  # fmt: skip


@pytest.mark.usefixtures("mode")
@pytest.mark.smoke
def test_window_join(env: StreamExecutionEnvironment, collected: Collect) -> None:
    one = timed(env, [("a", 1), ("a", 2), ("b", 3), ("a", 12)])
    two = timed(env, [("a", 4), ("c", 5), ("a", 13), ("a", 14)])
    pairs = one.join(two).where(first, Types.STRING()).equal_to(first).window(TEN)
    found = collected(pairs.apply(lambda x, y: (x[0], x[1], y[1])))
    assert found == Counter([("a", 1, 4), ("a", 2, 4), ("a", 12, 13), ("a", 12, 14)])


@in_step
@pytest.mark.usefixtures("streaming")
def test_co_group_over_micro_batches(env: StreamExecutionEnvironment, collected: Collect) -> None:
    one = timed(env, [("a", 1)], [("b", 3), ("a", 25)], [("a", 4), ("a", 40)])
    two = timed(env, [("a", 2)], [("a", 5), ("a", 26)], [("b", 6), ("b", 41)])
    groups = one.co_group(two).where(first).equal_to(first).window(TEN)
    grouped = groups.side_output_late_data(LATE_FIRST, LATE_SECOND).apply(
        lambda x, y: [("groups", tuple(sorted(x)), tuple(sorted(y)))]
    )
    late = grouped.get_side_output(LATE_FIRST).map(lambda record: ("late first", *record))
    late_too = grouped.get_side_output(LATE_SECOND).map(lambda record: ("late second", *record))
    assert collected(grouped.union(late, late_too)) == Counter([
        ("groups", (("a", 1),), (("a", 2), ("a", 5))), ("groups", (("b", 3),), ()),
        ("groups", (("a", 25),), (("a", 26),)),
        ("groups", (("a", 40),), ()), ("groups", (), (("b", 41),)),
        ("late first", "a", 4), ("late second", "b", 6),
    ])  # fmt: skip
