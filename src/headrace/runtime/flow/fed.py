"""Sources that somebody else reads for their tasks: rows come in pieces, as the tasks take them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from headrace.core.source import (
    Boundedness,
    FrameSpec,
    Source,
    SourceSpec,
    Split,
    SplitEnumerator,
    SplitReader,
    SplitSpec,
    TextFilesSpec,
)
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.flow.messages import Feed
from headrace.runtime.source_task import read_rows

UNREAD, READ = 0, 1
"""The positions of a split: nothing of it was read, or all."""
WHOLE = "all"
"""The one split of a table that is not made of files."""


def with_fed_sources(plan: PhysicalPlan) -> PhysicalPlan:
    """The plan with what only Spark can read as sources that it reads for their tasks."""
    vertices = {
        id: replace(vertex, source=SplitSpec(FedSource(vertex.source)))
        if isinstance(vertex.source, FrameSpec | TextFilesSpec)
        else vertex
        for id, vertex in plan.vertices.items()
    }
    return replace(plan, vertices=vertices)


def fed_source(vertex: Vertex) -> FedSource | None:
    """What is read for a vertex's tasks; None: they read for themselves."""
    source = vertex.source.source if isinstance(vertex.source, SplitSpec) else None
    return source if isinstance(source, FedSource) else None


class FedSource(Source[Any]):
    """Files, or a table, whose rows are handed to the tasks."""

    splits_end = True

    def __init__(self, spec: FrameSpec | TextFilesSpec):
        self.spec = spec

    @property
    def keeps_order(self) -> bool:
        """Whether a split, read once more, gives its rows in the same order: as files do."""
        return not isinstance(self.spec, FrameSpec) or self.spec.by_files

    def boundedness(self) -> Boundedness:
        ends = self.spec.bounded
        return Boundedness.BOUNDED if ends else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self) -> SplitEnumerator:
        """What tasks need; which splits there are only the driver knows."""
        return FedSplits()

    def create_reader(self) -> FedReader:
        return FedReader(self.spec)


class FedSplits(SplitEnumerator):
    """Splits that are read from their start to their end."""

    def splits(self) -> list[Split]:
        return []

    def initial_position(self, split: Split) -> int:
        return UNREAD

    def latest_position(self, split: Split, start: int) -> int:
        return max(start, READ)

    def is_at_end(self, split: Split, position: int) -> bool:
        return position >= READ

    def is_over(self, split: Split, position: int) -> bool:
        return position >= READ


class FedReader(SplitReader[Any]):
    """Takes the pieces that have come; where there are none yet it gives no records."""

    def __init__(self, spec: SourceSpec):
        self._spec = spec
        self._pieces: dict[str, deque[Feed]] = {}
        self.on_taken: Callable[[str], None] = lambda split: None
        """Called when a piece of a split was taken, so that another may come."""

    def feed(self, piece: Feed) -> None:
        self._pieces.setdefault(piece.split, deque()).append(piece)

    def read(self, split: Split, start: Any, end: Any) -> Iterator[Any]:
        return (record for part in self.read_lists(split, start, end) for record in part)

    def read_lists(self, split: Split, start: Any, end: Any) -> Iterator[list[Any]]:
        """What is handed over: if a part of the split was read before, only what follows."""
        pieces = self._pieces.setdefault(split.id, deque())
        while True:
            if not pieces:
                yield []
                continue
            piece = pieces.popleft()
            if piece.is_last:
                del self._pieces[split.id]
                return
            self.on_taken(split.id)
            yield from self._records(piece.rows)

    def _records(self, rows: bytes) -> Iterator[list[Any]]:
        for table in pa.ipc.open_stream(rows):
            for batch in read_rows(self._spec, table):
                yield batch.values
