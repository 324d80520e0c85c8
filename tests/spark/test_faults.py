"""Killed workers, failing tasks, a killed driver: the results stay exactly the same."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.datastream import StreamExecutionEnvironment
from tests.spark.conftest import visible, wait_until
from tests.spark.fault_jobs import Numbers, Once, build, kill_this_worker, raise_an_error

LinesOf = Callable[[Path], Counter[str]]
OUTPUTS = ("read", "sums", "tenths", "again")


def expected_outputs(source: Numbers) -> dict[str, Counter[str]]:
    numbers = [n for n in range(source.limit) for _ in range(source.count)]
    values = [(f"key-{n % 7}", n * source.count + part)
              for n in range(source.limit) for part in range(source.count)]  # fmt: skip
    per_key = Counter(key for key, _ in values)
    return {
        "read": Counter(f"{key} {value}" for key, value in values),
        "sums": Counter(f"{key} #{n}" for key, total in per_key.items()
                        for n in range(1, total + 1)),
        "tenths": Counter(f"tenth {value}" for _, value in values if value % 10 == 0),
        "again": Counter(f"1 #{n}" for n in range(1, len(numbers) + 1)),
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
@pytest.mark.parametrize("trouble", ["killed", "raised twice"])
def test_results_do_not_change(
    env: StreamExecutionEnvironment, mode: str, trouble: str, tmp_path: Path, lines_of: LinesOf
) -> None:
    source = Numbers(limit=150, step=40)
    markers = tmp_path / "markers"
    markers.mkdir()
    disturb = (
        Once(markers, 1, kill_this_worker) if trouble == "killed"
        else Once(markers, 2, raise_an_error)
    )  # fmt: skip
    totals = build(env, source, tmp_path / "out", disturb, at=120)
    found = Counter(totals.execute_and_collect())
    assert disturb.happened == (1 if trouble == "killed" else 2)
    # A key's timer may fire again when a later micro-batch sets it anew: the set is what counts.
    assert set(found) == set(fired(source))
    check_outputs(tmp_path / "out", source, lines_of)


_JOB = """
import sys
from pathlib import Path
from headrace.datastream import StreamExecutionEnvironment
from headrace.common import Configuration
from tests.spark.fault_jobs import Numbers, build

folder = Path(sys.argv[1])
settings = Configuration()
settings.set_string("execution.checkpointing.dir", str(folder / "checkpoints"))
env = StreamExecutionEnvironment.get_execution_environment(settings)
env.set_parallelism(2)
env.enable_checkpointing(100)
totals = build(env, Numbers(limit=400, step=40, pause=float(sys.argv[2])), folder / "out")
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
    """SIGKILL of the whole program in mid-stream; the same program goes on where it was."""
    out = tmp_path / "out"
    with start(tmp_path, repository, pause=0.2) as first:
        wait_until(lambda: len(visible(out / "sums")) >= 4, seconds=120)
        first.send_signal(signal.SIGKILL)
    interrupted = sum(lines_of(out / "sums").values())
    assert 0 < interrupted < 800
    time.sleep(1)  # the orphaned JVM notices that its program is gone
    second = start(tmp_path, repository, pause=0)
    printed, messages = second.communicate(timeout=200)
    assert printed.endswith("finished\n"), messages[-3000:]
    check_outputs(out, Numbers(limit=400, step=40), lines_of)
