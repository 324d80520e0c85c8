"""ResolvedExpression: an expression of a table whose type is known."""

from __future__ import annotations

from typing import Any

from headrace.core.expressions import Expression as Typed
from headrace.sql import unresolved as un
from headrace.table.data_types import DataType
from headrace.table.expression import Expression
from headrace.table.type_mapping import data_type_of

__all__ = ["ResolvedExpression"]


class ResolvedExpression(Expression[Any]):
    """An expression with its type, and the text it was written as."""

    def __init__(self, typed: Typed, text: str) -> None:
        super().__init__(un.Value(typed))
        self._typed = typed
        self._text = text

    def get_output_data_type(self) -> DataType:
        return data_type_of(self._typed.type)

    def get_resolved_children(self) -> list[ResolvedExpression]:
        return [ResolvedExpression(part, str(part)) for part in self._typed.inputs]

    def as_serializable_string(self) -> str:
        return self._text

    def as_summary_string(self) -> str:
        return self._text

    def __str__(self) -> str:
        return self._text
