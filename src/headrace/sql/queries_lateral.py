"""Tables of FROM that are computed of the rows before them: LATERAL, UNNEST, table functions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from headrace.core.expressions import Expression
from headrace.core.logical_types import Field
from headrace.errors import InvalidQuery
from headrace.graph.relations import FULL, RIGHT, Relation
from headrace.sql import unresolved as un
from headrace.sql.calls import TRUE
from headrace.sql.correlation import correlated, table_call, unnest_call
from headrace.sql.nodes import position_of
from headrace.sql.relations import renamed
from headrace.sql.scope import Range, Scope, check_names_differ, fields_as_written
from headrace.sql.subqueries import laterally_joined
from headrace.sql.to_unresolved import unresolved

if TYPE_CHECKING:
    from headrace.sql.queries import QueryBuilder

_QUERIES = (exp.Select, exp.Subquery, exp.SetOperation, exp.Values)


def lateral(
    builder: QueryBuilder,
    left: tuple[Relation, Scope],
    node: exp.Expr,
    kind: str,
    on: exp.Expr | None,
) -> tuple[Relation, Scope]:
    """A table function, UNNEST or LATERAL query over the rows before it."""
    if kind in (RIGHT, FULL):
        raise InvalidQuery(
            f"a {kind.upper()} JOIN cannot have LATERAL on its right", origin=position_of(node)
        )
    relation, scope = left
    alias = node.args.get("alias")
    names = [] if alias is None else [each.name for each in alias.args.get("columns") or ()]
    called = () if alias is None else (alias.name,)
    inner = node.this if isinstance(node, exp.Lateral) else node
    if isinstance(inner, _QUERIES):
        right = builder.nested(inner, scope)
        check_names_differ(names, position_of(node))
        right = renamed(right, names) if names else right
        fields = fields_as_written(right)
        condition = _on(builder, left, called, fields, on)
        wide = laterally_joined(relation, right, kind, condition)
    else:
        wide, fields = _called(builder, left, node, (kind, called, names), on)
    width = len(relation.schema)
    typed = tuple(
        replace(field, type=wide.types[width + index]) for index, field in enumerate(fields)
    )
    return wide, replace(scope, ranges=(*scope.ranges, Range(called, typed, width)))


def _called(
    builder: QueryBuilder,
    left: tuple[Relation, Scope],
    node: exp.Expr,
    how: tuple[str, tuple[str, ...], list[str]],
    on: exp.Expr | None,
) -> tuple[Relation, tuple[Field, ...]]:
    """The rows that a function makes of each row, and its columns."""
    kind, called, names = how
    resolver = builder.resolver(left[1])
    if isinstance(node, exp.Unnest):
        value = resolver.resolve(unresolved(node.expressions[0]))
        made = unnest_call(value, names, bool(node.args.get("offset")), position_of(node))
    else:
        apply = unresolved(node.this)
        assert isinstance(apply, un.Apply)
        made = table_call(resolver, apply, names)
    condition = _on(builder, left, called, made.fields, on)
    return correlated(left[0], made, kind, condition), made.fields


def _on(
    builder: QueryBuilder,
    left: tuple[Relation, Scope],
    called: tuple[str, ...],
    fields: tuple[Field, ...],
    on: exp.Expr | None,
) -> Expression | None:
    """The condition of a lateral join, over the left columns and then the right ones."""
    if on is None:
        return None
    relation, scope = left
    added = Range(called, fields, len(relation.schema))
    both = replace(scope, ranges=(*scope.ranges, added))
    condition = builder.resolver(both).within("ON").condition(unresolved(on))
    return None if condition == TRUE else condition
