"""A scalar SQL expression as text becomes a typed one over named columns."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.expressions import Expression
from headrace.core.logical_types import Field
from headrace.errors import InvalidQuery
from headrace.sql import unresolved as un
from headrace.sql.dialect import parse_expression
from headrace.sql.marks import AggregateMark, OverMark, SubqueryMark
from headrace.sql.resolver import NoSurroundings, Resolver, Surroundings
from headrace.sql.scope import Range, Scope
from headrace.sql.to_unresolved import unresolved

_MARKS = (AggregateMark, OverMark, SubqueryMark)


def resolve_text(
    text: str, fields: Sequence[Field], surroundings: Surroundings | None = None
) -> Expression:
    """The expression, where names are those of `fields`."""
    return resolve(unresolved(parse_expression(text)), fields, surroundings)


def resolve(
    node: un.Unresolved, fields: Sequence[Field], surroundings: Surroundings | None = None
) -> Expression:
    """An unresolved scalar expression over the columns `fields`."""
    scope = Scope((Range((), tuple(fields)),))
    resolver = Resolver(scope, surroundings or NoSurroundings(), clause="this expression")
    expression = resolver.resolve(node)
    if any(isinstance(part, _MARKS) for part in expression.walk()):
        raise InvalidQuery("a subquery cannot be used in this expression", origin=node.at)
    return expression
