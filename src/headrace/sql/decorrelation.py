"""Subqueries that use columns of the query around them: the conditions that do so are pulled up,
so that the subquery can become the right side of a join."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import singledispatch
from typing import Any

from headrace.core.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    Outer,
    SortKey,
    columns_of,
    rewritten,
    shifted,
)
from headrace.errors import Unsupported
from headrace.graph.relations import (
    ANTI,
    INNER,
    LEFT,
    SEMI,
    Aggregate,
    Filter,
    Join,
    Project,
    Rank,
    Relation,
    Sort,
)
from headrace.plan.relational.conditions import conjuncts, is_call
from headrace.sql.calls import all_of, null_of
from headrace.sql.relations import columns, joined, projected, restricted, with_columns

_EQUALITIES = ("EQUALS", "IS_NOT_DISTINCT_FROM")


@dataclass(frozen=True)
class Pulled:
    """A subquery without outer columns."""

    relation: Relation
    """The subquery's columns, then those that conditions need."""
    conditions: tuple[Expression, ...] = ()
    """Over the relation's columns and outer ones."""
    empty: tuple[Expression, ...] | None = None
    """Of an aggregation without keys: its row if no rows match, such as a count of 0. It has one
    row per group, which is missing for groups without rows."""


def with_outer_columns(node: Any, change: Callable[[Column], Expression], depth: int = 1) -> Any:
    """The relation with its outer columns, handed over as columns of the row around it, changed."""
    return _changed(node, lambda part: _outer_changed(part, change, depth))


def _outer_changed(
    part: Expression, change: Callable[[Column], Expression], depth: int
) -> Expression:
    if not isinstance(part, Outer) or part.depth != depth:
        return part
    new = change(Column(part.type, part.index))
    if not isinstance(new, Column):
        raise Unsupported("a subquery cannot use an aggregate of the query around it")
    return replace(part, type=new.type, index=new.index)


def _changed(node: Any, rule: Callable[[Expression], Expression]) -> Any:
    """Any part of a relation with a rule applied to all its expressions."""
    if isinstance(node, Expression):
        return rewritten(node, rule)
    if isinstance(node, tuple):
        return tuple(_changed(each, rule) for each in node)
    if is_dataclass(node) and not isinstance(node, type) and _has_expressions(node):
        changes = {each.name: _changed(getattr(node, each.name), rule) for each in fields(node)}
        return replace(node, **changes)
    return node


def _has_expressions(node: Any) -> bool:
    module = type(node).__module__
    return module in ("headrace.graph.relations", "headrace.core.expressions")


def has_outer(node: Any, depth: int = 1) -> bool:
    """Whether an expression or relation uses columns of the query around it."""
    found = False

    def look(part: Expression) -> Expression:
        nonlocal found
        found = found or (isinstance(part, Outer) and part.depth >= depth)
        return part

    _changed(node, look)
    return found


def outer_columns(node: Any) -> list[int]:
    """The columns of the query right around it that a relation uses."""
    found: set[int] = set()

    def look(part: Expression) -> Expression:
        if isinstance(part, Outer) and part.depth == 1:
            found.add(part.index)
        return part

    _changed(node, look)
    return sorted(found)


def nearer(node: Any) -> Any:
    """A part of a subquery, with no columns of the query right around it, as a part of that."""
    return _changed(node, _one_nearer)


def _one_nearer(part: Expression) -> Expression:
    return replace(part, depth=part.depth - 1) if isinstance(part, Outer) else part


def pulled(relation: Relation) -> Pulled:
    """The relation with the conditions that use outer columns taken out; Unsupported if there are
    more of these than conditions."""
    return _pull(relation) if has_outer(relation) else Pulled(relation, empty=empty_row(relation))


