"""Cutting a graph at its exchanges.

Operators between two exchanges form a level. A level runs as one Spark stage: direct edges are
plain calls, edges between levels go through the shuffle.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

from headrace.core.exchange import Exchange, Forward
from headrace.core.types import TypeInformation
from headrace.graph.nodes import (
    Graph,
    Node,
    OperatorNode,
    PartitionNode,
    SideOutputNode,
    SinkNode,
    SourceNode,
    UnionNode,
)
from headrace.plan.physical import Edge, PhysicalPlan, Vertex


@dataclass(frozen=True)
class _Arrival:
    """One stream that reaches an operator, with the virtual nodes in between resolved."""

    source: int
    side: int
    exchange: Exchange | None = None
    tag: str | None = None
    type: TypeInformation | None = None


def cut_into_levels(graph: Graph) -> PhysicalPlan:
    """Place every real node at the lowest level its inputs allow."""
    arrivals = {
        node.id: [a for side, source in enumerate(node.inputs)
                  for a in _arrivals(graph, graph.nodes[source], side)]
        for node in graph if not node.virtual
    }  # fmt: skip
    levels: dict[int, int] = {}
    settled: dict[int, list[_Arrival]] = {}
    for node in graph:
        if node.virtual:
            continue
        incoming = arrivals[node.id]
        if len(node.inputs) > 1:
            # Both sides must meet in one subtask, whatever tasks they come from.
            incoming = [replace(a, exchange=a.exchange or Forward()) for a in incoming]
        level = max((levels[a.source] + (a.exchange is not None) for a in incoming), default=0)
        settled[node.id] = [
            replace(a, exchange=Forward())
            if a.exchange is None and levels[a.source] < level else a
            for a in incoming
        ]  # fmt: skip
        levels[node.id] = level
    vertices = _vertices(graph, levels, settled)
    slots = max((v.parallelism for v in vertices.values()), default=1)
    return PhysicalPlan(
        name=graph.name,
        vertices=vertices,
        parallelism=slots,
        batch=graph.batch,
        settings=graph.settings,
    )


def _arrivals(graph: Graph, node: Node, side: int) -> list[_Arrival]:
    match node:
        case UnionNode():
            return [a for source in node.inputs
                    for a in _arrivals(graph, graph.nodes[source], side)]  # fmt: skip
        case PartitionNode():
            return [replace(a, exchange=node.exchange)
                    for a in _arrivals(graph, graph.nodes[node.inputs[0]], side)]  # fmt: skip
        case SideOutputNode():
            return [replace(a, tag=node.tag, type=node.type)
                    for a in _arrivals(graph, graph.nodes[node.inputs[0]], side)]  # fmt: skip
        case _:
            return [_Arrival(node.id, side)]


def _vertices(
    graph: Graph, levels: dict[int, int], settled: dict[int, list[_Arrival]]
) -> dict[int, Vertex]:
    edges: dict[int, list[Edge]] = defaultdict(list)
    tags: dict[int, dict[str, TypeInformation]] = defaultdict(dict)
    for target, incoming in settled.items():
        for a in incoming:
            edges[a.source].append(Edge(target, a.side, a.exchange, a.tag))
            if a.tag is not None and a.type is not None:
                tags[a.source][a.tag] = a.type
    vertices: dict[int, Vertex] = {}
    for node_id, incoming in settled.items():
        node = graph.nodes[node_id]
        vertices[node_id] = Vertex(
            id=node.id,
            uid=node.uid or "",
            name=node.name,
            level=levels[node_id],
            parallelism=node.parallelism or graph.parallelism,
            max_parallelism=node.max_parallelism or graph.max_parallelism,
            operator=node.operator if isinstance(node, OperatorNode) else None,
            source=node.spec if isinstance(node, SourceNode) else None,
            type=node.type,
            edges=tuple(edges[node_id]),
            watermark_origins=_origins(node, incoming, vertices),
            watermark_delay=_delay(node, incoming, vertices),
            is_sink=isinstance(node, SinkNode),
            chain=_chain(graph, node, incoming, vertices),
            slot_sharing_group=node.slot_sharing_group or "default",
            origin=node.origin,
            generated_uid=node.generated_uid,
            of_query=bool(node.meaning),
            tag_types=tags[node_id],
        )
    return vertices


def _origins(node: Node, incoming: list[_Arrival], vertices: dict[int, Vertex]) -> tuple[int, ...]:
    if isinstance(node, SourceNode):
        return (node.id,)
    if isinstance(node, OperatorNode) and node.operator.makes_watermarks:
        return (node.id,)
    return tuple(sorted({o for a in incoming for o in vertices[a.source].watermark_origins}))


def _delay(node: Node, incoming: list[_Arrival], vertices: dict[int, Vertex]) -> int:
    if isinstance(node, OperatorNode) and node.operator.makes_watermarks:
        return 0
    before = [vertices[a.source] for a in incoming]
    return max((v.watermark_delay + (v.operator.watermark_delay_ms if v.operator else 0)
                for v in before), default=0)  # fmt: skip


def _chain(graph: Graph, node: Node, incoming: list[_Arrival], vertices: dict[int, Vertex]) -> int:
    if not graph.chaining or node.chaining != "always" or len(incoming) != 1:
        return node.id
    only = incoming[0]
    upstream = vertices[only.source]
    if only.exchange is not None or graph.nodes[only.source].chaining == "never":
        return node.id
    same_group = (node.slot_sharing_group or "default") == upstream.slot_sharing_group
    return upstream.chain if same_group else node.id
