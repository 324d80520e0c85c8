"""Marks of subqueries become joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.core import logical_types as lt
from headrace.core.expressions import Call, Column, Expression, Literal, rewritten
from headrace.graph.relations import ANTI, LEFT, SEMI, Project, Relation, Sort, Values
from headrace.plan.relational.conditions import conjuncts
from headrace.sql.aggregation import aggregation
from headrace.sql.calls import TRUE, aggregate, all_of, any_of, call, null_of
from headrace.sql.decorrelation import Pulled, beside, keyed_by_outer
from headrace.sql.marks import SubqueryMark, contains
from headrace.sql.outer_domain import pulled_for
from headrace.sql.relations import (
    columns,
    first_columns,
    joined,
    projected,
    restricted,
    with_columns,
)


def filtered(relation: Relation, condition: Expression | None) -> Relation:
    """Rows where the condition is true; IN and EXISTS become semi and anti joins."""
    plain: list[Expression] = []
    rest: list[Expression] = []
    for part in conjuncts(condition):
        (rest if contains(part, SubqueryMark) else plain).append(part)
    relation = restricted(relation, all_of(plain))
    for part in rest:
        relation = _filtered_by(relation, part)
    return relation


def _filtered_by(relation: Relation, part: Expression) -> Relation:
    mark, negated = _negation(part)
    if isinstance(mark, SubqueryMark) and mark.kind in ("in", "exists"):
        width = len(relation.schema)
        relation, operands = without_subqueries(relation, mark.operands)
        mark = replace(mark, operands=tuple(operands))
        return first_columns(_semi_joined(relation, mark, negated), width)
    width = len(relation.schema)
    wide, (condition,) = without_subqueries(relation, [part])
    return first_columns(restricted(wide, condition), width)


def _negation(part: Expression) -> tuple[Expression, bool]:
    negated = False
    while isinstance(part, Call) and part.function.name == "NOT":
        part, negated = part.arguments[0], not negated
    return part, negated


def _semi_joined(relation: Relation, mark: SubqueryMark, negated: bool) -> Relation:
    width = len(relation.schema)
    inner = pulled_for(mark.relation, relation)
    right = columns(inner.relation)
    comparisons = []
    for operand, column in zip(mark.operands, right, strict=False):
        moved = replace(column, index=column.index + width)
        comparison: Expression = call(mark.comparison, operand, moved)
        if negated:
            unknown = [call("IS_NULL", each) for each in (operand, moved) if each.type.nullable]
            comparison = any_of([comparison, *unknown])
        comparisons.append(comparison)
    conditions = [*comparisons, *(beside(width, each) for each in inner.conditions)]
    null_aware = negated and mark.kind == "in" and bool(mark.type.nullable)
    kind = ANTI if negated else SEMI
    return joined(relation, inner.relation, kind, all_of(conditions), null_aware=null_aware)


def without_subqueries(
    relation: Relation, expressions: Sequence[Expression]
) -> tuple[Relation, list[Expression]]:
    """The relation joined with the subqueries, whose results are columns after its own; and the
    expressions with them."""
    values: dict[SubqueryMark, Expression] = {}
    for expression in expressions:
        for part in _innermost_first(expression):
            if isinstance(part, SubqueryMark) and part not in values:
                operands = [_with_values(each, values) for each in part.operands]
                mark = replace(part, operands=tuple(operands))
                relation, values[part] = _JOINS[part.kind](relation, mark)
    if not values:
        return relation, list(expressions)
    return relation, [_with_values(expression, values) for expression in expressions]


def _innermost_first(expression: Expression) -> list[Expression]:
    return list(expression.walk())[::-1]


def _with_values(expression: Expression, values: dict[SubqueryMark, Expression]) -> Expression:
    if isinstance(expression, SubqueryMark):
        return values[expression]
    if not expression.inputs:
        return expression
    return expression.with_inputs([_with_values(part, values) for part in expression.inputs])


def _scalar(relation: Relation, mark: SubqueryMark) -> tuple[Relation, Expression]:
    width = len(relation.schema)
    inner = pulled_for(mark.relation, relation, keyed=True)
    if not inner.conditions:
        right = inner.relation if _has_one_row(inner) else _single(inner.relation, ())
        join = joined(relation, right, LEFT)
        return join, columns(join)[width]
    keyed, keys, conditions = keyed_by_outer(inner)
    right = keyed
    if inner.empty is None:
        right, conditions, keys = _single_by(keyed, keys, conditions)
    join = joined(relation, right, LEFT, all_of(beside(width, each) for each in conditions))
    value: Expression = columns(join)[width]
    if inner.empty is not None:
        missing = call("IS_NULL", columns(join)[width + keys[0]])
        value = call("CASE", missing, inner.empty[0], value)
    return join, value


def _has_one_row(inner: Pulled) -> bool:
    relation = inner.relation
    single = isinstance(relation, Sort) and relation.fetch == 1
    return inner.empty is not None or single or _is_one_value(relation)


def _is_one_value(relation: Relation) -> bool:
    while not isinstance(relation, Values) and len(relation.inputs) == 1:
        if not isinstance(relation, Project):
            return False
        relation = relation.inputs[0]
    return isinstance(relation, Values) and len(relation.rows) == 1


def _single(relation: Relation, keys: Sequence[int]) -> Relation:
    """Its first column, which must have one row for each value of the keys."""
    value = aggregate("SINGLE_VALUE", columns(relation)[0])
    return aggregation(relation, keys, [value])


def _single_by(
    relation: Relation, keys: Sequence[int], conditions: Sequence[Expression]
) -> tuple[Relation, tuple[Expression, ...], list[int]]:
    """One row per value of the keys: the value, then the keys."""
    grouped = _single(relation, keys)
    fields = columns(grouped)
    order = [len(keys), *range(len(keys))]
    moved = projected(grouped, [fields[i] for i in order], [grouped.names[i] for i in order])
    return moved, _moved(conditions, keys, 1), list(range(1, len(keys) + 1))


def _moved(
    conditions: Sequence[Expression], keys: Sequence[int], first: int
) -> tuple[Expression, ...]:
    """Conditions about columns that are now keys at positions from `first` on."""
    place = {key: first + position for position, key in enumerate(keys)}

    def move(part: Expression) -> Expression:
        return replace(part, index=place[part.index]) if isinstance(part, Column) else part

    return tuple(rewritten(each, move) for each in conditions)


def _exists(relation: Relation, mark: SubqueryMark) -> tuple[Relation, Expression]:
    width = len(relation.schema)
    inner = pulled_for(mark.relation, relation, keyed=True)
    keyed, keys, conditions = keyed_by_outer(inner)
    counted = aggregation(keyed, keys, [aggregate("COUNT")])
    on = all_of(beside(width, each) for each in _moved(conditions, keys, 0))
    # A stream without rows yet has no count either, so that the join must be an outer one.
    join = joined(relation, counted, LEFT, on)
    count = columns(join)[width + len(keys)]
    if keys:
        return join, call("IS_NOT_NULL", count)
    return join, call("IS_TRUE", call("GREATER_THAN", count, _zero(count.type)))


def _zero(type: lt.LogicalType) -> Expression:
    return Literal(type.not_null(), 0)


def _in(relation: Relation, mark: SubqueryMark) -> tuple[Relation, Expression]:
    """IN as a value: found, not found, or unknown because of NULLs."""
    if mark.comparison != "EQUALS":
        return _some(relation, mark)
    width = len(relation.schema)
    values = len(mark.operands)
    keyed, keys, conditions = keyed_by_outer(pulled_for(mark.relation, relation, keyed=True))
    present = [call("IS_NOT_NULL", each) for each in columns(keyed)[:values] if each.type.nullable]
    every = [*range(values), *keys]
    known = with_columns(aggregation(restricted(keyed, all_of(present)), every, ()), [TRUE])
    sides = zip(mark.operands, columns(known), strict=False)
    equal = [call("EQUALS", one, replace(two, index=two.index + width)) for one, two in sides]
    correlated = [beside(width, each) for each in _moved(conditions, keys, values)]
    join = joined(relation, known, LEFT, all_of((*equal, *correlated)))
    found = call("IS_NOT_NULL", columns(join)[-1])
    if not mark.type.nullable:
        return join, found
    return _three_valued(join, mark, found, (keyed, keys, conditions))


def _three_valued(
    join: Relation,
    mark: SubqueryMark,
    found: Expression,
    keyed: tuple[Relation, list[int], tuple[Expression, ...]],
) -> tuple[Relation, Expression]:
    """NULL where the value is NULL or the subquery has a NULL, and it has rows at all."""
    inner, keys, conditions = keyed
    width = len(join.schema)
    values = columns(inner)[: len(mark.operands)]
    counts = [aggregate("COUNT"), *(aggregate("COUNT", each) for each in values)]
    counted = aggregation(inner, keys, counts)
    on = all_of(beside(width, each) for each in _moved(conditions, keys, 0))
    both = joined(join, counted, LEFT, on)
    rows, *filled = columns(both)[width + len(keys) :]
    return both, _decided(mark, found, rows, filled)


def _decided(
    mark: SubqueryMark, found: Expression, rows: Expression, filled: Sequence[Expression]
) -> Expression:
    """Found, not found or unknown, by the numbers of rows and of values that are not NULL."""
    none = any_of([call("IS_NULL", rows), call("EQUALS", rows, _zero(rows.type))])
    doubts = [call("LESS_THAN", each, rows) for each in filled]
    doubts += [call("IS_NULL", each) for each in mark.operands if each.type.nullable]
    false = replace(TRUE, value=False)
    return call("CASE", found, TRUE, none, false, any_of(doubts), null_of(lt.BOOLEAN), false)


def _some(relation: Relation, mark: SubqueryMark) -> tuple[Relation, Expression]:
    """A comparison holds for some value if it does for the least or for the greatest one."""
    width = len(relation.schema)
    keyed, keys, conditions = keyed_by_outer(pulled_for(mark.relation, relation, keyed=True))
    ((operand, value),) = zip(mark.operands, columns(keyed)[:1], strict=True)
    calls = [aggregate("COUNT"), *(aggregate(each, value) for each in ("COUNT", "MIN", "MAX"))]
    counted = aggregation(keyed, keys, calls)
    on = all_of(beside(width, each) for each in _moved(conditions, keys, 0))
    join = joined(relation, counted, LEFT, on)
    rows, filled, *ends = columns(join)[width + len(keys) :]
    found = any_of([call("IS_TRUE", call(mark.comparison, operand, end)) for end in ends])
    return join, _decided(mark, found, rows, [filled])


_JOINS = {"scalar": _scalar, "exists": _exists, "in": _in}


def laterally_joined(
    left: Relation, right: Relation, kind: str, condition: Expression | None
) -> Relation:
    """A join whose right side is computed for each left row: its outer columns are the left's."""
    width = len(left.schema)
    own = len(right.schema)
    inner = pulled_for(right, left)
    conditions = [beside(width, each) for each in inner.conditions]
    if inner.empty is None or not inner.conditions:
        on = all_of([*conditions, *conjuncts(condition)])
        return first_columns(joined(left, inner.relation, kind, on), width + own)
    # An aggregation has a row for each left row, also for those where nothing matches.
    join = joined(left, inner.relation, LEFT, all_of(conditions))
    result = _with_defaults(join, left, right, inner)
    if kind != LEFT or condition is None:
        return restricted(result, condition)
    fields = columns(result)
    kept = [call("CASE", condition, column, null_of(column.type)) for column in fields[width:]]
    return projected(result, (*fields[:width], *kept), result.names)


def _with_defaults(join: Relation, left: Relation, right: Relation, inner: Pulled) -> Relation:
    """A left join with an aggregation, where groups without rows have what an aggregation of
    nothing gives."""
    width, own = len(left.schema), len(right.schema)
    fields = columns(join)
    missing = call("IS_NULL", fields[width + own])
    assert inner.empty is not None
    defaults = [
        call("CASE", missing, nothing, column)
        for nothing, column in zip(inner.empty, fields[width : width + own], strict=True)
    ]
    return projected(join, (*fields[:width], *defaults), (*left.names, *right.names))
