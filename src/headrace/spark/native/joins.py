"""Joins of all kinds as Spark has them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from headrace.core.expressions import Column, Expression, TableCall
from headrace.core.logical_types import MapType, MultisetType, is_proctime
from headrace.graph.relations import (
    ANTI,
    INNER,
    LEFT,
    SEMI,
    Correlate,
    Deduplicate,
    Filter,
    IntervalJoin,
    Join,
    LookupJoin,
    Project,
    Rank,
    Relation,
    Scan,
    TemporalJoin,
    WindowJoin,
)
from headrace.plan.relational.equi import column_keys, equi_condition
from headrace.spark.native.expressions import column
from headrace.spark.native.frames import Frames, renamed
from headrace.spark.native.types import NotNative

_KINDS = {
    "inner": "inner", "left": "left_outer", "right": "right_outer", "full": "full_outer",
    SEMI: "left_semi", ANTI: "left_anti",
}  # fmt: skip


def _joined(
    frames: Frames, left: DataFrame, right: DataFrame, kind: str, condition: str | None
) -> DataFrame:
    right = renamed(right, len(left.columns))
    if condition is None:
        if kind == INNER:
            return left.crossJoin(right)
        condition = "TRUE"
    return left.join(right, expr(condition), _KINDS[kind])


def join(frames: Frames, relation: Join) -> DataFrame:
    left, right = frames.frame(relation.left), frames.frame(relation.right)
    condition = None if relation.condition is None else frames.text(relation.condition)
    return _joined(frames, left, right, relation.kind, condition)


def interval_join(frames: Frames, relation: IntervalJoin) -> DataFrame:
    left, right = frames.frame(relation.left), frames.frame(relation.right)
    width = len(relation.left.schema)
    parts = _key_parts(relation.left_keys, relation.right_keys, width)
    start, end = column(relation.left_time), column(width + relation.right_time)
    for bound, sign in ((relation.lower, ">="), (relation.upper, "<=")):
        parts.append(f"{end} {sign} {start} + INTERVAL '{bound / 1000}' SECOND")
    if relation.condition is not None:
        parts.append(f"({frames.text(relation.condition)})")
    return _joined(frames, left, right, relation.kind, " AND ".join(parts))


def window_join(frames: Frames, relation: WindowJoin) -> DataFrame:
    left, right = frames.frame(relation.left), frames.frame(relation.right)
    width = len(relation.left.schema)
    parts = _key_parts(
        relation.left_keys + relation.left_window,
        relation.right_keys + relation.right_window,
        width,
    )
    if relation.condition is not None:
        parts.append(f"({frames.text(relation.condition)})")
    return _joined(frames, left, right, relation.kind, " AND ".join(parts))


def _key_parts(left: tuple[int, ...], right: tuple[int, ...], width: int) -> list[str]:
    return [f"{column(a)} = {column(width + b)}" for a, b in zip(left, right, strict=True)]


def lookup_join(frames: Frames, relation: LookupJoin) -> DataFrame:
    """All rows are there: what a look-up would find is what a join finds."""
    left, right = frames.frame(relation.input), frames.frame(relation.table)
    width = len(relation.input.schema)
    parts = [
        f"{column(width + _shown(relation.table, at))} = {frames.text(expression)}"
        for at, expression in relation.keys
    ]
    if relation.condition is not None:
        parts.append(f"({frames.text(relation.condition)})")
    return _joined(frames, left, right, relation.kind, " AND ".join(parts) or None)


def _shown(table: Relation, at: int) -> int:
    """Where a column of a table stands in what the query makes of the table."""
    if isinstance(table, Scan):
        return at
    below = _shown(table.inputs[0], at)
    if not isinstance(table, Project):
        return below
    for place, expression in enumerate(table.expressions):
        if isinstance(expression, Column) and expression.index == below:
            return place
    raise NotNative("a look-up by a column that the query does not show")


def temporal_join(frames: Frames, relation: TemporalJoin) -> DataFrame:
    """Each left row with the newest version of the right row that is not newer than it."""
    if is_proctime(relation.left.types[relation.time]):
        left, right = frames.frame(relation.left), frames.frame(relation.right)
        return _joined(frames, left, right, relation.kind, frames.text(relation.condition))
    versions, version_time, keys = _versions(relation.right)
    width, right_width = len(relation.left.schema), len(relation.right.schema)
    left_equal, right_equal, _, rest = equi_condition(relation.condition, width)
    left_keys, right_keys = column_keys(left_equal), column_keys(right_equal)
    if left_keys is None or right_keys is None:
        raise NotNative("keys of a temporal join that are no columns")
    if set(right_keys) != set(keys):
        raise NotNative("the join's keys are not those of the versioned table")
    right = renamed(frames.frame(versions), width)
    wanted = [column(width + at) for at in range(right_width)]
    left = frames.frame(relation.left)
    frame = _as_of(left, right, left_keys, [width + key for key in right_keys],
                   relation.time, width + version_time)  # fmt: skip
    matched = "version IS NOT NULL" + ("" if rest is None else f" AND ({frames.text(rest)})")
    for name in wanted:
        frame = frame.withColumn(name, expr(f"version.{name}"))
    if relation.kind == INNER:
        return frame.filter(matched).select(*left.columns, *wanted)
    outputs = [f"CASE WHEN {matched} THEN {name} END AS {name}" for name in wanted]
    return frame.selectExpr(*left.columns, *outputs)


def _as_of(
    left: DataFrame, right: DataFrame, left_keys: Sequence[int], right_keys: Sequence[int],
    left_time: int, right_time: int,
) -> DataFrame:  # fmt: skip
    """The left rows with a column `version`: a struct of the right row, or NULL."""
    packed_left = f"struct({', '.join(left.columns)}) AS mine"
    packed_right = f"struct({', '.join(right.columns)}) AS version"
    keys = [f"k{at}" for at in range(len(left_keys))]
    names = [f"{column(key)} AS {name}" for key, name in zip(left_keys, keys, strict=True)]
    others = [f"{column(key)} AS {name}" for key, name in zip(right_keys, keys, strict=True)]
    kind = right.selectExpr(packed_right).schema["version"].dataType.simpleString()
    kind_left = left.selectExpr(packed_left).schema["mine"].dataType.simpleString()
    mine = left.selectExpr(*names, f"{column(left_time)} AS at", "1 AS side", packed_left,
                           f"CAST(NULL AS {kind}) AS version")  # fmt: skip
    theirs = right.selectExpr(*others, f"{column(right_time)} AS at", "0 AS side",
                              f"CAST(NULL AS {kind_left}) AS mine", packed_right)  # fmt: skip
    partition = f"PARTITION BY {', '.join(keys)} " if keys else ""
    known = theirs.unionAll(mine).selectExpr(
        "side", "mine", *keys,
        f"last_value(version) IGNORE NULLS OVER ({partition}ORDER BY at, side "
        "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS version",
    )  # fmt: skip
    missing = " OR ".join(f"{key} IS NULL" for key in keys) or "FALSE"
    return known.filter("side = 1").selectExpr(
        *(f"mine.{name} AS {name}" for name in left.columns),
        f"CASE WHEN {missing} THEN NULL ELSE version END AS version",
    )


def _versions(relation: Relation) -> tuple[Relation, int, tuple[int, ...]]:
    """The relation whose rows are the versions, the column of their time, and the key."""
    if isinstance(relation, Deduplicate) and relation.keep_last and not relation.with_rank:
        return relation.input, relation.time, relation.partition
    if isinstance(relation, Project) and all(
        isinstance(part, Column) for part in relation.expressions
    ):
        inner, time, keys = _versions(relation.input)
        sources = [part.index for part in relation.expressions if isinstance(part, Column)]
        if time not in sources or any(key not in sources for key in keys):
            raise NotNative("a versioned view without its time or key")
        moved = Project(schema=relation.schema, input=inner, expressions=relation.expressions)
        return moved, sources.index(time), tuple(sources.index(key) for key in keys)
    if isinstance(relation, Rank | Filter | Scan):
        raise NotNative("versions that are not kept by a deduplication")
    raise NotNative("a versioned table of this shape")


def correlate(frames: Frames, relation: Correlate) -> DataFrame:
    """Rows of a function, if it is one that Spark has: UNNEST."""
    call = relation.call
    frame = frames.frame(relation.input)
    text = _generator(frames, call)
    width = len(relation.input.schema)
    names = [column(width + at) for at in range(len(call.fields))]
    outer = "_outer" if relation.kind == LEFT else ""
    if relation.condition is not None:
        raise NotNative("a condition on the rows of a function")
    return frame.selectExpr("*", f"{text[0]}{outer}({text[1]}) AS ({', '.join(names)})")


def _generator(frames: Frames, call: TableCall) -> tuple[str, str]:
    if call.function.name != "UNNEST" or len(call.arguments) != 1:
        raise NotNative(f"the table function {call.function.name}")
    argument: Expression = call.arguments[0]
    if isinstance(argument.type, MapType):
        return "explode", frames.text(argument)
    element = getattr(argument.type, "element", None)
    if isinstance(argument.type, MultisetType) or element is None:
        raise NotNative("UNNEST of a multiset")
    generator = "inline" if hasattr(element, "fields") else "explode"
    return generator, frames.text(argument)
