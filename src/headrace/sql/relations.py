"""The plain relations, each made with its schema: what every other part of the builder uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from headrace.core import logical_types as lt
from headrace.core.expressions import Column, Expression
from headrace.core.logical_types import Field
from headrace.graph.relations import (
    ANTI,
    FULL,
    LEFT,
    RIGHT,
    SEMI,
    Aggregate,
    Filter,
    Join,
    Project,
    Relation,
    TemporalJoin,
)
from headrace.sql.calls import TRUE


def columns(relation: Relation) -> tuple[Column, ...]:
    """Every column of a relation, as an expression over it."""
    return tuple(Column(field.type, index) for index, field in enumerate(relation.schema))


def unique_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names that are there twice get numbers: a, a0, a1."""
    result: list[str] = []
    used: set[str] = set()
    for name in names:
        candidate, attempt = name, 0
        while candidate in used:
            candidate, attempt = f"{name}{attempt}", attempt + 1
        used.add(candidate)
        result.append(candidate)
    return tuple(result)


def projected(
    relation: Relation, expressions: Sequence[Expression], names: Iterable[str]
) -> Relation:
    """The expressions as columns; the relation itself if that changes nothing."""
    unique = unique_names(names)
    schema = tuple(
        Field(name, expression.type) for name, expression in zip(unique, expressions, strict=True)
    )
    if schema == _bare(relation.schema) and tuple(expressions) == columns(relation):
        return with_written_names(relation, unique)
    return Project(schema=schema, input=relation, expressions=tuple(expressions))


def with_written_names(relation: Relation, names: Sequence[str]) -> Relation:
    """The relation, whose query calls its columns so."""
    written = () if len(set(names)) == len(names) else tuple(names)
    return relation if relation.written == written else replace(relation, written=written)


def _bare(schema: tuple[Field, ...]) -> tuple[Field, ...]:
    return tuple(replace(field, description=None) for field in schema)


def renamed(relation: Relation, names: Sequence[str]) -> Relation:
    return projected(relation, columns(relation), names)


def first_columns(relation: Relation, width: int) -> Relation:
    """Without the columns after the first `width`."""
    return projected(relation, columns(relation)[:width], relation.names[:width])


def with_columns(relation: Relation, added: Sequence[Expression], name: str = "$f") -> Relation:
    """The relation with further columns at its end."""
    if not added:
        return relation
    width = len(relation.schema)
    names = (*relation.names, *(f"{name}{width + index}" for index in range(len(added))))
    return projected(relation, (*columns(relation), *added), names)


def restricted(relation: Relation, condition: Expression | None) -> Relation:
    """Rows where the condition, which has no marks, is true."""
    if condition is None or condition == TRUE:
        return relation
    return Filter(schema=relation.schema, input=relation, condition=condition)


def joined(
    left: Relation,
    right: Relation,
    kind: str,
    condition: Expression | None = None,
    *,
    null_aware: bool = False,
) -> Relation:
    """A regular join; the condition sees the left columns, then the right ones."""
    schema = joined_schema(left, right, kind)
    if condition == TRUE:
        condition = None
    return Join(
        schema=schema, left=left, right=right, kind=kind, condition=condition,
        null_aware=null_aware,
    )  # fmt: skip


def joined_schema(left: Relation, right: Relation, kind: str) -> tuple[Field, ...]:
    if kind in (SEMI, ANTI):
        return left.schema
    names = unique_names((*left.names, *right.names))
    types = [type.with_nullable(type.nullable or kind in (RIGHT, FULL)) for type in left.types]
    types += [type.with_nullable(type.nullable or kind in (LEFT, FULL)) for type in right.types]
    return tuple(Field(name, type) for name, type in zip(names, types, strict=True))


def temporally_joined(
    left: Relation, right: Relation, kind: str, condition: Expression, time: int
) -> Relation:
    """Each left row with the right table as it was at the time in the left column `time`."""
    schema = joined_schema(left, right, kind)
    width = len(left.schema)
    # The right side's time attribute is a version's time: no watermark follows it any more.
    schema = schema[:width] + tuple(
        replace(field, type=lt.materialized(field.type)) for field in schema[width:]
    )
    return TemporalJoin(
        schema=schema, left=left, right=right, kind=kind, condition=condition, time=time
    )


def distinct(relation: Relation) -> Relation:
    """Each row once."""
    keys = tuple(range(len(relation.schema)))
    return Aggregate(schema=_materialized(relation.schema), input=relation, keys=keys, calls=())


def _materialized(schema: tuple[Field, ...]) -> tuple[Field, ...]:
    return tuple(replace(field, type=lt.materialized(field.type)) for field in schema)
