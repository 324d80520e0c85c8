"""Jobs whose tasks run on and on, in Spark's real-time mode: exactly once, whatever happens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.spark.conftest import wait_until
from tests.spark.kill_jobs import begin, check_nothing_wrong_yet, check_output, prepared, run
from tests.spark.real_time_jobs import JOBS

pytestmark = pytest.mark.timeout(700)
REAL_TIME = {"HEADRACE_STREAM_MODE": "real-time", "KILL_JOBS_PAUSE": "0.04"}
"""Slow enough to take twenty checkpoints of 50 ms."""
KILLED_AT = (
    "barrier-injected@2", "barrier-aligned@5", "snapshot-taken@8", "state-files.after@11",
    "metadata.before@14", "metadata.after@17", "sink-commit.before@20",
)  # fmt: skip
OVERTAKING = {
    "HEADRACE_STREAM_MODE": "real-time", "KILL_JOBS_SLOW": "0.006", "KILL_JOBS_PAUSE": "0.02",
    "KILL_JOBS_OPTIONS": "execution.checkpointing.unaligned.enabled=true",
}  # fmt: skip
"""Too slow for its sources."""
KILLED_WHILE_OVERTAKING = (
    "barrier-overtakes@3", "snapshot-taken@6", "state-files.before@9", "metadata.before@12",
    "metadata.after@15",
)  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of all jobs, in one program of their own."""
    folder = tmp_path_factory.mktemp("real-time")
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.real_time_jobs", str(folder), *JOBS], cwd=ROOT,
        text=True, capture_output=True, timeout=600, check=False, env={**os.environ},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    found = {name: json.loads((folder / f"{name}.json").read_text()) for name in JOBS}
    return {**found, "stderr": done.stderr}


def test_a_source_that_ends(results):
    found = results["to_the_end"]
    assert found["flowed"]
    assert (found["once"], found["twice"]) == (6000, 6000)
    assert found["once exact"]
    assert found["twice exact"]


def test_without_alignment(results):
    found = results["at_least_once"]
    assert (found["once"], found["twice"]) == (6000, 6000)
    assert found["once exact"]
    assert found["twice exact"]


def test_the_mode_is_chosen_with_a_reason(results):
    found = results["chosen"]
    assert found["why not"] is None
    assert found["kept"] == [{"why_not": None}]
    assert found["flowed"]
    assert found["once exact"]
    said = [line for line in results["stderr"].splitlines() if line.startswith("headrace: the job")]
    assert len(said) == 1
    assert "in real time: its sources" in said[0]


def test_one_folder_at_any_parallelism_and_in_both_modes(results):
    found = results["moved_about"]
    assert found["flowed"] == [True, True, False, True]
    assert found["once"] == found["twice"] > 0
    assert found["once exact"]
    assert found["twice exact"]


def test_savepoints(results):
    found = results["saved"]
    assert found["flowed"]
    assert found["aside"].startswith("savepoint-")
    assert 0 < found["asked"]["by key"] <= found["asked"]["all"]
    assert found["before"]["once exact"]
    assert found["before"]["twice exact"]
    assert found["after"]["once exact"]
    assert found["after"]["twice exact"]
    assert found["after"]["once"] == found["after"]["twice"] > found["before"]["once"]


def test_barriers_overtake_what_waits_for_a_slow_function(results):
    found = results["overtaken"]
    done = [entry for entry in found["checkpoints"] if entry["status"] == "COMPLETED"]
    assert any(entry["persisted_data"] for entry in done)
    assert all(
        entry["tasks"]["twice"]["persisted_data"] <= entry["persisted_data"] for entry in done
    )
    assert found["behind"] > 0
    assert "the checkpoint is an unaligned one" in found["at another parallelism"]
    assert found["once"] == found["twice"] > 0
    assert found["once exact"]
    assert found["twice exact"]


def test_a_function_that_fails_is_told_with_its_line(results):
    error = results["failing"]["error"]
    assert "ZeroDivisionError" in error
    assert "real_time_jobs.py" in error
    assert "Traceback" not in results["stderr"]


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("job", "points"), [(REAL_TIME, KILLED_AT), (OVERTAKING, KILLED_WHILE_OVERTAKING)],
    ids=["aligned", "overtaking"],
)  # fmt: skip
def test_killed_at_every_step_the_output_is_exact(tmp_path: Path, job, points):
    folder, batches = prepared(tmp_path / "job"), 100
    for number, point in enumerate(points):
        mark = str(folder / f"died-{number}")
        ended = run(folder, batches, **job, HEADRACE_CRASH_AT=point, HEADRACE_CRASH_MARK=mark)
        assert ended.returncode == -signal.SIGKILL, (point, ended.stdout, ended.stderr[-3000:])
        check_nothing_wrong_yet(folder, batches)
    ended = run(folder, batches, **job)
    assert ended.returncode == 0, ended.stderr[-3000:]
    check_output(folder, batches)


@pytest.mark.slow
@pytest.mark.parametrize("point", ["metadata.before@6", "sink-commit.before@6"])
def test_a_driver_that_wakes_up_late_changes_nothing(tmp_path: Path, point: str):
    """All its processes stand still at a step of a checkpoint, until its successor has ended."""
    folder, batches, mark = prepared(tmp_path / "job"), 60, tmp_path / "stopped"
    late = begin(
        folder, batches, **REAL_TIME, HEADRACE_CRASH_AT=point, HEADRACE_CRASH_MARK=str(mark),
        HEADRACE_CRASH_SIGNAL="SIGSTOP",
    )  # fmt: skip
    try:
        wait_until(lambda: Path(f"{mark}.{point}").exists(), 120)
        successor = run(folder, batches, **REAL_TIME)
        assert successor.returncode == 0, successor.stderr[-3000:]
        check_output(folder, batches)
        _send(late.pid, signal.SIGCONT)
        _, messages = late.communicate(timeout=120)
        assert late.returncode != 0
        assert "started once more meanwhile" in messages
        check_output(folder, batches)
    finally:
        _send(late.pid, signal.SIGKILL)
        late.communicate()


def _send(session: int, what: signal.Signals) -> None:
    """Send all processes of a session a signal."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(ProcessLookupError, PermissionError):
                if os.getsid(int(entry.name)) == session:
                    os.kill(int(entry.name), what)
