"""Subqueries in expressions become marks with typed relations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.core import logical_types as lt
from headrace.core.expressions import Expression
from headrace.errors import InvalidQuery, Unsupported
from headrace.graph.relations import Aggregate, Relation
from headrace.sql import unresolved as un
from headrace.sql.calls import aggregate, as_type, call
from headrace.sql.functions.conversion import common_type
from headrace.sql.marks import SubqueryMark
from headrace.sql.relations import columns, projected

if TYPE_CHECKING:
    from headrace.sql.resolver import Resolver

_OPPOSITE = {
    "EQUALS": "NOT_EQUALS",
    "NOT_EQUALS": "EQUALS",
    "LESS_THAN": "GREATER_THAN_OR_EQUAL",
    "LESS_THAN_OR_EQUAL": "GREATER_THAN",
    "GREATER_THAN": "LESS_THAN_OR_EQUAL",
    "GREATER_THAN_OR_EQUAL": "LESS_THAN",
}


def scalar(resolver: Resolver, node: un.SubqueryScalar) -> Expression:
    relation = resolver.surroundings.subquery(node.query, resolver.scope)
    _check_width(relation, 1, node.at)
    return SubqueryMark(relation.types[0].with_nullable(True), "scalar", relation, at=node.at)


def exists(resolver: Resolver, node: un.SubqueryExists) -> Expression:
    relation = resolver.surroundings.subquery(node.query, resolver.scope)
    return SubqueryMark(lt.BOOLEAN.not_null(), "exists", relation, at=node.at)


def contained(resolver: Resolver, node: un.SubqueryIn) -> Expression:
    mark = _some(resolver, node.operand, node.query, "EQUALS", node.at)
    return call("NOT", mark) if node.negated else mark


def compared(resolver: Resolver, node: un.SubqueryCompare) -> Expression:
    if not node.every:
        return _some(resolver, node.operand, node.query, node.comparison, node.at)
    # x > ALL (q) means that not x <= SOME (q); NULLs follow.
    opposite = _OPPOSITE[node.comparison]
    return call("NOT", _some(resolver, node.operand, node.query, opposite, node.at))


def collection(resolver: Resolver, node: un.SubqueryCollection) -> Expression:
    if node.kind == "MAP":
        raise Unsupported("MAP(query) is not supported", origin=node.at, hint="use MAP[…]")
    relation = resolver.surroundings.subquery(node.query, resolver.scope)
    _check_width(relation, 1, node.at)
    function = "ARRAY_AGG" if node.kind == "ARRAY" else "COLLECT"
    collected = aggregate(function, columns(relation)[0], at=node.at)
    field = lt.Field(relation.names[0], collected.type)
    whole = Aggregate(schema=(field,), input=relation, keys=(), calls=(collected,))
    return SubqueryMark(collected.type.with_nullable(True), "scalar", whole, at=node.at)


def _some(
    resolver: Resolver, operand: un.Unresolved, query: object, comparison: str, at: object | None
) -> Expression:
    operands = (
        resolver.resolve_all(operand.items)
        if isinstance(operand, un.RowOf)
        else (resolver.resolve(operand),)
    )
    relation = resolver.surroundings.subquery(query, resolver.scope)
    _check_width(relation, len(operands), at)
    fitted: list[Expression] = []
    right: list[Expression] = []
    for value, column in zip(operands, columns(relation), strict=True):
        shared = common_type((value.type, column.type))
        if shared is None:
            raise InvalidQuery(
                f"values of {value.type} and {column.type} cannot be compared", origin=at,
                hint="cast one of them",
            )  # fmt: skip
        fitted.append(as_type(value, shared))
        right.append(as_type(column, shared))
    nullable = any(each.type.nullable for each in (*fitted, *right))
    type = lt.BOOLEAN.with_nullable(nullable)
    same = projected(relation, right, relation.names)
    return SubqueryMark(type, "in", same, tuple(fitted), comparison, at)


def _check_width(relation: Relation, width: int, at: object | None) -> None:
    if len(relation.schema) != width:
        raise InvalidQuery(
            f"the subquery must have {width} column{'s' * (width != 1)}, "
            f"it has {len(relation.schema)}: {', '.join(relation.names)}",
            origin=at,
        )
