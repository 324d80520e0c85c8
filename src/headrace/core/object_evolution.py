"""Objects that were pickled when their class had other fields."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from typing import Any

from headrace.core.rows import Row
from headrace.errors import IncompatibleState

__all__ = ["evolve_object"]

_ATOMS = frozenset({str, int, float, bool, bytes, type(None)})
_Defaults = dict[str, Callable[[], Any] | None]
"""How to make the value of each field that an older object lacks; None where nobody knows."""


def evolve_object(value: Any) -> Any:
    """Bring dataclass objects, also those inside containers, up to the fields of their class.

    Fields they lack get their defaults, and what is no field any more is dropped. A value that
    needs nothing comes back as itself, any other as another object. Objects of other classes are
    what their `__setstate__` made of them.
    """
    waiting, seen, changed = [value], set(), False
    while waiting:
        part = waiting.pop()
        if type(part) in _ATOMS or id(part) in seen:
            continue
        seen.add(id(part))
        if is_dataclass(part) and not isinstance(part, type) and hasattr(part, "__dict__"):
            changed |= _bring_up_to_date(part, _defaults(type(part)))
        waiting.extend(_parts(part))
    return _twin(value) if changed else value


def _twin(value: Any) -> Any:
    # A copy of a tuple or a frozenset would be the same object.
    return type(value)([*value]) if type(value) in (tuple, frozenset) else copy.copy(value)


def _parts(value: Any) -> Iterable[Any]:
    """What lies in a value."""
    kind = type(value)
    if kind in (list, tuple, Row, set, frozenset):
        return value  # type: ignore[no-any-return]
    if kind is dict:
        return [*value, *value.values()]
    if is_dataclass(kind):
        return [getattr(value, name, None) for name in _defaults(kind)]
    return ()


def _always(default: Any) -> Callable[[], Any]:
    return lambda: default


@lru_cache(maxsize=1024)
def _defaults(kind: type) -> _Defaults:
    defaults: _Defaults = {}
    for field in fields(kind):
        if field.default_factory is not MISSING:
            defaults[field.name] = field.default_factory
        elif field.default is not MISSING:
            defaults[field.name] = _always(field.default)
        else:
            defaults[field.name] = None
    return defaults


def _bring_up_to_date(value: Any, defaults: _Defaults) -> bool:
    """Whether there was something to do."""
    attributes = vars(value)
    if attributes.keys() == defaults.keys():
        return False
    for name in attributes.keys() - defaults.keys():
        del attributes[name]
    for name in [name for name in defaults if name not in attributes]:
        make = defaults[name]
        if make is None:
            kind = type(value).__qualname__
            raise IncompatibleState(
                f"an object of {kind} was stored before the class had the field {name!r}, "
                "and the field has no default",
                hint=f"Give the field a default: {name}: … = … in {kind}.",
            )
        attributes[name] = make()
    return True
