"""Items of select() that stand for several columns, and what columns without a name are called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from headrace.core.logical_types import CHARACTERS, STRING, LogicalType, RowType
from headrace.errors import HeadraceError, InvalidQuery
from headrace.sql import unresolved as un
from headrace.sql.group_windows import WINDOW_PROPERTIES
from headrace.sql.position import did_you_mean
from headrace.table.expression_collections import FLATTEN

WITH_COLUMNS, WITHOUT_COLUMNS, RANGE = "$WITH_COLUMNS", "$WITHOUT_COLUMNS", "$RANGE"

TypeOf = Callable[[un.Unresolved], LogicalType]


class Chosen:
    """Writes out choices of columns for a table with these columns."""

    def __init__(self, names: Sequence[str], type_of: TypeOf):
        self._names = names
        self._type_of = type_of

    def items(self, nodes: Sequence[un.Unresolved]) -> list[un.Unresolved]:
        """Items of select(), each one column."""
        return [item for node in nodes for item in self._item(node)]

    def _item(self, node: un.Unresolved) -> Iterator[un.Unresolved]:
        columns = self._columns(node)
        if columns is not None:
            yield from columns
            return
        inner = node.operand if isinstance(node, un.Alias) else node
        if isinstance(inner, un.Apply) and inner.function == FLATTEN:
            yield from self.flattened(self.whole(inner.arguments[0]))
            return
        yield self.whole(node)

    def flattened(self, operand: un.Unresolved) -> Iterator[un.Unresolved]:
        """The fields of a row; what is no row is itself."""
        type = self._type_of(operand)
        if not isinstance(type, RowType):
            yield operand
            return
        for field in type.fields:
            yield un.FieldOf(operand, field.name, at=operand.at)

    def whole(self, node: un.Unresolved) -> Any:
        """One expression, with choices of columns among its arguments written out."""
        if isinstance(node, un.Apply | un.UserApply):
            given = [part for each in node.arguments for part in self._argument(each)]
            node = self._concatenated(replace(node, arguments=tuple(given)))
        elif isinstance(node, un.FieldOf):
            node = self._field(node)
        changes = {
            each.name: self._part(getattr(node, each.name))
            for each in fields(node)
            if each.name not in ("at", "arguments")
        }
        return replace(node, **changes)

    def _concatenated(self, node: un.Apply | un.UserApply) -> un.Apply | un.UserApply:
        """`+` puts texts together."""
        if not isinstance(node, un.Apply) or node.function != "PLUS" or len(node.arguments) != 2:
            return node
        try:
            texts = [isinstance(self._type_of(each), CHARACTERS) for each in node.arguments]
        except HeadraceError:
            return node  # the whole expression says better what is wrong
        if not any(texts):
            return node
        parts = [
            each if text else un.CastTo(each, STRING, at=each.at)
            for each, text in zip(node.arguments, texts, strict=True)
        ]
        return replace(node, function="CONCAT2", arguments=tuple(parts))

    def _part(self, part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple(self._part(each) for each in part)
        return self.whole(part) if isinstance(part, un.Unresolved) else part

    def _argument(self, node: un.Unresolved) -> list[Any]:
        columns = self._columns(node)
        return [self.whole(node)] if columns is None else list(columns)

    def _field(self, node: un.FieldOf) -> un.FieldOf:
        """`get(0)`: a field by its number."""
        place: Any = node.name
        if isinstance(place, str):
            return node
        type = self._type_of(self.whole(node.operand))
        if not isinstance(type, RowType) or not 0 <= place < len(type.fields):
            raise InvalidQuery(f"there is no field {place} in {type}", origin=node.at)
        return replace(node, name=type.fields[place].name)

    def _columns(self, node: un.Unresolved) -> list[un.Unresolved] | None:
        """The columns that a choice stands for; None if it is none."""
        if isinstance(node, un.Star):
            return [un.Name((name,), at=node.at) for name in self._names]
        if not isinstance(node, un.Apply) or node.function not in (WITH_COLUMNS, WITHOUT_COLUMNS):
            return None
        chosen = [name for each in node.arguments for name in self._named(each)]
        if node.function == WITHOUT_COLUMNS:
            chosen = [name for name in self._names if name not in chosen]
        return [un.Name((name,), at=node.at) for name in chosen]

    def _named(self, node: un.Unresolved) -> list[str]:
        match node:
            case un.Star():
                return list(self._names)
            case un.Name(parts=parts):
                return [self._names[self._place(parts[-1], node)]]
            case un.Value(value=value):
                return [self._names[self._place(value, node)]]
            case un.Apply(function=function, arguments=(start, end)) if function == RANGE:
                first, last = (self._place(_said(each), each) for each in (start, end))
                if first > last:
                    raise InvalidQuery("a range of columns ends before it starts", origin=node.at)
                return list(self._names[first : last + 1])
        raise InvalidQuery(
            "a choice of columns takes names, numbers from 1, and ranges of such", origin=node.at
        )

    def _place(self, said: Any, node: un.Unresolved) -> int:
        if isinstance(said, int) and 1 <= said <= len(self._names):
            return said - 1
        if said in self._names:
            return self._names.index(said)
        hint = did_you_mean(str(said), self._names, f"columns are {', '.join(self._names)}")
        raise InvalidQuery(f"there is no column {said}", origin=node.at, hint=hint)


def _said(node: un.Unresolved) -> Any:
    return node.parts[-1] if isinstance(node, un.Name) else getattr(node, "value", None)


def named_items(
    nodes: Sequence[un.Unresolved], is_aggregate: Callable[[un.Unresolved], bool]
) -> tuple[un.Unresolved, ...]:
    """Items with the names that Flink gives: EXPR$0 to aggregates, _c1 to others by position."""
    known: list[un.Unresolved] = []
    named = []
    for index, node in enumerate(nodes):
        for part in _aggregates(node, is_aggregate):
            if part not in known:
                known.append(part)
        name = _own_name(node, known) or f"_c{index}"
        alias = un.Alias(node, name, at=node.at)
        named.append(node if isinstance(node, un.Alias | un.Name) else alias)
    return tuple(named)


def _own_name(node: un.Unresolved, aggregates: Sequence[un.Unresolved]) -> str | None:
    if node in aggregates:
        return f"EXPR${aggregates.index(node)}"
    match node:
        case un.Name(parts=parts):
            return parts[-1]
        case un.Alias(name=name):
            return name
        case un.CastTo(operand=operand, type=type):
            before = _own_name(operand, aggregates)
            return None if before is None else f"{before}-{type}"
        case un.FieldOf(operand=operand, name=name):
            before = _own_name(operand, aggregates)
            return None if before is None else f"{before}${name}"
    return None


def _aggregates(
    node: Any, is_aggregate: Callable[[un.Unresolved], bool]
) -> Iterator[un.Unresolved]:
    if isinstance(node, tuple):
        for each in node:
            yield from _aggregates(each, is_aggregate)
    elif isinstance(node, un.Unresolved):
        if is_aggregate(node):
            yield node
            return
        for each in fields(node):
            if each.name != "at":
                yield from _aggregates(getattr(node, each.name), is_aggregate)


def is_window_property(node: un.Unresolved) -> bool:
    return isinstance(node, un.Apply) and node.function in WINDOW_PROPERTIES
