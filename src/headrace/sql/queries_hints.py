"""Hints of queries, put on the relations they are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from headrace.graph.relations import (
    Aggregate,
    Correlate,
    Join,
    LookupJoin,
    Pair,
    Relation,
    TemporalJoin,
)
from headrace.operators.table.lookup_hint import read_lookup_hint
from headrace.sql.nodes import HintCall
from headrace.sql.scope import Scope

_GROUPS = (Aggregate,)


@dataclass(frozen=True)
class Hint:
    """/*+ NAME('key' = 'value', word) */"""

    name: str
    options: tuple[tuple[str, str], ...] = ()
    values: tuple[str, ...] = ()


def hints_of(node: Any) -> tuple[Hint, ...]:
    """The hints of a SELECT or of a table."""
    parts: Sequence[HintCall] = () if node is None else node.expressions
    return tuple(Hint(str(each.this), tuple(each.pairs.items()), each.values) for each in parts)


def table_options(node: exp.Expr) -> dict[str, str]:
    """OPTIONS('key' = 'value') behind a table."""
    options: dict[str, str] = {}
    for listed in node.args.get("hints") or ():
        for hint in hints_of(listed):
            if hint.name == "OPTIONS":
                options.update(hint.options)
    return options


def with_join_hints(
    relation: Relation, hints: Sequence[Hint], left: Scope, right: Scope
) -> Relation:
    """A join with what hints say about its sides: STATE_TTL as LEFT=… and RIGHT=…, LOOKUP for its
    table, and join strategies that name one of its tables."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for hint in hints:
        if hint.name == "STATE_TTL" and isinstance(relation, Join | TemporalJoin):
            sides = (("LEFT", left), ("RIGHT", right))
            times = [
                f"{side}={value}"
                for side, scope in sides
                for name, value in hint.options
                if len(scope.ranges) == 1 and _names(scope, name)
            ]
            if times:
                found.append(("STATE_TTL", tuple(times)))
        elif hint.name == "LOOKUP" and isinstance(relation, TemporalJoin | LookupJoin):
            options = dict(hint.options)
            read_lookup_hint(options)  # what it says must make sense
            if _names(right, options.get("table", "")):
                found.append(("LOOKUP", tuple(f"{k}={v}" for k, v in options.items())))
        elif isinstance(relation, Pair) and any(
            _names(scope, name) for scope in (left, right) for name in hint.values
        ):
            found.append((hint.name, hint.values))
    return replace(relation, hints=(*relation.hints, *found)) if found else relation


def _names(scope: Scope, name: str) -> bool:
    parts = tuple(name.split("."))
    return any(each.is_called(parts) for each in scope.ranges)


def hinted(relation: Relation, below: Relation, hints: Sequence[Hint]) -> Relation:
    """A SELECT's relations above `below` with the hints that are about its aggregation."""
    times = [value for hint in hints if hint.name == "STATE_TTL" for _, value in hint.options]
    if not times:
        return relation
    return _with_time_to_live(relation, below, times[0])


def _with_time_to_live(relation: Relation, below: Relation, time: str) -> Relation:
    if relation is below or not relation.inputs or isinstance(relation, Join | Correlate):
        return relation
    inputs = [_with_time_to_live(each, below, time) for each in relation.inputs]
    relation = relation.with_inputs(*inputs)
    if isinstance(relation, _GROUPS):
        relation = replace(relation, hints=(*relation.hints, ("STATE_TTL", (time,))))
    return relation
