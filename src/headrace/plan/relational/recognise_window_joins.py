"""A join of rows of the same window is complete when the window ends."""

from __future__ import annotations

from headrace.core.expressions import Column, Expression, shifted
from headrace.graph.relations import ANTI, SEMI, Join, Relation, WindowJoin
from headrace.plan.relational.equi import equi_condition
from headrace.plan.relational.making import renamed_like, with_key_columns
from headrace.plan.relational.traversal import bottom_up
from headrace.plan.relational.window_columns import WindowColumns, window_columns


def recognise_window_joins(relation: Relation) -> Relation:
    return bottom_up(relation, _recognised)


def _recognised(relation: Relation) -> Relation:
    if not isinstance(relation, Join) or relation.null_aware:
        return relation
    left, right = window_columns(relation.left), window_columns(relation.right)
    if left is None or right is None or left.window != right.window:
        return relation
    if not (left.rowtime and right.rowtime):
        return relation
    width = len(relation.left.schema)
    left_keys, right_keys, null_safe, rest = equi_condition(relation.condition, width)
    pairs = list(zip(left_keys, right_keys, strict=True))
    start = _window_pair(pairs, left.starts, right.starts)
    end = _window_pair(pairs, left.ends, right.ends)
    if start is None or end is None or any(null_safe):
        return relation
    own = [pair for pair in pairs if not _is_of_window(pair, left, right)]
    return _window_join(relation, own, rest, (start, end))


_Pair = tuple[Expression, Expression]


def _window_pair(
    pairs: list[_Pair], left: frozenset[int], right: frozenset[int]
) -> tuple[int, int] | None:
    for one, two in pairs:
        if not isinstance(one, Column) or not isinstance(two, Column):
            continue
        if one.index in left and two.index in right:
            return one.index, two.index
    return None


def _is_of_window(pair: _Pair, left: WindowColumns, right: WindowColumns) -> bool:
    groups = ((left.starts, right.starts), (left.ends, right.ends))
    return any(_window_pair([pair], one, two) is not None for one, two in groups)


def _window_join(
    relation: Join,
    pairs: list[_Pair],
    rest: Expression | None,
    bounds: tuple[tuple[int, int], tuple[int, int]],
) -> Relation:
    width, other = len(relation.left.schema), len(relation.right.schema)
    left, left_keys = with_key_columns(relation.left, [one for one, _ in pairs])
    right, right_keys = with_key_columns(relation.right, [two for _, two in pairs])
    added = len(left.schema) - width
    place = [*range(width), *(index + added for index in range(width, width + other))]
    condition = None if rest is None else shifted(rest, place.__getitem__)
    if relation.kind in (SEMI, ANTI):
        schema, back = left.schema, list(range(width))
    else:
        added_right = right.schema[other:]
        mine, theirs = relation.schema[:width], relation.schema[width:]
        schema, back = (*mine, *left.schema[width:], *theirs, *added_right), place
    (left_start, right_start), (left_end, right_end) = bounds
    join = WindowJoin(
        schema=schema, left=left, right=right, kind=relation.kind, left_keys=left_keys,
        right_keys=right_keys, condition=condition, left_window=(left_start, left_end),
        right_window=(right_start, right_end), hints=relation.hints,
    )  # fmt: skip
    return renamed_like(join, relation, back)
