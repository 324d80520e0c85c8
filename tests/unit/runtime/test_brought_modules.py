"""Modules that jobs bring along: the first place that has one wins; the next job has its own."""

from __future__ import annotations

import importlib
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.errors import InvalidQuery
from headrace.runtime.brought_modules import bring, brought
from headrace.table import EnvironmentSettings, TableEnvironment


@pytest.fixture(autouse=True)
def nothing_brought() -> Iterator[None]:
    yield
    bring(())


def module(folder: Path, value: str, name: str = "brought_for_a_test") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.py"
    file.write_text(f"VALUE = {value!r}\n", encoding="utf-8")
    return str(file)


def value(name: str = "brought_for_a_test") -> str:
    return str(importlib.import_module(name).VALUE)


def test_the_first_place_wins(tmp_path: Path) -> None:
    older, newer = module(tmp_path / "a", "older"), module(tmp_path / "b", "newer")
    bring((newer, older))
    assert value() == "newer"


def test_the_next_job_imports_its_own(tmp_path: Path) -> None:
    """A worker that goes on to another job forgets what the one before brought."""
    bring((module(tmp_path / "a", "first"),))
    assert value() == "first"
    bring((module(tmp_path / "b", "second"),))
    assert value() == "second"
    bring(())
    with pytest.raises(ModuleNotFoundError):
        value()


def test_what_is_brought_goes_before_what_the_worker_finds_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module(tmp_path / "own", "its own")
    monkeypatch.syspath_prepend(str(tmp_path / "own"))
    assert value() == "its own"
    bring((module(tmp_path / "brought", "brought"),))
    assert value() == "brought"
    bring(())
    assert value() == "its own"
    del sys.modules["brought_for_a_test"]


def test_other_modules_in_a_files_folder_are_not_brought(tmp_path: Path) -> None:
    module(tmp_path, "neighbour", "brought_for_a_test_too")
    bring((module(tmp_path, "wanted"),))
    assert value() == "wanted"
    with pytest.raises(ModuleNotFoundError):
        value("brought_for_a_test_too")


def test_folders_packages_and_archives(tmp_path: Path) -> None:
    package = tmp_path / "folder" / "brought_for_a_test"
    module(package, "inner", "inner")
    (package / "__init__.py").write_text("VALUE = 'package'\n", encoding="utf-8")
    archive = tmp_path / "packed.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("brought_in_a_zip.py", "VALUE = 'zip'\n")
    bring((str(tmp_path / "folder"), str(archive)))
    assert (value(), value("brought_for_a_test.inner")) == ("package", "inner")
    assert value("brought_in_a_zip") == "zip"


def test_what_a_worker_is_made_of_stays(tmp_path: Path) -> None:
    before = sys.modules["headrace"], sys.modules["json"]
    bring((module(tmp_path, "another", "headrace"), module(tmp_path, "another", "json")))
    assert (sys.modules["headrace"], sys.modules["json"]) == before


def test_a_program_looks_into_what_it_brings_only_for_a_moment(tmp_path: Path) -> None:
    with brought((module(tmp_path, "looked up"),)):
        assert value() == "looked up"
    del sys.modules["brought_for_a_test"]
    with pytest.raises(ModuleNotFoundError):
        value()


def test_functions_by_name_are_looked_for_in_what_is_brought_along(tmp_path: Path) -> None:
    """CREATE FUNCTION finds a module that `add_python_file` names, and says so if it does not."""
    file = tmp_path / "brought_functions.py"
    file.write_text(
        "from headrace.table import DataTypes\n"
        "from headrace.table.udf import udf\n"
        "twice = udf(lambda i: 2 * i, result_type=DataTypes.BIGINT())\n",
        encoding="utf-8",
    )
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.execute_sql("CREATE FUNCTION twice AS 'brought_functions.twice' LANGUAGE PYTHON")
    with pytest.raises(InvalidQuery, match="add its file with add_python_file"):
        tables.sql_query("SELECT twice(1)")
    tables.add_python_file(str(file))
    assert tables.sql_query("SELECT twice(1) AS n").get_schema().get_field_names() == ["n"]
    del sys.modules["brought_functions"]
