"""Pickling what only this process will read again.

A class that no module has, as those of a user's script, would have to be written whole with every
entry. Here it is enough to say which of the classes this process knows it is.
"""

from __future__ import annotations

import io
import pickle
import sys
from types import FunctionType
from typing import Any

_KNOWN: list[Any] = []
_NUMBERS: dict[Any, int] = {}


def _known(number: int) -> Any:
    return _KNOWN[number]


class _LocalPickler(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, (type, FunctionType)) or _can_be_imported(obj):
            return NotImplemented
        if obj not in _NUMBERS:
            _NUMBERS[obj] = len(_KNOWN)
            _KNOWN.append(obj)
        return _known, (_NUMBERS[obj],)


def _can_be_imported(obj: Any) -> bool:
    found: Any = sys.modules.get(obj.__module__)
    for name in obj.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is obj


def dumps(value: Any) -> bytes:
    try:
        return pickle.dumps(value, 5)
    except (pickle.PicklingError, AttributeError, TypeError):
        file = io.BytesIO()
        _LocalPickler(file, 5).dump(value)
        return file.getvalue()


loads = pickle.loads
