"""Collects the nodes a program makes until it is executed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

from headrace.errors import InvalidArgument, InvalidGraph
from headrace.graph.nodes import Graph, Node, SideOutputNode, SourceNode
from headrace.origin import calling_origin

N = TypeVar("N", bound=Node)


class GraphBuilder:
    """Nodes by id. A node is replaced, never changed, when the user names or tunes it."""

    def __init__(self) -> None:
        self._nodes: dict[int, Node] = {}
        self._pending: set[int] = set()

    def add(self, kind: type[N], name: str, inputs: Iterable[int] = (), **fields: Any) -> int:
        node_id = len(self._nodes) + 1
        self._nodes[node_id] = kind(
            id=node_id, name=name, inputs=tuple(inputs), origin=calling_origin(), **fields
        )
        if not self._nodes[node_id].virtual and not isinstance(self._nodes[node_id], SourceNode):
            self._pending.add(node_id)
        return node_id

    def __getitem__(self, node_id: int) -> Node:
        return self._nodes[node_id]

    def change(self, node_id: int, **fields: Any) -> None:
        node = self._nodes[node_id]
        if isinstance(node, SideOutputNode):
            raise InvalidGraph(
                "a side output has no name, uid or parallelism of its own",
                origin=calling_origin(),
                hint="Set it on the operator the side output comes from.",
            )
        self._nodes[node_id] = replace(node, **fields)

    def take(self, name: str, roots: Iterable[int] | None = None, **settings: Any) -> Graph:
        """The graph of everything added since the last time, or of `roots`, with all it reads."""
        if roots is not None:
            graph = self.view(name, roots, **settings)
            self._pending -= {node.id for node in graph}
            return graph
        if not self._pending:
            raise InvalidGraph(
                "there is nothing to execute", origin=calling_origin(),
                hint="Add at least one operation or sink, for instance stream.print().",
            )  # fmt: skip
        graph = self.view(name, self._pending, **settings)
        self._pending = set()
        return graph

    def peek(self, name: str, **settings: Any) -> Graph:
        """The same without taking it."""
        return self.view(name, self._pending, **settings)

    def is_bounded(self) -> bool:
        """Whether every source of the job that is pending ends."""
        graph = self.peek("", parallelism=1, max_parallelism=1)
        return all(node.spec.bounded for node in graph if isinstance(node, SourceNode))

    def view(self, name: str, roots: Iterable[int], **settings: Any) -> Graph:
        wanted: set[int] = set()
        waiting = list(roots)
        while waiting:
            node_id = waiting.pop()
            if node_id not in wanted:
                wanted.add(node_id)
                waiting.extend(self._nodes[node_id].inputs)
        return Graph(name, {id: self._nodes[id] for id in sorted(wanted)}, **settings)


def positive(value: Any, what: str) -> int:
    """Check a parallelism or the like."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidArgument(
            f"{what} must be a whole number above 0, not {value!r}", origin=calling_origin()
        )
    return value
