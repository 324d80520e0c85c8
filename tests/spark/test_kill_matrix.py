"""SIGKILL at every step of a checkpoint, in each way to run a stream: the output never shows it.

A chain is one job that is killed at one point after the other, started again each time, and in
the end let go on: that costs one start of the program for each point. HEADRACE_KILL_MATRIX=full
makes every step at every one of several checkpoints a job of its own.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from headrace.core.crash_points import STEPS
from tests.spark.conftest import wait_until
from tests.spark.kill_jobs import (
    begin,
    calls,
    check_nothing_wrong_yet,
    check_output,
    prepared,
    run,
)

FULL = os.environ.get("HEADRACE_KILL_MATRIX") == "full"
IN_WORKERS = (
    "barrier-injected",
    "barrier-aligned",
    "sink-pre-commit.before",
    "sink-pre-commit.after",
    "snapshot-taken",
    "state-files.before",
    "state-files.after",
)


@dataclass(frozen=True)
class Mode:
    """A way to run the job, with as many records as its checkpoints need."""

    batches: int
    environ: dict[str, str]


MICRO_BATCH = Mode(14, {"HEADRACE_STREAM_MODE": "micro-batch"})
REAL_TIME = Mode(100, {"HEADRACE_STREAM_MODE": "real-time", "KILL_JOBS_PAUSE": "0.04"})
"""Slow enough for some checkpoints in each of its lives."""
OVERTAKING = Mode(
    100,
    {
        "HEADRACE_STREAM_MODE": "real-time",
        "KILL_JOBS_SLOW": "0.006",
        "KILL_JOBS_PAUSE": "0.02",
        "KILL_JOBS_OPTIONS": "execution.checkpointing.unaligned.enabled=true",
    },
)
"""Too slow for its sources."""
ALIGNED = tuple(step for step in STEPS if step != "barrier-overtakes")
BEFORE = ALIGNED[: ALIGNED.index("metadata.after")]
"""Steps after which there is no checkpoint yet."""
CHAINS: dict[str, tuple[Mode, int, list[str]]] = {
    "micro-batch, the first": (MICRO_BATCH, 1, [*BEFORE[::2], "metadata.after"]),
    "micro-batch, later": (MICRO_BATCH, 2, [*BEFORE[1::2], *ALIGNED[-5:]]),
    "real time": (
        REAL_TIME,
        2,
        [
            "barrier-injected",
            "barrier-aligned",
            "snapshot-taken",
            "state-files.after",
            "metadata.before",
            "metadata.after",
            "sink-commit.before",
        ],
    ),
    "overtaking": (
        OVERTAKING,
        2,
        [
            "barrier-overtakes",
            "snapshot-taken",
            "state-files.before",
            "metadata.before",
            "metadata.after",
        ],
    ),
}
"""The mode, how many checkpoints after the last one the job is killed, and at which steps."""


def last_checkpoint(folder: Path) -> int:
    """The last complete checkpoint of a job that is not running; 0 if there is none."""
    found = folder.glob("checkpoints/job-1/run-*/checkpoints/*")
    return max((int(path.name.partition("-")[0]) for path in found), default=0)


def kill_at(folder: Path, step: str, number: int, mode: Mode) -> None:
    """One life of the job that ends at a step of a checkpoint."""
    ended = run(
        folder,
        mode.batches,
        **mode.environ,
        HEADRACE_CRASH_AT=f"{step}@{number}",
        HEADRACE_CRASH_MARK=str(folder / f"died-{len(list(folder.glob('died-*')))}"),
    )
    point = step, number
    assert ended.returncode == -signal.SIGKILL, (point, ended.stdout, ended.stderr[-3000:])
    check_nothing_wrong_yet(folder, mode.batches)


def chain(folder: Path, steps: Iterable[str], mode: Mode, after: int) -> None:
    """Kill one job at all the steps in turn; then it must come to its end."""
    prepared(folder)
    for step in steps:
        kill_at(folder, step, last_checkpoint(folder) + after, mode)
    last = run(folder, mode.batches, **mode.environ)
    assert last.stdout.endswith("finished\n"), last.stderr[-3000:]
    check_output(folder, mode.batches)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", CHAINS)
def test_killed_at_every_step(tmp_path: Path, name: str) -> None:
    mode, after, steps = CHAINS[name]
    chain(tmp_path / "job", steps, mode, after)
    made = calls(tmp_path / "job")
    assert made["recover and commit"]
    assert made["recover and abort"]


@pytest.mark.slow
def test_every_step_has_its_point() -> None:
    assert {step for _, _, steps in CHAINS.values() for step in steps} == set(STEPS)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mode", [MICRO_BATCH, REAL_TIME], ids=["micro-batch", "real time"])
def test_only_the_worker_that_comes_by(tmp_path: Path, mode: Mode) -> None:
    """The job notices that a worker is gone, and goes on from its last checkpoint."""
    points = [(step, number) for number, step in enumerate(IN_WORKERS, start=2)]
    folder = prepared(tmp_path / "job")
    ended = run(
        folder,
        mode.batches,
        **mode.environ,
        HEADRACE_CRASH_WHOM="process",
        HEADRACE_CRASH_MARK=str(folder / "died"),
        HEADRACE_CRASH_AT=",".join(f"{step}@{number}" for step, number in points),
    )
    assert ended.stdout.endswith("finished\n"), ended.stderr[-3000:]
    died = {path.name.removeprefix("died.") for path in folder.glob("died.*")}
    assert died == {f"{step}@{number}" for step, number in points}
    check_output(folder, mode.batches)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("mode", "point"),
    [
        (MICRO_BATCH, "metadata.before@3"),
        (REAL_TIME, "metadata.before@6"),
        (REAL_TIME, "sink-commit.before@6"),
    ],
    ids=["micro-batch", "real time", "real time, about to commit"],
)
def test_a_driver_that_wakes_up_late_changes_nothing(
    tmp_path: Path, mode: Mode, point: str
) -> None:
    """All its processes stand still at a step of a checkpoint, until its successor has ended."""
    folder, mark = prepared(tmp_path / "job"), tmp_path / "stopped"
    late = begin(
        folder,
        mode.batches,
        **mode.environ,
        HEADRACE_CRASH_AT=point,
        HEADRACE_CRASH_MARK=str(mark),
        HEADRACE_CRASH_SIGNAL="SIGSTOP",
    )
    try:
        wait_until(lambda: Path(f"{mark}.{point}").exists(), 120)
        successor = run(folder, mode.batches, **mode.environ)
        assert successor.returncode == 0, successor.stderr[-3000:]
        check_output(folder, mode.batches)
        _send(late.pid, signal.SIGCONT)
        _, messages = late.communicate(timeout=120)
        assert late.returncode != 0
        assert "started once more meanwhile" in messages
        check_output(folder, mode.batches)
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


@pytest.mark.skipif(not FULL, reason="HEADRACE_KILL_MATRIX=full runs every step by itself")
@pytest.mark.parametrize("number", [1, 3, 5])
@pytest.mark.parametrize("step", ALIGNED)
def test_one_kill(tmp_path: Path, step: str, number: int) -> None:
    chain(tmp_path / "job", [step], MICRO_BATCH, number)
