"""Sessions with lateness, disturbed: the same panes and the same late records, each once."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from tests.spark.fault_jobs import Numbers, Once, kill_this_process, restart_at_once
from tests.spark.window_fault_jobs import build, expected_outputs

LinesOf = Callable[[Path], Counter[str]]
depends_on_rounds = pytest.mark.micro_batch("which records are late depends on micro-batches")


def check_outputs(output: Path, expected: dict[str, Counter[str]], lines_of: LinesOf) -> None:
    for name, lines in expected.items():
        found = lines_of(output / name)
        assert found == lines, (name, found - lines, lines - found)


def test_the_job_has_what_can_go_wrong() -> None:
    """Sessions that fire again with what came late, and records that are too late."""
    expected = expected_outputs(Numbers(limit=240, step=40), cut=True)
    told = [line.partition("[")[2].strip("]").split(", ") for line in expected["panes"]]
    keys = [line.split()[0] for line in expected["panes"]]
    shown = Counter((key, number) for key, numbers in zip(keys, told, strict=True)
                    for number in numbers)  # fmt: skip
    assert sum(times > 1 for times in shown.values()) > 5
    assert expected["late"].total() > 10


@depends_on_rounds
@pytest.mark.slow
def test_killed_worker(
    env: StreamExecutionEnvironment, mode: str, tmp_path: Path, lines_of: LinesOf
) -> None:
    source = Numbers(limit=200, step=40)
    markers = tmp_path / "markers"
    markers.mkdir()
    disturb = Once(markers, 1, kill_this_process)
    restart_at_once(env)
    build(env, source, tmp_path / "out", disturb, at=100)
    env.execute()
    assert disturb.happened == 1
    check_outputs(tmp_path / "out", expected_outputs(source, cut=mode == "stream"), lines_of)


SOURCE = Numbers(limit=320, step=40)


def run(folder: Path, after_commit: Callable[[], None] | None = None) -> None:
    """A job to its end, or to where it is killed."""
    settings = Configuration()
    settings.set_string("execution.checkpointing.dir", str(folder / "checkpoints"))
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(2)
    env.enable_checkpointing(100)
    build(env, SOURCE, folder / "out", after_commit=after_commit)
    env.execute()


_JOB = """
import sys
from pathlib import Path
from tests.spark.fault_jobs import kill_this_process
from tests.spark.test_window_faults import run

committed = 0

def die_after_a_commit():
    # The worst moment: the output is there, but it is not noted that it is.
    global committed
    committed += 1
    if committed == 5:
        kill_this_process()

run(Path(sys.argv[1]), die_after_a_commit)
"""


@depends_on_rounds
@pytest.mark.slow
def test_killed_driver(tmp_path: Path, repository: Path, lines_of: LinesOf) -> None:
    """SIGKILL of the program; the same job goes on where it was."""
    expected = expected_outputs(SOURCE, cut=True)
    ended = subprocess.run(
        [sys.executable, "-c", _JOB, str(tmp_path)], cwd=repository, text=True, timeout=240,
        capture_output=True, check=False,
    )  # fmt: skip
    assert ended.returncode == -signal.SIGKILL, ended.stderr[-3000:]
    assert 0 < lines_of(tmp_path / "out" / "panes").total() < expected["panes"].total()
    run(tmp_path)
    check_outputs(tmp_path / "out", expected, lines_of)
