"""What review asks of every change, as far as a machine can see it."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

from headrace import errors
from tests.architecture.conftest import Module

API = {"cep", "common", "connectors", "datastream", "formats", "sql", "state", "table", "testing"}
"""Packages whose errors are about what the user wrote."""
OF_PYTHON = {
    "AssertionError", "AttributeError", "IndexError", "KeyError", "NotImplementedError",
    "StopIteration", "SystemExit", "ImportError", "ModuleNotFoundError", "BaseException",
}  # fmt: skip
"""What Python itself expects of an object that lacks something."""
EFFECTS = {
    "src/headrace/__main__.py": "it is the program",
    "src/headrace/formats/csv_dialect.py": "fields may be longer than Python's own limit",
    "src/headrace/table/session.py": "catalogs that need Spark, which SQL knows nothing of",
}
"""Modules that do something when they are imported, and why."""
CAUGHT = {
    "src/headrace/connectors/cdc/mysql_values.py": "the reader tells which value does not fit",
    "src/headrace/formats/json_values.py": "the reader tells which record is bad",
    "src/headrace/formats/text_values.py": "the reader tells which record is bad",
    "src/headrace/sql/ddl_alter.py": "no statement can cause it",
    "src/headrace/sql/to_literals.py": "whoever calls it knows where the text stands",
}
"""Modules that raise errors of Python, and what becomes of these."""
_LATER = re.compile(r"\b(TODO|FIXME)\b")
_ELSEWHERE = re.compile(r"(?<![\w.])/(work|home|Users|root)/")


def test_nothing_is_left_for_later(everything: list[Module]) -> None:
    """What is not done is said to users, or is not begun."""
    own = "tests/architecture/test_review.py"
    left = [module.shown for module in everything
            if module.shown != own and _LATER.search(module.text)]  # fmt: skip
    assert not left, left


def test_no_file_names_a_place_on_somebodys_machine(everything: list[Module]) -> None:
    found = [module.shown for module in everything if _ELSEWHERE.search(module.text)]
    assert not found, found


def test_modules_say_what_they_hold(product: list[Module]) -> None:
    """The first line of a module is a sentence; an empty __init__ needs none."""
    silent = [module.shown for module in product
              if module.tree.body and not ast.get_docstring(module.tree)]  # fmt: skip
    assert not silent, silent


def test_importing_does_nothing(product: list[Module]) -> None:
    """No registration by import: a module defines things, and calls nothing for its effect."""
    calls = [
        f"{module.shown}:{node.lineno} {ast.unparse(node)[:60]}"
        for module in product
        if module.shown not in EFFECTS
        for node in module.tree.body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ]
    assert not calls, calls


def test_classes_are_written_down(product: list[Module]) -> None:
    """None is generated at run time: one could neither find it nor read it."""
    made = [f"{module.shown}:{call.lineno} {ast.unparse(call)[:60]}"
            for module in product for call in _calls(module) if _makes_a_class(call)]  # fmt: skip
    assert not made, made


def _calls(module: Module) -> Iterator[ast.Call]:
    return (node for node in ast.walk(module.tree) if isinstance(node, ast.Call))


def _makes_a_class(call: ast.Call) -> bool:
    name = ast.unparse(call.func).rpartition(".")[2]
    return name in ("new_class", "make_dataclass") or (name == "type" and len(call.args) == 3)


def test_users_are_told_by_errors_of_the_product(product: list[Module]) -> None:
    """A class of headrace.errors has an origin and a hint; one of Python has neither."""
    bare = [
        f"{module.shown}:{node.lineno} {ast.unparse(node)[:70]}"
        for module in product
        if module.package in API and module.shown not in CAUGHT
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Raise) and node.exc is not None and _is_bare(node.exc)
    ]
    assert not bare, "\n" + "\n".join(bare)


def _is_bare(raised: ast.expr) -> bool:
    name = ast.unparse(raised.func if isinstance(raised, ast.Call) else raised)
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and name not in OF_PYTHON and not hasattr(errors, name)
