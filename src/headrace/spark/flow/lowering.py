"""From a plan to the DataFrame that runs it: sources, and a level after each exchange.

Batches and both ways to run a stream have this form. In real time the query goes on and on, and an
exchange hands on each row at once; micro-batches are jobs of Spark's, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from headrace.plan.physical import PhysicalPlan
from headrace.runtime.flow.place import source_tasks
from headrace.spark.flow.channel import Address
from headrace.spark.flow.round_worker import read_in_round, work_in_round
from headrace.spark.flow.worker import FlowPlan
from headrace.spark.shipment import Shipment
from headrace.spark.worker import SCHEMA, ArrowFunction


def lower_levels(
    read: DataFrame,
    plan: PhysicalPlan,
    exchange: Callable[[DataFrame, int], DataFrame],
    work: Callable[[int], ArrowFunction],
) -> DataFrame:
    """All levels after the sources; the DataFrame has no rows to show for itself.

    `work`: what the tasks of a level run.
    """
    frame = read
    for level in range(1, plan.last_level + 1):
        frame = exchange(frame, plan.parallelism).mapInArrow(work(level), SCHEMA)
    return frame


def at_slots(frame: DataFrame, slots: int) -> DataFrame:
    """Rows of (slot, blob) at their slots."""
    return frame.repartitionById(slots, "slot")


def lower_stream(spark: SparkSession, plan: PhysicalPlan, shipment: Shipment) -> DataFrame:
    """How Spark would run a stream, which is only to be looked at."""
    tasks = source_tasks(plan)
    flow = FlowPlan(shipment, Address("", 0, b""), None, tasks, None, 0, checkpoints=True)
    clock = spark.range(0, len(tasks), 1, len(tasks))
    read = clock.mapInArrow(read_in_round(flow, tuple(range(len(tasks)))), SCHEMA)
    return lower_levels(read, plan, at_slots, lambda level: work_in_round(flow, level))
