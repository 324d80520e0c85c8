"""SELECT: from the rows of FROM and WHERE to columns, through groups, windows and order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.expressions import Column, Expression, SortKey, columns_of
from headrace.errors import HeadraceError, InvalidQuery
from headrace.graph.relations import Relation, Sort
from headrace.sql import unresolved as un
from headrace.sql.aggregation import Grouping, aggregated
from headrace.sql.functions.construction import field_of
from headrace.sql.marks import AggregateMark, GroupWindowMark, Order, SubqueryMark, contains
from headrace.sql.over_windows import with_over
from headrace.sql.relations import (
    columns,
    distinct,
    first_columns,
    projected,
    unique_names,
    with_written_names,
)
from headrace.sql.resolver import Resolver
from headrace.sql.subqueries import filtered, without_subqueries


@dataclass(frozen=True)
class GroupBy:
    """GROUP BY as written: keys, and the sets of positions among them if there are several."""

    keys: tuple[un.Unresolved, ...] = ()
    sets: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True)
class Selection:
    """The clauses of a SELECT that come after FROM and WHERE."""

    items: tuple[un.Unresolved, ...]
    group_by: GroupBy | None = None
    having: un.Unresolved | None = None
    qualify: un.Unresolved | None = None
    distinct: bool = False
    order_by: tuple[un.SortItem, ...] = ()
    offset: int = 0
    fetch: int | None = None
    unnamed: str = "EXPR$"
    """What columns without a name are called, before their number."""


@dataclass(frozen=True)
class _Item:
    """A column of the result."""

    name: str
    expression: Expression
    node: un.Unresolved


def select(relation: Relation, resolver: Resolver, selection: Selection) -> Relation:
    items = _items(resolver, selection)
    orders = [] if selection.distinct else _orders(resolver, items, selection)
    having = None if selection.having is None else resolver.condition(selection.having)
    qualify = None if selection.qualify is None else resolver.condition(selection.qualify)
    work = [item.expression for item in items]
    work += [order.expression for order in orders]
    work += [each for each in (having, qualify) if each is not None]
    nodes = [item.node for item in items]
    nodes += [] if selection.distinct else [each.operand for each in selection.order_by]
    nodes += [each for each in (selection.having, selection.qualify) if each is not None]
    if selection.group_by is not None or having is not None or _aggregates(work):
        relation, work = _grouped(relation, resolver, selection, work, nodes)
    _refuse_lone_windows(work)
    if qualify is not None:
        qualify = work.pop()
    if having is not None:
        relation = filtered(relation, work.pop())
    relation, work = without_subqueries(relation, work)
    if qualify is None:
        relation, work = with_over(relation, work)
    else:
        relation, [qualify, *work] = with_over(relation, [qualify, *work])
        relation = filtered(relation, qualify)
    return _ordered(relation, items, work, orders, selection)


def _aggregates(expressions: Sequence[Expression]) -> bool:
    return any(contains(expression, AggregateMark) for expression in expressions)


def _refuse_lone_windows(expressions: Sequence[Expression]) -> None:
    for part in (part for each in expressions for part in each.walk()):
        if isinstance(part, GroupWindowMark):
            raise InvalidQuery(
                f"{part} is of a window that the query does not group by",
                origin=part.at,
                hint="write TUMBLE, HOP or SESSION with the same arguments in GROUP BY",
            )


def _items(resolver: Resolver, selection: Selection) -> list[_Item]:
    items: list[_Item] = []
    for node in selection.items:
        if isinstance(node, un.Star):
            found = _fields_of(resolver, node) or resolver.scope.star(node.qualifier, node.at)
            before = [item.name for item in items]
            names = unique_names([*before, *(name for name, _ in found)])[len(before) :]
            pairs = zip(names, found, strict=True)
            items += [_Item(name, column, node) for name, (_, column) in pairs]
        else:
            name = _name(node, f"{selection.unnamed}{len(items)}")
            items.append(_Item(name, resolver.resolve(node), node))
    return items


def _fields_of(resolver: Resolver, star: un.Star) -> list[tuple[str, Expression]]:
    """What `column.*` stands for; nothing if this is a table, or no column of rows."""
    if not star.qualifier or resolver.scope.has_table(star.qualifier):
        return []
    try:
        row = resolver.resolve(un.Name(star.qualifier, at=star.at))
    except InvalidQuery:
        return []
    if not isinstance(row.type, lt.RowType):
        return []
    return [(field.name, field_of(row, field.name, star.at)) for field in row.type.fields]


def _name(node: un.Unresolved, unnamed: str) -> str:
    if isinstance(node, un.Alias):
        return node.name
    if isinstance(node, un.Name):
        return node.parts[-1]
    return node.name if isinstance(node, un.FieldOf) else unnamed


def _grouped(
    relation: Relation,
    resolver: Resolver,
    selection: Selection,
    work: list[Expression],
    nodes: Sequence[un.Unresolved],
) -> tuple[Relation, list[Expression]]:
    group_by = selection.group_by or GroupBy()
    inner = resolver.within("GROUP BY")
    keys = tuple(inner.resolve(_unaliased(node)) for node in group_by.keys)
    names = tuple(node.name if isinstance(node, un.Alias) else None for node in group_by.keys)
    arguments = [part for each in work for part in each.walk() if isinstance(part, AggregateMark)]
    if any(contains(each, SubqueryMark) for each in (*arguments, *keys)):
        whole = [*keys, *work]
        relation, whole = without_subqueries(relation, whole)
        keys, work = tuple(whole[: len(keys)]), whole[len(keys) :]

    def written(position: int, column: int) -> object | None:
        node = nodes[position] if position < len(nodes) else None
        return None if node is None else _position_of(resolver, node, column)

    return aggregated(relation, Grouping(keys, names, group_by.sets), work, written)


def _unaliased(node: un.Unresolved) -> un.Unresolved:
    return node.operand if isinstance(node, un.Alias) else node


def _position_of(resolver: Resolver, node: un.Unresolved, column: int) -> object | None:
    """Where an expression names a column."""
    for part in _parts(node):
        if isinstance(part, un.Name):
            try:
                found = resolver.resolve(part)
            except HeadraceError:
                continue
            if column in columns_of(found):
                return part.at
    return node.at


def _parts(node: object) -> list[un.Unresolved]:
    if isinstance(node, tuple):
        return [part for each in node for part in _parts(each)]
    if not isinstance(node, un.Unresolved):
        return []
    below = [part for name in vars(node) if name != "at" for part in _parts(getattr(node, name))]
    return [node, *below]


def _orders(resolver: Resolver, items: Sequence[_Item], selection: Selection) -> list[Order]:
    """ORDER BY over the rows of FROM: by a result's name or number, or by any expression."""
    return [_order(resolver, items, item) for item in selection.order_by]


