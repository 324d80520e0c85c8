"""SIGKILL at every step of a checkpoint, in each way to run a stream: the output never shows it.

A chain is one job that is killed at one point after the other, started again each time, and in
the end let go on: that costs one start of the program for each point. So its lives also differ in
all that may change from one start to the next: parallelism, state backend, real time or
micro-batches. HEADRACE_KILL_MATRIX=full makes every step at every one of several checkpoints a job
of its own.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyspark
import pytest

from headrace.core.crash_points import STEPS
from tests.conftest import ROOT
from tests.spark.conftest import wait_until
from tests.spark.kill_jobs import (
    begin,
    calls,
    check_nothing_wrong_yet,
    check_output,
    check_output_at_least_once,
    prepared,
    run,
)

FULL = os.environ.get("HEADRACE_KILL_MATRIX") == "full"


@dataclass(frozen=True)
class Mode:
    """A way to run the job, with as many records as its checkpoints need."""

    batches: int
    environ: dict[str, str]


ROCKSDB = "state.backend.type=rocksdb"
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
AT_LEAST_ONCE = replace(
    OVERTAKING,
    environ={
        **OVERTAKING.environ,
        "KILL_JOBS_OPTIONS": "execution.checkpointing.mode=AT_LEAST_ONCE",
    },
)


@dataclass(frozen=True)
class Life:
    """One start of the program, and the step of a checkpoint at which it ends."""

    step: str
    parallelism: int = 2
    options: str = ""
    mode: str = ""
    """If it is another than that of its chain."""

    def environ(self, mode: Mode) -> dict[str, str]:
        found = {**mode.environ, "KILL_JOBS_PARALLELISM": str(self.parallelism)}
        found["KILL_JOBS_OPTIONS"] = f"{found.get('KILL_JOBS_OPTIONS', '')} {self.options}"
        return {**found, "HEADRACE_STREAM_MODE": self.mode} if self.mode else found


CHAINS: dict[str, tuple[Mode, int, list[Life]]] = {
    "micro-batch, the first": (
        MICRO_BATCH,
        1,
        [
            Life("checkpoint-triggered"),
            Life("sink-pre-commit.after"),
            Life("journal.before"),
            Life("metadata.before"),
            Life("metadata.after"),
        ],
    ),
    "micro-batch, later": (
        MICRO_BATCH,
        2,
        [
            Life("sink-pre-commit.before", options=ROCKSDB),
            Life("state-files.after", options=ROCKSDB),
            Life("journal.after"),
            Life("sink-commit.before", options=ROCKSDB),
            Life("sink-commit.after"),
            Life("cleanup.after", options=ROCKSDB),
        ],
    ),
    "real time": (
        REAL_TIME,
        2,
        [
            Life("barrier-injected"),
            Life("barrier-aligned", 4),
            Life("snapshot-taken", 4, ROCKSDB),
            Life("state-files.after", 1, ROCKSDB),
            Life("cleanup.before", 1, mode="micro-batch"),
            Life("metadata.before", 3),
            Life("metadata.after", 3),
            Life("sink-commit.before", 2),
        ],
    ),
    "overtaking": (
        OVERTAKING,
        2,
        [
            Life("barrier-overtakes"),
            Life("snapshot-taken", 4),
            Life("state-files.before", 4),
            Life("metadata.before", 1, ROCKSDB),
            Life("metadata.after", 2),
        ],
    ),
    "at least once": (
        AT_LEAST_ONCE,
        2,
        [Life("state-files.after"), Life("metadata.after", options=ROCKSDB)],
    ),
}
"""The mode, how many checkpoints after the last one the job is killed, and its lives."""


def last_checkpoint(folder: Path, parallelism: int) -> int:
    """The last complete checkpoint of a job that is not running; 0 if there is none.

    At another parallelism it counts anew.
    """
    runs = [int(path.name.removeprefix("run-")) for path in folder.glob("checkpoints/job-1/run-*")]
    last = max(runs, default=0)
    plan = folder / f"checkpoints/job-1/run-{last}/plan.json"
    if not runs or json.loads(plan.read_text())["parallelism"] != parallelism:
        return 0
    return max((number for run, number, _ in checkpoints(folder) if run == last), default=0)


def checkpoints(folder: Path) -> list[tuple[int, int, int]]:
    """Run, number and attempt of the complete checkpoints that are there."""
    found = [
        (path.parts[-3].removeprefix("run-"), *path.name.partition("-")[::2])
        for path in folder.glob("checkpoints/job-1/run-*/checkpoints/*")
    ]
    return [
        (int(run), int(number), int(attempt))
        for run, number, attempt in found
        if number.isdigit() and attempt.isdigit()
    ]


def kill_at(folder: Path, life: Life, number: int, mode: Mode, *, exactly: bool = True) -> None:
    """One life of the job that ends at a step of a checkpoint."""
    ended = run(
        folder,
        mode.batches,
        **life.environ(mode),
        HEADRACE_CRASH_AT=f"{life.step}@{number}",
        HEADRACE_CRASH_MARK=str(folder / f"died-{len(list(folder.glob('died-*')))}"),
    )
    point = life, number
    assert ended.returncode == -signal.SIGKILL, (point, ended.stdout, ended.stderr[-3000:])
    if exactly:
        check_nothing_wrong_yet(folder, mode.batches)


def chain(folder: Path, lives: Iterable[Life], mode: Mode, after: int) -> None:
    """Kill one job at all the steps in turn; then it must come to its end."""
    prepared(folder)
    exactly, parallelisms = mode is not AT_LEAST_ONCE, {2}
    for life in lives:
        number = last_checkpoint(folder, life.parallelism) + after
        kill_at(folder, life, number, mode, exactly=exactly)
        parallelisms.add(life.parallelism)
    last = run(folder, mode.batches, **mode.environ)
    assert last.stdout.endswith("finished\n"), last.stderr[-3000:]
    if exactly:
        check_output(folder, mode.batches, moved=len(parallelisms) > 1)
    else:
        check_output_at_least_once(folder, mode.batches)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", CHAINS)
def test_killed_at_every_step(tmp_path: Path, name: str) -> None:
    mode, after, lives = CHAINS[name]
    chain(tmp_path / "job", lives, mode, after)
    if mode is not AT_LEAST_ONCE:  # no life of that ends with output noted and no checkpoint
        made = calls(tmp_path / "job")
        assert made["recover and commit"]
        assert made["recover and abort"]


@pytest.mark.slow
def test_every_step_has_its_point() -> None:
    assert {life.step for _, _, lives in CHAINS.values() for life in lives} == set(STEPS)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("mode", "steps"),
    [
        (MICRO_BATCH, ("barrier-injected", "sink-pre-commit.before", "state-files.after")),
        (REAL_TIME, ("barrier-aligned", "sink-pre-commit.after", "snapshot-taken",
                     "state-files.before")),
    ],
    ids=["micro-batch", "real time"],
)  # fmt: skip
def test_only_the_worker_that_comes_by(tmp_path: Path, mode: Mode, steps: tuple[str, ...]) -> None:
    """The job notices that a worker is gone, and goes on from its last checkpoint."""
    points = [(step, number) for number, step in enumerate(steps, start=2)]
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
    [(MICRO_BATCH, "metadata.before@3"), (REAL_TIME, "sink-commit.before@6")],
    ids=["micro-batch", "real time, about to commit"],
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


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_worker_that_wakes_up_late_changes_nothing(tmp_path: Path) -> None:
    """It stands still with its snapshot taken and not written, until others have done its work."""
    folder, mark = prepared(tmp_path / "job"), tmp_path / "stopped"
    mode, point = replace(REAL_TIME, batches=130), "state-files.before@4"
    options = "execution.checkpointing.timeout=2s restart-strategy.type=fixed-delay "
    options += "restart-strategy.fixed-delay.attempts=9 restart-strategy.fixed-delay.delay=0s"
    job = begin(
        folder,
        mode.batches,
        **mode.environ,
        KILL_JOBS_OPTIONS=options,
        HEADRACE_CRASH_AT=point,
        HEADRACE_CRASH_MARK=str(mark),
        HEADRACE_CRASH_WHOM="process",
        HEADRACE_CRASH_SIGNAL="SIGSTOP",
    )
    try:
        wait_until(lambda: Path(f"{mark}.{point}").exists(), 120)
        wait_until(lambda: any(map(_is_stopped, _session(job.pid))), 10)
        stopped = [pid for pid in _session(job.pid) if _is_stopped(pid)]
        wait_until(lambda: any(attempt > 1 for _, _, attempt in checkpoints(folder)), 120)
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        out, messages = job.communicate(timeout=120)
        assert len(stopped) == 1
        assert out.endswith("finished\n"), messages[-3000:]
        check_output(folder, mode.batches)
    finally:
        _send(job.pid, signal.SIGKILL)
        job.communicate()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_executors_that_are_killed(tmp_path: Path) -> None:
    """A cluster of two executors; each mode loses both of them, one after the other."""
    folder, home = tmp_path / "job", tmp_path / "spark"
    home.mkdir()
    for name in ("bin", "conf", "jars", "RELEASE"):
        if (installed := Path(pyspark.__file__).parent / name).exists():
            (home / name).symlink_to(installed)  # below it Spark keeps what executors write
    modes = {"real-time": 100, "micro-batch": 12}
    settings = {
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    }
    for mode in modes:
        prepared(folder / mode)
    job = begin(
        folder,
        0,
        HEADRACE_MASTER="local-cluster[2,4,1024]",
        HEADRACE_CONF=json.dumps(settings),
        SPARK_HOME=str(home),
        PYTHONPATH=f"{ROOT}/src:{ROOT}",
        KILL_JOBS_MODES=" ".join(f"{mode}={batches}" for mode, batches in modes.items()),
        KILL_JOBS_PAUSE="0.04",
        KILL_JOBS_SLOW="0.01",
    )
    try:
        for mode in modes:
            for after in (2, 5):
                wait_until(partial(_has_come_to, folder / mode, after), 120)
                # The eldest: whoever took the place of one that was killed is left alone.
                os.kill(min(filter(_is_executor, _session(job.pid))), signal.SIGKILL)
        out, messages = job.communicate(timeout=240)
        assert out.endswith("finished\n"), messages[-3000:]
        for mode, batches in modes.items():
            check_output(folder / mode, batches)
        # An executor may have had nothing to do between two micro-batches.
        assert max(attempt for _, _, attempt in checkpoints(folder / "real-time")) > 2
    finally:
        _send(job.pid, signal.SIGKILL)
        job.communicate()


def _has_come_to(folder: Path, number: int) -> bool:
    return any(found >= number for _, found, _ in checkpoints(folder))


def _is_executor(pid: int) -> bool:
    with suppress(FileNotFoundError):
        return b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def _is_stopped(pid: int) -> bool:
    with suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    return False


def _session(session: int) -> list[int]:
    """The processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(ProcessLookupError, PermissionError):
                if os.getsid(int(entry.name)) == session:
                    found.append(int(entry.name))
    return found


def _send(session: int, what: signal.Signals) -> None:
    """Send all processes of a session a signal."""
    for pid in _session(session):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, what)


@pytest.mark.skipif(not FULL, reason="HEADRACE_KILL_MATRIX=full runs every step by itself")
@pytest.mark.parametrize("number", [1, 3, 5])
@pytest.mark.parametrize("step", [step for step in STEPS if step != "barrier-overtakes"])
def test_one_kill(tmp_path: Path, step: str, number: int) -> None:
    chain(tmp_path / "job", [Life(step)], MICRO_BATCH, number)
