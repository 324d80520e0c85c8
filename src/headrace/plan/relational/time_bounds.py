"""Bounds between the time attributes of two joined relations."""

from __future__ import annotations

from dataclasses import dataclass, replace

from headrace.core import logical_types as lt
from headrace.core.expressions import Call, Column, Expression, Literal, ScalarFunction
from headrace.plan.relational.conditions import conjuncts

_FLIPPED = {
    "LESS_THAN": "GREATER_THAN",
    "LESS_THAN_OR_EQUAL": "GREATER_THAN_OR_EQUAL",
    "GREATER_THAN": "LESS_THAN",
    "GREATER_THAN_OR_EQUAL": "LESS_THAN_OR_EQUAL",
    "EQUALS": "EQUALS",
}
_NEGATED = {
    "LESS_THAN": "GREATER_THAN_OR_EQUAL",
    "LESS_THAN_OR_EQUAL": "GREATER_THAN",
    "GREATER_THAN": "LESS_THAN_OR_EQUAL",
    "GREATER_THAN_OR_EQUAL": "LESS_THAN",
}


@dataclass(frozen=True)
class TimeBounds:
    """left + lower <= right <= left + upper, in milliseconds; times are columns of the row of both
    relations."""

    left: int
    right: int
    lower: int
    upper: int
    rest: tuple[Expression, ...]
    """The other parts of the condition."""


@dataclass(frozen=True)
class _Limit:
    """right - left, compared with a number of milliseconds."""

    left: int
    right: int
    comparison: str
    distance: int


def time_bounds(
    condition: Expression | None, types: tuple[lt.LogicalType, ...], left_width: int
) -> TimeBounds | None:
    """The bounds that a join's condition sets; None if it has not both."""
    lower: int | None = None
    upper: int | None = None
    pair: tuple[int, int] | None = None
    rest: list[Expression] = []
    for part in conjuncts(condition):
        limits = [_limit(each, types, left_width) for each in _comparisons(part)]
        known = [each for each in limits if each is not None]
        if len(known) != len(limits) or not known:
            rest.append(part)
            continue
        for each in known:
            if pair is not None and pair != (each.left, each.right):
                rest.append(part)
                break
            pair = (each.left, each.right)
            lower, upper = _narrowed(lower, upper, each)
    if pair is None or lower is None or upper is None:
        return None
    return TimeBounds(*pair, lower, upper, tuple(rest))


def _comparisons(part: Expression) -> list[Expression]:
    """A BETWEEN as its two comparisons; a comparison that must not hold as its opposite."""
    if isinstance(part, Call) and part.function.name == "NOT":
        (inner,) = part.arguments
        if isinstance(inner, Call) and inner.function.name in _NEGATED:
            opposite = replace(inner.function, name=_NEGATED[inner.function.name])
            return [replace(inner, function=opposite)]
    if isinstance(part, Call) and part.function.name == "BETWEEN" and len(part.arguments) == 3:
        value, low, high = part.arguments

        def compare(name: str, one: Expression, two: Expression) -> Expression:
            function = ScalarFunction(name=name, meaning=part.function.meaning)
            return Call(part.type, function, (one, two))

        first = compare("GREATER_THAN_OR_EQUAL", value, low)
        return [first, compare("LESS_THAN_OR_EQUAL", value, high)]
    return [part]


def _limit(part: Expression, types: tuple[lt.LogicalType, ...], left_width: int) -> _Limit | None:
    if not isinstance(part, Call) or part.function.name not in _FLIPPED:
        return None
    first, second = (_shifted_time(each, types) for each in part.arguments)
    if first is None or second is None:
        return None
    (one, one_shift), (two, two_shift) = first, second
    # one + one_shift  comparison  two + two_shift
    name = part.function.name
    if one < left_width <= two and _alike(types[one], types[two]):
        # right - left  flipped comparison  one_shift - two_shift
        return _Limit(one, two, _FLIPPED[name], one_shift - two_shift)
    if two < left_width <= one and _alike(types[one], types[two]):
        return _Limit(two, one, name, two_shift - one_shift)
    return None


def _alike(one: lt.LogicalType, two: lt.LogicalType) -> bool:
    both_rowtime = lt.is_rowtime(one) and lt.is_rowtime(two)
    return type(one) is type(two) and (
        both_rowtime or (lt.is_proctime(one) and lt.is_proctime(two))
    )


def _shifted_time(
    expression: Expression, types: tuple[lt.LogicalType, ...]
) -> tuple[int, int] | None:
    """A time attribute and the milliseconds added to it."""
    if isinstance(expression, Column):
        known = lt.is_time_attribute(types[expression.index])
        return (expression.index, 0) if known else None
    if not isinstance(expression, Call):
        return None
    name = expression.function.name
    if name == "CAST" and isinstance(expression.type, lt.TIMESTAMPS):
        return _shifted_time(expression.arguments[0], types)
    if name not in ("PLUS", "MINUS"):
        return None
    time, interval = expression.arguments
    if name == "PLUS" and isinstance(time.type, lt.INTERVALS):
        time, interval = interval, time
    below = _shifted_time(time, types)
    if below is None or not isinstance(interval, Literal) or interval.value is None:
        return None
    if not isinstance(interval.type, lt.DayTimeIntervalType):
        return None
    shift = int(interval.value)
    return below[0], below[1] + (shift if name == "PLUS" else -shift)


def _narrowed(lower: int | None, upper: int | None, limit: _Limit) -> tuple[int | None, int | None]:
    name, distance = limit.comparison, limit.distance
    if name in ("GREATER_THAN", "GREATER_THAN_OR_EQUAL", "EQUALS"):
        least = distance + (name == "GREATER_THAN")
        lower = least if lower is None else max(lower, least)
    if name in ("LESS_THAN", "LESS_THAN_OR_EQUAL", "EQUALS"):
        most = distance - (name == "LESS_THAN")
        upper = most if upper is None else min(upper, most)
    return lower, upper
