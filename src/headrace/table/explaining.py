"""Plans as text: what was asked, what is run, and on what."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.graph.relations import Relation
from headrace.plan.relational.explain import abstract_syntax_tree, physical_plan
from headrace.spark.native import NotNative
from headrace.table.execution import Execution


def explained(relations: Sequence[Relation], execution: Execution) -> str:
    """The plan as asked, as optimised, and how it is executed."""
    optimized = [execution.optimized(relation) for relation in relations]
    parts = [abstract_syntax_tree(relation) for relation in relations]
    parts += [physical_plan(relation) for relation in optimized]
    parts.append("== Execution ==")
    choice = execution.choose(optimized)
    if choice.native:
        try:
            frames = execution.frames()
            for relation in optimized:
                below = relation.inputs[0] if type(relation).__name__ == "Insert" else relation
                frame = frames.frame(below)
                parts.append("native: one Spark batch, run by Spark's own operators")
                parts.append(frame._jdf.queryExecution().simpleString())
            parts += [f"in Python: {text}" for text in frames.expressions.in_python]
            return "\n".join(parts)
        except NotNative as reason:
            choice.reasons.append(str(reason))
    parts.append(f"key-group operators, because {'; '.join(choice.reasons)}")
    return "\n".join(parts)
