"""Not-a-number as a key: in Python it does not equal itself, as a group it is one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

_HASH = 0x6E616E
"""Also that of other not-a-numbers where keys are dealt out."""


class NotANumber(float):
    """Equals every not-a-number, also after it was stored and read again."""

    __slots__ = ()

    def __new__(cls) -> NotANumber:
        return super().__new__(cls, math.nan)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and math.isnan(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return _HASH

    def __reduce__(self) -> tuple[type[NotANumber], tuple[()]]:
        return NotANumber, ()


_NAN = NotANumber()


class NumbersAsKeys:
    """From a row to its key, in which every not-a-number at some places is the same one."""

    def __init__(self, key_of: Callable[[Any], tuple[Any, ...]], places: Sequence[int]):
        self._key_of = key_of
        self._places = tuple(places)

    def __call__(self, row: Any) -> tuple[Any, ...]:
        key = self._key_of(row)
        for place in self._places:
            value = key[place]
            if value != value:
                key = (*key[:place], _NAN, *key[place + 1 :])
        return key
