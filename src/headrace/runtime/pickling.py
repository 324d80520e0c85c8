"""Pickling what travels between this job's own processes.

Plain pickle is fast but writes a class as its name, and a class of the user's script has no name
another process could import. Then cloudpickle writes the class itself.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import cloudpickle
from cloudpickle import cloudpickle as trackers

_DEFINED: dict[str, int] = {}
"""How many classes of each name the script has defined; a notebook may define one again."""


class _ScriptPickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Writes a class of the script under an id that is the same whenever the script is run.

    Processes know such classes by their ids, which cloudpickle draws by lot. State that a resumed
    job reads would then hold keys of a class that is not the program's own.
    """

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, type) and obj.__module__ == "__main__":
            _name(obj)
        return super().reducer_override(obj)


def _name(script_class: type) -> None:
    known = trackers._DYNAMIC_CLASS_TRACKER_BY_CLASS
    if "<locals>" in script_class.__qualname__ or script_class in known:
        return  # a class made in a function may exist many times under one name
    name = script_class.__qualname__
    _DEFINED[name] = _DEFINED.get(name, 0) + 1
    trackers._lookup_class_or_track(f"{name}#{_DEFINED[name]}", script_class)


def _by_value(value: Any, protocol: int | None = 5) -> bytes:
    file = io.BytesIO()
    _ScriptPickler(file, protocol=protocol).dump(value)
    return file.getvalue()


def dumps(value: Any) -> bytes:
    """Pickle in a worker, where a class of the user's script is known to have no module."""
    try:
        return pickle.dumps(value, 5)
    except (pickle.PicklingError, AttributeError, TypeError):
        return _by_value(value)


def dumps_for_workers(value: Any) -> bytes:
    """Pickle in the driver, where the user's script is `__main__`, as it is nowhere else."""
    return _by_value(value)
