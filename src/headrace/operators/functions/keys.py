"""Values as keys of dictionaries."""

from __future__ import annotations

from typing import Any


def key_of(value: Any) -> Any:
    """The value if it can be hashed; maps become tuples of pairs, in an order of their own."""
    if isinstance(value, dict):
        pairs = ((key_of(key), key_of(part)) for key, part in value.items())
        return tuple(sorted(pairs, key=repr))
    if isinstance(value, tuple):
        return tuple(map(key_of, value)) if _holds_maps(value) else value
    return value


def _holds_maps(value: tuple[Any, ...]) -> bool:
    return any(isinstance(part, dict | tuple) for part in value)