def empty_row(relation: Relation) -> tuple[Expression, ...] | None:
    """The single row of an aggregation over no rows."""
    if isinstance(relation, Aggregate) and not relation.keys and relation.calls:
        return tuple(_of_nothing(call.function.name, call.type) for call in relation.calls)
    if isinstance(relation, Project):
        below = empty_row(relation.input)
        if below is not None:
            return tuple(_substituted(each, below) for each in relation.expressions)
    return None


def _of_nothing(function: str, type: Any) -> Expression:
    counts = function.upper() in ("COUNT", "APPROX_COUNT_DISTINCT", "$SUM0")
    return Literal(type, 0) if counts else null_of(type)


def _substituted(expression: Expression, values: Sequence[Expression]) -> Expression:
    def value(part: Expression) -> Expression:
        return values[part.index] if isinstance(part, Column) else part

    return rewritten(expression, value)


@singledispatch
def _pull(relation: Relation) -> Pulled:
    raise Unsupported(f"a subquery cannot use outer columns below {type(relation).__name__}")


@_pull.register
def _(relation: Filter) -> Pulled:
    below = pulled(relation.input)
    parts = conjuncts(relation.condition)
    own = [part for part in parts if not has_outer(part)]
    others = [part for part in parts if has_outer(part)]
    kept = restricted(below.relation, all_of(own))
    return Pulled(kept, (*below.conditions, *others), None)


@_pull.register
def _(relation: Project) -> Pulled:
    below = pulled(relation.input)
    if any(has_outer(each) for each in relation.expressions):
        raise Unsupported("a subquery cannot compute its columns of outer ones")
    used = sorted({index for each in below.conditions for index in columns_of(each)})
    width = len(relation.expressions)
    wanted = [columns(below.relation)[index] for index in used]
    names = (*relation.names, *(below.relation.names[index] for index in used))
    wide = projected(below.relation, (*relation.expressions, *wanted), names)
    place = {index: width + position for position, index in enumerate(used)}
    conditions = tuple(shifted(each, place.__getitem__) for each in below.conditions)
    empty = below.empty
    if empty is not None:
        empty = tuple(_substituted(each, empty) for each in relation.expressions)
    return Pulled(wide, conditions, empty)


@_pull.register
def _(relation: Aggregate) -> Pulled:
    from headrace.sql.aggregation import aggregation

    if relation.grouping_sets is not None:
        raise Unsupported("a subquery with GROUPING SETS cannot use outer columns")
    below, keys, conditions = keyed_by_outer(pulled(relation.input))
    if not relation.keys and not all(is_call(each, "EQUALS") for each in conditions):
        # That there is no group is told by a key that is NULL, and here one that is there may be.
        raise Unsupported("a subquery without GROUP BY whose outer columns may equal NULL")
    wide = aggregation(below, (*relation.keys, *keys), relation.calls)
    own, added, calls = len(relation.keys), len(keys), len(relation.calls)
    order = [*range(own), *range(own + added, own + added + calls), *range(own, own + added)]
    fields_now = columns(wide)
    names = [wide.names[index] for index in order]
    moved = projected(wide, [fields_now[index] for index in order], names)
    place = {key: own + calls + position for position, key in enumerate(keys)}
    above = tuple(shifted(each, place.__getitem__) for each in conditions)
    empty = None
    if not relation.keys:
        empty = tuple(_of_nothing(call.function.name, call.type) for call in relation.calls)
    return Pulled(moved, above, empty)


@_pull.register
def _(relation: Sort) -> Pulled:
    below = pulled(relation.input)
    if relation.fetch is None and not relation.offset:
        return below
    inner, keys, conditions = keyed_by_outer(below)
    if relation.fetch is None:
        raise Unsupported("a subquery with OFFSET but no LIMIT cannot use outer columns")
    first = relation.offset + 1
    order = relation.keys or (SortKey(0),)
    ranked = Rank(
        schema=inner.schema, input=inner, partition=tuple(keys), order=order,
        function="ROW_NUMBER", first=first, last=relation.offset + relation.fetch, with_rank=False,
    )  # fmt: skip
    return Pulled(ranked, conditions)


