"""A projection of a projection is one; one that changes nothing is none."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from headrace.core.expressions import Column, Expression, Literal
from headrace.graph.relations import Project, Relation
from headrace.plan.relational.conditions import is_repeatable, substituted
from headrace.plan.relational.making import columns
from headrace.plan.relational.traversal import bottom_up


def merge_projects(relation: Relation) -> Relation:
    merged = bottom_up(relation, _merged)
    # The names of a result are part of it: only projections below the top may vanish.
    return bottom_up(merged, _without_idle_input)


def _merged(relation: Relation) -> Relation:
    if not isinstance(relation, Project) or not isinstance(relation.input, Project):
        return relation
    inner = relation.input
    if not _may_merge(relation, inner):
        return relation
    expressions = tuple(substituted(each, inner.expressions) for each in relation.expressions)
    return replace(relation, input=inner.input, expressions=expressions)


def _may_merge(outer: Project, inner: Project) -> bool:
    """Nothing that costs time, or is not the same twice, may be computed twice."""
    uses = Counter(
        part.index
        for expression in outer.expressions
        for part in expression.walk()
        if isinstance(part, Column)
    )
    return all(
        count == 1 or _is_cheap(inner.expressions[index]) for index, count in uses.items()
    ) and all(
        is_repeatable(expression) or uses[index] <= 1
        for index, expression in enumerate(inner.expressions)
    )


def _is_cheap(expression: Expression) -> bool:
    return isinstance(expression, Column | Literal)


def _without_idle_input(relation: Relation) -> Relation:
    inputs = [_skipped(each) for each in relation.inputs]
    if all(new is old for new, old in zip(inputs, relation.inputs, strict=True)):
        return relation
    return relation.with_inputs(*inputs)


def _skipped(relation: Relation) -> Relation:
    """What is below a projection that only repeats its input."""
    while isinstance(relation, Project) and relation.expressions == columns(relation.input):
        relation = relation.input
    return relation
