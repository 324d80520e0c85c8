"""Checks of the arguments that users give to connectors."""

from __future__ import annotations

from typing import TypeVar

from headrace.errors import InvalidArgument, TypeMismatch
from headrace.origin import calling_origin

__all__ = ["require_instance", "require_path", "require_positive", "require_whole"]

T = TypeVar("T")


def require_whole(value: object, what: str) -> int:
    """A whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeMismatch(f"{what} must be a whole number, not {value!r}", origin=calling_origin())
    return value


def require_positive(value: object, what: str) -> int:
    """A whole number above 0."""
    number = require_whole(value, what)
    if number <= 0:
        raise InvalidArgument(f"{what} must be above 0, not {number}", origin=calling_origin())
    return number


def require_path(value: object, what: str) -> str:
    """A path as text."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidArgument(
            f"{value!r} is not a path for {what}",
            origin=calling_origin(),
            hint="Pass a path as a string; several paths as several arguments.",
        )
    return value


def require_instance(value: object, kind: type[T], what: str, hint: str | None = None) -> T:
    """An object of a class."""
    if not isinstance(value, kind):
        raise TypeMismatch(
            f"{what} takes a {kind.__name__}, not {value!r}", origin=calling_origin(), hint=hint
        )
    return value
