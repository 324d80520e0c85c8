"""VARIANT: a value that brings its own type along, as JSON does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

Content = (
    bool | int | float | Decimal | str | bytes | tuple["Content", ...] | dict[str, "Content"] | None
)


@dataclass(frozen=True, slots=True)
class Variant:
    """Kept as Python values: None is the null of JSON, which is not SQL's NULL; arrays are tuples,
    objects are dicts with their keys in order."""

    content: Any

    @classmethod
    def of(cls, value: Any) -> Variant:
        """Of lists, dicts and scalars as `json` reads them."""
        return cls(_frozen(value))

    @property
    def kind(self) -> str:
        """NULL, BOOLEAN, TINYINT … BIGINT, DECIMAL, DOUBLE, STRING, BYTES, ARRAY or OBJECT."""
        if self.content is None:
            return "NULL"
        if isinstance(self.content, bool):
            return "BOOLEAN"
        if isinstance(self.content, int):
            return integer_kind(self.content)
        kinds = ((str, "STRING"), (Decimal, "DECIMAL"), (float, "DOUBLE"), (bytes, "BYTES"))
        found = (name for kind, name in kinds if isinstance(self.content, kind))
        return next(found, "ARRAY" if isinstance(self.content, tuple) else "OBJECT")

    def element(self, index: int) -> Variant | None:
        """Of an array, counted from 1; None if there is none."""
        if not isinstance(self.content, tuple):
            raise TypeError(f"a VARIANT that holds {self.kind} has no elements")
        return Variant(self.content[index - 1]) if 1 <= index <= len(self.content) else None

    def field(self, name: str) -> Variant | None:
        """Of an object; None if there is none."""
        if not isinstance(self.content, dict):
            raise TypeError(f"a VARIANT that holds {self.kind} has no fields")
        return Variant(self.content[name]) if name in self.content else None

    def __hash__(self) -> int:
        return hash(_hashable(self.content))

    def __str__(self) -> str:
        return str(self.content)


def integer_kind(value: int) -> str:
    """The smallest integer type that holds the value; DECIMAL beyond 64 bits."""
    bits = (value if value >= 0 else ~value).bit_length() + 1
    names = ((8, "TINYINT"), (16, "SMALLINT"), (32, "INT"), (64, "BIGINT"))
    return next((name for size, name in names if bits <= size), "DECIMAL")


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _frozen(value[key]) for key in sorted(value)}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(map(_frozen, value))
    if isinstance(value, float) and math.isnan(value):
        raise ValueError("NaN is no value of a VARIANT")
    return value


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((key, _hashable(part)) for key, part in value.items())
    return tuple(map(_hashable, value)) if isinstance(value, tuple) else value
