"""From where a local Spark is started, so that its processes need not unpack PySpark."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pyspark
import pytest

from headrace.spark import spark_home

INSTALLED = Path(pyspark.__file__).parent


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    return tmp_path


def test_it_has_all_of_spark_but_the_packed_files(cache: Path) -> None:
    home = spark_home.folder_of_links()
    assert home is not None
    assert cache in home.parents
    assert (home / "bin" / "spark-submit").samefile(INSTALLED / "bin" / "spark-submit")
    assert (home / "jars").samefile(INSTALLED / "jars")
    assert not (home / "python").exists()
    assert spark_home.folder_of_links() == home


def test_only_what_is_started_inside_is_started_from_there() -> None:
    home = spark_home.folder_of_links()
    with spark_home.without_packed_python():
        assert os.environ["SPARK_HOME"] == str(home)
    assert "SPARK_HOME" not in os.environ


def test_a_spark_of_the_user_s_own_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    assert spark_home.folder_of_links() is None
    with spark_home.without_packed_python():
        assert os.environ["SPARK_HOME"] == "/opt/spark"
    assert os.environ["SPARK_HOME"] == "/opt/spark"


def test_another_interpreter_may_need_the_packed_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/python3")
    assert spark_home.folder_of_links() is None
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert spark_home.folder_of_links() is not None


def test_so_may_one_that_was_told_where_pyspark_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_home.site, "getsitepackages", list)
    monkeypatch.setattr(spark_home.site, "getusersitepackages", lambda: "")
    monkeypatch.delenv("PYTHONPATH", raising=False)
    assert spark_home.folder_of_links() is None


def test_where_there_is_no_place_for_it(cache: Path) -> None:
    (cache / "headrace").write_text("a file")
    assert spark_home.folder_of_links() is None
