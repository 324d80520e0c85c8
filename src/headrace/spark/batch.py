"""A bounded job as one Spark batch: every level is a stage, every slot a partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, reduce

from pyspark.sql import DataFrame, SparkSession

from headrace.plan.physical import PhysicalPlan
from headrace.runtime.driver_items import DriverItem
from headrace.runtime.envelope import Envelope
from headrace.spark.fail_fast import run_in_group
from headrace.spark.flow.lowering import at_slots, lower_levels
from headrace.spark.inputs import static_input
from headrace.spark.shipment import Shipment
from headrace.spark.worker import SCHEMA, read_all, run_level

OnResults = Callable[[int, list[DriverItem]], None]


def lower_batch(spark: SparkSession, plan: PhysicalPlan, shipment: Shipment) -> DataFrame:
    """The DataFrame whose rows are what the job sends to its driver."""
    inputs = [
        static_input(spark, vertex).mapInArrow(read_all(shipment, vertex.id), SCHEMA)
        for vertex in plan.sources
    ]
    read = reduce(DataFrame.unionAll, inputs)
    return lower_levels(read, plan, at_slots, partial(run_level, shipment))


def run_batch(
    spark: SparkSession, plan: PhysicalPlan, shipment: Shipment, on_results: OnResults
) -> None:
    """Run the job to its end and hand over what it sent to the driver."""
    rows = run_in_group(spark, lambda: lower_batch(spark, plan, shipment).collect())
    on_results(0, driver_items(row.blob for row in rows))


def driver_items(blobs: Iterable[bytes]) -> list[DriverItem]:
    return [item for blob in blobs for item in Envelope.decode(bytes(blob)).driver]
