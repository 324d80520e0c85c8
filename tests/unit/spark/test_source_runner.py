"""How the process ends in which Spark asks a source for its positions."""

from __future__ import annotations

import subprocess
import sys

import pytest

# As Spark's runner does it: `stop` is called while the failure to read is on its way up.
RUNNER = """
from types import SimpleNamespace
from headrace.spark.stream_inputs import SplitStream
reader = SplitStream.__new__(SplitStream)
reader._enumerator = SimpleNamespace(close=lambda: print("closed"))
try:
    try:
        raise {error}
    finally:
        reader.stop()
except BaseException:
    print("told Spark")
"""


@pytest.mark.parametrize(
    ("error", "printed"), [("EOFError", "closed\n"), ("ValueError", "closed\ntold Spark\n")]
)
def test_it_is_silent_when_spark_has_hung_up(error: str, printed: str) -> None:
    program = RUNNER.format(error=error)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == (printed, 0), done.stderr
