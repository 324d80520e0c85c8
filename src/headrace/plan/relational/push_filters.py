"""Conditions go as near to the sources as they can, and into joins."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

from headrace.core.expressions import Expression, columns_of, shifted
from headrace.graph.relations import (
    ANTI,
    FULL,
    INNER,
    LEFT,
    RIGHT,
    SEMI,
    Aggregate,
    Correlate,
    Filter,
    Join,
    Over,
    Project,
    Relation,
    SetOperation,
    Sort,
    TemporalJoin,
    WindowTable,
)
from headrace.plan.relational.conditions import (
    all_of,
    conjuncts,
    is_repeatable,
    reads_only,
    rejects_null,
    substituted,
)
from headrace.plan.relational.making import restricted

Conditions = list[Expression]


def push_filters(relation: Relation) -> Relation:
    """The same rows, filtered earlier."""
    return _push(relation, [])


def _below(relation: Relation) -> Relation:
    """The relation with its inputs' own conditions pushed."""
    inputs = [_push(each, []) for each in relation.inputs]
    if all(new is old for new, old in zip(inputs, relation.inputs, strict=True)):
        return relation
    return relation.with_inputs(*inputs)


def _split(conditions: Conditions, can_go: list[bool]) -> tuple[Conditions, Conditions]:
    going = [each for each, yes in zip(conditions, can_go, strict=True) if yes]
    staying = [each for each, yes in zip(conditions, can_go, strict=True) if not yes]
    return going, staying


@singledispatch
def _push(relation: Relation, conditions: Conditions) -> Relation:
    return restricted(_below(relation), conditions)


@_push.register
def _(relation: Filter, conditions: Conditions) -> Relation:
    own = conjuncts(relation.condition)
    fixed = [each for each in own if not is_repeatable(each)]
    if fixed and len(fixed) != len(own):
        # What must not move stays where it was written, above what may.
        free = [each for each in own if is_repeatable(each)]
        return restricted(_push(relation.input, free), [*fixed, *conditions])
    if fixed:
        return restricted(_push(relation.input, []), [*fixed, *conditions])
    return _push(relation.input, [*own, *conditions])


@_push.register
def _(relation: Project, conditions: Conditions) -> Relation:
    can_go = [
        all(is_repeatable(relation.expressions[index]) for index in columns_of(each))
        for each in conditions
    ]
    going, staying = _split(conditions, can_go)
    moved = [substituted(each, relation.expressions) for each in going]
    below = _push(relation.input, moved)
    if below is not relation.input:
        relation = replace(relation, input=below)
    return restricted(relation, staying)


@_push.register
def _(relation: Sort, conditions: Conditions) -> Relation:
    if relation.fetch is not None or relation.offset:
        return restricted(_below(relation), conditions)
    return replace(relation, input=_push(relation.input, conditions))


@_push.register
def _(relation: SetOperation, conditions: Conditions) -> Relation:
    branches = tuple(_push(branch, list(conditions)) for branch in relation.branches)
    return replace(relation, branches=branches)


@_push.register
def _(relation: Aggregate, conditions: Conditions) -> Relation:
    keys = range(len(relation.keys))
    possible = relation.grouping_sets is None and bool(relation.keys)
    going, staying = _split(
        conditions,
        [possible and bool(columns_of(each)) and reads_only(each, keys) for each in conditions],
    )
    moved = [shifted(each, relation.keys.__getitem__) for each in going]
    return restricted(replace(relation, input=_push(relation.input, moved)), staying)


@_push.register
def _(relation: Over, conditions: Conditions) -> Relation:
    partition = frozenset(relation.partition)
    going, staying = _split(
        conditions, [bool(columns_of(each)) and reads_only(each, partition) for each in conditions]
    )
    return restricted(replace(relation, input=_push(relation.input, going)), staying)


@_push.register
def _(relation: WindowTable, conditions: Conditions) -> Relation:
    width = range(len(relation.input.schema))
    # What is left out of a session changes where the others end.
    free = relation.window.kind != "session" and not relation.legacy
    going, staying = _split(conditions, [free and reads_only(each, width) for each in conditions])
    return restricted(replace(relation, input=_push(relation.input, going)), staying)


@_push.register
def _(relation: Correlate, conditions: Conditions) -> Relation:
    width = range(len(relation.input.schema))
    going, staying = _split(conditions, [reads_only(each, width) for each in conditions])
    return restricted(replace(relation, input=_push(relation.input, going)), staying)


@_push.register
def _(relation: TemporalJoin, conditions: Conditions) -> Relation:
    width = range(len(relation.left.schema))
    going, staying = _split(conditions, [reads_only(each, width) for each in conditions])
    left = _push(relation.left, going)
    # The right side keeps all its rows: a version that is left out would change what was valid.
    return restricted(replace(relation, left=left, right=_push(relation.right, [])), staying)


@_push.register
def _(relation: Join, conditions: Conditions) -> Relation:
    relation = _with_strict_kind(relation, conditions)
    kind, width = relation.kind, len(relation.left.schema)
    left_side = range(width)
    right_side = range(width, width + len(relation.right.schema))
    to_left: Conditions = []
    to_right: Conditions = []
    on: Conditions = []
    above: Conditions = []
    for each in conditions:
        if kind in (INNER, LEFT, SEMI, ANTI) and reads_only(each, left_side):
            to_left.append(each)
        elif kind in (INNER, RIGHT) and reads_only(each, right_side):
            to_right.append(each)
        else:
            (on if kind == INNER else above).append(each)
    for each in conjuncts(relation.condition):
        if not is_repeatable(each) or not columns_of(each):
            on.append(each)
        elif kind in (INNER, RIGHT, SEMI) and reads_only(each, left_side):
            to_left.append(each)
        elif kind in (INNER, LEFT, SEMI, ANTI) and reads_only(each, right_side):
            to_right.append(each)
        else:
            on.append(each)
    moved = [shifted(each, lambda index: index - width) for each in to_right]
    changed = replace(
        relation,
        left=_push(relation.left, to_left),
        right=_push(relation.right, moved),
        condition=all_of(on),
    )
    return restricted(changed, above)


def _with_strict_kind(relation: Join, conditions: Conditions) -> Join:
    """An outer join whose rows without a partner would be filtered out is an inner one."""
    width = len(relation.left.schema)
    left = frozenset(range(width))
    right = frozenset(range(width, width + len(relation.right.schema)))
    needs_left = any(rejects_null(each, left) for each in conditions)
    needs_right = any(rejects_null(each, right) for each in conditions)
    kind = relation.kind
    if kind == FULL:
        if needs_left and needs_right:
            kind = INNER
        elif needs_left:
            kind = LEFT
        elif needs_right:
            kind = RIGHT
    elif (kind == LEFT and needs_right) or (kind == RIGHT and needs_left):
        kind = INNER
    # Types stay as they were: what cannot be NULL any more may still be called nullable.
    return relation if kind == relation.kind else replace(relation, kind=kind)
