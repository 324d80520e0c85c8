"""Relations that rules put in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from headrace.core.expressions import Column, Expression
from headrace.core.logical_types import Field
from headrace.graph.relations import Filter, Project, Relation
from headrace.plan.relational.conditions import all_of


def columns(relation: Relation) -> tuple[Column, ...]:
    return tuple(Column(field.type, index) for index, field in enumerate(relation.schema))


def restricted(relation: Relation, conditions: Iterable[Expression]) -> Relation:
    """Rows where all conditions hold."""
    condition = all_of(conditions)
    if condition is None:
        return relation
    return Filter(schema=relation.schema, input=relation, condition=condition)


def chosen(relation: Relation, positions: Sequence[int], names: Sequence[str] = ()) -> Relation:
    """These columns of a relation, in this order."""
    listed = columns(relation)
    names = names or [relation.names[position] for position in positions]
    if tuple(positions) == tuple(range(len(listed))) and tuple(names) == relation.names:
        return relation
    expressions = tuple(listed[position] for position in positions)
    return projection(relation, expressions, names)


def projection(
    relation: Relation, expressions: Sequence[Expression], names: Sequence[str]
) -> Project:
    schema = tuple(
        Field(name, expression.type) for name, expression in zip(names, expressions, strict=True)
    )
    return Project(schema=schema, input=relation, expressions=tuple(expressions))


def renamed_like(relation: Relation, wanted: Relation, positions: Sequence[int]) -> Relation:
    """Columns of a relation at `positions`, named and typed as those of `wanted`."""
    listed = columns(relation)
    expressions = tuple(listed[position] for position in positions)
    identical = len(positions) == len(listed) and list(positions) == list(range(len(listed)))
    if identical and relation.schema == wanted.schema:
        return relation
    return Project(schema=wanted.schema, input=relation, expressions=expressions)


def with_key_columns(
    relation: Relation, keys: Sequence[Expression]
) -> tuple[Relation, tuple[int, ...]]:
    """The relation with a column more for each key that is computed, and the keys' columns."""
    width = len(relation.schema)
    computed = [key for key in keys if not isinstance(key, Column)]
    positions = tuple(
        key.index if isinstance(key, Column) else width + computed.index(key) for key in keys
    )
    if not computed:
        return relation, positions
    names = (*relation.names, *(f"$k{index}" for index in range(len(computed))))
    return projection(relation, (*columns(relation), *computed), names), positions
