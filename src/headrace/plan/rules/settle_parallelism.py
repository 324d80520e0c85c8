"""Every operator learns how many subtasks it has."""

from __future__ import annotations

from dataclasses import replace

from headrace.core.source import CollectionSpec, SocketTextSpec
from headrace.errors import InvalidGraph
from headrace.graph.nodes import Graph, Node, SourceNode


def settle_parallelism(graph: Graph) -> Graph:
    """Fill in the job's parallelism where none was set; what cannot be divided has one subtask."""
    nodes: dict[int, Node] = {}
    for node in graph:
        maximum = node.max_parallelism or graph.max_parallelism
        parallelism = node.parallelism or graph.parallelism
        if has_one_reader(node):
            parallelism = 1
        if parallelism > maximum:
            raise InvalidGraph(
                f"{node.name!r} has parallelism {parallelism} but max parallelism {maximum}",
                origin=node.origin,
                hint="Raise set_max_parallelism: it is the number of key groups.",
            )
        nodes[node.id] = replace(node, parallelism=parallelism, max_parallelism=maximum)
    return replace(graph, nodes=nodes)


def has_one_reader(node: Node) -> bool:
    """Whether a node is a source that one task reads, so that its order is kept, as in Flink."""
    return isinstance(node, SourceNode) and isinstance(node.spec, CollectionSpec | SocketTextSpec)
