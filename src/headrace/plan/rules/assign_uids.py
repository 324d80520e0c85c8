"""Every operator gets a uid, so that its state can be named."""

from __future__ import annotations

from dataclasses import replace

from headrace.graph.nodes import Graph, Node
from headrace.graph.uids import generated_uid


def _named(graph: Graph, node: Node) -> Node:
    return replace(node, uid=generated_uid(graph, node), generated_uid=True)


def assign_uids(graph: Graph) -> Graph:
    """Give operators without a uid one that depends only on the graph's shape."""
    for node in graph:
        if node.uid is None:
            named = {**graph.nodes, node.id: _named(graph, node)}
            graph = replace(graph, nodes=named)
    return graph
