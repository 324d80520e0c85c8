"""Keeping records apart from the objects functions hold on to.

A function may emit an object and change it afterwards: a list it keeps in a field, the value it
just reduced into. Flink copies records between operators unless object reuse is on; here a copy
is made only where somebody else could still change the record, which the reference count tells.
"""

from __future__ import annotations

import copy
import datetime
import decimal
import uuid
from sys import getrefcount
from typing import Any

from headrace.core.rows import Row

FROZEN: frozenset[type] = frozenset(
    {int, str, float, bool, bytes, complex, type(None), decimal.Decimal, uuid.UUID,
     datetime.date, datetime.datetime, datetime.time, datetime.timedelta, range, frozenset}
)  # fmt: skip
"""Types whose values cannot change (of a frozenset's members the same is assumed)."""

_ALONE = 3
"""References to a record nobody else holds: the caller's variable, this parameter and
getrefcount's own."""


def is_frozen(value: Any) -> bool:
    """Whether a value cannot change, looking into tuples, also named ones."""
    if value.__class__ in FROZEN:
        return True
    if isinstance(value, tuple) and not value.__class__.__dictoffset__:
        return FROZEN.issuperset(map(type, value)) or all(map(is_frozen, value))
    return _is_frozen_dataclass(value)


def _is_frozen_dataclass(value: Any) -> bool:
    described = getattr(value, "__dataclass_params__", None)
    if described is None or not described.frozen or isinstance(value, type):
        return False
    return all(is_frozen(getattr(value, name)) for name in value.__dataclass_fields__)


def isolated(value: Any) -> Any:
    """`value`, or a copy of it if something it consists of could still be changed elsewhere.

    The caller holds it in exactly one place, a variable or a container of its own: passing the
    result of a call straight on would make a record somebody else holds look alone.
    """
    kind = value.__class__
    if kind in FROZEN or (kind is tuple and FROZEN.issuperset(map(type, value))):
        return value
    if isinstance(value, tuple) or hasattr(kind, "__dataclass_params__"):
        return value if is_frozen(value) else copy.deepcopy(value)
    if kind is dict:
        if FROZEN.issuperset(map(type, value.values())):
            return value if getrefcount(value) <= _ALONE else value.copy()
    elif kind is list and FROZEN.issuperset(map(type, value)):
        return value if getrefcount(value) <= _ALONE else value.copy()
    elif kind is Row and FROZEN.issuperset(map(type, value._values)):
        return value if getrefcount(value) <= _ALONE else copy.copy(value)
    return copy.deepcopy(value)


def isolated_all(values: list[Any]) -> list[Any]:
    """Copies of records that may be changed by one of several receivers."""
    return [value if is_frozen(value) else copy.deepcopy(value) for value in values]
