"""What the parity table says is served can be used as in PyFlink; what it says is missing says why.

`pyflink_signatures.txt` holds the signatures of PyFlink 2.3.0, as `read_signatures.py` reads them.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace import shim
from headrace.cli.inspection import Inspection, Report
from headrace.errors import Unsupported
from headrace.parity import ApiClass, load_table, resolve

TABLE = load_table()
EMPTY = (None, [], {}, ())
HANDLES = ("j_", "_j", "java_")
MADE_BY_METHODS = {
    # Constructors that programs do not call, with the methods that do.
    "pyflink.common.time.Time": "Time.seconds(...) and its like",
    "pyflink.common.typeinfo.ListTypeInfo": "Types.LIST(...)",
    "pyflink.datastream.connectors.base.Sink": "subclasses",
    "pyflink.datastream.connectors.base.Source": "subclasses",
    "pyflink.datastream.data_stream.BroadcastConnectedStream": "connect(...)",
    "pyflink.datastream.data_stream.BroadcastStream": "broadcast(...)",
    "pyflink.datastream.state.StateTtlConfig": "new_builder(...)",
    "pyflink.datastream.state.StateTtlConfig.CleanupStrategies": "the builder of StateTtlConfig",
    "pyflink.datastream.state.StateTtlConfig.CleanupStrategies.IncrementalCleanupStrategy":
        "the builder of StateTtlConfig",
    "pyflink.table.udf.FunctionContext": "open(...) is given one",
    "pyflink.table.udf.UserDefinedAggregateFunctionWrapper": "udaf(...)",
    "pyflink.table.udf.UserDefinedAsyncScalarFunctionWrapper": "udf(...)",
    "pyflink.table.udf.UserDefinedFunctionWrapper": "udf(...)",
    "pyflink.table.udf.UserDefinedScalarFunctionWrapper": "udf(...)",
    "pyflink.table.udf.UserDefinedTableFunctionWrapper": "udtf(...)",
}  # fmt: skip
NAMED_AFTER_THE_TYPE = ("from_internal_type", "to_internal_type", "from_sql_type", "to_sql_type")
"""Their one parameter has a name of its own in each of PyFlink's types; nobody gives it by name."""
OTHER_NAMES = {f"pyflink.table.catalog.{kind}Column.copy" for kind in ("Computed", "Metadata")}
OTHER_NAMES |= {"pyflink.table.catalog.PhysicalColumn.copy"}
"""`Column.copy` calls its parameter otherwise than its subclasses; here both have that name."""


def _signatures() -> Iterator[tuple[str, str, str]]:
    """Owner, name and parameters, or 'property'."""
    owner = ""
    text = Path(__file__).with_name("pyflink_signatures.txt").read_text(encoding="utf-8")
    for line in filter(None, text.splitlines()):
        if line.startswith("["):
            owner = line[1:-1]
        elif line.endswith(" property"):
            yield owner, line.removesuffix(" property"), "property"
        else:
            name, bracket, rest = line.partition("(")
            yield owner, name, bracket + rest


def _by_class() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for owner, name, shown in _signatures():
        found.setdefault(owner, {})[name] = shown
    return found


SIGNATURES = _by_class()


def _parameters(shown: str) -> ast.arguments:
    defined = ast.parse(f"def f{shown}: pass").body[0]
    assert isinstance(defined, ast.FunctionDef)
    return defined.args


