"""Windowing functions and aggregation by windows."""

from __future__ import annotations

import itertools
from typing import Any

from headrace.core.expressions import AggregateCall, Column, Expression, Literal
from headrace.core.logical_types import INT, is_proctime
from headrace.graph.relations import Window, WindowAggregate, WindowTable
from headrace.operators.table.calc import CalcOperator
from headrace.operators.table.count_window import CountWindowOperator
from headrace.operators.table.expand import ExpandOperator, GroupingSets
from headrace.operators.table.group_window import EmitOptions, GroupWindowOperator
from headrace.operators.table.session_aggregate import SessionAggregateOperator
from headrace.operators.table.sliced_aggregate import (
    CumulatingAggregateOperator,
    HoppingAggregateOperator,
)
from headrace.operators.table.window_aggregate import (
    AttachedAggregateOperator,
    TumblingAggregateOperator,
    WindowAggregateBase,
)
from headrace.operators.table.window_spec import WindowSpec
from headrace.operators.table.window_table import SessionTableOperator, WindowTableOperator
from headrace.sql import functions
from headrace.table.lowering.keyed import window_zone
from headrace.table.lowering.lowering import Lowering

_COUNTED = ("count_tumble", "count_slide")
_SHARED: dict[str, Any] = {
    "tumble": TumblingAggregateOperator,
    "hop": HoppingAggregateOperator,
    "cumulate": CumulatingAggregateOperator,
    "session": SessionAggregateOperator,
}


def _spec(window: Window) -> WindowSpec:
    return WindowSpec(window.kind, window.size, window.slide, window.offset)


def window_table(lowering: Lowering, relation: WindowTable) -> int:
    node = lowering.node(relation.input)
    types = relation.input.types
    time = None if is_proctime(types[relation.time]) else relation.time
    zone = window_zone(lowering, relation.input)
    spec = _spec(relation.window)
    if relation.window.kind != "session":
        return lowering.operator(
            "WindowTableFunction", (node,), WindowTableOperator(spec, time=time, zone=zone)
        )
    keyed = lowering.by_columns(node, relation.window.partition, types, "PARTITION BY")
    operator = SessionTableOperator(spec, types, time=time, zone=zone)
    return lowering.operator("WindowTableFunction", (keyed,), operator)


def window_aggregate(lowering: Lowering, relation: WindowAggregate) -> int:
    node = lowering.node(relation.input)
    types, keys = relation.input.types, relation.keys
    aggregation = _aggregation(lowering, relation)
    if relation.grouping_sets is None:
        keyed = lowering.by_columns(node, keys, types, "GROUP BY")
        return lowering.operator("WindowAggregate", (keyed,), aggregation)
    grouping = GroupingSets(keys, relation.grouping_sets)
    node = lowering.operator("Expand", (node,), ExpandOperator(grouping))
    copies = tuple(range(len(types), len(types) + grouping.added))
    keyed = lowering.exchanged_by_set(node, copies, [types[key] for key in keys])
    made = lowering.operator("WindowAggregate", (keyed,), aggregation)
    return lowering.operator("Calc", (made,), CalcOperator(_shown(relation, grouping)))


def _shown(relation: WindowAggregate, grouping: GroupingSets) -> tuple[Expression, ...]:
    """The number of the grouping set is no column of the result, but what GROUPING tells of it."""
    number = Column(INT.not_null(), len(relation.keys))
    calls = relation.calls
    results = itertools.count(len(relation.keys) + 1)
    shown: list[Expression] = []
    for at, field in enumerate(relation.schema):
        place = at - len(relation.keys)
        if place < 0:
            shown.append(Column(field.type, at))
        elif place < len(calls) and calls[place].function.kind == "grouping":
            shown.append(_told_by_set(calls[place], number, grouping))
        else:
            shown.append(Column(field.type, next(results)))
    return tuple(shown)


def _told_by_set(call: AggregateCall, number: Column, grouping: GroupingSets) -> Expression:
    """The value a call has in the groups of the set with that number."""
    equals, case = functions.find("EQUALS"), functions.find("CASE")
    assert equals is not None
    assert case is not None
    told = [Literal(call.type, grouping.value(call, at)) for at in range(len(grouping.sets))]
    *branches, otherwise = told
    if not branches:
        return otherwise
    arguments: list[Expression] = []
    for at, value in enumerate(branches):
        arguments += [equals.bind([number, Literal(number.type, at)]), value]
    return case.bind([*arguments, otherwise])


def _aggregation(lowering: Lowering, relation: WindowAggregate) -> WindowAggregateBase:
    types = relation.input.types
    calls = tuple(call for call in relation.calls if call.function.kind != "grouping")
    retracts = lowering.retracts(relation.input)
    zone = window_zone(lowering, relation.input)
    if relation.window is None:
        assert relation.window_columns is not None
        return AttachedAggregateOperator(
            calls, relation.window_columns, properties=relation.properties,
            retracts=retracts, zone=zone,
            event_time=not any(is_proctime(type) for type in types),
        )  # fmt: skip
    assert relation.time is not None
    spec = _spec(relation.window)
    if relation.window.kind in _COUNTED:
        return CountWindowOperator(calls, spec)  # type: ignore[return-value]
    time = None if is_proctime(types[relation.time]) else relation.time
    emit = _emit_options(lowering)
    if relation.legacy and (retracts or emit != EmitOptions()):
        return GroupWindowOperator(
            calls, spec, time=time, properties=relation.properties, emit=emit,
            retracts=retracts, zone=zone, **lowering.changes(relation),
        )  # fmt: skip
    make = _SHARED[relation.window.kind]
    operator: WindowAggregateBase = make(
        calls, spec, time=time, properties=relation.properties, retracts=retracts,
        zone=zone,
    )  # fmt: skip
    return operator


def _emit_options(lowering: Lowering) -> EmitOptions:
    """table.exec.emit.*: results before a window's end, and after it."""
    settings = lowering.settings
    if settings.final or not any(key.startswith("table.exec.emit.") for key in settings.options):
        return EmitOptions()

    def delay(name: str) -> int | None:
        if settings.options.get(f"table.exec.emit.{name}-fire.enabled", "false") != "true":
            return None
        return settings.duration_ms(f"table.exec.emit.{name}-fire.delay") or 0

    lateness = settings.duration_ms("table.exec.emit.allow-lateness") or 0
    return EmitOptions(delay("early"), delay("late"), lateness)
