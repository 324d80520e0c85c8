"""The parity table, read from `parity.toml`.

The file has a part written by hand (reasons, rules for names that are missing, packages outside
the public API) and a part written by `python -m headrace.parity --sync` (every public name).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

TABLE_FILE = Path(__file__).with_name("parity.toml")
FUNCTIONS = "functions"
"""The entry of a module that holds its functions; no PyFlink class is called so."""

KINDS = {"done": "done", "notyet": "not yet", "never": "never"}
"""The kinds of status, and how they are shown to people."""


@dataclass(frozen=True, slots=True)
class Status:
    """Whether headrace has a name, and why not."""

    kind: str
    reason_key: str = ""
    reason: str = ""

    @property
    def is_done(self) -> bool:
        return self.kind == "done"

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason_key}" if self.reason_key else self.kind


DONE = Status("done")


@dataclass(frozen=True, slots=True)
class ApiClass:
    """A public PyFlink class: where it lives, where else it is exported, and its methods."""

    module: str
    name: str
    exports: tuple[str, ...]
    status: Status
    methods: Mapping[str, Status]

    @property
    def full_name(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def import_paths(self) -> tuple[str, ...]:
        return (self.module, *self.exports)


@dataclass(frozen=True)
class ParityTable:
    """Every public PyFlink name with its status."""

    reasons: Mapping[str, str]
    missing_rules: Mapping[str, str]
    other_modules: Mapping[str, Status]
    classes: tuple[ApiClass, ...]
    functions: Mapping[str, Mapping[str, Status]]
    _by_path: dict[tuple[str, str], ApiClass] = field(init=False, repr=False)
    _modules: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        by_path = {(path, c.name): c for c in self.classes for path in c.import_paths}
        modules = {path for path, _ in by_path} | set(self.functions)
        parents = {".".join(m.split(".")[:n]) for m in modules for n in range(1, m.count(".") + 1)}
        object.__setattr__(self, "_by_path", by_path)
        object.__setattr__(self, "_modules", frozenset(modules | parents))

    def is_module(self, path: str) -> bool:
        """Whether PyFlink's public API has the module."""
        return path in self._modules

    def module_status(self, path: str) -> Status | None:
        """The status of a module as a whole: done as soon as one of its names is."""
        for prefix in sorted(self.other_modules, key=len, reverse=True):
            if path == prefix or path.startswith(f"{prefix}."):
                return self.other_modules[prefix]
        statuses = list(self._statuses_below(path))
        if not statuses or any(status.is_done for status in statuses):
            return DONE if statuses else None
        return statuses[0]

    def class_at(self, module: str, name: str) -> ApiClass | None:
        """The class that `from module import name` gives; `name` may be nested, as in `A.B`."""
        found = self._by_path.get((module, name))
        if found is None and "." in name:
            outer = self._by_path.get((module, name.partition(".")[0]))
            return self._by_path.get((outer.module, name)) if outer else None
        return found or self._class_imported_by(module, name)

    def _class_imported_by(self, module: str, name: str) -> ApiClass | None:
        """PyFlink's modules import each other's classes, or had them once: scripts find them there.

        The only one that is meant, of those in the same package if there are some.
        """
        if not self.is_module(module):
            return None
        served = [known for known in self.classes_named(name) if known.status.is_done]
        package = module.split(".")[:2]
        near = [known for known in served if known.module.split(".")[:2] == package] or served
        return near[0] if len(near) == 1 else None

    def status_of(self, module: str, name: str) -> Status | None:
        """The status of a class or function by import path; None for a name not listed."""
        found = self.class_at(module, name) or self._class_below(module, name)
        return found.status if found else self.functions.get(module, {}).get(name)

    def _class_below(self, module: str, name: str) -> ApiClass | None:
        """A class of one of the modules of a package, which had it itself once."""
        those = self.classes_named(name)
        return next((each for each in those if each.module.startswith(f"{module}.")), None)

    def classes_named(self, name: str) -> list[ApiClass]:
        """The classes of that name, whatever their module."""
        return [c for c in self.classes if c.name == name]

    def all_names(self) -> Iterator[tuple[str, Status]]:
        """Every class, method and function by its full name."""
        for known in self.classes:
            yield known.full_name, known.status
            for method, status in known.methods.items():
                yield f"{known.full_name}.{method}", status
        for module, functions in self.functions.items():
            for name, status in functions.items():
                yield f"{module}.{name}", status

    def _statuses_below(self, path: str) -> Iterator[Status]:
        for known in self.classes:
            if known.module == path or known.module.startswith(f"{path}."):
                yield known.status
        for module, functions in self.functions.items():
            if module == path or module.startswith(f"{path}."):
                yield from functions.values()


@cache
def load_table() -> ParityTable:
    """The table that ships with headrace."""
    return read_table(TABLE_FILE.read_text(encoding="utf-8"))


def read_table(text: str) -> ParityTable:
    """Build the table from the text of its file."""
    raw = tomllib.loads(text)
    reasons = raw["reasons"]
    classes: list[ApiClass] = []
    functions: dict[str, dict[str, Status]] = {}
    for module, entries in raw.get("api", {}).items():
        for name, entry in entries.items():
            members = _members(entry, reasons)
            if name == FUNCTIONS:
                functions[module] = members
            else:
                status = parse_status(entry["is"], reasons)
                exports = tuple(entry.get("from", ()))
                classes.append(ApiClass(module, name, exports, status, members))
    others = {path: parse_status(text, reasons) for path, text in raw["modules"].items()}
    return ParityTable(reasons, raw["missing"], others, tuple(classes), functions)


def parse_status(text: str, reasons: Mapping[str, str]) -> Status:
    """Read `done`, or a kind and the key of a reason, as in `notyet: windows`."""
    kind, _, key = (part.strip() for part in text.partition(":"))
    if kind not in KINDS or (kind == "done") == bool(key) or (key and key not in reasons):
        raise ValueError(f"{text!r} is not a status: say done, or notyet/never: <reason key>")
    return Status(kind, key, reasons.get(key, ""))


def _members(entry: Mapping[str, Any], reasons: Mapping[str, str]) -> dict[str, Status]:
    by_name = {
        name: parse_status(text, reasons)
        for text, names in entry.items()
        if text not in ("is", "from")
        for name in names
    }
    return dict(sorted(by_name.items()))
