"""The archive of Java's own classes, where Java came without it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.spark import class_archive
from headrace.spark.class_archive import archive_path, make_base_archive

# What Java does: it puts the archive beside its libraries.
JAVA = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/../calls"
touch "$(dirname "$0")/../lib/server/classes.jsa"
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "headrace"


def java_in(home: Path) -> Path:
    (home / "bin").mkdir(parents=True)
    (home / "lib" / "server").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text(JAVA)
    java.chmod(0o755)
    return home


def test_it_is_made_once_for_a_java_of_our_own(cache: Path) -> None:
    home = java_in(cache / "java")
    make_base_archive(home)
    make_base_archive(home)
    assert (home / "calls").read_text() == "-Xshare:dump\n"


@pytest.mark.usefixtures("cache")
def test_a_java_of_the_system_is_left_as_it_is(tmp_path: Path) -> None:
    home = java_in(tmp_path / "usr" / "lib" / "jvm" / "java")
    make_base_archive(home)
    assert not (home / "calls").exists()


def test_jars_that_were_installed_anew_have_another_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java takes no archive whose jars are younger."""
    monkeypatch.setattr(class_archive, "spark_jars", lambda: tmp_path)
    jar = tmp_path / "spark-core.jar"
    jar.touch()
    before = archive_path()
    assert archive_path() == before
    os.utime(jar, (1, 1))
    assert archive_path() != before
