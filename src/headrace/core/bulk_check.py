"""Checking a whole batch of records against a type at once.

Nearly every batch is right as it is. Counting the classes in each column says so without a Python
call per record; only a batch that may be wrong goes through the coercer, one by one.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from headrace.core.basic_types import BasicType, BasicTypeInfo
from headrace.core.coercion import SETTLED_BY_CLASS
from headrace.core.composite_types import TupleTypeInfo
from headrace.core.types import TypeInformation

_ARRAYS = {BasicType.BYTE: "b", BasicType.SHORT: "h", BasicType.INT: "i", BasicType.LONG: "q"}
"""What an array of numbers that have bounds is made of; it takes no number beyond them."""


def fits(kind: TypeInformation, values: Sequence[Any]) -> bool:
    """Whether all values are certainly right; False means they have to be looked at singly."""
    if not values:
        return True
    if isinstance(kind, BasicTypeInfo):
        settled = SETTLED_BY_CLASS.get(kind.basic_type)
        return settled is not None and _are_all(settled, values) and _within_bounds(kind, values)
    if isinstance(kind, TupleTypeInfo):
        fields = kind.get_field_types()
        if not fields or not _are_all(tuple, values):
            return False
        try:
            return all(
                fits(field, field_of(place, len(fields))(values))
                for place, field in enumerate(fields)
            )
        except ValueError:  # a tuple of another length
            return False
    return False


def _are_all(kind: type, values: Sequence[Any]) -> bool:
    return list(map(type, values)).count(kind) == len(values)


def _within_bounds(kind: BasicTypeInfo, values: Sequence[Any]) -> bool:
    numbers = _ARRAYS.get(kind.basic_type)
    if numbers is not None:
        try:
            array(numbers, values)
        except OverflowError:
            return False
    return True


@cache
def field_of(place: int, width: int) -> Callable[[Sequence[Any]], list[Any]]:
    """What gets one field of many tuples, and fails at one that has not that many fields.

    Taking each apart in a loop written for its length is the quickest way to be sure of it.
    """
    fields = [f"field{number}" for number in range(width)]
    source = f"lambda records: [field{place} for ({', '.join(fields)},) in records]"
    column: Callable[[Sequence[Any]], list[Any]] = eval(source)
    return column
