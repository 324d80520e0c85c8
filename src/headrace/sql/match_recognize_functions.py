"""Functions that only MATCH_RECOGNIZE has: FIRST, LAST, PREV, NEXT, CLASSIFIER, MATCH_NUMBER, …"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.core import logical_types as lt
from headrace.core.expressions import Expression
from headrace.core.row_patterns import (
    Classifier,
    MatchNumber,
    MatchTime,
    OverRows,
    RowAt,
    Slot,
)
from headrace.errors import InvalidQuery
from headrace.sql import unresolved as un
from headrace.sql.calls import aggregate, call
from headrace.sql.constants import constant_of
from headrace.sql.match_recognize_terms import Beyond
from headrace.sql.position import did_you_mean

if TYPE_CHECKING:
    from headrace.sql.match_recognize_expressions import MatchResolver


@dataclass(frozen=True)
class SlotMark(Expression):
    """What an expression wants of the rows of a match."""

    slot: Slot


def _navigation(from_end: bool) -> Callable[[MatchResolver, un.Apply], Expression]:
    """FIRST and LAST: by the rows of a variable."""

    def resolved(resolver: MatchResolver, node: un.Apply) -> Expression:
        name = node.function.upper()
        offset = _offset(resolver, node, 0)
        inner = node.arguments[0]
        if isinstance(inner, un.Apply) and inner.function.upper() == "CLASSIFIER":
            mark = resolver.resolve(inner)
            assert isinstance(mark, SlotMark)
            assert isinstance(mark.slot, Classifier)
            slot = replace(mark.slot, from_end=from_end, offset=offset)
            return SlotMark(lt.STRING.with_nullable(not resolver.is_there(slot)), slot)
        expression = resolver.resolve(inner)
        return resolver.row_at(expression, name, node, from_end=from_end, offset=offset)

    return resolved


def _physical(sign: int) -> Callable[[MatchResolver, un.Apply], Expression]:
    """PREV and NEXT: by the rows of the partition."""

    def resolved(resolver: MatchResolver, node: un.Apply) -> Expression:
        name = node.function.upper()
        if resolver.strict:
            hints = {"PREV": "LAST(A.x, 1) is the row of A before the last one",
                     "NEXT": "FIRST(A.x, 1) is the second row of A"}  # fmt: skip
            raise Beyond(name, node.at, hints[name]).error()
        shift = sign * _offset(resolver, node, 1)
        found = resolver.resolve(node.arguments[0])
        if not isinstance(found, SlotMark):
            found = resolver.row_at(found, name, node)
        if not isinstance(found.slot, RowAt) or found.slot.shift:
            raise InvalidQuery(
                f"{name} goes on from one row of the match, this is {found.slot}", origin=node.at,
                hint=f"write {name}(A.x), or {name}(LAST(A.x, 1), 2) with FIRST or LAST inside",
            )  # fmt: skip
        return SlotMark(found.type.with_nullable(True), replace(found.slot, shift=shift))

    return resolved


def _offset(resolver: MatchResolver, node: un.Apply, usual: int) -> int:
    name, given = node.function.upper(), node.arguments
    if not 1 <= len(given) <= 2:
        raise InvalidQuery(
            f"{name} takes an expression and perhaps an offset", origin=node.at,
            hint=f"write {name}(A.x) or {name}(A.x, 1)",
        )  # fmt: skip
    if len(given) == 1:
        return usual
    expression = resolver.resolve(given[1])
    if isinstance(expression, SlotMark):
        raise InvalidQuery(f"the offset of {name} must be a constant", origin=given[1].at)
    value = constant_of(expression, f"the offset of {name}", given[1].at)
    if not isinstance(expression.type, lt.INTEGERS) or value is None or value < 0:
        raise InvalidQuery(
            f"the offset of {name} must be a whole number from 0 on, this is {value}",
            origin=given[1].at,
        )
    return int(value)


def counts_rows_of_variable(node: un.Apply) -> bool:
    """COUNT(A.*)"""
    stars = [each for each in node.arguments if isinstance(each, un.Star)]
    return node.function.upper() == "COUNT" and any(star.qualifier for star in stars)


def row_count(resolver: MatchResolver, node: un.Apply) -> Expression:
    star = node.arguments[0]
    assert isinstance(star, un.Star)
    variables = _named(resolver, ".".join(star.qualifier), star.at)
    counted = aggregate("COUNT", at=node.at)
    return SlotMark(counted.type, OverRows(variables, counted, resolver.final))


def _named(resolver: MatchResolver, variable: str, at: object | None) -> tuple[str, ...]:
    if variable not in resolver.names:
        known = f"its variables are {', '.join(resolver.names)}"
        raise InvalidQuery(
            f"PATTERN has no variable {variable}", origin=at,
            hint=did_you_mean(variable, resolver.names, known),
        )  # fmt: skip
    return resolver.named(variable)


def _match_rowtime(resolver: MatchResolver, node: un.Apply) -> Expression:
    time = resolver.time_type
    if lt.is_proctime(time):
        raise InvalidQuery(
            "MATCH_ROWTIME needs rows ordered by event time, these are by processing time",
            origin=node.at, hint="use MATCH_PROCTIME(), or ORDER BY a column with a WATERMARK",
        )  # fmt: skip
    kind = time.kind if isinstance(time, lt.TimestampType | lt.LocalZonedTimestampType) else None
    assert kind is not None
    type: lt.LogicalType = lt.TimestampType(3, kind)
    if node.arguments:
        type = resolver.resolve(node.arguments[0]).type
        if type.with_nullable(False) != time.with_nullable(False):
            raise InvalidQuery(
                f"MATCH_ROWTIME takes the time attribute the rows are ordered by, this is {type}",
                origin=node.arguments[0].at,
            )
    return SlotMark(type.not_null(), MatchTime())


def _match_proctime(resolver: MatchResolver, node: un.Apply) -> Expression:
    if node.arguments:
        raise InvalidQuery("MATCH_PROCTIME has no arguments", origin=node.at)
    return call("PROCTIME", at=node.at)


def _match_number(resolver: MatchResolver, node: un.Apply) -> Expression:
    if resolver.strict:
        raise Beyond("MATCH_NUMBER", node.at).error()
    if node.arguments:
        raise InvalidQuery("MATCH_NUMBER has no arguments", origin=node.at)
    return SlotMark(lt.BIGINT.not_null(), MatchNumber())


def _classifier(resolver: MatchResolver, node: un.Apply) -> Expression:
    if resolver.strict:
        raise Beyond("CLASSIFIER", node.at).error()
    variables = None
    if node.arguments:
        given = node.arguments[0]
        if len(node.arguments) > 1 or not isinstance(given, un.Name) or len(given.parts) != 1:
            raise InvalidQuery(
                "CLASSIFIER takes a variable or a subset of PATTERN, or nothing", origin=node.at,
                hint="write CLASSIFIER(), or CLASSIFIER(U) with SUBSET U = (A, B)",
            )  # fmt: skip
        variables = _named(resolver, given.parts[0], given.at)
    slot = Classifier(variables, final=resolver.final)
    return SlotMark(lt.STRING.with_nullable(not resolver.is_there(slot)), slot)


def _whole_match(resolver: MatchResolver, node: un.Apply) -> Expression:
    """FINAL x: as of the last row of the match, also where an earlier one is output."""
    if resolver.defining is not None:
        raise InvalidQuery(
            "FINAL cannot be used in DEFINE: the match is not whole yet", origin=node.at,
            hint="leave it out: a condition sees the rows up to the one in question",
        )  # fmt: skip
    return replace(resolver, final=resolver.by_row).resolve(node.arguments[0])


def _rows_so_far(resolver: MatchResolver, node: un.Apply) -> Expression:
    """RUNNING x: as of the row that is output, which is what expressions mean anyway."""
    return replace(resolver, final=False).resolve(node.arguments[0])


SPECIAL: dict[str, Callable[[MatchResolver, un.Apply], Expression]] = {
    "FIRST": _navigation(from_end=False),
    "LAST": _navigation(from_end=True),
    "PREV": _physical(-1),
    "NEXT": _physical(1),
    "MATCH_ROWTIME": _match_rowtime,
    "MATCH_PROCTIME": _match_proctime,
    "MATCH_NUMBER": _match_number,
    "FINAL": _whole_match,
    "RUNNING": _rows_so_far,
    "CLASSIFIER": _classifier,
}
"""By name: what resolves a call."""
