"""The state of a checkpoint as rows, for those who look at it from outside."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headrace.runtime.flow.checkpoint import Checkpoint
from headrace.spark.failures import reported
from headrace.spark.file_store import FileStore, LocalStore
from headrace.spark.flow.checkpoint_files import STATE
from headrace.spark.worker import ArrowFunction

HEAD = -1
"""The entry that says what a slot is."""
_SCHEMA = "label int, entry long, blob binary"
_ARROW = pa.schema([("label", pa.int32()), ("entry", pa.int64()), ("blob", pa.binary())])


def entries_of(
    spark: SparkSession, run: FileStore, checkpoint: Checkpoint, level: int
) -> DataFrame:
    """The slots of a level: a head for each that says what it is, then its changes in order."""
    rows: list[tuple[int, int, bytes | None, str | None]] = []
    for task, slot in checkpoint.slots.items():
        if task.level != level:
            continue
        head = {"states": slot.states, "level": level, "slot": task.number}
        rows.append((task.number, HEAD, pickle.dumps(head, 5), None))
        rows += [(task.number, entry, None, file.name) for entry, file in enumerate(slot.files)]
    frame = spark.createDataFrame(rows, "label int, entry long, blob binary, file string")
    return frame.mapInArrow(_read_from(f"{run.uri}/{STATE}"), _SCHEMA)


def _read_from(folder: str) -> ArrowFunction:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        store = LocalStore(Path(folder))
        with reported():
            for rows in batches:
                for label, entry, blob, file in zip(*rows.to_pydict().values(), strict=True):
                    content = blob if file is None else store.read(file)
                    arrays = [pa.array([value], field.type) for value, field
                              in zip((label, entry, content), _ARROW, strict=True)]  # fmt: skip
                    yield pa.RecordBatch.from_arrays(arrays, schema=_ARROW)

    return run
