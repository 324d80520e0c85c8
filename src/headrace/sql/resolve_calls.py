"""Calls of functions by name: built-in or the user's, scalar, aggregate, or OVER rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headrace.core import logical_types as lt
from headrace.core.expressions import (
    AggregateCall,
    Call,
    Expression,
    ScalarFunction,
    UserCall,
    UserFunction,
)
from headrace.errors import InvalidQuery, Unsupported
from headrace.sql import functions
from headrace.sql import unresolved as un
from headrace.sql.functions.construction import row_of
from headrace.sql.functions.row import FunctionRow
from headrace.sql.group_windows import group_window_mark, is_group_window
from headrace.sql.literals import literal
from headrace.sql.marks import AggregateMark, OverMark, contains
from headrace.sql.over_frames import frame_of, merged_window
from headrace.sql.position import did_you_mean
from headrace.sql.user_functions import user_aggregate, with_declared_types

if TYPE_CHECKING:
    from headrace.sql.resolver import Resolver


def _known_by_source(*_values: object) -> object:
    raise Unsupported("SOURCE_WATERMARK() only says where a table's watermarks come from")


SOURCE_WATERMARK = ScalarFunction(
    name="SOURCE_WATERMARK", meaning=_known_by_source, deterministic=False
)
"""WATERMARK FOR t AS SOURCE_WATERMARK(): the source's own watermarks are passed on."""


def apply(resolver: Resolver, node: un.Apply) -> Expression:
    user = resolver.surroundings.user_function((*node.path, node.function))
    if user is not None:
        given = un.UserApply(
            user, node.arguments, node.distinct, node.filter, node.over, at=node.at
        )
        return user_apply(resolver, given)
    name = node.function.upper()
    if is_group_window(name):
        return group_window_mark(resolver, name, node)
    if name == "SOURCE_WATERMARK" and not node.arguments:
        return Call(lt.TimestampType(3), SOURCE_WATERMARK)
    row = None if node.path else functions.find(name)
    if row is None:
        raise _unknown(resolver, node)
    if row.kind == "table":
        raise InvalidQuery(
            f"{name} is a table function, which cannot be a value", origin=node.at,
            hint=f"write it in FROM: LATERAL TABLE({name}(…)) AS t(x)",
        )  # fmt: skip
    if row.kind == "aggregate":
        return _aggregate(resolver, node, row)
    if node.over is not None or node.distinct or node.filter is not None:
        raise InvalidQuery(
            f"{name} is no aggregate function: OVER, DISTINCT and FILTER have no meaning with it",
            origin=node.at,
        )
    if name == "JSON":
        raise InvalidQuery(
            "JSON(…) is used outside of JSON_OBJECT and JSON_ARRAY", origin=node.at,
            hint="write JSON_OBJECT(KEY 'k' VALUE JSON(text)), or use the text as it is",
        )  # fmt: skip
    if name in ("JSON_OBJECT", "JSON_ARRAY"):
        return row.bind([_json_part(resolver, part) for part in node.arguments], node.at)
    arguments = resolver.resolve_all(node.arguments)
    if name == "CURRENT_DATABASE" and not arguments:
        arguments = (literal(resolver.surroundings.current_database),)
    return row.bind(arguments, node.at)


def _json_part(resolver: Resolver, node: un.Unresolved) -> Expression:
    """A part of JSON that is put together, where JSON(text) has a meaning."""
    row = functions.find("JSON")
    if row is not None and isinstance(node, un.Apply) and node.function.upper() == "JSON":
        return row.bind(resolver.resolve_all(node.arguments), node.at)
    return resolver.resolve(node)


def _unknown(resolver: Resolver, node: un.Apply) -> InvalidQuery:
    name = ".".join((*node.path, node.function))
    known = [*functions.names(), *resolver.surroundings.function_names()]
    return InvalidQuery(
        f"there is no function {name}", origin=node.at, hint=did_you_mean(node.function, known)
    )


