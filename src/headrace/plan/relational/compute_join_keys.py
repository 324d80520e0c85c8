"""Join keys that call a function of the user become columns below the join.

A key is taken from a row before any operator sees it, where nobody opens or closes a function, and
row by row, which a function of whole columns is not made for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from headrace.core.expressions import Column, Expression, UserCall, shifted
from headrace.graph.relations import ANTI, SEMI, Join, Relation, TemporalJoin
from headrace.plan.relational.equi import equi_condition
from headrace.plan.relational.making import renamed_like, with_key_columns
from headrace.plan.relational.traversal import bottom_up


def compute_join_keys(relation: Relation) -> Relation:
    return bottom_up(relation, _computed)


def _computed(relation: Relation) -> Relation:
    if not isinstance(relation, Join | TemporalJoin) or relation.condition is None:
        return relation
    width, right_width = len(relation.left.schema), len(relation.right.schema)
    left_keys, right_keys, _, _ = equi_condition(relation.condition, width)
    left_keys, right_keys = _with_calls(left_keys), _with_calls(right_keys)
    if not (left_keys or right_keys):
        return relation
    left, left_places = with_key_columns(relation.left, left_keys)
    right, right_places = with_key_columns(relation.right, right_keys)
    wide = len(left.schema)
    place = [*range(width), *range(wide, wide + right_width)]
    found = {key: Column(key.type, at) for key, at in zip(left_keys, left_places, strict=True)}
    for key, at in zip(right_keys, right_places, strict=True):
        found[shifted(key, lambda index: index + width)] = Column(key.type, wide + at)
    condition = _with_columns(relation.condition, found, place)
    if isinstance(relation, Join) and relation.kind in (SEMI, ANTI):
        schema = (*relation.schema, *left.schema[width:])
    else:
        right_schema = (*relation.schema[width:], *right.schema[right_width:])
        schema = (*relation.schema[:width], *left.schema[width:], *right_schema)
    join = replace(relation, schema=schema, left=left, right=right, condition=condition)
    return renamed_like(join, relation, place[: len(relation.schema)])


def _with_calls(keys: tuple[Expression, ...]) -> tuple[Expression, ...]:
    return tuple(key for key in keys if any(isinstance(part, UserCall) for part in key.walk()))


def _with_columns(
    part: Expression, found: Mapping[Expression, Column], place: Sequence[int]
) -> Expression:
    """The condition with columns for whole keys, and all others where they are now."""
    if part in found:
        return found[part]
    if isinstance(part, Column):
        return replace(part, index=place[part.index])
    if not part.inputs:
        return part
    return part.with_inputs([_with_columns(each, found, place) for each in part.inputs])
