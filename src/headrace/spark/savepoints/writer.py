"""Taking a savepoint: a committed micro-batch as a folder that depends on nothing else."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import Any
from zlib import crc32

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lit
from pyspark.sql.functions import sum as sum_of
from pyspark.sql.pandas.types import from_arrow_schema

from headrace.errors import InvalidArgument
from headrace.runtime.carried_time import CarriedTime
from headrace.runtime.state_rows import RowForm
from headrace.spark.file_store import FileStore
from headrace.spark.savepoints.checkpoint import Checkpoint
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
    spark: SparkSession, checkpoint: Checkpoint, target: FileStore
) -> SavepointMetadata:
    """Write what a checkpoint holds; it exists once this has returned."""
    require_free(target)
    states: list[SavedState] = []
    time = CarriedTime()
    if checkpoint.levels:
        found = _all_pieces(checkpoint).persist(StorageLevel.DISK_ONLY)
        try:
            time = _time(found, checkpoint.plan)
            states = _states(found)
            _write_states(found, states, target, _max_parallelism(checkpoint.plan))
        finally:
            found.unpersist()
    metadata = SavepointMetadata(
        checkpoint.plan["job"], checkpoint.batch, checkpoint.parallelism,
        checkpoint.plan["operators"], states, time, checkpoint.positions(),
        checksums(spark, target, states),
    )  # fmt: skip
    metadata.write(target)
    return metadata


def require_free(target: FileStore) -> None:
    if target.names():
        done = METADATA in target.names()
        raise InvalidArgument(
            f"{target.uri} holds {'a savepoint' if done else 'files'} already",
            hint="Give a folder that is empty or not there yet.",
        )


def _all_pieces(checkpoint: Checkpoint) -> DataFrame:
    limits = _max_parallelism(checkpoint.plan)
    levels = [pieces(checkpoint.entries(level), checkpoint.parallelism, level, limits)
              for level in range(1, checkpoint.levels + 1)]  # fmt: skip
    return reduce(DataFrame.unionAll, levels)


def _max_parallelism(plan: dict[str, Any]) -> dict[str, int]:
    return {operator["uid"]: operator["max_parallelism"] for operator in plan["operators"]}


def _time(found: DataFrame, plan: dict[str, Any]) -> CarriedTime:
    origins = {operator["id"]: (operator["uid"], operator["level"])
               for operator in plan["operators"]}  # fmt: skip
    time = CarriedTime()
    for row in found.filter(col("form") == lit(TIME)).select("batch").collect():
        level, entries = pickle.loads(bytes(row.batch))
        time.take_in(entries, level, origins)
    return time


def _states(found: DataFrame) -> list[SavedState]:
    """All states, each in the form that fits what every slot has of it."""
    by_name: dict[tuple[str, str], SavedState] = {}
    parts = found.filter(col("form") != lit(TIME))
    parts = parts.groupBy("operator", "name", "form", "declared").agg(sum_of("rows").alias("rows"))
    for row in sorted(parts.collect(), key=lambda row: (row.operator, row.name, -row.rows)):
        form = RowForm.from_json(json.loads(row.form))
        known = by_name.get((row.operator, row.name))
        if known is not None:
            form = known.form if not row.rows else known.form.unified(form)
        by_name[row.operator, row.name] = SavedState(
            row.operator, row.name, form, json.loads(row.declared),
            state_folder(row.operator, row.name), row.rows + (known.rows if known else 0),
        )  # fmt: skip
    return [state for state in by_name.values() if state.rows]


def _write_states(
    found: DataFrame, states: list[SavedState], target: FileStore, limits: dict[str, int]
) -> None:
    def write(state: SavedState) -> None:
        mine = found.filter(
            (col("operator") == lit(state.operator)) & (col("name") == lit(state.name))
        ).select("form", "batch")
        rows = mine.mapInArrow(
            rows_of(state.form, limits.get(state.operator, 1)),
            from_arrow_schema(state.form.schema),
        )
        rows.write.parquet(f"{target.uri}/{state.folder}")

    with ThreadPoolExecutor(_WRITTEN_AT_ONCE) as pool:
        list(pool.map(write, states))


def checksums(
    spark: SparkSession, store: FileStore, states: list[SavedState]
) -> dict[str, list[int]]:
    """Size and checksum of every file of the states, by its path below the savepoint."""
    if not states:
        return {}
    files = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    found = files.option("pathGlobFilter", "*.parquet").load(f"{store.uri}/state")
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
