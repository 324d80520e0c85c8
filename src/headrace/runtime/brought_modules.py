"""Modules that a job brings along: its functions find them before all others."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

_PARTS = "__main__ cloudpickle headrace numpy pandas py4j pyarrow pyflink pyspark"
_NEVER_AGAIN = sys.stdlib_module_names | set(_PARTS.split())
"""What a worker is made of and must not be loaded twice."""


class BroughtModules(MetaPathFinder):
    """Looks through files, folders and archives, of which the first that has a module wins.

    The other modules in a single file's folder are none of the job's, so this is no matter of
    `sys.path`.
    """

    def __init__(self, paths: Sequence[str] = ()) -> None:
        self.paths = tuple(paths)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is not None:
            return None  # of a package, which knows its place
        found = (_spec_at(place, fullname) for place in self.paths)
        return next((spec for spec in found if spec is not None), None)


def _spec_at(place: str, name: str) -> ModuleSpec | None:
    if place.endswith(".py"):
        return spec_from_file_location(name, place) if Path(place).stem == name else None
    spec = PathFinder.find_spec(name, [place])
    # A folder without __init__.py gives way to every package of its name.
    return None if spec is None or spec.loader is None else spec


_of_this_process = BroughtModules()


def bring(paths: Sequence[str]) -> None:
    """Let a worker find what its job brings along, and no more what the job before did."""
    finder = _of_this_process
    if tuple(paths) == finder.paths:
        return
    before = BroughtModules(finder.paths)
    finder.paths = tuple(paths)
    if finder not in sys.meta_path:
        sys.meta_path.insert(0, finder)
    importlib.invalidate_caches()
    for name in {name.partition(".")[0] for name in sys.modules} - _NEVER_AGAIN:
        if _origin(before, name) != _origin(finder, name):
            _forget(name)


@contextmanager
def brought(paths: Sequence[str]) -> Iterator[None]:
    """Imports inside find what jobs bring along."""
    finder = BroughtModules(paths)
    sys.meta_path.insert(0, finder)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def _origin(finder: BroughtModules, name: str) -> str | None:
    spec = finder.find_spec(name, None)
    return None if spec is None else spec.origin


def _forget(package: str) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        del sys.modules[name]
