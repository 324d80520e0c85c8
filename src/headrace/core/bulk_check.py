"""Checking a whole batch of records against a type at once.

Nearly every batch is right as it is. Looking at the set of classes in each column says so without
a Python call per record; only a batch that may be wrong goes through the coercer, one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from headrace.core.basic_types import BasicTypeInfo
from headrace.core.coercion import SETTLED_BY_CLASS
from headrace.core.composite_types import TupleTypeInfo
from headrace.core.types import TypeInformation


def fits(kind: TypeInformation, values: Sequence[Any]) -> bool:
    """Whether all values are certainly right; False means they have to be looked at singly."""
    if not values:
        return True
    if isinstance(kind, BasicTypeInfo):
        settled = SETTLED_BY_CLASS.get(kind.basic_type)
        if settled is None or set(map(type, values)) != {settled}:
            return False
        bounds = kind.bounds()
        return bounds is None or (bounds[0] <= min(values) and max(values) <= bounds[1])
    if isinstance(kind, TupleTypeInfo):
        fields = kind.get_field_types()
        return (
            set(map(type, values)) == {tuple}
            and set(map(len, values)) == {len(fields)}
            # zip(*values) would make an iterator for every record.
            and all(
                fits(field, list(map(itemgetter(place), values)))
                for place, field in enumerate(fields)
            )
        )
    return False
