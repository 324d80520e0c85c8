"""Keeping the sources of a watermark group together.

After each micro-batch the driver notes which splits are too far ahead of their group; the next
micro-batches leave them where they are. Results do not depend on it: it keeps what waits for the
slower sources small.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headrace.core.operator import MAX_TIMESTAMP
from headrace.core.watermarks import Alignment
from headrace.operators.timestamps import TimestampsOperator
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.event_time import Progress, later
from headrace.runtime.level_task import PROGRESS

Item = tuple[int, int, str, Any]


class Aligner:
    """Decides in the driver which splits wait."""

    def __init__(self, plan: PhysicalPlan, note: Path | None = None):
        self._note = note
        self._sources = {
            edge.target: (source, _alignment(plan.vertices[edge.target]))
            for source in plan.sources if source.source is not None and not source.source.bounded
            for edge in source.edges if _alignment(plan.vertices[edge.target]) is not None
        }  # fmt: skip
        self._known: dict[int, dict[str, Progress]] = {}
        self._idle_after = {origin: plan.vertices[origin].operator for origin in self._sources}

    def take_in(self, items: Iterable[Item]) -> None:
        """Hear how far the splits have come, and note which of them shall wait."""
        if not self._sources:
            return
        for origin, _, kind, splits in items:
            if kind == PROGRESS and origin in self._sources:
                known = self._known.setdefault(origin, {})
                for split, progress in splits.items():
                    known[split] = later(known[split], progress) if split in known else progress
        if self._note is not None:
            unfinished = self._note.with_suffix(".new")
            unfinished.write_text(json.dumps(self.ahead()), encoding="utf-8")
            unfinished.rename(self._note)

    def ahead(self) -> dict[str, list[str]]:
        slowest: dict[str, int] = {}
        for origin, (_, alignment) in self._sources.items():
            assert alignment is not None
            for watermark, heard in self._known.get(origin, {}).values():
                if not self._is_idle(origin, heard) and watermark != MAX_TIMESTAMP:
                    group = alignment.group
                    slowest[group] = min(watermark, slowest.get(group, watermark))
        ahead: dict[str, list[str]] = {}
        for origin, (source, alignment) in self._sources.items():
            assert alignment is not None
            limit = slowest.get(alignment.group, MAX_TIMESTAMP) + alignment.max_drift_ms
            ahead[str(source.id)] = [
                split for split, (watermark, _) in self._known.get(origin, {}).items()
                if watermark > limit
            ]  # fmt: skip
        return ahead

    def _is_idle(self, origin: int, heard: int) -> bool:
        operator = self._idle_after[origin]
        timeout = None if operator is None else operator.idle_after_ms
        return heard < 0 or (
            timeout is not None and time.time_ns() // 1_000_000 - heard >= timeout
        )  # fmt: skip


def waiting(note: str, source: int) -> set[str]:
    """The splits of a source that shall wait, for whoever plans the next micro-batch."""
    try:
        ahead = json.loads(Path(note).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return set()
    return set(ahead.get(str(source), ()))


def _alignment(vertex: Vertex) -> Alignment | None:
    operator = vertex.operator
    return operator.strategy.alignment if isinstance(operator, TimestampsOperator) else None
