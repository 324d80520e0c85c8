"""What a Spark task runs: a level's operators between two Arrow streams.

Everything here is called in a Python worker process. Tasks are kept between micro-batches, since
a worker is used again and opening a function may be dear.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from headrace.runtime.level_task import LevelTask
from headrace.runtime.source_task import decoder
from headrace.spark.failures import reported
from headrace.spark.shipment import Shipment

SCHEMA = "slot int, blob binary"
_ARROW = pa.schema([("slot", pa.int32()), ("blob", pa.binary())])
_KEPT: dict[tuple[Any, ...], LevelTask] = {}

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
        yield pa.RecordBatch.from_arrays(
            [pa.array([slot], pa.int32()), pa.array([blob], pa.binary())], schema=_ARROW
        )


def level_task(
    shipment: Shipment, level: int, subtask: int, *, source: int | None = None,
    logged: bool = False,
) -> LevelTask:  # fmt: skip
    """A task made and opened here, not kept."""
    task = LevelTask(
        shipment.plan(), level, subtask, wall_clock,
        source=source, logged=logged, files=shipment.files,
    )  # fmt: skip
    task.open()
    return task


def read_source(shipment: Shipment, source: int, *, final: bool, keep: bool) -> ArrowFunction:
    """Level 0: read rows of a source, run its operators, pack the results by slot."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with reported("source", str(source)):
            identity = (shipment.run_id, 0, source, partition())
            task = _KEPT.pop(identity, None) or level_task(shipment, 0, partition(), source=source)
            task.begin_batch(0, attempt_number())
            spec = task.plan.vertices[source].source
            assert spec is not None
            read = decoder(spec)
            for rows in batches:
                for batch in read(rows.column(0).to_pylist()):
                    yield from as_arrow(task.feed(source, batch))
            if final:
                task.mark_final()
            yield from as_arrow(task.end_batch())
            _keep_or_close(identity, task, keep)

    return run


def run_level(shipment: Shipment, level: int) -> ArrowFunction:
    """A level after a shuffle, in a Spark batch: one partition is one slot."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with reported("level", str(level)):
            task = level_task(shipment, level, partition())
            task.begin_batch(0, attempt_number())
            for rows in batches:
                for blob in rows.column(1).to_pylist():
                    yield from as_arrow(task.feed_blob(blob))
            yield from as_arrow(task.end_batch())
            task.close()

    return run


def _keep_or_close(identity: tuple[Any, ...], task: LevelTask, keep: bool) -> None:
    if keep:
        _KEPT[identity] = task
    else:
        task.close()


def drop_other_runs(run_id: str) -> None:
    """Forget tasks of jobs that have ended: a worker outlives them."""
    for identity in [identity for identity in _KEPT if identity[0] != run_id]:
        del _KEPT[identity]
