"""Formats of rows need a row type."""

from __future__ import annotations

from headrace.core.types import RowTypeInfo, TypeInformation
from headrace.errors import TypeMismatch
from headrace.origin import calling_origin

__all__ = ["require_row_type"]


def require_row_type(type_info: TypeInformation | None, what: str) -> RowTypeInfo:
    """The type if it is one of rows; `what` needs it."""
    if isinstance(type_info, RowTypeInfo):
        return type_info
    raise TypeMismatch(
        f"{what} needs a row type, not {type_info!r}",
        origin=calling_origin(),
        hint="Use Types.ROW_NAMED([names], [types]).",
    )
