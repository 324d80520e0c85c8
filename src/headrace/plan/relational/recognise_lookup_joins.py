"""A join with a table as it is now, which can be looked up, needs no state."""

from __future__ import annotations

from headrace.core import logical_types as lt
from headrace.core.expressions import Column, Expression, Literal, columns_of
from headrace.graph.relations import Filter, LookupJoin, Project, Relation, Scan, TemporalJoin
from headrace.plan.relational.conditions import all_of, conjuncts, is_call
from headrace.plan.relational.equi import equi_condition
from headrace.plan.relational.traversal import bottom_up


def recognise_lookup_joins(relation: Relation) -> Relation:
    return bottom_up(relation, _recognised)


def _recognised(relation: Relation) -> Relation:
    if not isinstance(relation, TemporalJoin):
        return relation
    if not lt.is_proctime(relation.left.types[relation.time]):
        return relation
    scan, moves = _scan_below(relation.right)
    if scan is None:
        return relation
    width = len(relation.left.schema)
    pairs, rest = _keys(relation.condition, width, moves)
    if not pairs or scan.source.lookup(tuple(column for column, _ in pairs)) is None:
        return relation
    return LookupJoin(
        schema=relation.schema, input=relation.left, source=scan.source, table=relation.right,
        keys=tuple(pairs), kind=relation.kind, condition=rest, hints=relation.hints,
    )  # fmt: skip


def _scan_below(relation: Relation) -> tuple[Scan | None, dict[int, int]]:
    """The scan that a table is, and which of its columns are the table's."""
    moves = {index: index for index in range(len(relation.schema))}
    while isinstance(relation, Project | Filter):
        if isinstance(relation, Project):
            moves = {
                new: expression.index
                for new, old in moves.items()
                if isinstance(expression := relation.expressions[old], Column)
            }
        relation = relation.input
    return (relation, moves) if isinstance(relation, Scan) else (None, {})


def _keys(
    condition: Expression, width: int, moves: dict[int, int]
) -> tuple[list[tuple[int, Expression]], Expression | None]:
    """Pairs of a column of the scan and what it equals, and the rest of the condition."""
    pairs: list[tuple[int, Expression]] = []
    rest: list[Expression] = []
    for part in conjuncts(condition):
        left, right, null_safe, _ = equi_condition(part, width)
        found = None
        if right and not null_safe[0] and isinstance(right[0], Column):
            found = (right[0].index, left[0])
        elif is_call(part, "EQUALS"):
            found = _constant_key(part, width)
        if found is not None and found[0] in moves and moves[found[0]] not in dict(pairs):
            pairs.append((moves[found[0]], found[1]))
        else:
            rest.append(part)
    return pairs, all_of(rest)


def _constant_key(part: Expression, width: int) -> tuple[int, Expression] | None:
    for one, other in (part.inputs, part.inputs[::-1]):
        own = isinstance(one, Column) and min(columns_of(one)) >= width
        if own and isinstance(other, Literal):
            return one.index - width, other  # type: ignore[attr-defined]
    return None
