"""The plan an engine runs: real operators only, cut into levels at every exchange."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.core.exchange import Exchange
from headrace.core.operator import Operator
from headrace.core.source import SourceSpec
from headrace.core.types import TypeInformation
from headrace.origin import Origin

PER_RECORD_WATERMARKS = "per_record_watermarks"
"""The setting under which watermarks travel between the records they follow."""
WATERMARK_INTERVAL = "watermark_interval"
"""The setting of how many milliseconds lie between two watermarks."""
RESTORED_CHECKPOINT = "restored_checkpoint"
"""The setting of a job that starts from a savepoint: the number of the checkpoint it holds."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Where an operator's output goes; `exchange` is None within a level: a plain call."""

    target: int
    side: int
    exchange: Exchange | None = None
    tag: str | None = None


@dataclass(frozen=True, slots=True)
class Vertex:
    """An operator (or the reading end of a source) with everything settled."""

    id: int
    uid: str
    name: str
    level: int
    parallelism: int
    max_parallelism: int
    operator: Operator | None
    source: SourceSpec | None = None
    type: TypeInformation | None = None
    edges: tuple[Edge, ...] = ()
    watermark_origins: tuple[int, ...] = ()
    """The vertices whose watermarks bound this one's: sources and timestamp assigners."""
    watermark_delay: int = 0
    """How far behind those its own watermark stays, for the sake of operators before it."""
    is_sink: bool = False
    chain: int = 0
    """The vertices of one chain run as plain calls; a chain is named by its first vertex."""
    slot_sharing_group: str = "default"
    origin: Origin | None = None
    generated_uid: bool = False
    of_query: bool = False
    """Whether it is part of a query, whose text the uid follows from."""
    tag_types: Mapping[str, TypeInformation] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PhysicalPlan:
    """All vertices of a job by id, in topological order."""

    name: str
    vertices: Mapping[int, Vertex]
    parallelism: int
    batch: bool
    """BATCH runtime mode: only final results of bounded input."""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def last_level(self) -> int:
        return max((vertex.level for vertex in self.vertices.values()), default=0)

    @property
    def sources(self) -> list[Vertex]:
        return [vertex for vertex in self.vertices.values() if vertex.source is not None]

    @property
    def bounded(self) -> bool:
        return all(v.source.bounded for v in self.sources if v.source is not None)

    def at(self, level: int) -> list[Vertex]:
        return [vertex for vertex in self.vertices.values() if vertex.level == level]
