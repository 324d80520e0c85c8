"""In BATCH mode intermediate results are nobody's business."""

from __future__ import annotations

from dataclasses import replace

from headrace.graph.nodes import Graph, Node, OperatorNode
from headrace.operators.reduce import ReduceOperator


def emit_final_only(graph: Graph) -> Graph:
    """Let rolling reductions of a BATCH job emit only the last result of each key."""
    if not graph.batch:
        return graph
    nodes: dict[int, Node] = {}
    for node in graph:
        if isinstance(node, OperatorNode) and isinstance(node.operator, ReduceOperator):
            final = ReduceOperator(node.operator.function, only_final=True)
            final.reuses_objects = node.operator.reuses_objects
            nodes[node.id] = replace(node, operator=final)
        else:
            nodes[node.id] = node
    return replace(graph, nodes=nodes)