def _difference(full_name: str, shown: str, found: Any, own: int) -> str | None:
    """In what headrace's function differs from PyFlink's for somebody who calls it."""
    wanted = _parameters(shown)
    mine = list(inspect.signature(found).parameters.values())[own:]
    plain = [p for p in mine if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = [each.arg for each in wanted.args]
    if wanted.vararg and not any(p.kind is p.VAR_POSITIONAL for p in mine):
        return f"{full_name} takes no *{wanted.vararg.arg}"
    if full_name.rpartition(".")[2] in NAMED_AFTER_THE_TYPE or full_name in OTHER_NAMES:
        names = [p.name for p in plain[: len(names)]]
    if [p.name for p in plain[: len(names)]] != names:
        return f"{full_name}{shown} takes {[p.name for p in plain]}"
    more = [p.name for p in plain[len(names) :] if p.default is p.empty]
    if more:
        return f"{full_name}{shown} needs {more} as well"
    first = len(names) - len(wanted.defaults)
    for parameter, default in zip(plain[first:], wanted.defaults, strict=False):
        if not _same_default(parameter.default, default):
            return (
                f"{full_name}{shown}: {parameter.name} is {parameter.default!r} if it is left out"
            )
    return None


def _same_default(mine: Any, wanted: ast.expr) -> bool:
    if isinstance(wanted, ast.Constant) and wanted.value is ...:
        return mine is not inspect.Parameter.empty
    value = ast.literal_eval(wanted)
    return bool(mine == value) or (value in EMPTY and mine in EMPTY)


def _differences(known: ApiClass) -> Iterator[str]:
    cls: Any = resolve._reach(known.module, known.name)
    signatures = SIGNATURES.get(known.full_name, {})
    for method, status in known.methods.items():
        shown = signatures.get(method, "property")
        found = inspect.getattr_static(cls, method, None)
        if not status.is_done or shown == "property":
            continue
        static = isinstance(found, staticmethod)
        function = getattr(found, "__func__", found)
        problem = _difference(f"{known.full_name}.{method}", shown, function, 0 if static else 1)
        if problem:
            yield problem
    members = _parameters(signatures.get("members", "()")).args
    yield from (f"no member {m.arg}" for m in members if m.arg not in cls.__members__)
    made = signatures.get("__init__")
    if made is None or known.full_name in MADE_BY_METHODS or inspect.isabstract(cls):
        return
    if not any(each.arg.startswith(HANDLES) for each in _parameters(made).args):
        problem = _difference(known.full_name, made, cls, 0)
        if problem:
            yield problem


@pytest.mark.parametrize(
    "known", [c for c in TABLE.classes if c.status.is_done], ids=lambda c: c.full_name
)
def test_what_is_served_takes_what_pyflink_takes(known: ApiClass) -> None:
    """Parameters have PyFlink's names, order and defaults; further ones can be left out."""
    assert list(_differences(known)) == []


@pytest.mark.parametrize("module", TABLE.functions)
def test_functions_take_what_pyflinks_take(module: str) -> None:
    """As methods do."""
    found = [
        _difference(f"{module}.{name}", SIGNATURES[module][name], resolve._reach(module, name), 0)
        for name, status in TABLE.functions[module].items()
        if status.is_done
    ]
    assert [each for each in found if each] == []


def test_every_name_has_a_signature() -> None:
    """What is kept of PyFlink's signatures is complete."""
    methods = {f"{c.full_name}.{m}" for c in TABLE.classes for m in c.methods}
    kept = {f"{owner}.{name}" for owner, name, _ in _signatures()}
    functions = {f"{m}.{name}" for m, names in TABLE.functions.items() for name in names}
    assert len(methods - kept) < 20, sorted(methods - kept)
    assert functions <= kept


@pytest.fixture
def served() -> Iterator[None]:
    shim.install()
    yield
    shim.uninstall()


MISSING = [
    (path, name, status)
    for path, name, status in (
        *((path, c.name, c.status) for c in TABLE.classes for path in c.import_paths),
        *(
            (m, name, status)
            for m, names in TABLE.functions.items()
            for name, status in names.items()
        ),
    )
    if not status.is_done and "." not in name
]


@pytest.mark.usefixtures("served")
def test_what_is_missing_says_why_when_it_is_imported() -> None:
    """Unsupported with the table's reason; or the class is there, and refuses to be made."""
    silent = []
    for path, name, status in MISSING:
        try:
            found = getattr(importlib.import_module(path), name)
        except Unsupported as refusal:
            if status.reason not in str(refusal) or not isinstance(refusal, ImportError):
                silent.append(f"{path}.{name}: {refusal}")
        else:
            if not resolve.is_refusal(vars(found).get("__init__")):
                silent.append(f"{path}.{name} can be imported")
    assert silent == []


def test_methods_that_are_missing_refuse() -> None:
    """None of them is just not there."""
    silent = [
        f"{known.full_name}.{method}"
        for known in TABLE.classes
        if known.status.is_done
        for method, status in known.methods.items()
        if not status.is_done
        and not resolve.is_refusal(
            inspect.getattr_static(resolve._reach(known.module, known.name), method, None)
        )
    ]
    assert silent == []


def _said_by_doctor(tmp_path: Path, lines: list[str]) -> set[str]:
    script = tmp_path / "script.py"
    script.write_text("\n".join(lines), encoding="utf-8")
    report = Report(TABLE)
    Inspection(report, tmp_path).inspect(script, script.read_text(encoding="utf-8"))
    return {finding.name for finding in report.findings}


def test_the_doctor_says_what_the_table_says(tmp_path: Path) -> None:
    """Of every class and function, imported from wherever PyFlink has it."""
    done = [f"from {path} import {c.name}" for c in TABLE.classes for path in c.import_paths
            if c.status.is_done and "." not in c.name]  # fmt: skip
    assert _said_by_doctor(tmp_path, done) == set()
    for path, name, _ in MISSING:
        said = _said_by_doctor(tmp_path, [f"from {path} import {name}", f"{name}()"])
        assert any(name in each or path in each for each in said), f"{path}.{name}: {said}"


def test_the_doctor_says_of_methods_what_the_table_says(tmp_path: Path) -> None:
    """Called on something of the class, and on the class itself."""
    wrong = []
    for known in (c for c in TABLE.classes if c.status.is_done):
        outer = known.name.partition(".")[0]
        start = [f"from {known.module} import {outer}", f"def f(x: {known.name}):", "    pass"]
        done = [f"    x.{name}" for name, status in known.methods.items() if status.is_done]
        wrong += sorted(_said_by_doctor(tmp_path, [*start, *done]))
        for name in (name for name, status in known.methods.items() if not status.is_done):
            lines = [*start, f"    x.{name}()", f"{known.name}.{name}()"]
            if not any(name in each for each in _said_by_doctor(tmp_path, lines)):
                wrong.append(f"nothing is said of {known.full_name}.{name}")
    assert wrong == []
