"""From relations to DataFrames: a query over bounded tables as one Spark batch.

Frames have columns c0, c1, …, so that the names a user chose may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import col

from headrace.core.expressions import Expression, SortKey
from headrace.core.logical_types import LogicalType
from headrace.core.table_columns import to_arrow
from headrace.graph.relations import (
    AssignWatermark,
    Filter,
    Project,
    Relation,
    Scan,
    SetOperation,
    Sort,
    Values,
)
from headrace.spark.native.expressions import Expressions, column
from headrace.spark.native.types import NotNative, quoted, spark_type

Rule = Callable[["Frames", Any], DataFrame]


class Frames:
    """Lowers the relations of one query; shared parts are lowered once."""

    def __init__(
        self,
        session: SparkSession,
        rules: dict[type[Relation], Rule],
        job_parameters: Mapping[str, str] | None = None,
        modules: Sequence[str] = (),
        *,
        unpacked: bool = False,
    ):
        """`modules`: where the query's functions find modules that were brought along;
        `unpacked`: whether archives were."""
        self.session = session
        self.expressions = Expressions(session, job_parameters or {}, modules, unpacked=unpacked)
        self._rules = {**_RULES, **rules}
        self._done: dict[int, tuple[Relation, DataFrame]] = {}

    def frame(self, relation: Relation) -> DataFrame:
        """The relation's rows; NotNative says why Spark alone cannot have them."""
        # Kept with its frame, so that no other relation gets the same id.
        known = self._done.get(id(relation))
        if known is None:
            rule = self._rules.get(type(relation))
            if rule is None:
                raise NotNative(f"Spark has nothing like {type(relation).__name__}")
            known = self._done[id(relation)] = relation, rule(self, relation)
        return known[1]

    def text(self, expression: Expression) -> str:
        return self.expressions.text(expression)

    def typed(self, expression: Expression) -> str:
        """The expression, cast to the type Flink gives it."""
        return f"CAST({self.text(expression)} AS {spark_type(expression.type)})"


def renamed(frame: DataFrame, start: int = 0) -> DataFrame:
    """The frame with its columns named by position, counted from `start`."""
    return frame.toDF(*(column(start + index) for index in range(len(frame.columns))))


def named(frame: DataFrame, relation: Relation) -> DataFrame:
    """The frame with the names the query gives its columns."""
    return frame.toDF(*relation.names)


def _scan(frames: Frames, scan: Scan) -> DataFrame:
    if scan.stream is not None:
        raise NotNative("a DataStream is not a table of Spark's")
    if not scan.source.changelog.insert_only:
        raise NotNative("the source has updates and deletions")
    frame = scan.source.native(frames.session)
    if frame is None:
        raise NotNative(f"Spark cannot read {'.'.join(scan.path)} itself")
    typed = [
        f"CAST({quoted(field.name)} AS {spark_type(field.type)}) AS {column(index)}"
        for index, field in enumerate(scan.schema)
    ]
    chosen: DataFrame = frame.selectExpr(*typed)
    return chosen


def _values(frames: Frames, values: Values) -> DataFrame:
    return frame_of_rows(frames.session, values.rows, values.types)


def frame_of_rows(
    session: SparkSession, rows: tuple[tuple[Any, ...], ...], types: tuple[LogicalType, ...]
) -> DataFrame:
    """Rows in internal form as a frame."""
    ddl = ", ".join(f"{column(index)} {spark_type(type)}" for index, type in enumerate(types))
    try:
        arrays = [to_arrow([row[index] for row in rows], type) for index, type in enumerate(types)]
    except (OverflowError, pa.ArrowInvalid) as error:
        raise NotNative(f"Spark cannot hold the rows: {error}") from error
    table = pa.table(dict(zip(map(column, range(len(types))), arrays, strict=True)))
    return session.createDataFrame(table, ddl)


def _assign_watermark(frames: Frames, assign: AssignWatermark) -> DataFrame:
    # All rows are there at once: none can be late.
    return frames.frame(assign.input)


def _project(frames: Frames, project: Project) -> DataFrame:
    texts = [
        f"{frames.typed(expression)} AS {column(index)}"
        for index, expression in enumerate(project.expressions)
    ]
    return frames.frame(project.input).selectExpr(*texts)


def _filter(frames: Frames, filter: Filter) -> DataFrame:
    return frames.frame(filter.input).filter(frames.text(filter.condition))


def _set_operation(frames: Frames, operation: SetOperation) -> DataFrame:
    first, *others = (frames.frame(branch) for branch in operation.branches)
    combine = {
        ("union", True): DataFrame.unionAll,
        ("union", False): lambda left, right: left.unionAll(right).distinct(),
        ("intersect", True): DataFrame.intersectAll,
        ("intersect", False): DataFrame.intersect,
        ("except", True): DataFrame.exceptAll,
        ("except", False): DataFrame.subtract,
    }[operation.kind, operation.all]
    for other in others:
        first = combine(first, other)
    return first


def _sort(frames: Frames, sort: Sort) -> DataFrame:
    frame = frames.frame(sort.input)
    if sort.keys:
        frame = frame.orderBy(*map(ordering, sort.keys))
    if sort.offset:
        frame = frame.offset(sort.offset)
    return frame if sort.fetch is None else frame.limit(sort.fetch)


def ordering(key: SortKey) -> Column:
    """A column of an order, as Spark has it."""
    named_column = col(column(key.column))
    if key.ascending:
        return named_column.asc_nulls_first() if key.nulls_first else named_column.asc_nulls_last()
    return named_column.desc_nulls_first() if key.nulls_first else named_column.desc_nulls_last()


_RULES: dict[type[Relation], Rule] = {
    Scan: _scan,
    Values: _values,
    AssignWatermark: _assign_watermark,
    Project: _project,
    Filter: _filter,
    SetOperation: _set_operation,
    Sort: _sort,
}
