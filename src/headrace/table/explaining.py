"""Plans as text: what was asked, what is run, on what, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.graph.relations import Insert, Relation
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.plan.relational.changelog import annotated
from headrace.plan.relational.explain import abstract_syntax_tree, physical_plan
from headrace.runtime.declarations import declarations
from headrace.spark.native import NotNative
from headrace.table.execution import Execution
from headrace.table.pattern_drawings import described


def explained(relations: Sequence[Relation], execution: Execution, *, advice: bool = False) -> str:
    """The plan as asked, as optimised, and how it is executed."""
    optimized = [execution.optimized(relation) for relation in relations]
    choice = execution.choose(optimized)
    final = choice.native or execution.settings.final
    native: list[str] = []
    if choice.native:
        try:
            native = list(_native(optimized, execution))
        except NotNative as reason:
            choice.reasons.append(str(reason))
    parts = [abstract_syntax_tree(relation) for relation in relations]
    parts += [
        physical_plan(each, annotated(each, final=final), advice=advice) for each in optimized
    ]
    parts.append("== Physical Execution Plan ==")
    if native:
        return "\n".join([*parts, *native])
    parts.append(f"key-group operators, because {'; '.join(choice.reasons)}")
    parts += _operators(execution.planned(optimized))
    parts += described(optimized)
    return "\n".join(parts)


def _native(relations: Sequence[Relation], execution: Execution) -> Iterator[str]:
    frames = execution.frames()
    with execution.settings.compiling():
        made = [
            frames.frame(relation.input if isinstance(relation, Insert) else relation)
            for relation in relations
        ]
    yield "native Spark operators: all tables end, so each key changes once; no state is kept"
    for text in frames.expressions.in_python:
        yield f"in Python, because Spark has no such function: {text}"
    for frame in made:
        yield frame._jdf.queryExecution().simpleString()


def _operators(plan: PhysicalPlan) -> Iterator[str]:
    """Each operator with its level, how rows reach it, and the state it keeps."""
    states = declarations(plan).states
    for vertex in plan.vertices.values():
        names = [name for name in states.get(vertex.uid, ()) if not name.startswith("_")]
        kept = ", ".join(sorted(names)) or "none"
        about = f"{_kind(vertex)}, parallelism {vertex.parallelism}, state: {kept}"
        yield f"level {vertex.level}: {vertex.name} [{about}]"


def _kind(vertex: Vertex) -> str:
    if vertex.source is not None:
        return f"source {vertex.source.label}"
    keyed = vertex.operator is not None and vertex.operator.keyed
    return "key-group operator" if keyed else "operator in Python"
