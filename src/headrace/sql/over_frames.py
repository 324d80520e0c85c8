"""Which rows an OVER clause means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.core import logical_types as lt
from headrace.core.expressions import AggregateCall, Distance, Expression
from headrace.errors import InvalidQuery
from headrace.graph.relations import Frame
from headrace.sql import unresolved as un
from headrace.sql.constants import constant_of
from headrace.sql.marks import Order
from headrace.sql.position import did_you_mean

if TYPE_CHECKING:
    from headrace.sql.resolver import Resolver

WHOLE_PARTITION = Frame("range", None, None)
UP_TO_CURRENT = Frame("range", None, 0)
UP_TO_CURRENT_ROW = Frame("rows", None, 0)
_SIDES = {"preceding": 0, "current": 1, "following": 2}


def merged_window(
    spec: un.OverSpec, windows: Mapping[str, un.OverSpec], at: object | None
) -> un.OverSpec:
    """The specification with what the window it names already says."""
    if spec.window is None:
        return spec
    named = windows.get(spec.window)
    if named is None:
        raise InvalidQuery(
            f"there is no window {spec.window}",
            origin=at,
            hint=did_you_mean(spec.window, windows, "name it in WINDOW w AS (…)"),
        )
    base = merged_window(named, windows, at)
    return replace(
        spec,
        partition_by=spec.partition_by or base.partition_by,
        order_by=spec.order_by or base.order_by,
        unit=spec.unit or base.unit,
        start=spec.start or base.start,
        end=spec.end or base.end,
        window=None,
    )


def frame_of(
    resolver: Resolver,
    spec: un.OverSpec,
    call: AggregateCall,
    order: tuple[Order, ...],
    at: object | None,
) -> Frame:
    """The frame of an OVER clause; functions of rank and offset have none of their own."""
    if call.function.kind in ("rank", "offset"):
        if spec.unit is not None:
            raise InvalidQuery(
                f"{call.function.name} has no ROWS or RANGE: it looks at the whole partition",
                origin=at,
            )
        return UP_TO_CURRENT_ROW
    if spec.unit is None:
        return UP_TO_CURRENT if order else WHOLE_PARTITION
    start = spec.start or un.FrameBound("preceding")
    end = spec.end or un.FrameBound("current")
    if spec.end is None and start.kind == "following":
        start, end = end, start  # a single bound is the other end of a frame at the current row
    _check_ends(start, end, at)
    distance = _rows if spec.unit == "rows" else partial(_distance, order=order)
    preceding = _signed(_reach(resolver, start, distance), start.kind == "following")
    following = _signed(_reach(resolver, end, distance), end.kind == "preceding")
    return Frame(spec.unit, preceding, following)


def _check_ends(start: un.FrameBound, end: un.FrameBound, at: object | None) -> None:
    """A frame must not end on an earlier side of its row than it starts; of one side it is empty
    if it ends too early."""
    for bound, kind, which in ((start, "following", "start"), (end, "preceding", "end")):
        if bound.kind == kind and bound.value is None:
            raise InvalidQuery(
                f"the frame of OVER cannot {which} with UNBOUNDED {kind.upper()}", origin=at
            )
    if _SIDES[start.kind] > _SIDES[end.kind]:
        raise InvalidQuery("the frame of OVER ends before it starts", origin=at)


def _signed(distance: Distance | None, negative: bool) -> Distance | None:
    return -distance if negative and distance is not None else distance


def _reach(
    resolver: Resolver, bound: un.FrameBound, distance: Callable[[Expression, Any, Any], Distance]
) -> Distance | None:
    """How far a bound is from the current row; None: there is no bound."""
    if bound.kind == "current":
        return 0
    if bound.value is None:
        return None
    expression = resolver.resolve(bound.value)
    value = constant_of(expression, "the bound of a frame", bound.value.at)
    return distance(expression, value, bound.value.at)


def _rows(expression: Expression, value: Any, at: Any) -> Distance:
    if value is None or not isinstance(expression.type, lt.INTEGERS) or value < 0:
        raise InvalidQuery(
            f"a ROWS frame takes a number of rows, this is {expression.type}",
            origin=at,
            hint="Write a whole number that is not negative, such as ROWS 2 PRECEDING.",
        )
    return int(value)


def _distance(expression: Expression, value: Any, at: Any, *, order: tuple[Order, ...]) -> Distance:
    """A distance of values: a number between numbers, an interval between points in time."""
    if len(order) != 1:
        raise InvalidQuery("RANGE with a distance needs exactly one column in ORDER BY", origin=at)
    type, given = order[0].expression.type, expression.type
    if isinstance(type, lt.DATETIMES):
        wanted, fits = (
            "an interval such as INTERVAL '1' HOUR",
            isinstance(given, lt.DayTimeIntervalType),
        )
    elif isinstance(type, lt.NUMERIC):
        wanted, fits = "a number", isinstance(given, lt.NUMERIC)
    else:
        raise InvalidQuery(
            f"there is no distance between values of {type}, by which OVER is ordered",
            origin=at,
            hint="Order by numbers or by points in time, or write ROWS.",
        )
    if value is None or not fits:
        raise InvalidQuery(
            f"a RANGE frame over an order by {type} takes {wanted}, this is {given}", origin=at
        )
    distance: Distance = value
    return distance
