"""Table aggregates: functions of the user that give any number of rows for a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.core.expressions import AggregateCall, Column, Expression
from headrace.core.logical_types import Field, RowType, materialized
from headrace.errors import InvalidQuery
from headrace.graph.relations import Relation, TableAggregate
from headrace.sql import unresolved as un
from headrace.sql.marks import GroupWindowMark
from headrace.sql.relations import columns, unique_names, with_columns
from headrace.sql.resolve_calls import result_type, user_arguments
from headrace.sql.resolver import Resolver
from headrace.sql.user_functions import user_aggregate


def table_aggregated(
    relation: Relation,
    resolver: Resolver,
    keys: Sequence[un.Unresolved],
    node: un.UserApply,
    names: Sequence[str] = (),
) -> Relation:
    """The rows of a table aggregate for each group: the keys, then the function's columns, which
    get these names. One of the keys may be a group window."""
    user = node.function
    if user.kind != "table_aggregate":
        raise InvalidQuery(
            f"{user.name} is no table aggregate function, it is {user.kind}", origin=node.at
        )
    resolved = resolver.within("GROUP BY").resolve_all(keys)
    window = next((each for each in resolved if isinstance(each, GroupWindowMark)), None)
    plain = [each for each in resolved if not isinstance(each, GroupWindowMark)]
    arguments = user_arguments(resolver, user, node.arguments, node.at)
    time = [] if window is None else [window.time]
    below, places = _with_places(relation, [*plain, *arguments, *time])
    positions = places[: len(plain)]
    values = places[len(plain) : len(plain) + len(arguments)]
    type = result_type(user, node.at)
    made = type.fields if isinstance(type, RowType) else (Field("f0", type),)
    if names and len(names) != len(made):
        raise InvalidQuery(
            f"{user.name} gives {len(made)} columns, {len(names)} names are given", origin=node.at
        )
    call = AggregateCall(
        type, user_aggregate(user), tuple(columns(below)[at] for at in values), user=user
    )
    fields = [Field(below.names[at], materialized(below.types[at])) for at in positions]
    fields += _named(made, names)
    unique = unique_names(each.name for each in fields)
    schema = tuple(replace(each, name=name) for each, name in zip(fields, unique, strict=True))
    return TableAggregate(
        schema=schema, input=below, keys=tuple(positions), call=call,
        window=None if window is None else window.window,
        time=None if window is None else places[-1],
    )  # fmt: skip


def _named(fields: Sequence[Field], names: Sequence[str]) -> list[Field]:
    if not names:
        return list(fields)
    return [replace(field, name=name) for field, name in zip(fields, names, strict=True)]


def _with_places(
    relation: Relation, expressions: Sequence[Expression]
) -> tuple[Relation, list[int]]:
    """The relation with a column for each expression that is none, and their positions."""
    width = len(relation.schema)
    added = list(dict.fromkeys(each for each in expressions if not isinstance(each, Column)))
    wide = with_columns(relation, added)
    positions = [
        each.index if isinstance(each, Column) else width + added.index(each)
        for each in expressions
    ]
    return wide, positions
