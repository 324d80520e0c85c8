"""Sessions with lateness, disturbed: the same panes and the same late records, each once."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.datastream import StreamExecutionEnvironment
from tests.spark.conftest import wait_until
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


_JOB = """
import sys
from pathlib import Path
from headrace.datastream import StreamExecutionEnvironment
from headrace.common import Configuration
from tests.spark.fault_jobs import Numbers, kill_this_process
from tests.spark.window_fault_jobs import build

folder = Path(sys.argv[1])
settings = Configuration()
settings.set_string("execution.checkpointing.dir", str(folder / "checkpoints"))
env = StreamExecutionEnvironment.get_execution_environment(settings)
env.set_parallelism(2)
env.enable_checkpointing(100)
committed = 0

def die_after_a_commit():
    # The worst moment: the output is there, but Spark has not noted that the batch is done.
    global committed
    committed += 1
    if committed == 3 and not (folder / "died").exists():
        (folder / "died").touch()
        kill_this_process()

source = Numbers(limit=320, step=40, pause=float(sys.argv[2]))
build(env, source, folder / "out", after_commit=die_after_a_commit)
env.execute()
print("finished")
"""


def start(folder: Path, repository: Path, pause: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _JOB, str(folder), str(pause)], cwd=repository,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@depends_on_rounds
@pytest.mark.slow
def test_killed_driver(tmp_path: Path, repository: Path, lines_of: LinesOf) -> None:
    """SIGKILL of the whole program, twice; the same program goes on where it was."""
    panes = tmp_path / "out" / "panes"
    expected = expected_outputs(Numbers(limit=320, step=40), cut=True)
    total = expected["panes"].total()
    first = start(tmp_path, repository, pause=0)
    _, messages = first.communicate(timeout=240)
    assert first.returncode == -signal.SIGKILL, messages[-3000:]
    committed = lines_of(panes).total()
    assert 0 < committed < total
    with start(tmp_path, repository, pause=0.3) as second:
        wait_until(lambda: lines_of(panes).total() > committed, seconds=240)
        second.send_signal(signal.SIGKILL)
    assert lines_of(panes).total() < total
    third = start(tmp_path, repository, pause=0)
    printed, messages = third.communicate(timeout=240)
    assert printed.endswith("finished\n"), messages[-3000:]
    check_outputs(tmp_path / "out", expected, lines_of)
