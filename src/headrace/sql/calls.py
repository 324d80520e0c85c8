"""Calls of built-in functions by name, for what the builder itself adds to a query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.expressions import AggregateCall, Call, Expression, Literal
from headrace.errors import InvalidQuery
from headrace.sql import functions
from headrace.sql.functions.conversion import cast
from headrace.sql.functions.row import FunctionRow
from headrace.sql.position import did_you_mean

TRUE = Literal(lt.BOOLEAN.not_null(), True)
FALSE = Literal(lt.BOOLEAN.not_null(), False)


def row_of_function(name: str, at: object | None = None) -> FunctionRow:
    row = functions.find(name)
    if row is None:
        raise InvalidQuery(
            f"there is no function {name}", origin=at,
            hint=did_you_mean(name, functions.names()),
        )  # fmt: skip
    return row


def call(name: str, *arguments: Expression, at: object | None = None) -> Call:
    return row_of_function(name, at).bind(arguments, at)


def aggregate(
    name: str, *arguments: Expression, at: object | None = None, **settings: Any
) -> AggregateCall:
    function, fitted, type = row_of_function(name, at).bind_aggregate(arguments, at)
    return AggregateCall(type, function, fitted, **settings)


def all_of(conditions: Iterable[Expression]) -> Expression | None:
    """The conditions joined by AND; None if there are none."""
    left = [condition for condition in conditions if condition != TRUE]
    return reduce(lambda first, second: call("AND", first, second), left) if left else None


def any_of(conditions: Sequence[Expression]) -> Expression:
    return reduce(lambda first, second: call("OR", first, second), conditions)


def null_of(type: lt.LogicalType) -> Expression:
    return Literal(type.with_nullable(True), None)


def as_type(expression: Expression, type: lt.LogicalType) -> Expression:
    """The expression as this type; whether it may be NULL stays its own matter."""
    return cast(expression, type.with_nullable(expression.type.nullable))
