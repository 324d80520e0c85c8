"""A join whose condition bounds the time between its sides needs to keep only rows in between."""

from __future__ import annotations

from headrace.core.expressions import shifted
from headrace.graph.relations import FULL, INNER, LEFT, RIGHT, IntervalJoin, Join, Relation
from headrace.plan.relational.conditions import all_of
from headrace.plan.relational.equi import equi_condition
from headrace.plan.relational.making import renamed_like, with_key_columns
from headrace.plan.relational.time_bounds import time_bounds
from headrace.plan.relational.traversal import bottom_up


def recognise_interval_joins(relation: Relation) -> Relation:
    return bottom_up(relation, _recognised)


def _recognised(relation: Relation) -> Relation:
    if not isinstance(relation, Join) or relation.kind not in (INNER, LEFT, RIGHT, FULL):
        return relation
    width = len(relation.left.schema)
    types = (*relation.left.types, *relation.right.types)
    bounds = time_bounds(relation.condition, types, width)
    if bounds is None:
        return relation
    left_keys, right_keys, null_safe, rest = equi_condition(all_of(bounds.rest), width)
    if any(null_safe):
        return relation
    left, right = relation.left, relation.right
    left, left_columns = with_key_columns(left, left_keys)
    right, right_columns = with_key_columns(right, right_keys)
    added = len(left.schema) - width
    place = [*range(width), *(index + added for index in range(width, len(types)))]
    condition = None if rest is None else shifted(rest, place.__getitem__)
    schema = (
        *relation.schema[:width],
        *left.schema[width:],
        *relation.schema[width:],
        *right.schema[len(relation.right.schema) :],
    )
    join = IntervalJoin(
        schema=schema, left=left, right=right, kind=relation.kind, left_keys=left_columns,
        right_keys=right_columns, condition=condition, left_time=bounds.left,
        right_time=bounds.right - width, lower=bounds.lower, upper=bounds.upper,
        hints=relation.hints,
    )  # fmt: skip
    return renamed_like(join, relation, place)
