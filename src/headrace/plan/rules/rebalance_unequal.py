"""An operator with a parallelism of its own gets its records redistributed."""

from __future__ import annotations

from dataclasses import replace

from headrace.core.exchange import Rebalance
from headrace.graph.nodes import Graph, Node, OperatorNode, PartitionNode
from headrace.plan.rules.settle_parallelism import has_one_reader


def rebalance_unequal(graph: Graph) -> Graph:
    """Insert a round robin before an operator whose own parallelism differs from its input's."""
    nodes: dict[int, Node] = {}
    moved: dict[int, int] = {}
    next_id = 0

    def add(node: Node) -> int:
        nonlocal next_id
        next_id += 1
        nodes[next_id] = replace(node, id=next_id)
        return next_id

    for node in graph:
        inputs = [moved[source] for source in node.inputs]
        if isinstance(node, OperatorNode) and node.parallelism is not None:
            inputs = [
                add(PartitionNode(id=0, name="Rebalance", inputs=(source,), exchange=Rebalance(),
                                  type=nodes[source].type, origin=node.origin))
                if _differs(graph, nodes, nodes[source], node.parallelism) else source
                for source in inputs
            ]  # fmt: skip
        moved[node.id] = add(replace(node, inputs=tuple(inputs)))
    return replace(graph, nodes=nodes)


def _differs(graph: Graph, nodes: dict[int, Node], source: Node, parallelism: int) -> bool:
    if isinstance(source, PartitionNode):
        return False
    if source.virtual:
        return any(_differs(graph, nodes, nodes[one], parallelism) for one in source.inputs)
    given = 1 if has_one_reader(source) else source.parallelism or graph.parallelism
    return given != parallelism
