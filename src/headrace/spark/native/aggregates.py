"""Grouping, windows and ranks as Spark has them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import Window as SparkWindow
from pyspark.sql.functions import expr

from headrace.core.expressions import AggregateCall, Distance, SortKey
from headrace.core.logical_types import is_proctime
from headrace.graph.relations import Aggregate, Deduplicate, Over, Rank
from headrace.operators.table.expand import GroupingSets
from headrace.spark.native.distinct_aggregates import DistinctGroups, gains
from headrace.spark.native.expressions import column, written_call
from headrace.spark.native.frames import Frames, ordering
from headrace.spark.native.types import NotNative, spark_type

_RANKS = {"ROW_NUMBER": "row_number()", "RANK": "rank()", "DENSE_RANK": "dense_rank()"}


def call_text(frames: Frames, call: AggregateCall, over: str = "") -> str:
    """An aggregate call as Spark SQL, cast to the type Flink gives it."""
    if call.order:
        raise NotNative(f"the order within {call.function.name}")
    texts = [frames.text(argument) for argument in call.arguments]
    types = [argument.type for argument in call.arguments]
    if call.distinct:
        if not texts:
            raise NotNative("DISTINCT of whole rows")
        texts[0] = f"DISTINCT {texts[0]}"
    chosen = "" if call.filter is None else f" FILTER (WHERE {frames.text(call.filter)})"
    return written_call(call, texts, types, chosen + over)


def aggregate(frames: Frames, relation: Aggregate) -> DataFrame:
    frame = frames.frame(relation.input)
    return grouped(frames, frame, relation.keys, relation.calls, relation.grouping_sets)


def grouped(
    frames: Frames, frame: DataFrame, keys: tuple[int, ...], calls: tuple[AggregateCall, ...],
    grouping_sets: tuple[tuple[int, ...], ...] | None,
) -> DataFrame:  # fmt: skip
    """Keys, then calls, of a frame's groups."""
    if grouping_sets is not None:
        return _sets(frames, frame, keys, calls, grouping_sets)
    if gains(calls):
        return DistinctGroups(frames, keys, calls).frame(frame)
    names = [column(key) for key in keys]
    if not names and not calls:
        return frame.agg(expr("count(1)")).select()  # the group of all rows, of which nobody asks
    if not calls:
        return frame.select(*names).distinct().toDF(*map(column, range(len(keys))))
    results = [
        expr(call_text(frames, call)).alias(column(len(keys) + index))
        for index, call in enumerate(calls)
    ]
    made = frame.groupBy(*names).agg(*results) if names else frame.agg(*results)
    return made.toDF(*map(column, range(len(keys) + len(calls))))


def _sets(
    frames: Frames, frame: DataFrame, keys: tuple[int, ...], calls: tuple[AggregateCall, ...],
    grouping_sets: tuple[tuple[int, ...], ...],
) -> DataFrame:  # fmt: skip
    """Each set on its own, united; Spark's own GROUPING SETS do not take a set twice."""
    parts = []
    told = GroupingSets(keys, grouping_sets)
    # As in Flink, the group of all rows is there without rows only if it is the one set: a column
    # that is the same everywhere stands for no columns.
    whole = (len(frame.columns),) if len(grouping_sets) > 1 else ()
    rows = frame.selectExpr("*", f"1 AS {column(len(frame.columns))}") if whole else frame
    for number, chosen in enumerate(grouping_sets):
        inner = [call for call in calls if call.function.kind != "grouping"]
        by = tuple(keys[at] for at in chosen) or whole
        some = grouped(frames, rows, by, tuple(inner), None)
        texts = []
        for at, key in enumerate(keys):
            kind = frame.schema[column(key)].dataType.simpleString()
            texts.append(column(chosen.index(at)) if at in chosen else f"CAST(NULL AS {kind})")
        given = iter(range(len(by), len(by) + len(inner)))
        for call in calls:
            if call.function.kind == "grouping":
                texts.append(str(told.value(call, number)))
            else:
                texts.append(column(next(given)))
        outputs = [
            text if at < len(keys) else f"CAST({text} AS {spark_type(calls[at - len(keys)].type)})"
            for at, text in enumerate(texts)
        ]
        parts.append(
            some.selectExpr(*(f"{text} AS {column(at)}" for at, text in enumerate(outputs)))
        )
    first, *others = parts
    for other in others:
        first = first.unionAll(other)
    return first


