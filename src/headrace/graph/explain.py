"""Graphs as text and as JSON."""

from __future__ import annotations

import json
from typing import Any

from headrace.graph.nodes import Graph, Node, PartitionNode, SideOutputNode, SinkNode, SourceNode


def execution_plan_json(graph: Graph) -> str:
    """The stream graph in the JSON form of Flink's plan viewer."""
    return json.dumps({"nodes": [_json(graph, node) for node in graph if not node.virtual]})


def _json(graph: Graph, node: Node) -> dict[str, Any]:
    plain = {
        "id": node.id,
        "type": node.name,
        "pact": _role(node),
        "contents": node.description or node.name,
        "parallelism": node.parallelism,
    }
    if node.inputs:
        plain["predecessors"] = [
            {"id": source, "ship_strategy": how, "side": "second"}
            for position in node.inputs for source, how in _real(graph, position)
        ]  # fmt: skip
    return plain


def _role(node: Node) -> str:
    if isinstance(node, SourceNode):
        return "Data Source"
    return "Data Sink" if isinstance(node, SinkNode) else "Operator"


def _real(graph: Graph, node_id: int, how: str = "FORWARD") -> list[tuple[int, str]]:
    """The real nodes behind an input, with how their records travel."""
    node = graph.nodes[node_id]
    if not node.virtual:
        return [(node_id, how)]
    if isinstance(node, PartitionNode) and how == "FORWARD":
        how = node.exchange.label
    return [found for source in node.inputs for found in _real(graph, source, how)]


def stream_graph_text(graph: Graph) -> str:
    """One line for each node: id, name, uid, parallelism, inputs."""
    lines = []
    for node in graph:
        if node.virtual:
            continue
        inputs = ", ".join(f"{source} {how.lower()}" for position in node.inputs
                           for source, how in _real(graph, position))  # fmt: skip
        tags = [side.tag for side in graph.consumers(node.id) if isinstance(side, SideOutputNode)]
        extras = f"  side outputs: {', '.join(tags)}" if tags else ""
        lines.append(
            f"{node.id}: {node.name}  x{node.parallelism}  uid={node.uid}"
            + (f"  <- {inputs}" if inputs else "") + extras
        )  # fmt: skip
    return "\n".join(lines)
