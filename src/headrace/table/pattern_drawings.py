"""Pictures of the patterns that a query looks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from headrace.cep.drawing import Drawing, drawn
from headrace.core.patterns import Group, Part, Test
from headrace.core.row_patterns import RowPattern
from headrace.graph.relations import MatchRecognize, Relation
from headrace.operators.cep.compiler import compiled
from headrace.plan.relational.traversal import walk
from headrace.table.program_drawings import drawn_program


def drawings(relation: Relation) -> tuple[Drawing, ...]:
    """The pattern of each MATCH_RECOGNIZE, the outermost first."""
    patterns = [each.pattern for each in walk(relation) if isinstance(each, MatchRecognize)]
    return tuple(map(_drawing, patterns))


def described(relations: Sequence[Relation]) -> Iterator[str]:
    """The same as lines of a plan."""
    for relation in relations:
        for drawing in drawings(relation):
            yield f"\n== Pattern ==\n{drawing.text()}"


def _drawing(pattern: RowPattern) -> Drawing:
    events, conditions = pattern.events, {name for name, _ in pattern.definitions}
    if pattern.term is not None:
        return drawn_program(pattern.term, conditions, events.within_ms)
    parts = tuple(_with_condition(part, conditions) for part in events.parts)
    whole = replace(events, parts=parts)
    return drawn(compiled(whole), whole)


def _with_condition(part: Part, conditions: set[str]) -> Part:
    """A stage's condition is drawn by the stage's name, so what it says does not matter here."""
    if isinstance(part, Group):
        inner = tuple(_with_condition(each, conditions) for each in part.parts)
        return replace(part, parts=inner)
    if part.name not in conditions:
        return part
    return replace(part, condition=Test(partial(_holds, part.name)))


def _holds(variable: str, row: Any) -> bool:
    raise AssertionError(f"{variable} is only drawn")
