"""Keeping the sources of a watermark group together.

The driver hears how far the splits have come, and lets those wait that are too far ahead of their
group. Results do not depend on it: it keeps what waits for the slower sources small.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from headrace.core.operator import MAX_TIMESTAMP
from headrace.core.watermarks import Alignment
from headrace.operators.timestamps import TimestampsOperator
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.driver_items import PROGRESS, DriverItem
from headrace.runtime.event_time import Watermarks, merge_watermarks


class Aligner:
    """Decides in the driver which splits wait."""

    def __init__(self, plan: PhysicalPlan):
        self._sources = {
            edge.target: (source, _alignment(plan.vertices[edge.target]))
            for source in plan.sources if source.source is not None and not source.source.bounded
            for edge in source.edges if _alignment(plan.vertices[edge.target]) is not None
        }  # fmt: skip
        self._known: Watermarks = {}
        self._idle_after = {origin: plan.vertices[origin].operator for origin in self._sources}

    def take_in(self, items: Iterable[DriverItem]) -> None:
        """Hear how far the splits have come."""
        if not self._sources:
            return
        for origin, _, kind, splits in items:
            if kind == PROGRESS and origin in self._sources:
                merge_watermarks(self._known, {origin: splits})

    def ahead(self) -> dict[int, list[str]]:
        """By source, the splits that shall wait."""
        slowest: dict[str, int] = {}
        for origin, (_, alignment) in self._sources.items():
            assert alignment is not None
            for watermark, heard in self._known.get(origin, {}).values():
                if not self._is_idle(origin, heard) and watermark != MAX_TIMESTAMP:
                    group = alignment.group
                    slowest[group] = min(watermark, slowest.get(group, watermark))
        ahead: dict[int, list[str]] = {}
        for origin, (source, alignment) in self._sources.items():
            assert alignment is not None
            limit = slowest.get(alignment.group, MAX_TIMESTAMP) + alignment.max_drift_ms
            ahead[source.id] = [
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


def _alignment(vertex: Vertex) -> Alignment | None:
    operator = vertex.operator
    return operator.strategy.alignment if isinstance(operator, TimestampsOperator) else None
