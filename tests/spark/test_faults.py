"""Killed workers, a killed driver: the results stay exactly the same."""

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
from tests.conftest import IN_REAL_TIME
from tests.spark.conftest import visible
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
def test_results_do_not_change(
    env: StreamExecutionEnvironment, mode: str, tmp_path: Path, lines_of: LinesOf
) -> None:
    """A worker dies, and once more when its work is tried again."""
    source = Numbers(limit=150, step=40)
    markers = tmp_path / "markers"
    markers.mkdir()
    disturb = Once(markers, 2, kill_this_process)
    restart_at_once(env)
    totals = build(env, source, tmp_path / "out", disturb, at=120)
    found = Counter(totals.execute_and_collect())
    assert disturb.happened == 2
    # A key's timer may fire again when a later micro-batch sets it anew: the set is what counts.
    assert set(found) == set(fired(source))
    check_outputs(tmp_path / "out", source, lines_of)


def run(folder: Path, after_commit: Callable[[], None] | None = None, pause: float = 0) -> None:
    """A job to its end, or to where it is killed."""
    settings = Configuration()
    settings.set_string("execution.checkpointing.dir", str(folder / "checkpoints"))
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(2)
    env.enable_checkpointing(100)
    source = Numbers(limit=240, step=40, pause=pause)
    build(env, source, folder / "out", after_commit=after_commit).print()
    env.execute()


_JOB = """
import sys
from pathlib import Path
from tests.spark.fault_jobs import kill_this_process
from tests.spark.test_faults import run

committed = 0

def die_after_a_commit():
    # The worst moment: the output is there, but it is not noted that it is.
    global committed
    committed += 1
    if committed == 3:
        kill_this_process()

run(Path(sys.argv[1]), die_after_a_commit, float(sys.argv[2]))
"""


@pytest.mark.slow
def test_killed_driver_resumes(tmp_path: Path, repository: Path, lines_of: LinesOf) -> None:
    """SIGKILL of the program; the same job goes on where it was."""
    out = tmp_path / "out"
    # A job that flows would have read everything before its first checkpoint.
    pause = 0.3 if IN_REAL_TIME else 0
    ended = subprocess.run(
        [sys.executable, "-c", _JOB, str(tmp_path), str(pause)], cwd=repository, text=True,
        timeout=240, capture_output=True, check=False,
    )  # fmt: skip
    assert ended.returncode == -signal.SIGKILL, ended.stderr[-3000:]
    assert 0 < lines_of(out / "again").total() < 480
    run(tmp_path)
    check_outputs(out, Numbers(limit=240, step=40), lines_of)
