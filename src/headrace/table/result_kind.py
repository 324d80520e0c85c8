"""Whether a result has rows."""

from headrace.table.results import ResultKind

__all__ = ["ResultKind"]
