"""What holds of state in memory holds of state in RocksDB: the same tests, run again there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SUITES = [
    "tests/unit/runtime/test_state.py",
    "tests/unit/runtime/test_ttl.py",
    "tests/unit/windows",
    "tests/unit/joins",
    "tests/transcripts",
    "tests/windows/test_conformance.py",
]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_suites_of_state_pass_on_rocksdb(repository: Path) -> None:
    plugin = "tests.unit.runtime.rocksdb_everywhere"
    fewer = {**os.environ, "HEADRACE_EXAMPLES": "5"}  # all of them are tried on the heap
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", plugin, "-p", "no:cacheprovider",
         "-k", "not parallelism", *SUITES],
        cwd=repository, env=fewer, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
