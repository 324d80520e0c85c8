"""After a regular join a time attribute is a plain timestamp: rows come in any order.

Window, interval and temporal joins keep the order of their watermarks, regular ones wait for
partners without end. Whatever is above and needs a time attribute is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from headrace.core.expressions import Column
from headrace.core.logical_types import Field, is_time_attribute, materialized
from headrace.errors import InvalidQuery
from headrace.graph.relations import (
    ANTI,
    SEMI,
    Correlate,
    Filter,
    IntervalJoin,
    Join,
    LookupJoin,
    MatchRecognize,
    Over,
    Project,
    Relation,
    SetOperation,
    Sort,
    TemporalJoin,
    WindowJoin,
    WindowTable,
)
from headrace.plan.relational.traversal import bottom_up

_PASSING = (Filter, Sort, Over, Correlate, LookupJoin, WindowTable)


def materialize_times(relation: Relation) -> Relation:
    return bottom_up(relation, _materialized)


def _materialized(relation: Relation) -> Relation:
    lost = set(_lost(relation))
    if not lost:
        return relation
    schema = tuple(
        _plain(field) if index in lost else field for index, field in enumerate(relation.schema)
    )
    return relation if schema == relation.schema else replace(relation, schema=schema)


def _plain(field: Field) -> Field:
    return replace(field, type=materialized(field.type))


def _lost(relation: Relation) -> Iterable[int]:
    """Columns that are called time attributes but are none any more."""
    if isinstance(relation, Join) and relation.kind not in (SEMI, ANTI):
        return range(len(relation.schema))
    if isinstance(relation, WindowTable):
        _check_window(relation)
    if isinstance(relation, TemporalJoin):
        _check_time(relation, relation.left, relation.time, "a temporal join")
    if isinstance(relation, MatchRecognize) and is_time_attribute(relation.pattern.time_type):
        _check_time(relation, relation.input, relation.pattern.order[0].column, "MATCH_RECOGNIZE")
    if isinstance(relation, Project):
        return [
            index
            for index, expression in enumerate(relation.expressions)
            if isinstance(expression, Column) and _is_plain(relation.input, expression.index)
        ]
    if isinstance(relation, _PASSING):
        return [i for i in range(len(relation.input.schema)) if _is_plain(relation.input, i)]
    if isinstance(relation, Join | TemporalJoin | IntervalJoin | WindowJoin):
        return [i for i in range(len(relation.left.schema)) if _is_plain(relation.left, i)]
    if isinstance(relation, SetOperation):
        width = range(len(relation.schema))
        return [i for i in width if any(_is_plain(each, i) for each in relation.branches)]
    return ()


def _is_plain(relation: Relation, index: int) -> bool:
    return not is_time_attribute(relation.types[index])


def _check_window(relation: WindowTable) -> None:
    """A window made of a time attribute has one itself; in batch mode any timestamp will do."""
    if is_time_attribute(relation.types[-1]):
        _check_time(relation, relation.input, relation.time, "a window")


def _check_time(relation: Relation, below: Relation, time: int, what: str) -> None:
    if _is_plain(below, time):
        raise InvalidQuery(
            f"{what} needs a time attribute, but {below.names[time]} comes out of a regular join, "
            "after which it is a plain timestamp",
            hint="bound the time between both sides of the join (an interval join), or join "
            "the windows' results",
        )
