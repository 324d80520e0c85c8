"""A function that keeps operator state must run in a slot, where state is durable."""

from __future__ import annotations

from dataclasses import replace

from headrace.core.checkpointed import source_part
from headrace.core.exchange import Forward
from headrace.core.source import SplitSpec
from headrace.graph.nodes import Graph, Node, OperatorNode, PartitionNode, SourceNode

_NO_SLOT = 0
"""In the chain of a source, whose tasks are not those of slots."""
_ANY = 1
"""Right after an exchange: the receiver decides."""


def place_function_state(graph: Graph) -> Graph:
    """Put an exchange before a function with operator state that would be chained to a source, or
    to more subtasks than it has itself. It keeps the order within each subtask."""
    for node in graph:
        if isinstance(node, SourceNode) and isinstance(node.spec, SplitSpec):
            source_part(node.spec.source, node.origin)
    if graph.batch or not any(map(_keeps_state, graph)):
        return graph
    nodes: dict[int, Node] = {}
    moved: dict[int, int] = {}
    slots: dict[int, int] = {}  # in how many slots the records of a node may be

    def add(node: Node) -> int:
        number = len(nodes) + 1
        nodes[number] = replace(node, id=number)
        slots[number] = _slots(node, slots)
        return number

    for node in graph:
        inputs = [moved[source] for source in node.inputs]
        if _keeps_state(node) and len(inputs) == 1 and not _fits(node, slots[inputs[0]]):
            inputs = [add(PartitionNode(
                id=0, name="Forward", inputs=(inputs[0],), exchange=Forward(),
                type=nodes[inputs[0]].type, origin=node.origin, parallelism=node.parallelism,
                max_parallelism=node.max_parallelism,
            ))]  # fmt: skip
        moved[node.id] = add(replace(node, inputs=tuple(inputs)))
    return replace(graph, nodes=nodes)


def _keeps_state(node: Node) -> bool:
    return isinstance(node, OperatorNode) and node.operator.checkpointed


def _fits(node: Node, slots: int) -> bool:
    return _NO_SLOT < slots <= (node.parallelism or 1)


def _slots(node: Node, slots: dict[int, int]) -> int:
    before = max((slots[source] for source in node.inputs), default=_NO_SLOT)
    if isinstance(node, PartitionNode):
        return _ANY
    if node.virtual or (before == _NO_SLOT and len(node.inputs) < 2):
        return before
    return max(before, node.parallelism or 1)
