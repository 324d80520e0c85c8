"""What a Spark task runs: a level's operators between two Arrow streams.

Everything here is called in a Python worker process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyspark import TaskContext

from headrace.core.operator import Batch
from headrace.core.source import SourceSpec
from headrace.runtime.flow.level import FlowingLevel
from headrace.runtime.source_task import column, read_rows
from headrace.spark.arrow_rows import slot_and_blob
from headrace.spark.failures import reported
from headrace.spark.garbage import pass_over_what_stays
from headrace.spark.shipment import Shipment

SCHEMA = "slot int, blob binary"
ArrowFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def wall_clock() -> int:
    return time.time_ns() // 1_000_000


def attempt_number() -> int:
    context = TaskContext.get()
    return context.attemptNumber() if context else 0


def partition() -> int:
    context = TaskContext.get()
    return context.partitionId() if context else 0


def as_arrow(rows: Iterator[tuple[int, bytes]]) -> Iterator[pa.RecordBatch]:
    for slot, blob in rows:
        yield slot_and_blob(slot, blob)


def batch_task(
    shipment: Shipment, level: int, subtask: int, *, source: int | None = None
) -> FlowingLevel:
    """A task of a Spark batch, open: what it tells the driver rides along with its rows, for Spark
    may try it again."""
    task = FlowingLevel(
        shipment.plan(), level, subtask, wall_clock, tell=None, source=source,
        files=shipment.files, checkpoints=False,
    )  # fmt: skip
    task.open()
    task.begin_epoch(0, attempt_number())
    task.initialize(None)
    return task


def read_all(shipment: Shipment, source: int) -> ArrowFunction:
    """Level 0 of a batch: read rows of a source, run its operators, pack the results by slot."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with reported() as reporting:
            pass_over_what_stays()
            task = batch_task(shipment, 0, partition(), source=source)
            vertex = task.plan.vertices[source]
            reporting.speaks_of(vertex.name, vertex.uid)
            assert vertex.source is not None
            with abandoned_on_failure(task):
                for batch in decode_rows(vertex.source, batches):
                    yield from as_arrow(task.feed(source, batch))
                yield from as_arrow(task.finish_batch())
            task.close()

    return run


def run_level(shipment: Shipment, level: int) -> ArrowFunction:
    """A level after a shuffle, in a Spark batch: one partition is one slot."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with reported():
            pass_over_what_stays()
            task = batch_task(shipment, level, partition())
            with abandoned_on_failure(task):
                blobs = (blob for rows in batches for blob in column(rows, 1))
                yield from as_arrow(task.take_all(blobs))
            task.close()

    return run


def decode_rows(spec: SourceSpec, batches: Iterator[pa.RecordBatch]) -> Iterator[Batch]:
    """What rows of a source hold."""
    for rows in batches:
        yield from read_rows(spec, rows)


@contextmanager
def abandoned_on_failure(task: FlowingLevel) -> Iterator[None]:
    """Close the functions of a task that failed, whatever they say to it."""
    try:
        yield
    except BaseException:
        task.abandon()
        raise
