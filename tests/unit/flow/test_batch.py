"""Levels of a batch: what they send each other is handed over in any order, by anyone."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.core.operator import MIN_TIMESTAMP, Batch
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.plan.physical import PhysicalPlan
from headrace.plan.planner import plan
from headrace.runtime.driver_items import COUNTS
from headrace.runtime.envelope import Envelope
from headrace.runtime.flow.level import FlowingLevel
from headrace.runtime.pickled_plan import pickle_plan, unpickle_plan

SLOTS = 2


class Second(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


class Seen(KeyedProcessFunction):
    """Gives each record with the time it saw, and once more when time has passed it."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        seen = ctx.timer_service().current_watermark()
        ctx.timer_service().register_event_time_timer(value[1] + 1)
        yield "came", value[1], None if seen == MIN_TIMESTAMP else seen

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield "passed", timestamp - 1, None


def planned(*, interval: int) -> PhysicalPlan:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(SLOTS)
    env.get_config().set_auto_watermark_interval(interval)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    timed = env.from_collection([("", 0)]).assign_timestamps_and_watermarks(strategy)
    timed.key_by(lambda value: value[0]).process(Seen()).key_by(lambda seen: seen[0]).print()
    return plan(env.builder.peek("batch", **env._graph_settings()))


def run(physical: PhysicalPlan, *partitions: list[Any]) -> list[tuple[int, int, str, Any]]:
    """What the driver hears of a batch with one source, each list of records read by one task."""
    pickled = pickle_plan(physical)

    def task(level: int, number: int, source: int | None = None) -> FlowingLevel:
        made = FlowingLevel(
            unpickle_plan(pickled), level, number, lambda: 0, tell=None, source=source,
            checkpoints=False,
        )  # fmt: skip
        made.open()
        made.begin_epoch(0, 0)
        made.initialize(None)
        return made

    [source] = physical.sources
    rows = []
    for number, records in enumerate(partitions):
        reader = task(0, number, source.id)
        rows += [*reader.feed(source.id, Batch(records)), *reader.finish_batch()]
    for level in range(1, physical.last_level + 1):
        rows = [row for slot in range(SLOTS) for row in task(level, slot).take_all(
            [blob for to, blob in rows if to == slot])]  # fmt: skip
    return [item for _, blob in rows for item in Envelope.decode(blob).driver]


def printed(items: list[tuple[int, int, str, Any]]) -> list[Any]:
    lines = [line for _, _, kind, lines in items if kind == "print" for line in lines]
    return sorted(line.partition("> ")[2] for line in lines)


def test_time_stands_until_a_slot_has_everything():
    """However many tasks there are that send: one of them may be far ahead of the others."""
    items = run(planned(interval=200), [("a", 10), ("a", 20)], [("a", 5)], [])
    assert printed(items) == sorted(
        f"('{what}', {time}, None)" for what in ("came", "passed") for time in (5, 10, 20)
    )


def test_with_an_interval_of_zero_time_moves_between_the_records_of_a_batch():
    items = run(planned(interval=0), [("a", 10), ("a", 20)])
    assert printed(items) == sorted(
        ["('came', 10, None)", "('came', 20, 9)", "('passed', 10, None)", "('passed', 20, None)"]
    )


def test_with_an_interval_of_zero_nothing_is_late_of_whoever_reads_later():
    items = run(planned(interval=0), [("a", 10), ("a", 20)], [("a", 5), ("a", 30)])
    came = [line for line in printed(items) if "came" in line]
    assert came == sorted(
        ["('came', 10, None)", "('came', 20, None)", "('came', 5, None)", "('came', 30, 4)"]
    )


@pytest.mark.parametrize("interval", [0, 200])
def test_the_counts_of_all_levels_reach_the_driver(interval):
    physical = planned(interval=interval)
    items = run(physical, [("a", 10)], [("b", 20)])
    counted = {vertex for vertex, _, kind, _ in items if kind == COUNTS}
    assert counted == set(physical.vertices)
