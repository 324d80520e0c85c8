"""From a source's description to the DataFrame that holds its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headrace.core.checkpointed import source_part
from headrace.core.source import (
    CollectionSpec,
    FrameSpec,
    Source,
    SourceSpec,
    SplitSpec,
    TextFilesSpec,
)
from headrace.errors import Unsupported
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.line_ranges import LineFiles, local_files
from headrace.runtime.source_task import Range, encode_collection, encode_ranges
from headrace.spark.flow.frames import read_lines


def static_input(spark: SparkSession, vertex: Vertex) -> DataFrame:
    """All rows of a bounded source; one column: lines, pickles or split ranges."""
    spec = vertex.source
    match spec:
        case CollectionSpec():
            rows = [(blob,) for blob in encode_collection(spec.values)]
            return spark.createDataFrame(rows, "row binary").coalesce(1)
        case TextFilesSpec():
            frame = read_lines(spark, vertex, spec)
            return frame.coalesce(1) if vertex.parallelism == 1 else frame
        case SplitSpec():
            rows = [(encode_ranges(ranges),) for ranges in _ranges_by_split(spec.source)]
            return spark.createDataFrame(rows, "row binary").coalesce(vertex.parallelism)
        case FrameSpec():
            rows_of_table: DataFrame = spec.frame.value(spark, None)
            return rows_of_table.coalesce(1) if vertex.parallelism == 1 else rows_of_table
        case _:
            raise Unsupported(f"{_label(spec)} cannot be read as a batch", origin=vertex.origin)


def _ranges_by_split(source: Source[Any]) -> list[list[Range]]:
    """All that a bounded source has; a split is one list: one reader must read it in order."""
    enumerator = source_part(source.create_enumerator())
    by_split: dict[str, list[Range]] = {}
    try:
        # Asked until nothing new appears, as a stream would ask.
        while new := [split for split in enumerator.splits() if split.id not in by_split]:
            for split in new:
                ranges = by_split.setdefault(split.id, [])
                start = enumerator.initial_position(split)
                while (end := enumerator.latest_position(split, start)) != start:
                    ranges.append((split, start, end, False))
                    start = end
                enumerator.split_ended(split.id)
        return [ranges for ranges in by_split.values() if ranges]
    finally:
        enumerator.close()


def with_local_files(plan: PhysicalPlan, files_per_batch: int | None = None) -> PhysicalPlan:
    """The plan with bounded sets of local text files read in the workers, not by Spark."""
    return replace(plan, vertices={
        id: replace(vertex, source=_in_workers(vertex, files_per_batch))
        for id, vertex in plan.vertices.items()
    })  # fmt: skip


def _in_workers(vertex: Vertex, files_per_batch: int | None) -> SourceSpec | None:
    spec = vertex.source
    if not isinstance(spec, TextFilesSpec) or spec.watch:
        return spec
    files = local_files(spec.paths)
    if files is None:
        return spec
    return SplitSpec(LineFiles(files, vertex.parallelism, files_per_batch, spec.decode))


def _label(spec: SourceSpec | None) -> str:
    return spec.label if spec is not None else "this input"
