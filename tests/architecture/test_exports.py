"""The public surface is what `__all__` says, everywhere. (Ruff's RUF022 keeps it sorted.)"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"
PUBLIC = ("common", "datastream", "table", "cep", "metrics", "testing")
PUBLIC_PACKAGES = [name for name in PUBLIC if (SOURCE / "headrace" / name).is_dir()]


def _modules_with_exports() -> list[str]:
    """Every module that declares `__all__`."""
    declaring = (
        path
        for path in sorted((SOURCE / "headrace").rglob("*.py"))
        if re.search(r"^__all__\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    )
    parts = (path.relative_to(SOURCE).with_suffix("").parts for path in declaring)
    return [".".join(part for part in names if part != "__init__") for names in parts]


@pytest.mark.parametrize("package", PUBLIC_PACKAGES)
def test_public_packages_declare_their_names(package):
    """A public package without `__all__` exports whatever it happens to import."""
    module = importlib.import_module(f"headrace.{package}")
    assert getattr(module, "__all__", None), f"headrace.{package} has no __all__"


@pytest.mark.parametrize("module", _modules_with_exports())
def test_declared_names_exist_once(module):
    """Every name in `__all__` can be imported, is public and is listed once."""
    imported = importlib.import_module(module)
    names = list(imported.__all__)
    missing = [name for name in names if not hasattr(imported, name)]
    private = [name for name in names if name.startswith("_") and name != "__version__"]
    assert (missing, private) == ([], [])
    assert len(names) == len(set(names))


def test_the_package_imports_without_spark_or_its_own_layers():
    """`import headrace` is cheap: the top package imports nothing of itself."""
    text = (SOURCE / "headrace" / "__init__.py").read_text(encoding="utf-8")
    assert not re.search(r"^\s*(from|import)\s+(headrace|pyspark)\b", text, re.MULTILINE)


def test_types_are_shipped():
    """Type checkers of users read our annotations only where py.typed stands."""
    assert (SOURCE / "headrace" / "py.typed").is_file()
