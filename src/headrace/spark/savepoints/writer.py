"""Taking a savepoint: a committed micro-batch as a folder that depends on nothing else."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lit
from pyspark.sql.functions import sum as sum_of
from pyspark.sql.pandas.types import from_arrow_schema

from headrace.errors import IncompatibleState, InvalidArgument, Unsupported
from headrace.runtime.carried_time import CarriedTime
from headrace.runtime.state_rows import RowForm
from headrace.spark.file_store import FileStore, LocalStore
from headrace.spark.savepoints.checkpoint import Checkpoint
from headrace.spark.savepoints.direct_files import checksums_below, rewrite
from headrace.spark.savepoints.in_flight import SlotTime, write_in_flight
from headrace.spark.savepoints.metadata import (
    METADATA,
    SavedState,
    SavepointMetadata,
    state_folder,
)
from headrace.spark.savepoints.unload import TIME, pieces, rows_of
from headrace.spark.worker import ArrowFunction

_WRITTEN_AT_ONCE = 4
"""Small tables take longer to begin than to write."""


def write_savepoint(
    spark: SparkSession, checkpoint: Checkpoint, target: FileStore, *, in_flight: bool = False
) -> SavepointMetadata:
    """Write what a checkpoint holds; it exists once this has returned.

    `in_flight`: whether it may hold records that were on their way, which only the same program can
    go on with.
    """
    if checkpoint.has_records_in_flight and not in_flight:
        raise Unsupported(
            "the checkpoint is an unaligned one, with records that were on their way between "
            "tasks: a savepoint fits any program, and has none",
            hint="Start the job as it was, and take a savepoint of it while it runs.",
        )
    require_free(target)
    write = _in_workers if isinstance(target, LocalStore) else _through_spark
    states, times, files = write(spark, checkpoint, target) if checkpoint.levels else _NOTHING
    metadata = SavepointMetadata(
        checkpoint.plan["job"], checkpoint.batch, checkpoint.parallelism,
        checkpoint.plan["operators"], states, _time(times, checkpoint.plan),
        checkpoint.positions(), files,
        in_flight=write_in_flight(checkpoint.in_flight(), times, target),
    )  # fmt: skip
    metadata.write(target)
    return metadata


Written = tuple[list[SavedState], list[SlotTime], dict[str, list[int]]]
_NOTHING: Written = ([], [], {})


def _in_workers(spark: SparkSession, checkpoint: Checkpoint, target: FileStore) -> Written:
    """Each worker writes what its slot has."""
    limits = _max_parallelism(checkpoint.plan)
    found = _all_pieces(checkpoint, target.uri).collect()
    times = [pickle.loads(bytes(row.batch)) for row in found if row.form == TIME]
    parts = [row for row in found if row.form != TIME]
    states = merged_states(parts)
    files: dict[str, list[int]] = {}
    for row in parts:
        file = tuple(json.loads(bytes(row.batch)))
        form = RowForm.from_json(json.loads(row.form))
        wanted = next((state.form for state in states if state.is_of(row, form)), form)
        if row.rows and wanted.to_json() != form.to_json():
            limit = limits.get(row.operator, 1)
            file = rewrite(Path(target.uri), file[0], form, wanted, limit)
        if row.rows:
            files[file[0]] = [file[1], file[2]]
    return states, times, files


def _through_spark(spark: SparkSession, checkpoint: Checkpoint, target: FileStore) -> Written:
    """Spark writes: it reaches file systems that Python does not."""
    found = _all_pieces(checkpoint).persist(StorageLevel.DISK_ONLY)
    try:
        times = found.filter(col("form") == lit(TIME)).select("batch").collect()
        states = states_in(found)
        _write_states(found, states, target, _max_parallelism(checkpoint.plan))
    finally:
        found.unpersist()
    read = [pickle.loads(bytes(row.batch)) for row in times]
    return states, read, checksums(spark, target, states)


def require_free(target: FileStore) -> None:
    if target.names():
        done = METADATA in target.names()
        raise InvalidArgument(
            f"{target.uri} holds {'a savepoint' if done else 'files'} already",
            hint="Give a folder that is empty or not there yet.",
        )


def _all_pieces(checkpoint: Checkpoint, folder: str | None = None) -> DataFrame:
    limits = _max_parallelism(checkpoint.plan)
    levels = [pieces(checkpoint.entries(level), checkpoint.parallelism, limits, folder)
              for level in range(1, checkpoint.levels + 1)]  # fmt: skip
    return reduce(DataFrame.unionAll, levels)


def _max_parallelism(plan: dict[str, Any]) -> dict[str, int]:
    return {operator["uid"]: operator["max_parallelism"] for operator in plan["operators"]}


def _time(times: list[SlotTime], plan: dict[str, Any]) -> CarriedTime:
    members = {operator["id"]: (operator["uid"], operator["level"], operator["parallelism"])
               for operator in plan["operators"]}  # fmt: skip
    time = CarriedTime()
    for level, slot, entries in times:
        time.take_in(entries, level, slot, members)
    return time


def states_in(found: DataFrame) -> list[SavedState]:
    """All states that pieces are of."""
    parts = found.filter(col("form") != lit(TIME))
    parts = parts.groupBy("operator", "name", "form", "declared").agg(sum_of("rows").alias("rows"))
    return merged_states(parts.collect())


def merged_states(parts: list[Any]) -> list[SavedState]:
    """All states, each in the form that fits what every slot has of it."""
    by_name: dict[tuple[str, str, str], SavedState] = {}
    for row in sorted(parts, key=lambda row: (row.operator, row.name, -row.rows)):
        form = RowForm.from_json(json.loads(row.form))
        identity = row.operator, form.scope, row.name
        declared = json.loads(row.declared)
        known = by_name.get(identity)
        if known is not None:
            _require_same_type(known, declared, row.rows)
            form = known.form if not row.rows else known.form.unified(form)
            declared = known.declared if known.declared is not None else declared
        by_name[identity] = SavedState(
            row.operator, row.name, form, declared,
            state_folder(*identity), row.rows + (known.rows if known else 0),
        )  # fmt: skip
    return [state for state in by_name.values() if state.rows]


def _require_same_type(known: SavedState, declared: Any, rows: int) -> None:
    """Refuse state that follows a new declaration in some slots and not yet in others.

    Values are converted when their slot first runs; one column cannot hold both.
    """
    both_known = declared is not None and known.declared is not None
    if rows and known.rows and both_known and declared != known.declared:
        raise IncompatibleState(
            f"state {known.name!r} of the operator with uid {known.operator!r} was declared anew, "
            "and some slots have not run since: it cannot be saved yet",
            hint="Save it again once the job has gone on. If it has ended, start it once more with "
            "the parallelism and the operators it had.",
        )


def rows_in(found: DataFrame, state: SavedState, max_parallelism: int) -> DataFrame:
    """The rows of one state out of the pieces of all."""
    mine = found.filter(
        (col("operator") == lit(state.operator))
        & (col("name") == lit(state.name))
        & (col("scope") == lit(state.form.scope))
    ).select("form", "batch")
    return mine.mapInArrow(
        rows_of(state.form, max_parallelism), from_arrow_schema(state.form.schema)
    )


def _write_states(
    found: DataFrame, states: list[SavedState], target: FileStore, limits: dict[str, int]
) -> None:
    def write(state: SavedState) -> None:
        rows = rows_in(found, state, limits.get(state.operator, 1))
        rows.write.parquet(f"{target.uri}/{state.folder}")

    with ThreadPoolExecutor(_WRITTEN_AT_ONCE) as pool:
        list(pool.map(write, states))


def checksums(
    spark: SparkSession, store: FileStore, states: list[SavedState]
) -> dict[str, list[int]]:
    """Size and checksum of every file of the states, by its path below the savepoint."""
    if isinstance(store, LocalStore):
        return checksums_below(store.path, [state.folder for state in states])
    # Folder by folder: whoever lists a tree leaves out names with an underscore in front.
    folders = [f"{store.uri}/{state.folder}" for state in states if store.exists(state.folder)]
    if not folders:
        return {}
    files = spark.read.format("binaryFile").option("pathGlobFilter", "*.parquet")
    found = files.load(folders)
    sums = found.select("path", "content").mapInArrow(_sums(), "path string, size long, sum long")
    return {_below(row.path): [row.size, row.sum] for row in sums.collect()}


def _below(path: str) -> str:
    """`state/<uid>/<name>/<file>`, whatever folder the savepoint is in."""
    return "/".join(path.split("/")[-4:])


def _sums() -> ArrowFunction:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in batches:
            contents = rows.column(1).to_pylist()
            yield pa.RecordBatch.from_pydict({
                "path": rows.column(0),
                "size": pa.array([len(content) for content in contents], pa.int64()),
                "sum": pa.array([crc32(content) for content in contents], pa.int64()),
            })  # fmt: skip

    return run
