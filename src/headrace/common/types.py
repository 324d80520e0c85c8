"""Rows."""

from headrace.core.rows import Row, RowKind

__all__ = ["Row", "RowKind"]
