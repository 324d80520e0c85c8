"""Pickling what travels between this job's own processes, and what outlives them as state.

Plain pickle is fast but writes a class as its name, and a class of the user's script has no name
another process could import. Then cloudpickle writes the class itself.

Such pickles name `script_class`, `known_class`, `define_class` and `keep_class` below, and state
holds them: the four must stay where they are.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import cloudpickle
from cloudpickle import cloudpickle as trackers

from headrace.errors import IncompatibleState

_DEFINED: dict[str, int] = {}
"""How many classes of each name the script has defined; a notebook may define one again."""

_HERE: WeakSet[type] = WeakSet()
"""Classes of the script that runs in this very process."""

_STORED: set[type] = set()
"""Classes that only stored state knows."""

_SENT: WeakSet[type] = WeakSet()
"""Classes that the driver sent: the program as it is now, whatever older state says."""


class _ScriptPickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Writes a class of the script under an id that is the same whenever the script is run.

    Processes know such classes by their ids, which cloudpickle draws by lot. State that a resumed
    job reads would then hold keys of a class that is not the program's own.
    """

    def __init__(self, file: io.BytesIO, fill: Callable[[type, Any], type]):
        super().__init__(file, protocol=5)
        self._fill = fill

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, type) or obj.__module__ != "__main__":
            return super().reducer_override(obj)
        _name(obj)
        reduced = super().reducer_override(obj)
        if not isinstance(reduced, tuple) or reduced[-1] is not trackers._class_setstate:
            return reduced
        make, arguments, state, *_ = reduced
        # Both functions that make classes take the id as their last argument but one.
        name, known_as = obj.__qualname__, arguments[-2]
        return script_class, (name, known_as, make, arguments), state, None, None, self._fill


def _name(script_class: type) -> None:
    known = trackers._DYNAMIC_CLASS_TRACKER_BY_CLASS
    if "<locals>" in script_class.__qualname__ or script_class in known:
        return  # a class made in a function may exist many times under one name
    name = script_class.__qualname__
    _DEFINED[name] = _DEFINED.get(name, 0) + 1
    trackers._lookup_class_or_track(f"{name}#{_DEFINED[name]}", script_class)
    _HERE.add(script_class)


def script_class(
    name: str, known_as: str, make: Callable[..., type], arguments: tuple[Any, ...]
) -> type:
    """The class this process knows by an id or defines in its own script, else a new empty one."""
    return _known(name, known_as) or make(*arguments)


def known_class(name: str, known_as: str) -> type:
    """The class of the program that a stored value is an object of."""
    known = _known(name, known_as)
    if known is None:
        raise IncompatibleState(
            f"the state holds objects of the script's class {name!r}, which is not there any more",
            hint=f"Define the class {name} at the top level of the script again.",
        )
    return known


def _known(name: str, known_as: str) -> type | None:
    known: type | None = trackers._DYNAMIC_CLASS_TRACKER_BY_ID.get(known_as)
    if known is not None:
        return known
    found: Any = sys.modules.get("__main__")
    for part in name.split("."):
        found = getattr(found, part, None)
    if isinstance(found, type) and found.__module__ == "__main__":
        _name(found)
        if trackers._DYNAMIC_CLASS_TRACKER_BY_CLASS.get(found) == known_as:
            return found
    return None


def define_class(sent: type, state: Any) -> type:
    """Make a class what the driver's script says it is."""
    if sent in _HERE:
        return sent
    _SENT.add(sent)
    return trackers._class_setstate(sent, state)  # type: ignore[no-any-return]


def keep_class(stored: type, state: Any) -> type:
    """Fill a class that only the state knows. The program's own class stays as it is.

    State may have been written by an older version of the script, whose methods and fields must
    not take the place of the new ones.
    """
    if stored in _HERE or stored in _SENT:
        return stored
    _STORED.add(stored)  # values that are read later only name it
    return trackers._class_setstate(stored, state)  # type: ignore[no-any-return]


def _by_value(value: Any, fill: Callable[[type, Any], type]) -> bytes:
    file = io.BytesIO()
    _ScriptPickler(file, fill).dump(value)
    return file.getvalue()


def dumps(value: Any) -> bytes:
    """Pickle in a worker, where a class of the user's script is known to have no module."""
    try:
        return pickle.dumps(value, 5)
    except (pickle.PicklingError, AttributeError, TypeError):
        return _by_value(value, keep_class)


def dumps_for_workers(value: Any) -> bytes:
    """Pickle in the driver, where the user's script is `__main__`, as it is nowhere else."""
    return _by_value(value, define_class)


class ValuePickling:
    """Pickles many values one by one, and the classes of the script only once, apart from them.

    A class is some kilobytes of byte code that only one version of Python can read. So each value
    only names its class, and the program that reads it has that class itself. `definitions` is
    for those who have not: load them before the values.
    """

    def __init__(self) -> None:
        self._classes: dict[type, None] = {}

    def dumps(self, value: Any) -> bytes:
        file = io.BytesIO()
        _NamingPickler(file, self._classes).dump(value)
        return file.getvalue()

    def definitions(self) -> bytes:
        """A pickle of the classes that values were objects of; they give way to a program's own."""
        return _by_value(list(self._classes), keep_class)


class _NamingPickler(_ScriptPickler):
    """Writes the id of a class in place of the class."""

    def __init__(self, file: io.BytesIO, named: dict[type, None]):
        super().__init__(file, keep_class)
        self._named = named

    def reducer_override(self, obj: Any) -> Any:
        if not isinstance(obj, type) or obj.__module__ != "__main__":
            return super().reducer_override(obj)
        _name(obj)
        known_as = trackers._DYNAMIC_CLASS_TRACKER_BY_CLASS.get(obj)
        if known_as is None or "<locals>" in obj.__qualname__:
            return super().reducer_override(obj)
        self._named[obj] = None
        return known_class, (obj.__qualname__, known_as)
