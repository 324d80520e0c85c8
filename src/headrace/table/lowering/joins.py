"""Joins of two streams of changes."""

from __future__ import annotations

from typing import Any

from headrace.core.expressions import Expression
from headrace.core.logical_types import is_proctime, is_rowtime
from headrace.errors import InvalidQuery
from headrace.graph.relations import (
    ANTI,
    LEFT,
    SEMI,
    IntervalJoin,
    Join,
    Pair,
    Relation,
    TemporalJoin,
    WindowJoin,
)
from headrace.operators.table.interval_join import IntervalJoinOperator
from headrace.operators.table.join import JoinOperator, SemiJoinOperator
from headrace.operators.table.join_state import JoinInput
from headrace.operators.table.temporal_join import (
    EventTimeTemporalJoinOperator,
    ProcessingTimeTemporalJoinOperator,
)
from headrace.operators.table.window_join import WindowJoinOperator
from headrace.plan.relational.equi import equi_condition
from headrace.table.lowering.keyed import window_zone
from headrace.table.lowering.lowering import Lowering

_BUNCHES = "table.exec.interval-join.min-cleanup-interval"


def _keyed(
    lowering: Lowering, relation: Pair, left: tuple[Expression, ...], right: tuple[Expression, ...]
) -> list[int]:
    return [
        lowering.by_expressions(lowering.node(side), keys, "a join")
        for side, keys in ((relation.left, left), (relation.right, right))
    ]


def join(lowering: Lowering, relation: Join) -> int:
    left, right, null_safe, rest = equi_condition(relation.condition, len(relation.left.schema))
    inputs = _keyed(lowering, relation, left, right)
    sides = [_side(lowering, relation, at) for at in range(2)]
    both_append = not any(lowering.retracts(side) for side in relation.inputs)
    options = {
        "null_safe": null_safe,
        "insert_only": both_append,
        "output_key": lowering.mode(relation).key,
        **lowering.changes(relation),
    }
    parallelism = None if left else 1
    if relation.kind in (SEMI, ANTI):
        semi = SemiJoinOperator(
            sides[0], sides[1], rest, anti=relation.kind == ANTI, **options,
        )  # fmt: skip
        return lowering.operator("SemiJoin", inputs, semi, parallelism)
    operator = JoinOperator(relation.kind, sides[0], sides[1], rest, **options)
    return lowering.operator("Join", inputs, operator, parallelism)


def _side(lowering: Lowering, relation: Join, at: int) -> JoinInput:
    side: Relation = relation.inputs[at]
    unique = lowering.traits.unique_key(side)
    ttl = lowering.ttl_ms(relation, at)
    return JoinInput(tuple(side.types), unique, ttl or 0)


def interval_join(lowering: Lowering, relation: IntervalJoin) -> int:
    inputs = [
        lowering.by_columns(lowering.node(side), keys, side.types, "a join")
        for side, keys in ((relation.left, relation.left_keys),
                           (relation.right, relation.right_keys))
    ]  # fmt: skip
    by_event_time = is_rowtime(relation.left.types[relation.left_time])
    operator = IntervalJoinOperator(
        relation.kind, (relation.left.types, relation.right.types),
        (relation.left_time, relation.right_time) if by_event_time else None,
        relation.lower, relation.upper, relation.condition,
        null_safe=(False,) * len(relation.left_keys), time=lowering.time_column(relation),
        bunch_ms=lowering.settings.duration_ms(_BUNCHES) or 0,
    )  # fmt: skip
    return lowering.operator("IntervalJoin", inputs, operator)


def window_join(lowering: Lowering, relation: WindowJoin) -> int:
    inputs = [
        lowering.by_columns(lowering.node(side), keys, side.types, "a join")
        for side, keys in ((relation.left, relation.left_keys),
                           (relation.right, relation.right_keys))
    ]  # fmt: skip
    operator = WindowJoinOperator(
        relation.kind, (relation.left.types, relation.right.types),
        (relation.left_window, relation.right_window), relation.condition,
        null_safe=(False,) * len(relation.left_keys),
        event_time=not any(is_proctime(type) for type in relation.left.types),
        zone=window_zone(lowering, relation.left),
    )  # fmt: skip
    return lowering.operator("WindowJoin", inputs, operator)


def temporal_join(lowering: Lowering, relation: TemporalJoin) -> int:
    left, right, null_safe, rest = equi_condition(relation.condition, len(relation.left.schema))
    if not left:
        raise InvalidQuery(
            "a temporal join needs an equality with the versioned table's primary key",
            hint="Write ON left.key = right.key; other conditions may follow with AND.",
        )
    inputs = _keyed(lowering, relation, left, right)
    types = (relation.left.types, relation.right.types)
    options: dict[str, Any] = {
        "null_safe": null_safe,
        "time": lowering.time_column(relation.left),
        "ttl_ms": lowering.settings.ttl_ms or 0,
    }
    outer = relation.kind == LEFT
    if is_proctime(relation.left.types[relation.time]):
        clock = ProcessingTimeTemporalJoinOperator(outer, types, rest, **options)
        return lowering.operator("TemporalJoin", inputs, clock)
    version_time = lowering.time_column(relation.right)
    if version_time is None:
        raise InvalidQuery(
            "an event-time temporal join needs a time attribute in the versioned table",
            hint="Declare WATERMARK FOR … in the right table.",
        )
    operator = EventTimeTemporalJoinOperator(
        outer, types, (relation.time, version_time), rest, **options
    )
    return lowering.operator("TemporalJoin", inputs, operator)
