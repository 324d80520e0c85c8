"""Imports point down the layers, and each outside library has its one place."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

LAYERS = (
    "__main__",
    "cli server",
    "examples parity",
    "testing",
    "table",
    "cep",
    "datastream state",
    "common metrics",
    "sql",
    "connectors",
    "formats",
    "jobs",
    "spark memory",
    "runtime",
    "plan",
    "graph operators",
    "core java shim",
    "errors",
    "origin",
)
RANK = {package: depth for depth, row in enumerate(LAYERS) for package in row.split()}

WEB = ("aiohttp", "django", "fastapi", "flask", "litestar", "starlette", "tornado", "uvicorn")
ONLY_HERE = {
    "confluent_kafka": {"connectors", "testing"},
    "pyspark": {"spark", "connectors", "formats", "state"},
    "py4j": {"spark", "testing"},
    "rocksdict": {"runtime"},
    "sqlglot": {"sql"},
    "typer": {"cli"},
    **{framework: {"server"} for framework in WEB},
}
WORKER_PACKAGES = {"core", "operators", "runtime", "errors", "origin"}
WORKER_LIBRARIES = {
    "cloudpickle",
    "headrace",
    "pyarrow",
    "rocksdict",
    "__future__",
} | sys.stdlib_module_names
PURE_PACKAGES = {"graph", "plan"}
IMPURE_MODULES = {
    "asyncio",
    "http",
    "multiprocessing",
    "random",
    "shutil",
    "socket",
    "subprocess",
    "tempfile",
    "threading",
    "time",
    "urllib",
}
NAMELESS = {"utils", "util", "helpers", "helper", "misc", "internal", "internals", "common_utils"}


def _report(problems: Iterable[str]) -> str:
    return "\n" + "\n".join(sorted(problems))


def test_every_package_has_a_layer(product):
    """A new package must say where it stands before anything can import it."""
    unknown = {module.package for module in product} - RANK.keys() - {"__init__", "__main__"}
    assert not unknown, f"add to LAYERS here and in ARCHITECTURE.md: {', '.join(sorted(unknown))}"


def test_the_map_shows_the_layers_in_this_order(repository):
    """Who reads ARCHITECTURE.md from top to bottom reads LAYERS."""
    text = (repository / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.partition("\n## Layers\n")[2].partition("\n`src/")[0]
    shown = re.findall(r"`src/headrace/(\w+)(?:/|\.py)`", table)
    assert [RANK[package] for package in shown] == sorted(RANK[package] for package in shown)
    packages = {path.name for path in (repository / "src" / "headrace").iterdir()
                if (path / "__init__.py").exists()}  # fmt: skip
    assert packages - set(shown) == set()


def test_imports_point_down(product):
    """A package imports only packages below its row; ARCHITECTURE.md shows the rows."""
    upward = []
    for module in product:
        for found in module.imports:
            top, _, rest = found.module.partition(".")
            target = rest.partition(".")[0]
            if top != "headrace" or target == module.package or target not in RANK:
                continue
            # The package's own __init__ stands below everything: it may import nothing.
            if RANK.get(module.package, len(LAYERS)) >= RANK[target]:
                upward.append(f"{found.place}: {module.package} imports {target}")
    assert not upward, _report(upward)


def test_outside_libraries_stay_in_their_place(product):
    """One package per outside library, so that it can be replaced by changing one package."""
    strays = [
        f"{found.place}: {top} belongs in {' '.join(sorted(ONLY_HERE[top]))}"
        for module in product
        for found in module.imports
        if (top := found.module.partition(".")[0]) in ONLY_HERE
        and module.package not in ONLY_HERE[top]
    ]
    assert not strays, _report(strays)


def test_workers_need_little(product):
    """What runs inside a Python worker imports the standard library, cloudpickle and Arrow."""
    extra = [
        f"{found.place}: {found.module}"
        for module in product
        if module.package in WORKER_PACKAGES
        for found in module.imports
        if found.module.partition(".")[0] not in WORKER_LIBRARIES and not found.for_types
    ]
    assert not extra, _report(extra)


def test_planning_is_pure(product):
    """Graphs and plans touch no clock, thread, file or network, so plans compare as text."""
    impure = [
        f"{found.place}: {found.module}"
        for module in product
        if module.package in PURE_PACKAGES
        for found in module.imports
        if found.module.partition(".")[0] in IMPURE_MODULES
    ]
    assert not impure, _report(impure)


def test_modules_have_names_that_say_something(product):
    """A module called utils is a drawer; name it after what it holds."""
    vague = [
        module.shown
        for module in product
        if NAMELESS & {part.removesuffix(".py").strip("_") for part in module.path.parts}
    ]
    assert not vague, _report(vague)
