"""Names by which state is found again."""

from __future__ import annotations

import hashlib

from headrace.graph.nodes import Graph, Node


def generated_uid(graph: Graph, node: Node) -> str:
    """A uid that depends only on the shape of the graph above the node, and on its query's text.

    The same program gives the same uids; adding an operator elsewhere changes none.
    """
    parts = [type(node).__name__, node.name, str(_rank_among_twins(graph, node))]
    parts += [node.meaning] * bool(node.meaning)
    parts += [graph.nodes[source].uid or generated_uid(graph, graph.nodes[source])
              for source in node.inputs]  # fmt: skip
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]


def _rank_among_twins(graph: Graph, node: Node) -> int:
    twins = [other.id for other in graph if other.inputs == node.inputs
             and other.name == node.name and other.meaning == node.meaning
             and type(other) is type(node)]  # fmt: skip
    return twins.index(node.id)
