"""What explain() adds to a plan when it is asked for more."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from headrace.errors import TypeMismatch
from headrace.graph.relations import Relation
from headrace.origin import calling_origin
from headrace.table.execution import Execution
from headrace.table.explain_detail import ExplainDetail


def plan_details(
    relations: Sequence[Relation], execution: Execution, details: Sequence[ExplainDetail]
) -> Iterator[str]:
    """One part for each detail; changelog modes and advice are parts of the plan itself."""
    for detail in details:
        if not isinstance(detail, ExplainDetail):
            raise TypeMismatch(f"{detail!r} is no ExplainDetail", origin=calling_origin())
        if detail is ExplainDetail.ESTIMATED_COST:
            yield "== Estimated Cost ==\nnone: Spark weighs plans by statistics of its own"
        elif detail is ExplainDetail.JSON_EXECUTION_PLAN:
            yield f"== JSON Execution Plan ==\n{_as_json(relations, execution)}"


def _as_json(relations: Sequence[Relation], execution: Execution) -> str:
    """The operators, were the query run by key-group operators."""
    optimized = [execution.optimized(relation) for relation in relations]
    plan = execution.planned(optimized)
    nodes: list[dict[str, Any]] = [
        {"id": id, "type": vertex.name, "parallelism": vertex.parallelism, "level": vertex.level}
        for id, vertex in plan.vertices.items()
    ]
    return json.dumps({"nodes": nodes}, indent=2)
