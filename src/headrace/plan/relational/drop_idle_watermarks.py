"""A watermark that no operator of a statement waits for is not computed."""

from __future__ import annotations

from headrace.core.expressions import Call, Expression
from headrace.core.logical_types import is_time_attribute
from headrace.graph.relations import (
    AssignWatermark,
    Correlate,
    Deduplicate,
    Filter,
    Insert,
    IntervalJoin,
    MatchRecognize,
    Over,
    Project,
    Rank,
    Relation,
    Sort,
    TableAggregate,
    TemporalJoin,
    WindowAggregate,
    WindowJoin,
    WindowTable,
)

_TIMED = (
    WindowTable,
    WindowAggregate,
    WindowJoin,
    IntervalJoin,
    TemporalJoin,
    Deduplicate,
    MatchRecognize,
    TableAggregate,
)


def drop_idle_watermarks(relation: Relation) -> Relation:
    """Only for what is written to tables: the watermark of a query may be asked for by a stream."""
    return _dropped(relation, needed=not isinstance(relation, Insert))


def _dropped(relation: Relation, needed: bool) -> Relation:
    if isinstance(relation, AssignWatermark) and not needed:
        return _dropped(relation.input, needed)
    below = needed or _waits(relation)
    inputs = [_dropped(each, below) for each in relation.inputs]
    if all(new is old for new, old in zip(inputs, relation.inputs, strict=True)):
        return relation
    return relation.with_inputs(*inputs)


def _waits(relation: Relation) -> bool:
    """Whether an operator acts when the watermark moves, or shows it."""
    if isinstance(relation, _TIMED):
        return True
    if isinstance(relation, Rank):
        return relation.window_columns is not None
    if isinstance(relation, Over):
        return any(is_time_attribute(relation.input.types[key.column]) for key in relation.order)
    if isinstance(relation, Sort):
        return any(is_time_attribute(relation.input.types[key.column]) for key in relation.keys)
    return any(_shows(part) for each in _expressions(relation) for part in each.walk())


def _expressions(relation: Relation) -> tuple[Expression, ...]:
    if isinstance(relation, Project):
        return relation.expressions
    if isinstance(relation, Filter):
        return (relation.condition,)
    return relation.call.arguments if isinstance(relation, Correlate) else ()


def _shows(part: Expression) -> bool:
    return isinstance(part, Call) and part.function.name == "CURRENT_WATERMARK"