def _aggregate(resolver: Resolver, node: un.Apply, row: FunctionRow) -> Expression:
    inner = resolver if node.over is not None else _no_aggregates(resolver, node)
    given = [each for each in node.arguments if not isinstance(each, un.Star)]
    function, arguments, type = row.bind_aggregate(inner.resolve_all(given), node.at)
    condition = None if node.filter is None else inner.within("FILTER").condition(node.filter)
    if function.kind in ("rank", "offset") and node.over is None:
        raise InvalidQuery(
            f"{function.name} needs OVER", origin=node.at,
            hint=f"write {function.name}(…) OVER (PARTITION BY … ORDER BY …)",
        )  # fmt: skip
    call = AggregateCall(
        type, function, arguments, distinct=node.distinct, filter=condition,
        ignore_nulls=node.ignore_nulls,
    )  # fmt: skip
    if node.over is not None:
        return over(resolver, call, node.over, node.at)
    return _group_aggregate(resolver, call, node)


def _no_aggregates(resolver: Resolver, node: un.Unresolved) -> Resolver:
    """For the arguments of an aggregate, which cannot have aggregates in them."""
    if resolver.clause is not None:
        raise InvalidQuery(
            f"an aggregate cannot be used in {resolver.clause}", origin=node.at,
            hint="use HAVING, or compute it in a subquery"
            if resolver.clause == "WHERE" else None,
        )  # fmt: skip
    return resolver.within("an aggregate's argument")


def _group_aggregate(resolver: Resolver, call: AggregateCall, node: un.Apply) -> Expression:
    if node.order_by:
        inner = resolver.within("WITHIN GROUP")
        orders = [inner.order(item) for item in node.order_by]
        return AggregateMark(call.type, call, tuple(orders))
    return AggregateMark(call.type, call)


def over(
    resolver: Resolver, call: AggregateCall, spec: un.OverSpec, at: object | None
) -> Expression:
    """An aggregate over the rows around each row."""
    if resolver.clause is not None:
        raise InvalidQuery(
            f"OVER cannot be used in {resolver.clause}", origin=at,
            hint="compute it in a subquery, or filter by it with QUALIFY",
        )  # fmt: skip
    spec = merged_window(spec, resolver.windows, at)
    partition = resolver.resolve_all(spec.partition_by)
    order = tuple(resolver.order(item) for item in spec.order_by)
    if call.function.kind in ("rank", "offset") and not order:
        raise InvalidQuery(
            f"{call.function.name} needs ORDER BY in its OVER clause", origin=at,
            hint="write OVER (PARTITION BY … ORDER BY …)",
        )  # fmt: skip
    frame = frame_of(resolver, spec, call, order, at)
    mark = OverMark(call.type, call, partition, order, frame)
    if any(contains(part, OverMark) for part in mark.inputs):
        raise InvalidQuery("OVER cannot be used inside of OVER", origin=at)
    return mark


def user_apply(resolver: Resolver, node: un.UserApply) -> Expression:
    user = node.function
    aggregate = user.kind == "aggregate"
    inner = _no_aggregates(resolver, node) if aggregate and node.over is None else resolver
    arguments = user_arguments(inner, user, node.arguments, node.at)
    if user.kind == "scalar":
        return UserCall(result_type(user, node.at), user, arguments)
    if not aggregate:
        raise InvalidQuery(
            f"{user.name} is a {user.kind.replace('_', ' ')} function, which cannot be a value",
            origin=node.at,
            hint="use it in FROM LATERAL TABLE(…), or in flat_map, join_lateral, flat_aggregate",
        )
    condition = None if node.filter is None else inner.within("FILTER").condition(node.filter)
    type = result_type(user, node.at)
    call = AggregateCall(type, user_aggregate(user), arguments, node.distinct, condition, user=user)
    if node.over is not None:
        return over(resolver, call, node.over, node.at)
    return AggregateMark(type, call)


def user_arguments(
    resolver: Resolver, user: UserFunction, nodes: Sequence[un.Unresolved], at: object | None
) -> tuple[Expression, ...]:
    """A function's arguments, cast to the types it was declared with."""
    if user.takes_row and not nodes:
        columns = resolver.scope.star((), at)
        return (row_of([column for _, column in columns], [name for name, _ in columns]),)
    items: list[Expression] = []
    for node in nodes:
        if isinstance(node, un.Star):
            items += [column for _, column in resolver.scope.star(node.qualifier, node.at)]
        else:
            items.append(resolver.resolve(node))
    return with_declared_types(user, items, at)


def result_type(user: UserFunction, at: object | None) -> lt.LogicalType:
    if user.result_type is None:
        raise InvalidQuery(
            f"function {user.name} does not say which type it gives", origin=at,
            hint="declare it: @udf(result_type=DataTypes.…)",
        )  # fmt: skip
    return user.result_type
