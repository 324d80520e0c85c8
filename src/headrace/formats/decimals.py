"""Decimals of a declared number of digits."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from headrace.core import logical_types as lt
from headrace.operators.functions.numbers import fitted

__all__ = ["fit_decimal"]


def fit_decimal(type: lt.LogicalType | None) -> Callable[[Decimal], Decimal | None] | None:
    """Rounds to the digits of a DECIMAL, NULL where they are too few; None: no such type."""
    if not isinstance(type, lt.DecimalType):
        return None
    precision, scale = type.precision, type.scale
    return lambda number: fitted(number, precision, scale)
