"""An aggregation by the columns of a window gives its result when the window ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headrace.core.expressions import (
    AggregateCall,
    Column,
    Expression,
    Literal,
    columns_of,
    shifted,
)
from headrace.core.logical_types import Field
from headrace.graph.relations import (
    Aggregate,
    Project,
    Relation,
    Window,
    WindowAggregate,
    WindowTable,
)
from headrace.plan.relational.making import columns, projection, renamed_like
from headrace.plan.relational.traversal import bottom_up
from headrace.plan.relational.window_columns import WindowColumns, window_columns

_PROPERTIES = ("window_start", "window_end", "window_time")


@dataclass(frozen=True)
class _Input:
    """What a window aggregation reads: rows with a time, or rows that already have a window."""

    relation: Relation
    window: Window | None
    time: int | None
    legacy: bool = False
    moves: tuple[int, ...] | None = None
    """Where columns of the aggregation's old input are now; -1: gone. None: all stay."""


def recognise_window_aggregates(relation: Relation) -> Relation:
    return bottom_up(relation, _recognised)


def _recognised(relation: Relation) -> Relation:
    if not isinstance(relation, Aggregate):
        return relation
    windows = window_columns(relation.input)
    if windows is None or not _groups_by_window(relation, windows):
        return relation
    relation = _without_window_in_grouping(relation, windows)
    roles = [_role(windows, key) for key in relation.keys]
    source = _merged_table(relation, windows, roles)
    if source is None:
        source = _Input(relation.input, None, None)
    return _window_aggregate(relation, windows, roles, source)


def _without_window_in_grouping(relation: Aggregate, windows: WindowColumns) -> Aggregate:
    """Every set has the window's columns: what GROUPING tells of them is a constant."""
    bounds = windows.starts | windows.ends | windows.times

    def told(argument: Expression) -> Expression:
        of_window = isinstance(argument, Column) and argument.index in bounds
        return Literal(argument.type.with_nullable(True), None) if of_window else argument

    return replace(
        relation,
        calls=tuple(
            replace(call, arguments=tuple(map(told, call.arguments)))
            if call.function.kind == "grouping"
            else call
            for call in relation.calls
        ),
    )


def _groups_by_window(relation: Aggregate, windows: WindowColumns) -> bool:
    keys = set(relation.keys)
    if not (windows.starts & keys and windows.ends & keys):
        return False
    places = [
        position
        for position, key in enumerate(relation.keys)
        if key in windows.starts | windows.ends | windows.times
    ]
    sets = relation.grouping_sets or ()
    return all(position in each for each in sets for position in places)


def _role(windows: WindowColumns, key: int) -> str | None:
    """Which property of the window a key is; None: a key of its own."""
    groups = (windows.starts, windows.ends, windows.times)
    return next((n for n, group in zip(_PROPERTIES, groups, strict=True) if key in group), None)


def _merged_table(
    relation: Aggregate, windows: WindowColumns, roles: Sequence[str | None]
) -> _Input | None:
    """The rows below the windowing function, if the aggregation can assign windows itself."""
    below = relation.input
    project = below if isinstance(below, Project) else None
    table = below.input if isinstance(below, Project) else below
    if not isinstance(table, WindowTable):
        return None
    bounds = windows.starts | windows.ends | windows.times
    read = {index for call in relation.calls for index in _read_by(call)}
    if read & bounds:
        return None
    keys = [key for key, role in zip(relation.keys, roles, strict=True) if role is None]
    width = len(table.input.schema)
    expressions = columns(below) if project is None else project.expressions
    if project is not None and not _window_columns_are_plain(project, width):
        return None
    if not _sessions_match(table, [expressions[key] for key in keys]):
        return None
    if project is None:
        moves = tuple(index if index < width else -1 for index in range(len(below.schema)))
        return _Input(table.input, table.window, table.time, table.legacy, moves)
    return _projected_input(project, table, bounds)


def _read_by(call: AggregateCall) -> set[int]:
    parts = [*call.arguments, *(() if call.filter is None else (call.filter,))]
    ordered = {key.column for key in call.order}
    return ordered.union(*(columns_of(part) for part in parts))


def _window_columns_are_plain(project: Project, width: int) -> bool:
    """Whether nothing is computed of a window's start, end or time."""
    return all(
        isinstance(each, Column) or max(columns_of(each), default=-1) < width
        for each in project.expressions
    )


def _sessions_match(table: WindowTable, keys: Sequence[Expression]) -> bool:
    """Sessions are those of the groups, or else the table must make them before."""
    if table.window.kind != "session" or table.legacy:
        return True
    own = {key.index for key in keys if isinstance(key, Column)}
    return len(own) == len(keys) and own == set(table.window.partition)


def _projected_input(project: Project, table: WindowTable, bounds: frozenset[int]) -> _Input:
    """The projection without the window's columns, and with the time."""
    kept = [index for index in range(len(project.expressions)) if index not in bounds]
    expressions = [project.expressions[index] for index in kept]
    names = [project.names[index] for index in kept]
    time = columns(table.input)[table.time]
    if time not in expressions:
        expressions.append(time)
        names.append("$time")
    moves = [-1] * len(project.expressions)
    for new, old in enumerate(kept):
        moves[old] = new
    below = projection(table.input, expressions, names)
    return _Input(below, table.window, expressions.index(time), table.legacy, tuple(moves))


def _window_aggregate(
    relation: Aggregate, windows: WindowColumns, roles: Sequence[str | None], source: _Input
) -> Relation:
    moves = source.moves or tuple(range(len(relation.input.schema)))
    own = [position for position, role in enumerate(roles) if role is None]
    keys = tuple(moves[relation.keys[position]] for position in own)
    calls = tuple(_moved_call(call, moves) for call in relation.calls)
    properties = tuple(name for name in _PROPERTIES if name in roles)
    first = len(relation.keys)
    fields = [relation.schema[position] for position in own]
    fields += relation.schema[first:]
    fields += [Field(name, relation.types[list(roles).index(name)]) for name in properties]
    bounds = (min(windows.starts), min(windows.ends)) if source.window is None else None
    window = source.window
    if window is not None and window.kind == "session":
        window = replace(window, partition=keys)
    aggregate = WindowAggregate(
        schema=tuple(fields), input=source.relation, keys=keys, calls=calls, window=window,
        time=source.time, properties=properties, window_columns=bounds, legacy=source.legacy,
        grouping_sets=_moved_sets(relation, own), hints=relation.hints,
    )  # fmt: skip
    back = _positions(roles, own, len(relation.calls), properties)
    return renamed_like(aggregate, relation, back)


def _moved_call(call: AggregateCall, moves: Sequence[int]) -> AggregateCall:
    condition = call.filter
    return replace(
        call,
        arguments=tuple(shifted(each, moves.__getitem__) for each in call.arguments),
        filter=None if condition is None else shifted(condition, moves.__getitem__),
        order=tuple(replace(key, column=moves[key.column]) for key in call.order),
    )


def _moved_sets(relation: Aggregate, own: Sequence[int]) -> tuple[tuple[int, ...], ...] | None:
    if relation.grouping_sets is None:
        return None
    return tuple(
        tuple(own.index(position) for position in each if position in own)
        for each in relation.grouping_sets
    )


def _positions(
    roles: Sequence[str | None], own: Sequence[int], calls: int, properties: Sequence[str]
) -> list[int]:
    """For each column of the plain aggregation, the one of the window aggregation."""
    back = []
    for position, role in enumerate(roles):
        if role is None:
            back.append(own.index(position))
        else:
            back.append(len(own) + calls + properties.index(role))
    return back + [len(own) + index for index in range(calls)]
