"""Two operators that claim one thing outside for themselves would disturb each other."""

from __future__ import annotations

from headrace.errors import InvalidGraph
from headrace.graph.nodes import Graph, OperatorNode


def check_claims(graph: Graph) -> Graph:
    """Refuse a claim that two operators have."""
    seen: dict[str, OperatorNode] = {}
    for node in graph:
        if not isinstance(node, OperatorNode):
            continue
        for claim in node.operator.claims:
            first = seen.setdefault(claim, node)
            if first is node:
                continue
            where = f" (made at {first.origin})" if first.origin else ""
            raise InvalidGraph(
                f"{first.name!r}{where} and {node.name!r} both use {claim}",
                origin=node.origin,
                hint="Give each of them one of its own, or unite their streams before one sink.",
            )
    return graph
