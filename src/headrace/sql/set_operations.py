"""UNION, INTERSECT, EXCEPT, and rows written out: columns of different types become one type."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core import logical_types as lt
from headrace.core.expressions import Expression, Literal, is_constant
from headrace.core.logical_types import Field
from headrace.errors import InvalidQuery
from headrace.graph.relations import Relation, SetOperation, Values
from headrace.sql.calls import as_type
from headrace.sql.constants import evaluated
from headrace.sql.functions.conversion import common_type
from headrace.sql.relations import columns, projected, unique_names


def combined(
    kind: str, branches: Sequence[Relation], *, all: bool, at: object | None = None
) -> Relation:
    """The branches by "union", "intersect" or "except"; names are those of the first."""
    width = len(branches[0].schema)
    for branch in branches:
        if len(branch.schema) != width:
            counts = " and ".join(str(len(each.schema)) for each in branches)
            raise InvalidQuery(
                f"{kind.upper()} needs the same number of columns, here are {counts}", origin=at
            )
    types = [_column_type(kind, branches, index, at) for index in range(width)]
    aligned = [_with_types(branch, types) for branch in branches]
    schema = tuple(
        Field(name, type.with_nullable(any(each.types[index].nullable for each in aligned)))
        for index, (name, type) in enumerate(zip(branches[0].names, types, strict=True))
    )
    flat: list[Relation] = []
    for branch in aligned:
        same = isinstance(branch, SetOperation) and branch.kind == kind == "union"
        if same and all and branch.all:  # type: ignore[attr-defined]
            flat += branch.inputs
        else:
            flat.append(branch)
    return SetOperation(
        schema=schema, kind=kind, all=all, branches=tuple(flat), written=branches[0].written
    )


def _with_types(relation: Relation, types: Sequence[lt.LogicalType]) -> Relation:
    expressions = [as_type(*pair) for pair in zip(columns(relation), types, strict=True)]
    return projected(relation, expressions, relation.names)


def _column_type(
    kind: str, branches: Sequence[Relation], index: int, at: object | None
) -> lt.LogicalType:
    types = [branch.types[index] for branch in branches]
    if len({each.with_nullable(True) for each in types}) == 1:
        return types[0].with_nullable(any(each.nullable for each in types))
    shared = _common_type([lt.materialized(each) for each in types])
    if shared is None:
        listed = " and ".join(map(str, types))
        raise InvalidQuery(
            f"column {index + 1} of {kind.upper()} has no common type: {listed}", origin=at,
            hint="cast it in one of the queries",
        )  # fmt: skip
    return shared


def _common_type(types: Sequence[lt.LogicalType]) -> lt.LogicalType | None:
    """The type that rows have in common: unlike functions, they do not cut a timestamp."""
    shared = common_type(types)
    cut = isinstance(shared, lt.DateType | lt.TimeType)
    return None if cut and any(isinstance(each, lt.TIMESTAMPS) for each in types) else shared


def values(
    rows: Sequence[Sequence[Expression]],
    names: Sequence[str] | None = None,
    at: object | None = None,
) -> Relation:
    """Rows of expressions without columns."""
    width = len(rows[0])
    if any(len(row) != width for row in rows):
        raise InvalidQuery("the rows of VALUES must have the same number of columns", origin=at)
    types = []
    for index in range(width):
        shared = _common_type([row[index].type for row in rows])
        if shared is None:
            listed = " and ".join(str(row[index].type) for row in rows)
            raise InvalidQuery(
                f"column {index + 1} of VALUES has no common type: {listed}", origin=at
            )
        nullable = any(row[index].type.nullable for row in rows)
        types.append(shared.with_nullable(nullable))
    fitted = [[as_type(*pair) for pair in zip(row, types, strict=True)] for row in rows]
    unique = unique_names(names or [f"EXPR${index}" for index in range(width)])
    schema = tuple(Field(name, type) for name, type in zip(unique, types, strict=True))
    if all(is_constant(cell) for row in fitted for cell in row):
        constant = tuple(tuple(_constant(cell) for cell in row) for row in fitted)
        return Values(schema=schema, rows=constant)
    branches = [projected(one_row(), row, unique) for row in fitted]
    if len(branches) == 1:
        return branches[0]
    return combined("union", branches, all=True, at=at)


def _constant(expression: Expression) -> object:
    return expression.value if isinstance(expression, Literal) else evaluated(expression)


def one_row() -> Relation:
    """A row with a column of no interest: what SELECT without FROM selects from."""
    return Values(schema=(Field("ZERO", lt.INT.not_null()),), rows=((0,),))