def over(frames: Frames, relation: Over) -> DataFrame:
    _check_order(relation, relation.order)
    frame = frames.frame(relation.input)
    width = len(relation.input.schema)
    window = _window_text(relation.partition, relation.order)
    between = _frame_text(relation)
    added = []
    for index, call in enumerate(relation.calls):
        if call.distinct:
            raise NotNative("DISTINCT in OVER")
        bounds = "" if call.function.kind in ("rank", "offset") else between
        nulls = " IGNORE NULLS" if call.ignore_nulls else ""
        text = call_text(frames, call, f"{nulls} OVER ({window}{bounds})")
        added.append(f"{text} AS {column(width + index)}")
    return frame.selectExpr("*", *added)


def _window_text(partition: tuple[int, ...], order: tuple[SortKey, ...]) -> str:
    parts = []
    if partition:
        parts.append(f"PARTITION BY {', '.join(map(column, partition))}")
    if order:
        keys = ", ".join(
            f"{column(key.column)} {'ASC' if key.ascending else 'DESC'} "
            f"NULLS {'FIRST' if key.nulls_first else 'LAST'}"
            for key in order
        )
        parts.append(f"ORDER BY {keys}")
    return " ".join(parts)


def _frame_text(relation: Over) -> str:
    if not relation.order:
        return ""
    frame = relation.frame
    if frame.has_distance:
        raise NotNative("Spark's RANGE differs from Flink's at NULLs and at the ends of a type")
    if frame.is_empty:
        raise NotNative("Spark has no frames without rows")

    def bound(size: Distance | None, way: str) -> str:
        if size is None:
            return f"UNBOUNDED {way}"
        return "CURRENT ROW" if size == 0 else f"{size} {way}"

    start, end = bound(frame.preceding, "PRECEDING"), bound(frame.following, "FOLLOWING")
    return f" {frame.unit.upper()} BETWEEN {start} AND {end}"


def rank(frames: Frames, relation: Rank) -> DataFrame:
    """The rows of each partition whose rank is wanted."""
    if relation.last_column is not None:
        upper = column(relation.last_column)
    else:
        upper = str(relation.last)
    partition = relation.partition + (relation.window_columns or ())
    made = _with_rank(frames, relation, partition, relation.order, relation.function)
    width = len(relation.input.schema)
    kept = made.filter(f"{column(width)} BETWEEN {relation.first} AND {upper}")
    return kept if relation.with_rank else kept.drop(column(width))


def deduplicate(frames: Frames, relation: Deduplicate) -> DataFrame:
    order = (SortKey(relation.time, not relation.keep_last, not relation.keep_last),)
    partition = relation.partition + (relation.window_columns or ())
    made = _with_rank(frames, relation, partition, order, "ROW_NUMBER")
    width = len(relation.input.schema)
    kept = made.filter(f"{column(width)} = 1")
    return kept if relation.with_rank else kept.drop(column(width))


def _with_rank(
    frames: Frames, relation: Rank | Deduplicate, partition: tuple[int, ...],
    order: tuple[SortKey, ...], function: str,
) -> DataFrame:  # fmt: skip
    _check_order(relation, order)
    frame = frames.frame(relation.input)
    window = SparkWindow.partitionBy(*map(column, partition)).orderBy(*map(ordering, order))
    number = expr(_RANKS[function]).over(window).cast("bigint")
    return frame.withColumn(column(len(relation.input.schema)), number)


def _check_order(relation: Over | Rank | Deduplicate, order: tuple[SortKey, ...]) -> None:
    """Processing time means the order in which rows come, and Spark's have none."""
    if any(is_proctime(relation.input.types[key.column]) for key in order):
        raise NotNative("rows are taken in the order they come")
