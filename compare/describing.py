"""Values of both engines as text that tells everything a program could see of them."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

_PLAIN = (bool, int, float, str, bytes, bytearray, type(None), Decimal)
_TIMES = (datetime.date, datetime.time, datetime.timedelta)  # datetime is a date


def describe(value: Any) -> str:
    """A text that differs when the value or its type does."""
    kind = type(value)
    if kind is datetime.datetime and value.tzinfo is not None:
        return f"datetime {value.isoformat()}"  # zones have many classes
    if kind in _PLAIN or (isinstance(value, _TIMES) and kind.__module__ == "datetime"):
        return repr(value)
    if kind in (list, tuple):
        inner = ", ".join(map(describe, value))
        return f"[{inner}]" if kind is list else f"({inner})"
    if kind is dict:
        entries = sorted(f"{describe(key)}: {describe(item)}" for key, item in value.items())
        return "{" + ", ".join(entries) + "}"
    if kind is set:
        return "set(" + ", ".join(sorted(map(describe, value))) + ")"
    if kind.__name__ == "Row":
        return f"Row({_fields(value)})"
    text = repr(value)
    return kind.__name__ if " at 0x" in text else f"{kind.__name__} {text}"


def describe_error(error: Exception) -> str:
    """The class of Python's own that catches an error; none if only Exception does."""
    own = (kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
    name = next(own).__name__
    return "" if name == "Exception" else name


def describe_row(row: Any) -> str:
    """A change: its kind and its values."""
    return f"{row.get_row_kind()} {_fields(row)}".rstrip()


def _fields(row: Any) -> str:
    names = getattr(row, "_fields", None)
    values = [describe(value) for value in row]
    if names:
        values = [f"{name}={value}" for name, value in zip(names, values, strict=True)]
    return ", ".join(values)
