"""Columns by which changes of a relation's rows can be told apart.

Changes that one subtask makes keep their order, those of two do not. So a relation whose rows are
dealt out by some columns only has keys that contain these: a row that moves from one subtask to
another is removed by the first and added by the second, and the removal may come last.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from itertools import product

from headrace.core.expressions import Column
from headrace.graph.relations import (
    ANTI,
    FULL,
    LEFT,
    RIGHT,
    SEMI,
    Aggregate,
    AssignWatermark,
    Deduplicate,
    Filter,
    FromChangelog,
    Insert,
    IntervalJoin,
    Join,
    LookupJoin,
    Over,
    Project,
    Rank,
    Relation,
    Scan,
    SetOperation,
    Sort,
    TemporalJoin,
    WindowAggregate,
    WindowJoin,
    WindowTable,
)
from headrace.plan.relational.equi import column_keys, equi_condition

Keys = frozenset[frozenset[int]]
"""Each of them tells rows apart, at all times; the empty one says that there is at most one row."""
NONE: Keys = frozenset()
_LIMIT = 16


def upsert_keys(relation: Relation) -> Keys:
    """Every known key of a relation that has no smaller one inside of it."""
    found = sorted(_keys(relation), key=lambda key: (len(key), sorted(key)))
    smallest: list[frozenset[int]] = []
    for key in found:
        if not any(known <= key for known in smallest):
            smallest.append(key)
    return frozenset(smallest[:_LIMIT])


@singledispatch
def _keys(relation: Relation) -> Keys:
    return NONE


@_keys.register
def _(relation: Scan) -> Keys:
    key = relation.primary_key
    return NONE if key is None else frozenset({frozenset(key)})


def _dealt_by(relation: Relation, columns: Iterable[int]) -> Keys:
    """The relation's keys after its rows were dealt out by these columns."""
    dealt = frozenset(columns)
    return frozenset(key for key in upsert_keys(relation) if dealt <= key)


@_keys.register(Filter)
@_keys.register(AssignWatermark)
@_keys.register(Insert)
def _(relation: Filter | AssignWatermark | Insert) -> Keys:
    return upsert_keys(relation.input)


@_keys.register
def _(relation: Sort) -> Keys:
    if relation.fetch == 1:
        return frozenset({frozenset()})
    # Behind an offset a row takes the place of another one, which is not removed by itself.
    return NONE if relation.offset else upsert_keys(relation.input)


@_keys.register
def _(relation: Over) -> Keys:
    return _dealt_by(relation.input, relation.partition)


@_keys.register
def _(relation: WindowTable) -> Keys:
    if relation.window.kind in ("tumble", "session"):
        return upsert_keys(relation.input)
    end = len(relation.input.schema) + 1
    return frozenset(key | {end} for key in upsert_keys(relation.input))


@_keys.register
def _(relation: Project) -> Keys:
    places: dict[int, list[int]] = {}
    for index, expression in enumerate(relation.expressions):
        if isinstance(expression, Column):
            places.setdefault(expression.index, []).append(index)
    found: set[frozenset[int]] = set()
    for key in upsert_keys(relation.input):
        if all(index in places for index in key):
            choices = [places[index] for index in sorted(key)]
            found |= {frozenset(chosen) for chosen in list(product(*choices))[:_LIMIT]}
    return frozenset(found)


@_keys.register
def _(relation: Aggregate) -> Keys:
    if relation.grouping_sets is not None:
        return NONE
    return frozenset({frozenset(range(len(relation.keys)))})


@_keys.register
def _(relation: WindowAggregate) -> Keys:
    if relation.grouping_sets is not None:
        return NONE
    first = len(relation.keys) + len(relation.calls)
    own = frozenset(range(len(relation.keys)))
    bounds = {name: first + index for index, name in enumerate(relation.properties)}
    # Cumulating windows share their start, so that only the end, or its time, is a window's own.
    ends = [bounds[name] for name in ("window_end", "window_time") if name in bounds]
    kind = None if relation.window is None else relation.window.kind
    if kind in ("tumble", "hop", "session") and "window_start" in bounds:
        ends.append(bounds["window_start"])
    return frozenset(own | {end} for end in ends)


def _combined(left: Keys, right: Keys, width: int) -> Keys:
    return frozenset(one | {index + width for index in other} for one in left for other in right)


def _dealt_sides(relation: Join | TemporalJoin) -> tuple[Keys, Keys]:
    """The keys of both sides after their rows were dealt out by what the join compares."""
    width = len(relation.left.schema)
    left, right, _, _ = equi_condition(relation.condition, width)
    sides = ((relation.left, column_keys(left)), (relation.right, column_keys(right)))
    one, other = (NONE if columns is None else _dealt_by(side, columns) for side, columns in sides)
    return one, other


@_keys.register
def _(relation: Join) -> Keys:
    left, right = _dealt_sides(relation)
    if relation.kind in (SEMI, ANTI):
        return left
    width = len(relation.left.schema)
    found = set(_combined(left, right, width))
    left_keys, right_keys, _, _ = equi_condition(relation.condition, width)
    left_columns = {key.index for key in left_keys if isinstance(key, Column)}
    right_columns = {key.index for key in right_keys if isinstance(key, Column)}
    one_right = any(key <= right_columns for key in upsert_keys(relation.right))
    one_left = any(key <= left_columns for key in upsert_keys(relation.left))
    if relation.kind not in (RIGHT, FULL) and one_right:
        found |= left
    if relation.kind not in (LEFT, FULL) and one_left:
        found |= {frozenset(index + width for index in key) for key in right}
    return frozenset(found)


@_keys.register(IntervalJoin)
@_keys.register(WindowJoin)
def _(relation: IntervalJoin | WindowJoin) -> Keys:
    left = upsert_keys(relation.left)
    if relation.kind in (SEMI, ANTI):
        return left
    return _combined(left, upsert_keys(relation.right), len(relation.left.schema))


@_keys.register
def _(relation: TemporalJoin) -> Keys:
    # There is one version of a right row at a time, so a left row has one partner.
    return _dealt_sides(relation)[0]


@_keys.register
def _(relation: LookupJoin) -> Keys:
    table = upsert_keys(relation.table)
    looked_up = {column for column, _ in relation.keys}
    return upsert_keys(relation.input) if any(key <= looked_up for key in table) else NONE


@_keys.register
def _(relation: SetOperation) -> Keys:
    if relation.kind == "union" and relation.all:
        return NONE
    return NONE if relation.all else frozenset({frozenset(range(len(relation.schema)))})


@_keys.register
def _(relation: Rank) -> Keys:
    partition = frozenset(relation.partition) | set(relation.window_columns or ())
    if relation.function == "ROW_NUMBER" and relation.first == relation.last:
        return frozenset({partition})
    if relation.function == "ROW_NUMBER" and relation.with_rank:
        # A row at a place is replaced by another one; it is not removed by itself.
        return frozenset({partition | {len(relation.input.schema)}})
    if relation.function == "ROW_NUMBER" and relation.first > 1:
        return NONE
    return _dealt_by(relation.input, relation.partition)


@_keys.register
def _(relation: Deduplicate) -> Keys:
    partition = frozenset(relation.partition) | set(relation.window_columns or ())
    return frozenset({partition})


@_keys.register
def _(relation: FromChangelog) -> Keys:
    if relation.partition is None:
        return NONE
    moved = (index - (index > relation.operation) for index in relation.partition)
    return frozenset({frozenset(moved)})
