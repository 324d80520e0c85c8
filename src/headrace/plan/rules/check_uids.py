"""Two operators with one uid would restore each other's state."""

from __future__ import annotations

from headrace.errors import InvalidGraph
from headrace.graph.nodes import Graph, Node


def check_uids(graph: Graph) -> Graph:
    """Refuse a uid that two operators share."""
    seen: dict[str, Node] = {}
    for node in graph:
        if node.uid is None:
            continue
        if node.uid in seen:
            first = seen[node.uid]
            where = f" (first used at {first.origin})" if first.origin else ""
            raise InvalidGraph(
                f"the uid {node.uid!r} is used by both {first.name!r} and {node.name!r}{where}",
                origin=node.origin,
                hint="Give every operator a uid of its own: state is found by it.",
            )
        seen[node.uid] = node
    return graph
