"""Write the generated part of the table from what headrace has."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from headrace.parity import resolve
from headrace.parity.table import (
    DONE,
    FUNCTIONS,
    ApiClass,
    ParityTable,
    Status,
    parse_status,
    read_table,
)

MARK = "# ---- below this line: written by `python -m headrace.parity --sync` ----\n"


def with_names_of(table: ParityTable, names: Path) -> ParityTable:
    """The table with the classes, methods and functions of a PyFlink API listing."""
    listing = json.loads(names.read_text(encoding="utf-8"))
    classes = tuple(
        ApiClass(module, name, tuple(c["exported_from"]), DONE, dict.fromkeys(c["methods"], DONE))
        for module, entries in listing["classes"].items()
        for name, c in entries.items()
    )
    functions = {m: dict.fromkeys(names, DONE) for m, names in listing["functions"].items()}
    return replace(table, classes=classes, functions=functions)


def derive(table: ParityTable) -> ParityTable:
    """Give every name the status that is true now: done, or what the rules say of a gap."""
    classes = tuple(_derive_class(table, known) for known in table.classes)
    functions = {
        module: {
            name: DONE
            if resolve.has_function(module, name)
            else status_of_gap(table, f"{module}.{name}")
            for name in names
        }
        for module, names in table.functions.items()
    }
    return replace(table, classes=classes, functions=functions)


def status_of_gap(table: ParityTable, full_name: str) -> Status:
    """The status of a name that headrace lacks: the first rule whose pattern fits."""
    for pattern, text in table.missing_rules.items():
        if fnmatchcase(full_name, pattern):
            return parse_status(text, table.reasons)
    raise ValueError(f"no rule of [missing] in the parity table fits {full_name}")


def rewrite(text: str, update: Callable[[ParityTable], ParityTable]) -> str:
    """The text of the table file with its generated part made anew."""
    by_hand, _, _ = text.partition(MARK)
    return by_hand + MARK + "".join(_sections(update(read_table(text))))


def near_misses(table: ParityTable) -> Iterator[str]:
    """Classes that headrace has at one of PyFlink's import paths but not at all of them."""
    for known in table.classes:
        for path in resolve.paths_that_lack(known.import_paths, known.name):
            yield f"{known.full_name}: headrace has it elsewhere, but not at {path}"


def _derive_class(table: ParityTable, known: ApiClass) -> ApiClass:
    there = resolve.has_class(known.module, known.exports, known.name)
    status = DONE if there else status_of_gap(table, known.full_name)
    methods = {
        method: DONE
        if there and resolve.has_method(known.module, known.name, method)
        else status_of_gap(table, f"{known.full_name}.{method}")
        for method in known.methods
    }
    return replace(known, status=status, methods=methods)


def _sections(table: ParityTable) -> Iterator[str]:
    for known in table.classes:
        yield f'\n[api."{known.module}".{_key(known.name)}]\nis = "{known.status}"\n'
        if known.exports:
            yield _names("from", known.exports)
        yield from _by_status(known.methods)
    for module, functions in table.functions.items():
        yield f'\n[api."{module}".{FUNCTIONS}]\n'
        yield from _by_status(functions)


def _key(name: str) -> str:
    return name if "." not in name else f'"{name}"'


def _by_status(members: Mapping[str, Status]) -> Iterator[str]:
    for text in dict.fromkeys(str(status) for status in members.values()):
        names = [name for name, status in members.items() if str(status) == text]
        yield _names(text if text == "done" else f'"{text}"', names)


def _names(key: str, names: Iterable[str]) -> str:
    listed = ", ".join(f'"{name}"' for name in names)
    line = f"{key} = [{listed}]\n"
    if len(line) <= 100:
        return line
    return f"{key} = [\n{textwrap.indent(textwrap.fill(listed, 96), '    ')},\n]\n"
