"""Numbers as Flink's types hold them: decimals of 38 digits, floats of 32 bits.

Python's own operators on decimals, `abs`, `-`, `quantize` and `normalize` among them, round to the
28 digits of the context every thread starts with, or fail. Whatever may have more digits goes
through here.
"""

from __future__ import annotations

import math
import struct
from decimal import ROUND_HALF_UP, Context, Decimal

WIDE = Context(prec=120, rounding=ROUND_HALF_UP)
"""Exact for every sum and product of two decimals of 38 digits."""
QUANTA = tuple(Decimal(1).scaleb(-scale) for scale in range(39))
"""The unit of the last digit, by scale."""
_FLOAT = struct.Struct("<f")
_LEAST_NORMAL = 2.0**-126
"""Below it, numbers lie so far apart that fewer digits tell them."""


def rescaled(value: Decimal, scale: int) -> Decimal:
    """With so many digits after the point, rounded half up."""
    return WIDE.quantize(value, QUANTA[scale])


def single(value: float) -> float:
    """Rounded to 32 bits."""
    try:
        rounded: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def shortest_digits(value: float) -> str:
    """A float of 32 bits with the fewest digits that tell it from its neighbours."""
    fewest = 6 if abs(value) >= _LEAST_NORMAL else 2
    for digits in range(fewest, 9):
        text = f"{value:.{digits}g}"
        if single(float(text)) == value:
            return text
    return f"{value:.9g}"
