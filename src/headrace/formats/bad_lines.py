"""The error for a line that cannot be read."""

from __future__ import annotations

from headrace.core.user_code import shown
from headrace.errors import TypeMismatch

__all__ = ["bad_line"]


def bad_line(format_name: str, content: str, reason: str, where: str = "") -> TypeMismatch:
    """Names the content, the place if it is known, and what is wrong."""
    place = f" ({where})" if where else ""
    return TypeMismatch(
        f"cannot read the {format_name} line {shown(content)}{place}: {reason}",
        hint="Correct the data or the declared types, declare what stands for null, "
        "or ask for parse errors to be ignored.",
    )
