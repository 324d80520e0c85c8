"""What tells one job from another."""

from __future__ import annotations

import re
import secrets

from headrace.errors import InvalidArgument
from headrace.origin import calling_origin

__all__ = ["JobID"]


class JobID:
    """128 random bits, written as 32 hexadecimal digits."""

    __slots__ = ("_digits",)

    def __init__(self, digits: str | None = None) -> None:
        if digits is not None and re.fullmatch(r"[0-9a-fA-F]{32}", digits) is None:
            raise InvalidArgument(
                f"{digits!r} is not a job id",
                origin=calling_origin(),
                hint="A job id has 32 hexadecimal digits.",
            )
        self._digits = secrets.token_hex(16) if digits is None else digits.lower()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JobID) and self._digits == other._digits

    def __hash__(self) -> int:
        return hash(self._digits)

    def __str__(self) -> str:
        return self._digits

    def __repr__(self) -> str:
        return f"JobID({self._digits!r})"
