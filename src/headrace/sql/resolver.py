"""Expressions as written become expressions with types over the columns of a row.

Names are looked up in a `Scope`, functions among the built-in ones and the user's. Aggregates,
OVER calls and subqueries become marks (`headrace.sql.marks`), which the relation builder takes out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from headrace.core import logical_types as lt
from headrace.core.expressions import Expression, Literal, UserFunction
from headrace.errors import HeadraceError, InvalidQuery
from headrace.graph.relations import Relation
from headrace.sql import resolve_calls, resolve_subqueries
from headrace.sql import unresolved as un
from headrace.sql.calls import call
from headrace.sql.functions.construction import field_of, row_of
from headrace.sql.functions.conversion import cast
from headrace.sql.literals import literal
from headrace.sql.marks import GroupWindowMark, Order
from headrace.sql.scope import Scope


class Surroundings(Protocol):
    """What an expression may refer to besides the columns of its row."""

    def user_function(self, path: tuple[str, ...]) -> UserFunction | None:
        """The user's function of this name, which may be qualified."""

    def function_names(self) -> Iterable[str]:
        """Names of the user's functions, to suggest."""

    def subquery(self, query: Any, scope: Scope) -> Relation:
        """The relation of a query that may use the columns of `scope` as outer ones."""

    @property
    def current_database(self) -> str: ...

    @property
    def batch(self) -> bool:
        """Whether all rows are there when the query runs: then windows need no time attribute."""

    @property
    def strict_patterns(self) -> bool:
        """Whether MATCH_RECOGNIZE may only have what Flink has."""


class NoSurroundings:
    """For expressions on their own, such as those of computed columns."""

    def user_function(self, path: tuple[str, ...]) -> UserFunction | None:
        return None

    def function_names(self) -> Iterable[str]:
        return ()

    def subquery(self, query: Any, scope: Scope) -> Relation:
        raise InvalidQuery("a subquery cannot be used here")

    @property
    def current_database(self) -> str:
        return "default_database"

    @property
    def batch(self) -> bool:
        return False

    @property
    def strict_patterns(self) -> bool:
        return False


@dataclass(frozen=True)
class Resolver:
    """Resolves expressions at one place of a query."""

    scope: Scope
    surroundings: Surroundings = field(default_factory=NoSurroundings)
    windows: Mapping[str, un.OverSpec] = field(default_factory=dict)
    """Named windows of the query's WINDOW clause."""
    group_windows: Mapping[str, GroupWindowMark] = field(default_factory=dict)
    """Group windows by their alias, as the Table API names them."""
    clause: str | None = None
    """Where no aggregate may be: "WHERE", "GROUP BY", …; None: they are allowed."""

    def within(self, clause: str) -> Resolver:
        return replace(self, clause=clause)

    def resolve(self, node: un.Unresolved) -> Expression:
        resolve = _KINDS.get(type(node))
        if resolve is None:
            raise InvalidQuery(f"{_description(node)} cannot be used here", origin=node.at)
        try:
            return resolve(self, node)
        except HeadraceError as error:
            if error.origin is None:
                error.origin = node.at
            raise

    def resolve_all(self, nodes: Sequence[un.Unresolved]) -> tuple[Expression, ...]:
        return tuple(self.resolve(node) for node in nodes)

    def condition(self, node: un.Unresolved) -> Expression:
        """The expression, which must be a truth value."""
        expression = self.resolve(node)
        if not isinstance(expression.type, lt.BooleanType | lt.NullType):
            place = "a condition" if self.clause is None else f"the condition of {self.clause}"
            raise InvalidQuery(
                f"{place} must be BOOLEAN, this is {expression.type}", origin=node.at,
                hint="compare it with something, such as x <> 0",
            )  # fmt: skip
        return cast(expression, lt.BOOLEAN.with_nullable(expression.type.nullable))

    def order(self, item: un.SortItem) -> Order:
        first = item.ascending if item.nulls_first is None else item.nulls_first
        return Order(self.resolve(item.operand), item.ascending, first)


def _name(resolver: Resolver, node: un.Name) -> Expression:
    if len(node.parts) == 1 and node.parts[0] in resolver.group_windows:
        return resolver.group_windows[node.parts[0]]
    expression, rest = resolver.scope.find(node.parts, node.at)
    return _fields(expression, rest, node.at)


def _fields(expression: Expression, names: Sequence[str], at: object | None) -> Expression:
    for name in names:
        expression = field_of(expression, name, at)
    return expression


def _value(_resolver: Resolver, node: un.Value) -> Expression:
    if node.type is None:
        return node.value if isinstance(node.value, Expression) else literal(node.value, node.at)
    return Literal(node.type, node.value)


def _cast(resolver: Resolver, node: un.CastTo) -> Expression:
    operand = resolver.resolve(node.operand)
    nullable = operand.type.nullable or node.safe
    return cast(operand, node.type.with_nullable(nullable), safe=node.safe, origin=node.at)


def _case(resolver: Resolver, node: un.Case) -> Expression:
    arguments: list[Expression] = []
    for condition, result in node.branches:
        arguments += (resolver.condition(condition), resolver.resolve(result))
    otherwise = un.Value(None) if node.otherwise is None else node.otherwise
    return call("CASE", *arguments, resolver.resolve(otherwise), at=node.at)


def _alias(resolver: Resolver, node: un.Alias) -> Expression:
    return resolver.resolve(node.operand)


def _row(resolver: Resolver, node: un.RowOf) -> Expression:
    items = resolver.resolve_all(node.items)
    names = node.names or tuple(f"EXPR${index}" for index in range(len(items)))
    return row_of(items, names)


def _field(resolver: Resolver, node: un.FieldOf) -> Expression:
    return field_of(resolver.resolve(node.operand), node.name, node.at)


def _named(resolver: Resolver, node: un.NamedArgument) -> Expression:
    return literal(None) if node.value is None else resolver.resolve(node.value)


def _descriptor(_resolver: Resolver, node: un.Descriptor) -> Expression:
    return Literal(lt.DescriptorType(nullable=False), node.names)


def _star(_resolver: Resolver, node: un.Star) -> Expression:
    raise InvalidQuery("* can only be an item of SELECT or the argument of COUNT", origin=node.at)


def _description(node: un.Unresolved) -> str:
    return {un.TableArgument: "a table", un.ModelArgument: "a model"}.get(
        type(node), f"an expression of kind {type(node).__name__}"
    )


_KINDS: dict[type[un.Unresolved], Callable[[Resolver, Any], Expression]] = {
    un.Name: _name,
    un.Value: _value,
    un.CastTo: _cast,
    un.Case: _case,
    un.Alias: _alias,
    un.RowOf: _row,
    un.FieldOf: _field,
    un.NamedArgument: _named,
    un.Descriptor: _descriptor,
    un.Star: _star,
    un.Apply: resolve_calls.apply,
    un.UserApply: resolve_calls.user_apply,
    un.SubqueryScalar: resolve_subqueries.scalar,
    un.SubqueryExists: resolve_subqueries.exists,
    un.SubqueryIn: resolve_subqueries.contained,
    un.SubqueryCompare: resolve_subqueries.compared,
    un.SubqueryCollection: resolve_subqueries.collection,
}
