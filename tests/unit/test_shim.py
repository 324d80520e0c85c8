"""`pyflink.*` imports are served by headrace's own modules."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from types import ModuleType

import pytest

from headrace import shim
from headrace.errors import Unsupported


@pytest.fixture
def served():
    """The shim, for one test."""
    shim.install()
    yield
    shim.uninstall()


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("name", ["common", "datastream", "common.typeinfo"])
def test_the_same_module_under_both_names(name):
    """One module object, whose own spec and name stay headrace's."""
    own = importlib.import_module(f"headrace.{name}")
    spec = own.__spec__
    assert importlib.import_module(f"pyflink.{name}") is own
    assert own.__name__ == f"headrace.{name}"
    assert own.__spec__ is spec


@pytest.mark.usefixtures("served")
def test_classes_have_one_identity():
    """A class imported as PyFlink's is headrace's."""
    from pyflink.common import Types

    assert Types is importlib.import_module("headrace.common").Types


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize(
    ("module", "name", "home"),
    [
        ("pyflink.datastream.connectors.kafka", "DeliveryGuarantee", "datastream.connectors.base"),
        ("pyflink.datastream.connectors", "KafkaSource", "datastream.connectors.kafka"),
        ("pyflink.datastream.data_stream", "AggregateFunction", "datastream.functions"),
        ("pyflink.table.table_environment", "AggregateFunction", "table.udf"),
        ("pyflink.datastream.state", "Types", "common.typeinfo"),
    ],
)
def test_a_class_is_found_where_pyflink_only_imports_it(module, name, home):
    found = getattr(importlib.import_module(module), name)
    assert found is getattr(importlib.import_module(f"headrace.{home}"), name)


@pytest.mark.usefixtures("served")
def test_a_class_that_two_packages_have_is_not_guessed():
    with pytest.raises(ImportError, match="cannot import name 'AggregateFunction'"):
        from pyflink.common import AggregateFunction  # noqa: F401


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("module", ["connectors", "connectors.kafka"])
@pytest.mark.parametrize("name", ["FlinkKafkaConsumer", "FlinkKafkaProducer"])
def test_what_has_left_flink_says_what_to_write_instead(module, name):
    """Also where it was imported from before it had a module of its own."""
    with pytest.raises(ImportError, match=r"KafkaSource\.builder\(\) or KafkaSink\.builder\(\)"):
        exec(f"from pyflink.datastream.{module} import {name}", {})


@pytest.mark.usefixtures("served")
def test_the_version_is_that_of_the_names():
    """Scripts that ask for PyFlink's version get the release whose names are served."""
    version = importlib.import_module("pyflink.version")
    assert version.__version__ == "2.3.0"
    assert importlib.import_module("pyflink").__version__ == "2.3.0"


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("name", ["pyflink.nonsense", "pyflink.common.nonsense", "pyflink.spark"])
def test_a_missing_module_points_to_the_doctor(name):
    """Only PyFlink's own packages are served, and what is missing says what to do."""
    with pytest.raises(ModuleNotFoundError, match=rf"{name} yet; `headrace doctor") as raised:
        importlib.import_module(name)
    assert raised.value.name == name


@pytest.mark.usefixtures("served")
def test_there_is_no_gateway():
    """The gateway can be imported, as libraries do at their top, but not used."""
    gateway = importlib.import_module("pyflink.java_gateway")
    with pytest.raises(Unsupported, match="no Java gateway"):
        gateway.get_gateway()


def test_uninstall_leaves_nothing():
    """Installing twice is once, and afterwards no trace is left."""
    finders = list(sys.meta_path)
    shim.install()
    shim.install()
    assert len(sys.meta_path) == len(finders) + 1
    assert shim.is_installed()
    importlib.import_module("pyflink.common")
    shim.uninstall()
    assert sys.meta_path == finders
    assert not [name for name in sys.modules if name.partition(".")[0] == "pyflink"]
    assert not shim.is_installed()


def test_an_imported_pyflink_is_not_replaced(monkeypatch):
    """Half of a program on PyFlink and half on headrace would fail far from the cause."""
    monkeypatch.setitem(sys.modules, "pyflink", ModuleType("pyflink"))
    with pytest.raises(Unsupported, match="already imported"):
        shim.install()


def test_an_installed_pyflink_is_shadowed(tmp_path):
    """A real package of that name is never read, in a process of its own."""
    (tmp_path / "pyflink").mkdir()
    (tmp_path / "pyflink" / "__init__.py").write_text("raise SystemExit('read the real one')")
    code = "from headrace import shim; shim.install(); import pyflink; print(pyflink.__version__)"
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("2.3.0", "")
