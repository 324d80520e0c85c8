"""A plan as text: chains and levels."""

from __future__ import annotations

from headrace.plan.physical import PhysicalPlan


def job_graph_text(plan: PhysicalPlan) -> str:
    """The chained job graph, level by level: a line for each chain, then where it sends."""
    lines = []
    for level in range(plan.last_level + 1):
        lines.append(f"level {level}")
        chains: dict[int, list[str]] = {}
        sends: dict[int, list[str]] = {}
        for vertex in plan.at(level):
            chains.setdefault(vertex.chain, []).append(vertex.name)
            for edge in vertex.edges:
                target = plan.vertices[edge.target]
                if edge.exchange is not None:
                    sends.setdefault(vertex.chain, []).append(
                        f"{edge.exchange.label.lower()} to {target.name!r}"
                    )
        for chain, names in chains.items():
            head = plan.vertices[chain]
            group = head.slot_sharing_group
            lines.append(f"  {' -> '.join(names)}  x{head.parallelism}  group={group}")
            lines += [f"    sends by {send}" for send in sends.get(chain, [])]
    return "\n".join(lines)
