"""What the JVM and the workers of a local session are started with."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from headrace.spark import session

FOLDER = "spark.python.unix.domain.socket.dir"


def test_sockets_are_in_a_folder_of_the_user_s_own() -> None:
    folder = Path(session._sockets()[FOLDER])
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.rmdir()


def test_a_path_too_long_for_sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    assert session._sockets() == {}
    assert list(deep.iterdir()) == []


@pytest.mark.parametrize(
    ("cores", "imports", "options"),
    [
        ("2", "headrace.datastream", ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]),
        ("2", "headrace.table", ["-XX:+UseSerialGC"]),
        ("8", "headrace.datastream", []),
    ],
)
def test_what_the_jvm_leaves_to_python(cores: str, imports: str, options: list[str]) -> None:
    """Also after the command line has been imported, as `headrace run` does."""
    program = (
        f"import os; os.environ['HEADRACE_PARALLELISM'] = '{cores}'; import headrace.cli.main, "
        f"{imports}; from headrace.spark import session; print(session._for_few_cores())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == str(options), done.stderr