@_pull.register
def _(relation: Join) -> Pulled:
    left, right = pulled(relation.left), pulled(relation.right)
    parts = conjuncts(relation.condition)
    outer_parts = [part for part in parts if has_outer(part)]
    if relation.kind != INNER and (outer_parts or right.conditions):
        raise Unsupported(f"a subquery cannot use outer columns below a {relation.kind} join")
    if relation.kind in (SEMI, ANTI):
        return _pulled_left(relation, left)
    if relation.kind not in (INNER, LEFT) and left.conditions:
        raise Unsupported(f"a subquery cannot use outer columns below a {relation.kind} join")
    first, second = len(relation.left.schema), len(relation.right.schema)
    wide_left, wide_right = len(left.relation.schema), len(right.relation.schema)

    def place(index: int) -> int:
        return index if index < first else index - first + wide_left

    own = [shifted(part, place) for part in parts if not has_outer(part)]
    join = joined(left.relation, right.relation, relation.kind, all_of(own))
    order = [*range(first), *range(wide_left, wide_left + second)]
    order += [i for i in range(wide_left + wide_right) if i not in set(order)]
    fields_now = columns(join)
    moved = projected(join, [fields_now[i] for i in order], [join.names[i] for i in order])
    back = {old: new for new, old in enumerate(order)}
    conditions = [shifted(each, back.__getitem__) for each in left.conditions]
    conditions += [shifted(each, lambda i: back[i + wide_left]) for each in right.conditions]
    return Pulled(moved, (*conditions, *outer_parts))


def _pulled_left(relation: Join, left: Pulled) -> Pulled:
    """A semi or anti join whose left side has conditions: they may as well come after it."""
    width, wide = len(relation.left.schema), len(left.relation.schema)
    condition = relation.condition
    if condition is not None:
        condition = shifted(condition, lambda at: at if at < width else at - width + wide)
    join = joined(
        left.relation, relation.right, relation.kind, condition, null_aware=relation.null_aware
    )
    return Pulled(join, left.conditions)


def keyed_by_outer(below: Pulled) -> tuple[Relation, list[int], tuple[Expression, ...]]:
    """The relation, its columns that must equal something of the outer row, and these conditions.

    What is aggregated or ranked for each outer row can then be so for each value of the columns.
    """
    relation = below.relation
    keys: list[int] = []
    conditions: list[Expression] = []
    for condition in below.conditions:
        inner, swapped = _equal_side(condition)
        if isinstance(inner, Column):
            index = inner.index
        else:
            relation = with_columns(relation, [inner])
            index = len(relation.schema) - 1
        assert isinstance(condition, Call)
        column = Column(inner.type, index)
        outer = condition.arguments[0 if swapped else 1]
        sides = (outer, column) if swapped else (column, outer)
        conditions.append(replace(condition, arguments=sides))
        keys.append(index)
    unique = list(dict.fromkeys(keys))
    return relation, unique, tuple(conditions)


def _equal_side(condition: Expression) -> tuple[Expression, bool]:
    """The side of an equality that is the subquery's, and whether it is the right one."""
    if isinstance(condition, Call) and condition.function.name in _EQUALITIES:
        for swapped, (side, other) in enumerate((condition.arguments, condition.arguments[::-1])):
            if not has_outer(side) and not columns_of(other):
                return side, bool(swapped)
    raise Unsupported(
        "a subquery with an aggregate, LIMIT or DISTINCT can only be compared with outer columns "
        "by equality"
    )


def beside(left_width: int, condition: Expression) -> Expression:
    """A pulled condition as one of a join, where outer columns are the left side's."""

    def place(part: Expression) -> Expression:
        if isinstance(part, Column):
            return replace(part, index=part.index + left_width)
        if isinstance(part, Outer):
            if part.depth == 1:
                return Column(part.type, part.index)
            return replace(part, depth=part.depth - 1)
        return part

    return rewritten(condition, place)
