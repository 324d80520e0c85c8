"""Table functions: LATERAL TABLE(f(…)) and UNNEST."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.core import logical_types as lt
from headrace.core.expressions import Expression, TableCall, UserFunction
from headrace.core.logical_types import Field, RowType
from headrace.errors import InvalidQuery
from headrace.graph.relations import INNER, LEFT, Correlate, Relation
from headrace.sql import functions
from headrace.sql import unresolved as un
from headrace.sql.position import did_you_mean
from headrace.sql.relations import unique_names
from headrace.sql.resolve_calls import result_type, user_arguments

if TYPE_CHECKING:
    from headrace.sql.resolver import Resolver


def correlated(
    relation: Relation, call: TableCall, kind: str = INNER, condition: Expression | None = None
) -> Relation:
    """Each row with the rows that the function makes of it."""
    fields = [
        replace(each, type=each.type.with_nullable(each.type.nullable or kind == LEFT))
        for each in call.fields
    ]
    names = unique_names((*relation.names, *(each.name for each in fields)))[len(relation.schema) :]
    added = tuple(replace(each, name=name) for each, name in zip(fields, names, strict=True))
    return Correlate(
        schema=(*relation.schema, *added), input=relation, call=call, kind=kind,
        condition=condition,
    )  # fmt: skip


def table_call(
    resolver: Resolver, node: un.Apply | un.UserApply, names: Sequence[str] = ()
) -> TableCall:
    """A call of a table function, whose columns get these names."""
    if isinstance(node, un.UserApply):
        return _user_call(resolver, node.function, node.arguments, names, node.at)
    user = resolver.surroundings.user_function((*node.path, node.function))
    if user is not None:
        return _user_call(resolver, user, node.arguments, names, node.at)
    row = functions.find(node.function)
    if row is None:
        known = [*functions.names(), *resolver.surroundings.function_names()]
        raise InvalidQuery(
            f"there is no table function {node.function}", origin=node.at,
            hint=did_you_mean(node.function, known),
        )  # fmt: skip
    call = row.bind_table(resolver.resolve_all(node.arguments), node.at)
    return replace(call, fields=_named(call.fields, names, node.at))


def _user_call(
    resolver: Resolver,
    user: UserFunction,
    nodes: Sequence[un.Unresolved],
    names: Sequence[str],
    at: object | None,
) -> TableCall:
    if user.kind != "table":
        raise InvalidQuery(f"{user.name} is no table function, it is {user.kind}", origin=at)
    arguments = user_arguments(resolver, user, nodes, at)
    type = result_type(user, at)
    fields = type.fields if isinstance(type, RowType) else (Field("f0", type),)
    return TableCall(user, arguments, _named(fields, names, at))


def _named(fields: Sequence[Field], names: Sequence[str], at: object | None) -> tuple[Field, ...]:
    if not names:
        return tuple(fields)
    if len(names) != len(fields):
        raise InvalidQuery(
            f"the table function gives {len(fields)} columns, {len(names)} names are given",
            origin=at,
            hint=f"its columns are {', '.join(field.name for field in fields)}",
        )
    return tuple(replace(field, name=name) for field, name in zip(fields, names, strict=True))


def unnest_call(
    expression: Expression, names: Sequence[str], ordinality: bool, at: object | None
) -> TableCall:
    """UNNEST of an array, map or multiset."""
    if not isinstance(expression.type, lt.ArrayType | lt.MapType | lt.MultisetType):
        raise InvalidQuery(
            f"UNNEST takes an ARRAY, MAP or MULTISET, this is {expression.type}", origin=at
        )
    name = "UNNEST_WITH_ORDINALITY" if ordinality else "UNNEST"
    row = functions.find(name)
    if row is None:
        raise InvalidQuery(f"there is no table function {name}", origin=at)
    call = row.bind_table([expression], at)
    return replace(call, fields=_named(call.fields, names, at))
