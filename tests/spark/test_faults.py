"""Killed workers, a killed driver: the results stay exactly the same."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.datastream import StreamExecutionEnvironment
from tests.conftest import IN_REAL_TIME
from tests.spark.conftest import visible, wait_until
from tests.spark.fault_jobs import Numbers, Once, build, kill_this_process, restart_at_once

LinesOf = Callable[[Path], Counter[str]]


def expected_outputs(source: Numbers) -> dict[str, Counter[str]]:
    values = [(f"key-{n % 7}", n * source.count + part)
              for n in range(source.limit) for part in range(source.count)]  # fmt: skip
    per_key = Counter(key for key, _ in values)
    return {
        "read": Counter(f"{key} {value}" for key, value in values),
        "sums": Counter(f"{key} #{n}" for key, total in per_key.items()
                        for n in range(1, total + 1)),
        "tenths": Counter(f"tenth {value}" for _, value in values if value % 10 == 0),
        "again": Counter(f"all #{n}" for n in range(1, len(values) + 1)),
    }  # fmt: skip


def fired(source: Numbers) -> Counter[str]:
    return Counter({
        f"key-{n % 7} at {(n * source.count + part) // 50 * 50 + 50}"
        for n in range(source.limit) for part in range(source.count)
    })  # fmt: skip


def check_outputs(output: Path, source: Numbers, lines_of: LinesOf) -> None:
    for name, expected in expected_outputs(source).items():
        found = lines_of(output / name)
        assert found == expected, (name, found - expected, expected - found)
    for path in visible(output):
        assert "inprogress" not in path.name


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 2])
def test_results_do_not_change(
    env: StreamExecutionEnvironment, mode: str, times: int, tmp_path: Path, lines_of: LinesOf
) -> None:
    source = Numbers(limit=150, step=40)
    markers = tmp_path / "markers"
    markers.mkdir()
    disturb = Once(markers, times, kill_this_process)
    restart_at_once(env)
    totals = build(env, source, tmp_path / "out", disturb, at=120)
    found = Counter(totals.execute_and_collect())
    assert disturb.happened == times
    # A key's timer may fire again when a later micro-batch sets it anew: the set is what counts.
    assert set(found) == set(fired(source))
    check_outputs(tmp_path / "out", source, lines_of)


_JOB = """
import sys
from pathlib import Path
from headrace.datastream import StreamExecutionEnvironment
from headrace.common import Configuration
from tests.spark.fault_jobs import Numbers, build, kill_this_process

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
    if committed == 2 and not (folder / "died").exists():
        (folder / "died").touch()
        kill_this_process()

source = Numbers(limit=240, step=40, pause=float(sys.argv[2]))
totals = build(env, source, folder / "out", after_commit=die_after_a_commit)
totals.print()
env.execute()
print("finished")
"""


def start(folder: Path, repository: Path, pause: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _JOB, str(folder), str(pause)], cwd=repository,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.mark.slow
def test_killed_driver_resumes(tmp_path: Path, repository: Path, lines_of: LinesOf) -> None:
    """SIGKILL of the whole program, twice; the same program goes on where it was."""
    out = tmp_path / "out"
    # A job that flows would have read everything before its first checkpoint.
    first = start(tmp_path, repository, pause=0.3 if IN_REAL_TIME else 0)
    first.communicate(timeout=240)
    assert first.returncode == -signal.SIGKILL
    committed = lines_of(out / "again").total()
    assert 0 < committed < 480
    with start(tmp_path, repository, pause=1 if IN_REAL_TIME else 0.3) as second:
        wait_until(lambda: lines_of(out / "again").total() > committed, seconds=240)
        second.send_signal(signal.SIGKILL)
    assert lines_of(out / "again").total() < 480
    third = start(tmp_path, repository, pause=0)
    printed, messages = third.communicate(timeout=240)
    assert printed.endswith("finished\n"), messages[-3000:]
    check_outputs(out, Numbers(limit=240, step=40), lines_of)
