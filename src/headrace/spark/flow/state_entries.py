"""The state of a checkpoint as rows, for those who look at it from outside."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import broadcast, element_at, split

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
    state = run.child(STATE)
    if isinstance(state, LocalStore):
        return frame.mapInArrow(_read_from(state.path), _SCHEMA)
    return _read_by_spark(spark, frame, [f"{state.uri}/{row[3]}" for row in rows if row[3]])


def _read_by_spark(spark: SparkSession, listed: DataFrame, files: list[str]) -> DataFrame:
    """Of files that workers cannot open."""
    heads = listed.where("file is null").select("label", "entry", "blob")
    if not files:
        return heads
    found = spark.read.format("binaryFile").load(files)
    found = found.select(element_at(split("path", "/"), -1).alias("file"), "content")
    return heads.unionAll(found.join(broadcast(listed), "file").select("label", "entry", "content"))


def _read_from(folder: Path) -> ArrowFunction:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        store = LocalStore(folder)
        with reported():
            for rows in batches:
                for label, entry, blob, file in zip(*rows.to_pydict().values(), strict=True):
                    content = blob if file is None else store.read(file)
                    arrays = [pa.array([value], field.type) for value, field
                              in zip((label, entry, content), _ARROW, strict=True)]  # fmt: skip
                    yield pa.RecordBatch.from_arrays(arrays, schema=_ARROW)

    return run
