"""Grouping: aggregates in expressions become columns of an Aggregate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from headrace.core import logical_types as lt
from headrace.core.expressions import (
    AggregateCall,
    Column,
    Expression,
    Literal,
    SortKey,
    rewritten,
)
from headrace.core.logical_types import Field
from headrace.errors import InvalidQuery
from headrace.graph.relations import Aggregate, Relation
from headrace.plan.relational.window_columns import WindowColumns, window_columns
from headrace.sql.calls import call
from headrace.sql.decorrelation import with_outer_columns
from headrace.sql.group_windows import windowed
from headrace.sql.marks import (
    AggregateMark,
    GroupWindowMark,
    SubqueryMark,
    call_inputs,
    call_with_inputs,
)
from headrace.sql.relations import columns, projected, unique_names

_BOUNDS = ("window_start", "window_end", "window_time")


@dataclass(frozen=True)
class Grouping:
    """GROUP BY: keys, and the sets of positions among them if there are several."""

    keys: tuple[Expression, ...] = ()
    names: tuple[str | None, ...] = ()
    sets: tuple[tuple[int, ...], ...] | None = None


@dataclass
class _Prepared:
    """What goes below the aggregation: columns that keys, arguments and filters need."""

    expressions: list[Expression] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def place(self, expression: Expression, name: str | None = None) -> Column:
        if expression in self.expressions:
            index = self.expressions.index(expression)
        else:
            index = len(self.expressions)
            self.expressions.append(expression)
            self.names.append(name or f"$f{index}")
        return Column(expression.type, index)

    def argument(self, expression: Expression) -> Expression:
        return expression if isinstance(expression, Literal) else self.place(expression)


def aggregated(
    relation: Relation,
    grouping: Grouping,
    expressions: Sequence[Expression],
    written: Callable[[int, int], object | None] = lambda _expression, _column: None,
) -> tuple[Relation, list[Expression]]:
    """The aggregation, and the expressions over its columns.

    `written` says of (the expression's position, a column in it that is no key) where that is.
    """
    relation, grouping, expressions = _with_group_window(relation, grouping, expressions)
    found: dict[Expression, Expression] = {}
    marks = []
    for mark in _marks(expressions):
        _check_grouping(mark, grouping, relation)
        if mark.call.function.kind == "grouping" and grouping.sets is None:
            found[mark] = Literal(mark.type, 0)
        else:
            marks.append(mark)
    prepared = _Prepared()
    names = [_name_of(relation, key, name) for key, name in _named(grouping)]
    keys = [prepared.place(key, name).index for key, name in zip(grouping.keys, names, strict=True)]
    calls = [_placed(mark, prepared) for mark in marks]
    below = relation
    if not _is_prefix(relation, prepared):
        below = projected(relation, prepared.expressions, prepared.names)
    unique = list(dict.fromkeys(calls))
    top = aggregation(below, keys, unique, grouping.sets)
    fields = columns(top)
    found |= dict(zip(grouping.keys, fields, strict=False))
    for mark, each in zip(marks, calls, strict=True):
        found[mark] = fields[len(keys) + unique.index(each)]
    return top, [
        over_groups(expression, found, partial(written, position), relation)
        for position, expression in enumerate(expressions)
    ]


def _check_grouping(mark: AggregateMark, grouping: Grouping, relation: Relation) -> None:
    """GROUPING is about columns of GROUP BY."""
    if mark.call.function.kind != "grouping":
        return
    for argument in mark.call.arguments:
        if argument not in grouping.keys:
            what = "an expression"
            if isinstance(argument, Column):
                what = f"column {relation.names[argument.index]}"
            raise InvalidQuery(
                f"{mark.call.function.name} is about {what} that is not being grouped",
                hint="Its arguments must stand in GROUP BY.",
            )


def over_groups(
    expression: Expression,
    found: Mapping[Expression, Expression],
    written: Callable[[int], object | None],
    relation: Relation,
) -> Expression:
    """An expression over rows as one over groups: keys and aggregates become columns."""
    if expression in found:
        return found[expression]
    if isinstance(expression, Column):
        raise InvalidQuery(
            f"column {relation.names[expression.index]} is not being grouped",
            origin=written(expression.index),
            hint="add it to GROUP BY, or use it inside of an aggregate such as MAX",
        )
    if isinstance(expression, SubqueryMark):
        inner = with_outer_columns(
            expression.relation, lambda column: over_groups(column, found, written, relation)
        )
        expression = replace(expression, relation=inner)
    if not expression.inputs:
        return expression
    return expression.with_inputs(
        [over_groups(part, found, written, relation) for part in expression.inputs]
    )


def aggregation(
    below: Relation,
    keys: Sequence[int],
    calls: Sequence[AggregateCall],
    sets: tuple[tuple[int, ...], ...] | None = None,
) -> Relation:
    """An Aggregate by columns with its schema."""
    windows = None if sets is not None else window_columns(below)
    kept = _kept_times(windows, keys)
    fields = []
    for position, key in enumerate(keys):
        type = below.types[key]
        type = type if key in kept else lt.materialized(type)
        if sets is not None and not all(position in each for each in sets):
            type = type.with_nullable(True)
        fields.append(Field(below.names[key], type))
    names = [f"$a{index}" for index in range(len(calls))]
    fields += [Field(name, call.type) for name, call in zip(names, calls, strict=True)]
    unique = unique_names(each.name for each in fields)
    schema = tuple(replace(each, name=name) for each, name in zip(fields, unique, strict=True))
    return Aggregate(
        schema=schema, input=below, keys=tuple(keys), calls=tuple(calls), grouping_sets=sets
    )


def _kept_times(windows: WindowColumns | None, keys: Sequence[int]) -> frozenset[int]:
    """window_time stays a time attribute where the aggregation is one by window."""
    if windows is None or not (windows.starts & set(keys) and windows.ends & set(keys)):
        return frozenset()
    return windows.times


def _named(grouping: Grouping) -> list[tuple[Expression, str | None]]:
    names = grouping.names or (None,) * len(grouping.keys)
    return list(zip(grouping.keys, names, strict=True))


def _name_of(relation: Relation, key: Expression, name: str | None) -> str | None:
    return relation.names[key.index] if isinstance(key, Column) else name


def _is_prefix(relation: Relation, prepared: _Prepared) -> bool:
    """Whether the columns wanted are the relation's own first ones, in their order."""
    return tuple(prepared.expressions) == columns(relation)[: len(prepared.expressions)]


def _marks(expressions: Sequence[Expression]) -> list[AggregateMark]:
    found = [
        part for each in expressions for part in each.walk() if isinstance(part, AggregateMark)
    ]
    return list(dict.fromkeys(found))


def _placed(mark: AggregateMark, prepared: _Prepared) -> AggregateCall:
    inputs = [prepared.argument(part) for part in call_inputs(mark.call)]
    order = tuple(
        SortKey(prepared.place(each.expression).index, each.ascending, each.nulls_first)
        for each in mark.order
    )
    return replace(call_with_inputs(mark.call, inputs), order=order)


def _with_group_window(
    relation: Relation, grouping: Grouping, expressions: Sequence[Expression]
) -> tuple[Relation, Grouping, list[Expression]]:
    """GROUP BY TUMBLE(…): the window becomes columns of the input, its properties keys."""
    marks = [key for key in grouping.keys if isinstance(key, GroupWindowMark)]
    if not marks:
        return relation, grouping, list(expressions)
    if len(marks) > 1:
        raise InvalidQuery("GROUP BY can have one group window")
    mark = marks[0]
    if not isinstance(mark.time, Column):
        relation = projected(relation, (*columns(relation), mark.time), (*relation.names, "$time"))
        time = len(relation.schema) - 1
    else:
        time = mark.time.index
    others = [(k, n) for k, n in _named(grouping) if not isinstance(k, GroupWindowMark)]
    partition: tuple[int, ...] = ()
    if mark.window.kind == "session":
        partition = tuple(key.index for key, _ in others if isinstance(key, Column))
    window = replace(mark.window, partition=partition)
    width = len(relation.schema)
    wide = windowed(relation, window, time, legacy=True)
    bounds = columns(wide)[width:]
    if lt.is_proctime(mark.time.type):
        bounds = bounds[:2]
    keys = [key for key, _ in others] + list(bounds)
    names = [name for _, name in others] + [None] * len(bounds)
    wanted = dict(zip(_BOUNDS, bounds, strict=False))
    replaced = [_property_columns(each, mark, wanted) for each in expressions]
    return wide, Grouping(tuple(keys), tuple(names), grouping.sets), replaced


def _property_columns(
    expression: Expression, window: GroupWindowMark, bounds: dict[str, Column]
) -> Expression:
    def replacement(part: Expression) -> Expression:
        if not isinstance(part, GroupWindowMark):
            return part
        if (part.window, part.time) != (window.window, window.time):
            raise InvalidQuery(
                f"{part} is about another window than the one in GROUP BY",
                origin=part.at,
                hint="give it the same arguments as in GROUP BY",
            )
        if part.property is None:
            raise InvalidQuery(
                f"{part} can only be in GROUP BY", origin=part.at, hint=f"use {part}_START(…)"
            )
        return call("PROCTIME") if part.property == "proctime" else bounds[part.property]

    return rewritten(expression, replacement)
