"""The logical graph: frozen nodes that say what the user asked for, in the user's words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.core.exchange import Exchange
from headrace.core.operator import Operator
from headrace.core.source import SourceSpec
from headrace.core.types import TypeInformation
from headrace.errors import InvalidGraph
from headrace.origin import Origin


@dataclass(frozen=True, kw_only=True)
class Node:
    """Something in a job that records pass through."""

    id: int
    name: str
    inputs: tuple[int, ...] = ()
    type: TypeInformation | None = None
    origin: Origin | None = None
    uid: str | None = None
    generated_uid: bool = False
    """Whether the uid follows from the shape of the graph, because the user gave none."""
    parallelism: int | None = None
    max_parallelism: int | None = None
    slot_sharing_group: str | None = None
    chaining: str = "always"  # "always", "head": starts a chain, "never"
    description: str | None = None
    meaning: str = ""
    """What a part of a query computes: with another meaning it is another operator."""

    @property
    def virtual(self) -> bool:
        """Whether the node only says how records travel, and does nothing itself."""
        return False


@dataclass(frozen=True, kw_only=True)
class SourceNode(Node):
    """Where records come from."""

    spec: SourceSpec


@dataclass(frozen=True, kw_only=True)
class OperatorNode(Node):
    """Does something with records of one or more inputs."""

    operator: Operator


@dataclass(frozen=True, kw_only=True)
class SinkNode(OperatorNode):
    """Where records go."""


@dataclass(frozen=True, kw_only=True)
class PartitionNode(Node):
    """Redistributes records among subtasks."""

    exchange: Exchange

    @property
    def virtual(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class UnionNode(Node):
    """The records of every input, in no particular order."""

    @property
    def virtual(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class SideOutputNode(Node):
    """The records an operator sent to a tag."""

    tag: str

    @property
    def virtual(self) -> bool:
        return True


@dataclass(frozen=True)
class Graph:
    """A job's nodes by id; inputs always have smaller ids, so there can be no cycle."""

    name: str
    nodes: Mapping[int, Node]
    parallelism: int
    max_parallelism: int
    batch: bool = False
    chaining: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in self.nodes.values():
            for source in node.inputs:
                if source not in self.nodes:
                    raise InvalidGraph(
                        f"{node.name!r} reads a stream that is not part of this job",
                        origin=node.origin,
                        hint="Streams of one job must come from one StreamExecutionEnvironment.",
                    )
                if source >= node.id:
                    raise InvalidGraph(
                        f"{node.name!r} reads its own output: a job's graph has no cycles",
                        origin=node.origin,
                        hint="Iterations are not part of the DataStream API any more.",
                    )

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes[key] for key in sorted(self.nodes))

    def consumers(self, node_id: int) -> list[Node]:
        return [node for node in self if node_id in node.inputs]
