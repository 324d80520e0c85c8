"""Decimals of 38 digits: arithmetic that does not depend on the thread it runs in.

Python's own operators, `abs`, `-`, `quantize` and `normalize` among them, round to the 28 digits of
the context every thread starts with, or fail. Whatever may have more digits goes through here.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

WIDE = Context(prec=120, rounding=ROUND_HALF_UP)
"""Exact for every sum and product of two decimals of 38 digits."""
QUANTA = tuple(Decimal(1).scaleb(-scale) for scale in range(39))
"""The unit of the last digit, by scale."""


def rescaled(value: Decimal, scale: int) -> Decimal:
    """With so many digits after the point, rounded half up."""
    return WIDE.quantize(value, QUANTA[scale])
