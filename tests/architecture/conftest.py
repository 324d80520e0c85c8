"""The source code as data, for the tests that guard its shape."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Import:
    """One imported module, as an absolute name, and where it is imported."""

    module: str
    place: str
    for_types: bool
    """Whether it stands under TYPE_CHECKING, so that nothing is imported when the code runs."""


@dataclass(frozen=True)
class Module:
    """One Python file of the repository."""

    path: Path
    shown: str
    package: str
    """The first name below `headrace`: a package or a top-level module; empty elsewhere."""
    text: str
    tree: ast.Module

    @property
    def imports(self) -> Iterator[Import]:
        """Every import, also those inside functions and under TYPE_CHECKING."""
        unseen = _under_type_checking(self.tree)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = _imported_from(node)
            else:
                continue
            for name in names:
                yield Import(name, f"{self.shown}:{node.lineno}", node in unseen)


def _under_type_checking(tree: ast.Module) -> set[ast.AST]:
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }


def _imported_from(node: ast.ImportFrom) -> list[str]:
    """`from headrace import x` may import a module; the longer name tells which."""
    assert node.module is not None
    if node.module == "headrace":
        return [f"headrace.{alias.name}" for alias in node.names]
    return [node.module]


def _read(root: Path, folder: str) -> list[Module]:
    found = []
    for path in sorted((root / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        inside = path.relative_to(root / folder).with_suffix("").parts
        package = inside[1] if folder == "src" and len(inside) > 1 else ""
        shown = str(path.relative_to(root))
        found.append(Module(path, shown, package, text, ast.parse(text, shown)))
    return found


@pytest.fixture(scope="session")
def product(repository: Path) -> list[Module]:
    """The modules of `src/`."""
    return _read(repository, "src")


@pytest.fixture(scope="session")
def everything(repository: Path, product: list[Module]) -> list[Module]:
    """The modules of the product, its tests, benchmarks, comparisons and scripts."""
    folders = ("tests", "bench", "compare", "examples", "scripts")
    return product + [module for folder in folders for module in _read(repository, folder)]
