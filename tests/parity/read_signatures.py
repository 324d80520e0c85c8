"""Print the signatures of PyFlink's public API, to be kept in `pyflink_signatures.txt`.

Run by the Python of an environment with PyFlink, with the listing of its names as argument.
"""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

_PLAIN = (bool, int, float, str, type(None), list, tuple, dict)
_SIGNS = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def main(listing: Path) -> None:
    names = json.loads(listing.read_text(encoding="utf-8"))
    sections = []
    for module, classes in sorted(names["classes"].items()):
        for name, entry in sorted(classes.items()):
            cls = _reach(module, name)
            lines = list(_methods(cls, ["__init__", *entry["methods"]]))
            if issubclass(cls, Enum):
                lines = [f"members({', '.join(cls.__members__)})", *lines[1:]]
            sections.append([f"[{module}.{name}]", *lines])
    for module, functions in sorted(names["functions"].items()):
        home = importlib.import_module(module)
        sections.append([f"[{module}]", *(_line(each, getattr(home, each)) for each in functions)])
    print("\n\n".join("\n".join(lines) for lines in sections if len(lines) > 1))


def _reach(module: str, name: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _methods(cls: type, names: list[str]) -> Iterator[str]:
    for name in names:
        found = inspect.getattr_static(cls, name)
        if isinstance(found, property):
            yield f"{name} property"
        elif isinstance(found, staticmethod):
            yield _line(name, found.__func__)
        elif inspect.isfunction(function := getattr(found, "__func__", found)):
            yield _line(name, function, own=1)


def _line(name: str, function: Any, own: int = 0) -> str:
    parameters = list(inspect.signature(function).parameters.values())[own:]
    return f"{name}({', '.join(map(_shown, parameters))})"


def _shown(parameter: inspect.Parameter) -> str:
    name = _SIGNS.get(parameter.kind, "") + parameter.name
    if parameter.default is inspect.Parameter.empty:
        return name
    return f"{name}={parameter.default!r}" if type(parameter.default) in _PLAIN else f"{name}=..."


if __name__ == "__main__":
    main(Path(sys.argv[1]))
