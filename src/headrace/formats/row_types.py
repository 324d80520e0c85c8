"""Formats of rows need a row type."""

from __future__ import annotations

from typing import Any

from headrace.core.stream_types import declared_stream_type
from headrace.core.types import RowTypeInfo
from headrace.errors import TypeMismatch
from headrace.origin import calling_origin

__all__ = ["require_row_type"]


def require_row_type(given: Any, what: str) -> RowTypeInfo:
    """The type if it is one of rows, `Types.ROW_NAMED` or `DataTypes.ROW`; `what` needs it."""
    type_info = None if given is None else declared_stream_type(given, what)
    if isinstance(type_info, RowTypeInfo):
        return type_info
    raise TypeMismatch(
        f"{what} needs a row type, not {given!r}",
        origin=calling_origin(),
        hint="Use Types.ROW_NAMED([names], [types]).",
    )
