"""Windows in SQL: the parameters of TUMBLE, HOP, CUMULATE and SESSION, as table functions and as
groups of GROUP BY with their properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.core import logical_types as lt
from headrace.core.expressions import Column, Expression
from headrace.core.logical_types import Field
from headrace.errors import InvalidQuery
from headrace.graph.relations import Relation, Window, WindowTable, window_time_type
from headrace.sql import unresolved as un
from headrace.sql.constants import constant_of
from headrace.sql.marks import GroupWindowMark
from headrace.sql.position import did_you_mean
from headrace.sql.relations import unique_names

if TYPE_CHECKING:
    from headrace.sql.resolver import Resolver

_GROUPS = ("TUMBLE", "HOP", "SESSION")
_PROPERTIES = {
    "START": "window_start",
    "END": "window_end",
    "ROWTIME": "window_time",
    "PROCTIME": "proctime",
}
WINDOW_PROPERTIES = {f"WINDOW_{name}": property for name, property in _PROPERTIES.items()}
"""Functions of the alias of a Table API group window, such as WINDOW_START(w)."""
TABLE_FUNCTIONS = ("TUMBLE", "HOP", "CUMULATE", "SESSION")
_PARAMETERS = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP"),
}
_BOUND = lt.TimestampType(3, nullable=False)


def is_group_window(name: str) -> bool:
    head, _, tail = name.partition("_")
    return (head in _GROUPS and (not tail or tail in _PROPERTIES)) or name in WINDOW_PROPERTIES


def group_window_mark(resolver: Resolver, name: str, node: un.Apply) -> Expression:
    """TUMBLE(ts, INTERVAL '1' HOUR) and its properties TUMBLE_START(ts, INTERVAL '1' HOUR), …"""
    if name in WINDOW_PROPERTIES:
        window = resolver.resolve(node.arguments[0])
        if not isinstance(window, GroupWindowMark):
            raise InvalidQuery(f"{name} takes the alias of a group window", origin=node.at)
        return of_property(window, WINDOW_PROPERTIES[name])
    head, _, tail = name.partition("_")
    if not 2 <= len(node.arguments) <= (4 if head == "HOP" else 3):
        raise InvalidQuery(f"{name} takes a time attribute and intervals", origin=node.at)
    time = resolver.resolve(node.arguments[0])
    if not _is_time(time.type, resolver.surroundings.batch):
        raise InvalidQuery(
            f"the first argument of {name} must be a time attribute, this is {time.type}",
            origin=node.arguments[0].at,
            hint="declare a WATERMARK for it, or use a column AS PROCTIME()",
        )
    lengths = [_milliseconds(resolver, argument) for argument in node.arguments[1:]]
    window = GroupWindowMark(time.type, _group_window(head, lengths), time, at=node.at)
    return of_property(window, _PROPERTIES[tail]) if tail else window


def _group_window(kind: str, lengths: list[int]) -> Window:
    needed = 2 if kind == "HOP" else 1
    offset = lengths[needed] if len(lengths) > needed else 0
    if kind == "TUMBLE":
        return Window("tumble", lengths[0], 0, offset)
    if kind == "HOP":
        return Window("hop", lengths[1], lengths[0], offset)
    return Window("session", lengths[0])


def _is_time(type: lt.LogicalType, batch: bool) -> bool:
    """Whether windows can be over such a column: in batch mode any timestamp will do."""
    return lt.is_time_attribute(type) or (batch and isinstance(type, lt.TIMESTAMPS))


def of_property(window: GroupWindowMark, property: str) -> GroupWindowMark:
    """The start, the end or the time of a group window."""
    type: lt.LogicalType = _BOUND
    if property == "window_time":
        if lt.is_proctime(window.time.type):
            raise InvalidQuery("the rowtime of a window over processing time does not exist")
        type = window_time_type(window.time.type)
    if property == "proctime":
        type = lt.LocalZonedTimestampType(3, lt.PROCTIME, nullable=False)
    return replace(window, type=type, property=property)


def windowed(
    relation: Relation,
    window: Window,
    time: int,
    *,
    legacy: bool = False,
    batch: bool = False,
    at: object | None = None,
) -> Relation:
    """The relation with the columns window_start, window_end and window_time."""
    type = relation.types[time]
    if not _is_time(type, batch or legacy):
        raise InvalidQuery(
            "the window function requires the timecol to be a time attribute, "
            f"but {relation.names[time]} is {type}",
            origin=at,
            hint=f"declare WATERMARK FOR {relation.names[time]} AS … in the table",
        )
    names = unique_names((*relation.names, "window_start", "window_end", "window_time"))[-3:]
    types = (_BOUND, _BOUND, window_time_type(type))
    added = tuple(Field(name, type) for name, type in zip(names, types, strict=True))
    return WindowTable(
        schema=(*relation.schema, *added), input=relation, window=window, time=time, legacy=legacy
    )


@dataclass(frozen=True)
class WindowArguments:
    """The arguments of a windowing table function, by the names of its parameters."""

    function: str
    table: un.TableArgument
    time: str
    lengths: Mapping[str, un.Unresolved]
    at: object | None


def window_arguments(node: un.Apply) -> WindowArguments:
    function = node.function.upper()
    named = _by_parameter(function, _PARAMETERS[function], node)
    table, time = named.pop("DATA", None), named.pop("TIMECOL", None)
    if isinstance(table, un.SubqueryScalar):
        table = un.TableArgument(table.query, at=table.at)
    if not isinstance(table, un.TableArgument):
        raise InvalidQuery(
            f"the first argument of {function} must be a table", origin=node.at,
            hint=f"write {function}(TABLE t, DESCRIPTOR(time_column), …)",
        )  # fmt: skip
    if not isinstance(time, un.Descriptor) or len(time.names) != 1:
        raise InvalidQuery(
            f"{function} takes DESCRIPTOR(time_column) after the table", origin=node.at
        )
    needed = [each for each in _PARAMETERS[function][2:] if each != "OFFSET" and each not in named]
    if needed:
        raise InvalidQuery(f"{function} also needs {' and '.join(needed)}", origin=node.at)
    return WindowArguments(function, table, time.names[0], named, node.at)


def _by_parameter(
    function: str, parameters: Sequence[str], node: un.Apply
) -> dict[str, un.Unresolved]:
    if len(node.arguments) > len(parameters):
        raise InvalidQuery(
            f"{function} takes {', '.join(parameters)}: {len(node.arguments)} arguments are given",
            origin=node.at,
        )
    named: dict[str, un.Unresolved] = {}
    for position, argument in enumerate(node.arguments):
        if not isinstance(argument, un.NamedArgument):
            named[parameters[position]] = argument
        elif argument.name.upper() not in parameters:
            raise InvalidQuery(
                f"{function} has no parameter {argument.name}", origin=argument.at,
                hint=did_you_mean(argument.name.upper(), parameters, ", ".join(parameters)),
            )  # fmt: skip
        elif argument.value is not None:
            named[argument.name.upper()] = argument.value
    return named


def window_table(resolver: Resolver, relation: Relation, call: WindowArguments) -> Relation:
    """TABLE(TUMBLE(…)) over the relation that is its first argument."""
    lengths = {name: _milliseconds(resolver, node) for name, node in call.lengths.items()}
    offset = lengths.get("OFFSET", 0)
    partition = tuple(_column(resolver, node) for node in call.table.partition_by)
    if partition and call.function != "SESSION":
        raise InvalidQuery(f"{call.function} does not take PARTITION BY", origin=call.at)
    if call.function == "TUMBLE":
        window = Window("tumble", lengths["SIZE"], 0, offset)
    elif call.function == "SESSION":
        window = Window("session", lengths["GAP"], partition=partition)
    else:
        step = lengths["SLIDE" if call.function == "HOP" else "STEP"]
        window = Window(call.function.lower(), lengths["SIZE"], step, offset)
    _check(window, call)
    time = resolver.resolve(un.Name((call.time,), at=call.at))
    assert isinstance(time, Column)
    batch = resolver.surroundings.batch
    return windowed(relation, window, time.index, batch=batch, at=call.at)


def _check(window: Window, call: WindowArguments) -> None:
    if window.size <= 0 or window.slide < 0:
        raise InvalidQuery(f"the lengths of {call.function} must be positive", origin=call.at)
    if window.kind == "cumulate" and window.size % window.slide:
        raise InvalidQuery(
            f"CUMULATE needs a size that is a multiple of its step, not {window.size} ms and "
            f"{window.slide} ms",
            origin=call.at,
        )


def _column(resolver: Resolver, node: un.Unresolved) -> int:
    column = resolver.resolve(node)
    if not isinstance(column, Column):
        raise InvalidQuery("PARTITION BY takes columns here", origin=node.at)
    return column.index


def _milliseconds(resolver: Resolver, node: un.Unresolved) -> int:
    expression = resolver.resolve(node)
    # The offset of a group window is written as a time of the day.
    if not isinstance(expression.type, lt.DayTimeIntervalType | lt.TimeType):
        raise InvalidQuery(
            f"a window's length must be an interval of days, hours or seconds, "
            f"this is {expression.type}",
            origin=node.at,
            hint="write INTERVAL '10' MINUTES",
        )
    return int(constant_of(expression, "a window's length", node.at))
