"""A sink that keeps nothing: for measuring, and for jobs run for their side effects."""

from __future__ import annotations

from typing import Any

from headrace.core.operator import TaskInfo
from headrace.core.sink import Sink, SinkWriter

__all__ = ["DiscardingSink"]


class DiscardingSink(Sink[Any]):
    """Drops every record. The planner sees `discards` and writes nothing at all."""

    discards = True

    def create_writer(self, task: TaskInfo) -> SinkWriter[Any]:
        return _NoWriter()


class _NoWriter(SinkWriter[Any]):
    def write(self, value: Any, timestamp: int | None) -> None:
        """Nothing is kept."""
