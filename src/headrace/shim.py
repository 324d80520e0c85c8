"""Serve `pyflink.*` imports from headrace, in this process only.

`pyflink.datastream.functions` is then the module object `headrace.datastream.functions`: one
class, one identity, whatever name a script imports it by, and an installed PyFlink is never read.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

FLINK_VERSION = "2.3.0"
"""The PyFlink release whose names headrace serves."""

_SERVED_PACKAGES = frozenset({"common", "datastream", "metrics", "table"})
_ELSEWHERE = {"pyflink.util.exceptions": "headrace.errors"}
"""What has another place in headrace."""


def install() -> None:
    """Make every later `import pyflink...` of this process mean headrace."""
    if is_installed():
        return
    if "pyflink" in sys.modules:
        from headrace.errors import Unsupported

        raise Unsupported(
            "PyFlink itself is already imported, so headrace cannot take its place",
            hint="call headrace.shim.install() before the first import of pyflink",
        )
    sys.meta_path.insert(0, _PyFlinkFinder())


def is_installed() -> bool:
    """Whether `pyflink` means headrace here; Python workers then need the same."""
    return any(isinstance(finder, _PyFlinkFinder) for finder in sys.meta_path)


def uninstall() -> None:
    """Undo `install`; names that scripts already imported stay headrace's."""
    if not is_installed():
        return
    sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, _PyFlinkFinder)]
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyflink"]:
        del sys.modules[name]


class _PyFlinkFinder(MetaPathFinder):
    """Answers for `pyflink` and everything below it, and for nothing else."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "pyflink":
            return None
        if fullname in _MADE_HERE:
            is_package = fullname in ("pyflink", "pyflink.util")
            return ModuleSpec(fullname, _MadeHere(_MADE_HERE[fullname]), is_package=is_package)
        served = served_name(fullname)
        if served is None or not _is_there(served):
            raise _missing_module(fullname)
        return ModuleSpec(fullname, _SameModule(served, fullname))


def served_name(pyflink_module: str) -> str | None:
    """The headrace module that a PyFlink module's name stands for, were it there."""
    if pyflink_module in _ELSEWHERE:
        return _ELSEWHERE[pyflink_module]
    root, _, below = pyflink_module.partition(".")
    if root != "pyflink" or below.partition(".")[0] not in _SERVED_PACKAGES:
        return None
    return f"headrace.{below}"


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "headrace":
            raise  # a library that headrace needs is missing: another matter
        return False


def _missing_module(fullname: str) -> ModuleNotFoundError:
    from headrace.errors import MissingModule

    status = _parity_table().module_status(fullname)
    if status is not None and not status.is_done:
        return MissingModule(
            f"headrace does not support the module {fullname}: {status.reason}",
            fullname,
            hint=_DOCTOR,
        )
    return ModuleNotFoundError(
        f"headrace does not support the module {fullname} yet; {_DOCTOR}", name=fullname
    )


_DOCTOR = "`headrace doctor <script>` lists everything a script needs that is not there"


def _parity_table() -> Any:
    # The table knows everything that is served. It is needed only to say what is not, so this
    # module, which every worker loads, does not import it.
    return importlib.import_module("headrace.parity").load_table()


def _refuse_missing_names(module: ModuleType, pyflink_name: str) -> None:
    """Let `from module import name` say why PyFlink's name is not there; what PyFlink's module
    only imports from another one is."""

    def find(name: str) -> Any:
        is_theirs = is_installed() and not name.startswith("_")
        status = _parity_table().status_of(pyflink_name, name) if is_theirs else None
        if status is None or status.is_done:
            known = _parity_table().class_at(pyflink_name, name) if status else None
            if known is not None and pyflink_name not in known.import_paths:
                return getattr(importlib.import_module(known.module), name)
            raise AttributeError(f"module {pyflink_name!r} has no attribute {name!r}")
        from headrace.errors import MissingName
        from headrace.origin import calling_origin

        raise MissingName(
            f"headrace does not support {pyflink_name}.{name}: {status.reason}",
            name,
            origin=calling_origin(),
            hint=_DOCTOR,
        )

    vars(module).setdefault("__getattr__", find)


class _SameModule(Loader):
    """Hands out headrace's module under PyFlink's name, leaving the module as it was."""

    def __init__(self, name: str, pyflink_name: str) -> None:
        self._name = name
        self._pyflink_name = pyflink_name
        self._own_spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._name)
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just written PyFlink's spec over the module's own.
        module.__spec__ = self._own_spec
        _refuse_missing_names(module, self._pyflink_name)


class _MadeHere(Loader):
    """Loads one of the modules that exist only under PyFlink's name."""

    def __init__(self, fill: Callable[[ModuleType], None]) -> None:
        self._fill = fill

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        self._fill(module)


def _fill_version(module: ModuleType) -> None:
    vars(module)["__version__"] = FLINK_VERSION


def _fill_util(module: ModuleType) -> None:
    vars(module)["__all__"] = ["exceptions"]


def _fill_java_gateway(module: ModuleType) -> None:
    vars(module)["get_gateway"] = _get_gateway


def _get_gateway() -> NoReturn:
    from headrace.errors import Unsupported
    from headrace.origin import calling_origin

    raise Unsupported(
        "there is no Java gateway: headrace has no Flink JVM behind it",
        origin=calling_origin(),
        hint="use the Python API instead; `headrace doctor <script>` lists such calls",
    )


_MADE_HERE: dict[str, Callable[[ModuleType], None]] = {
    "pyflink": _fill_version,
    "pyflink.version": _fill_version,
    "pyflink.java_gateway": _fill_java_gateway,
    "pyflink.util": _fill_util,
}
