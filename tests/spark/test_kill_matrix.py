"""SIGKILL before and after every step of a checkpoint: the output never shows it.

A chain is one job that is killed at one point after the other, started again each time, and in
the end let go on: that costs one start of the program for each point. HEADRACE_KILL_MATRIX=full
makes every step at every one of several micro-batches a job of its own.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from headrace.core.crash_points import STEPS
from tests.spark.kill_jobs import (
    calls,
    check_nothing_wrong_yet,
    check_output,
    prepared,
    run,
)

FULL = os.environ.get("HEADRACE_KILL_MATRIX") == "full"
Point = tuple[str, int]

PLANNED = ("offset-log.before", "offset-log.after")
COMMITTED = tuple(step for step in STEPS if step == "commit-log.after"
                  or step.startswith(("sink-commit", "cleanup")))  # fmt: skip

FIRST = [(step, 0) for step in STEPS[::2] if step != "cleanup.before"]
"""In the first micro-batch: those after its commit while an earlier life's work is finished."""
FIRST += [("cleanup.before", 1)]

LATER = [
    (step, 0 if step in PLANNED else number) for number, step in enumerate(STEPS[::-2], start=2)
]
"""Each in a micro-batch of its own. A source's plans are counted anew by each life."""


def kill_at(folder: Path, point: Point, batches: int) -> None:
    """One life of the job that ends at the point."""
    step, batch = point
    ended = run(
        folder, batches, HEADRACE_CRASH_AT=f"{step}@{batch}",
        HEADRACE_CRASH_MARK=str(folder / f"died-{len(list(folder.glob('died-*')))}"),
    )  # fmt: skip
    assert ended.returncode == -signal.SIGKILL, (point, ended.stdout, ended.stderr[-3000:])
    assert len(list(folder.glob(f"died-*.{step}@{batch}"))) >= 1
    check_log(folder, point)
    check_nothing_wrong_yet(folder, batches)


def check_log(folder: Path, point: Point) -> None:
    """Spark's logs show that it happened where it should."""
    step, batch = point
    [checkpoint] = folder.glob("checkpoints/job-1/run-*/checkpoint")
    planned, committed = (
        max((int(entry.name) for entry in (checkpoint / log).glob("*") if entry.name.isdigit()),
            default=-1)
        for log in ("offsets", "commits")
    )  # fmt: skip
    if step == "offset-log.before":
        assert planned == committed
    elif step == "offset-log.after":
        assert planned == committed + 1
    elif step in COMMITTED:
        assert committed >= batch
    else:
        assert (planned, committed) == (batch, batch - 1)


def chain(folder: Path, points: Iterable[Point], batches: int) -> None:
    """Kill one job at all the points in turn; then it must come to its end."""
    prepared(folder)
    for point in points:
        kill_at(folder, point, batches)
    last = run(folder, batches)
    assert last.stdout.endswith("finished\n"), last.stderr[-3000:]
    check_output(folder, batches)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_killed_at_every_step(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(chain, tmp_path / "first", FIRST, 6)
        later = pool.submit(chain, tmp_path / "later", LATER, 12)
        first.result()
        later.result()
    for name in ("first", "later"):
        made = calls(tmp_path / name)
        assert made["recover and commit"]
        assert made["recover and abort"]


@pytest.mark.slow
def test_every_step_has_its_point() -> None:
    assert {step for step, _ in FIRST + LATER} == set(STEPS)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_only_the_process_that_comes_by(tmp_path: Path) -> None:
    """Python workers and the planners of sources: Spark or the restart strategy tries again."""
    steps = ("sink-pre-commit.before", "state-files.before", "state-files.after",
             "sink-pre-commit.after", "state-commit.before")  # fmt: skip
    points = [(step, number) for number, step in enumerate(steps, start=1)]
    points += [("offset-log.before", 6), ("offset-log.after", 1)]
    folder = prepared(tmp_path / "job")
    ended = run(
        folder, 12, HEADRACE_CRASH_WHOM="process", HEADRACE_CRASH_MARK=str(folder / "died"),
        HEADRACE_CRASH_AT=",".join(f"{step}@{batch}" for step, batch in points),
    )  # fmt: skip
    assert ended.stdout.endswith("finished\n"), ended.stderr[-3000:]
    died = {path.name.removeprefix("died.") for path in folder.glob("died.*")}
    assert died == {f"{step}@{batch}" for step, batch in points}
    check_output(folder, 12)


@pytest.mark.skipif(not FULL, reason="HEADRACE_KILL_MATRIX=full runs every step by itself")
@pytest.mark.parametrize("batch", [0, 2, 4])
@pytest.mark.parametrize("step", STEPS)
def test_one_kill(tmp_path: Path, step: str, batch: int) -> None:
    chain(tmp_path / "job", [(step, batch)], 7)
