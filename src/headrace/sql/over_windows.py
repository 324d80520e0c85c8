"""OVER calls in expressions become columns of Over relations, one for each kind of window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.core.expressions import (
    AggregateCall,
    Column,
    Expression,
    Literal,
    SortKey,
)
from headrace.core.logical_types import Field
from headrace.graph.relations import Frame, Over, Relation
from headrace.sql.marks import Order, OverMark, call_inputs, call_with_inputs
from headrace.sql.relations import unique_names, with_columns

_Spec = tuple[tuple[Expression, ...], tuple[Order, ...], Frame]


def with_over(
    relation: Relation, expressions: Sequence[Expression]
) -> tuple[Relation, list[Expression]]:
    """The relation with a column for each OVER call after its own; and the expressions with them.

    Calls over the same partitions, order and frame share one relation.
    """
    groups: dict[_Spec, list[OverMark]] = {}
    for expression in expressions:
        for part in expression.walk():
            if isinstance(part, OverMark):
                marks = groups.setdefault((part.partition, part.order, part.frame), [])
                if part not in marks:
                    marks.append(part)
    values: dict[OverMark, Column] = {}
    for spec, marks in groups.items():
        relation = _over(relation, spec, marks, values)
    if not values:
        return relation, list(expressions)
    return relation, [_with_columns(expression, values) for expression in expressions]


def _over(
    relation: Relation, spec: _Spec, marks: Sequence[OverMark], values: dict[OverMark, Column]
) -> Relation:
    partition, order, frame = spec
    needed = [*partition, *(each.expression for each in order)]
    needed += [part for mark in marks for part in call_inputs(mark.call)]
    added = list(dict.fromkeys(part for part in needed if not isinstance(part, Column | Literal)))
    # A constant partition or order is a column too: relations only know columns there.
    fixed = [*partition, *(each.expression for each in order)]
    added += [part for part in dict.fromkeys(fixed) if isinstance(part, Literal)]
    width = len(relation.schema)
    below = with_columns(relation, added)
    places = {part: Column(part.type, width + i) for i, part in enumerate(added)}

    def place(part: Expression) -> Column:
        return part if isinstance(part, Column) else places[part]

    calls = [_placed(mark, places) for mark in marks]
    first = len(below.schema)
    for position, mark in enumerate(marks):
        values[mark] = Column(mark.type, first + position)
    return over(
        below,
        [place(part).index for part in partition],
        [SortKey(place(o.expression).index, o.ascending, o.nulls_first) for o in order],
        frame,
        calls,
    )


def _placed(mark: OverMark, places: dict[Expression, Column]) -> AggregateCall:
    inputs = [places.get(part, part) for part in call_inputs(mark.call)]
    return call_with_inputs(mark.call, inputs)


def over(
    relation: Relation,
    partition: Sequence[int],
    order: Sequence[SortKey],
    frame: Frame,
    calls: Sequence[AggregateCall],
) -> Relation:
    """An Over relation with its schema."""
    first = len(relation.schema)
    added = [Field(f"w{index}$o{first + index}", call.type) for index, call in enumerate(calls)]
    names = unique_names((*relation.names, *(each.name for each in added)))[first:]
    fields = [replace(each, name=name) for each, name in zip(added, names, strict=True)]
    return Over(
        schema=(*relation.schema, *fields), input=relation, partition=tuple(partition),
        order=tuple(order), frame=frame, calls=tuple(calls),
    )  # fmt: skip


def _with_columns(expression: Expression, values: dict[OverMark, Column]) -> Expression:
    if isinstance(expression, OverMark):
        return values[expression]
    if not expression.inputs:
        return expression
    return expression.with_inputs([_with_columns(part, values) for part in expression.inputs])
