"""How far a window of rows reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.sql import unresolved as un
from headrace.table.expression import Expression


@dataclass(frozen=True)
class RowInterval(un.Unresolved):
    """A number of rows."""

    rows: int

    def __str__(self) -> str:
        return str(self.rows)


@dataclass(frozen=True)
class FrameEdge(un.Unresolved):
    """The edge of an OVER window that is no number: the first row, or the current one."""

    unit: str
    current: bool

    def __str__(self) -> str:
        edge = "CURRENT" if self.current else "UNBOUNDED"
        return f"{edge}_{'ROW' if self.unit == 'rows' else 'RANGE'}"


UNBOUNDED_ROW: Expression[Any] = Expression(FrameEdge("rows", False))
UNBOUNDED_RANGE: Expression[Any] = Expression(FrameEdge("range", False))
CURRENT_ROW: Expression[Any] = Expression(FrameEdge("rows", True))
CURRENT_RANGE: Expression[Any] = Expression(FrameEdge("range", True))