def _order(resolver: Resolver, items: Sequence[_Item], item: un.SortItem) -> Order:
    named = _result(items, item.operand)
    if named is None:
        operand = _without_aliases(item.operand, items)
        return resolver.order(replace(item, operand=operand))
    first = item.ascending if item.nulls_first is None else item.nulls_first
    return Order(named.expression, item.ascending, first)


def _without_aliases(node: Any, items: Sequence[_Item]) -> Any:
    """An expression of ORDER BY with names of the result written out."""
    if isinstance(node, tuple):
        return tuple(_without_aliases(each, items) for each in node)
    if isinstance(node, un.Name):
        named = _result(items, node)
        return named.node if named is not None and isinstance(named.node, un.Alias) else node
    if not isinstance(node, un.Unresolved):
        return node
    changes = {
        each.name: _without_aliases(getattr(node, each.name), items)
        for each in fields(node)
        if each.name != "at"
    }
    return replace(node, **changes)


def _result(items: Sequence[_Item], node: un.Unresolved) -> _Item | None:
    """The column of the result that an item of ORDER BY names, by its alias or number."""
    if isinstance(node, un.Name) and len(node.parts) == 1:
        found = [item for item in items if item.name == node.parts[0]]
        if len(found) > 1:
            raise _ambiguous(node.parts[0], node.at)
        return found[0] if found else None
    if isinstance(node, un.Value) and isinstance(node.value, int) and _is_integer(node):
        if not 1 <= node.value <= len(items):
            raise InvalidQuery(
                f"ORDER BY {node.value}: there are {len(items)} columns", origin=node.at
            )
        return items[node.value - 1]
    return None


def _ambiguous(name: str, at: object | None) -> InvalidQuery:
    return InvalidQuery(
        f"column {name} is ambiguous: SELECT has two columns of this name", origin=at,
        hint="give them different names, with AS",
    )  # fmt: skip


def _is_integer(node: un.Value) -> bool:
    plain = not isinstance(node.value, bool)
    return plain and (node.type is None or isinstance(node.type, lt.INTEGERS))


def _ordered(
    relation: Relation,
    items: Sequence[_Item],
    work: list[Expression],
    orders: Sequence[Order],
    selection: Selection,
) -> Relation:
    """The result's columns, sorted; columns that only the order needs are dropped after it."""
    width = len(items)
    names = [item.name for item in items]
    outputs = work[:width]
    hidden = [each for each in dict.fromkeys(work[width:]) if each not in outputs]
    extra = [f"$o{index}" for index in range(len(hidden))]
    wide = projected(relation, [*outputs, *hidden], [*names, *extra])
    if selection.distinct:
        wide = distinct(wide)
        keys = _distinct_order(wide, names, selection)
    else:
        places = [*outputs, *hidden]
        keys = [
            SortKey(places.index(expression), order.ascending, order.nulls_first)
            for expression, order in zip(work[width:], orders, strict=True)
        ]
    result = first_columns(sorted_by(wide, keys, selection.offset, selection.fetch), width)
    return with_written_names(result, names)


def _distinct_order(
    relation: Relation, names: Sequence[str], selection: Selection
) -> list[SortKey]:
    items = [
        _Item(name, column, un.Name((name,)))
        for name, column in zip(names, columns(relation), strict=True)
    ]
    keys = []
    for item in selection.order_by:
        found = _result(items, item.operand)
        if found is None and isinstance(item.operand, un.Name):
            last = replace(item.operand, parts=item.operand.parts[-1:])
            found = _result(items, last)
        if found is None:
            raise InvalidQuery(
                "ORDER BY of SELECT DISTINCT takes columns of the result", origin=item.operand.at,
                hint="add the expression to SELECT",
            )  # fmt: skip
        assert isinstance(found.expression, Column)
        first = item.ascending if item.nulls_first is None else item.nulls_first
        keys.append(SortKey(found.expression.index, item.ascending, first))
    return keys


def sorted_by(
    relation: Relation, keys: Sequence[SortKey], offset: int = 0, fetch: int | None = None
) -> Relation:
    """The relation in an order, or a part of it."""
    if not keys and not offset and fetch is None:
        return relation
    return Sort(
        schema=relation.schema, input=relation, keys=tuple(keys), offset=offset, fetch=fetch
    )
