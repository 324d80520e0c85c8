"""Modules: sets of built-in functions under a name."""

from __future__ import annotations

from headrace.errors import Unsupported
from headrace.origin import calling_origin

__all__ = ["HiveModule", "Module", "ModuleEntry"]


class Module:
    """A set of functions; here there is the one of built-in functions, `core`."""

    def __init__(self, name: str = "core") -> None:
        self.name = name


class HiveModule(Module):
    """Hive's functions, which are not there."""

    def __init__(self, hive_version: str | None = None) -> None:
        raise Unsupported(
            "Hive's functions are not there", origin=calling_origin(),
            hint="Register what you need with create_temporary_function(...).",
        )  # fmt: skip


class ModuleEntry:
    """A module, and whether it is in use."""

    def __init__(self, name: str, used: bool) -> None:
        self._name = name
        self._used = used

    def name(self) -> str:
        return self._name

    def used(self) -> bool:
        return self._used

    def __repr__(self) -> str:
        return f"ModuleEntry{{name='{self._name}', used={str(self._used).lower()}}}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleEntry) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))
