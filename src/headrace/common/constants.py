"""Bounds of a 64-bit number."""

from headrace.core.time import MAX_LONG_VALUE, MIN_LONG_VALUE

__all__ = ["MAX_LONG_VALUE", "MIN_LONG_VALUE"]
