"""SIGKILL at every step of a checkpoint, in each way to run a stream: the output never shows it.

A chain is one job that is killed at one point after the other, started again each time, and in
the end let go on: that costs one start of the program for each point. So its lives also differ in
all that may change from one start to the next: parallelism, state backend, real time or
micro-batches. What only a worker comes by kills only that worker: one life has room for all of
these. And one life falls asleep instead, and wakes up when another has gone on and was killed: what
it still writes is there when the last one starts.
HEADRACE_KILL_MATRIX=full makes every step at every one of several checkpoints a job of its own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
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
    checkpoints,
    prepared,
    run,
)
from tests.spark.sessions import EVERY_STEP, Deaths, dies_at, is_stopped, session, when_asked
from tests.spark.sessions import send as _send

PATIENCE_S = 240
ROCKSDB = "state.backend.type=rocksdb"
RETRIES = "restart-strategy.type=fixed-delay restart-strategy.fixed-delay.attempts=1000 "
RETRIES += "restart-strategy.fixed-delay.delay=0s"
PATIENT_SPARK = json.dumps({"spark.python.task.killTimeout": "600s"})
"""Spark leaves a worker alone that has fallen asleep: a test wakes it up."""
IN_WORKERS = (
    "barrier-injected",
    "barrier-aligned",
    "sink-pre-commit.before",
    "sink-pre-commit.after",
    "snapshot-taken",
    "state-files.before",
    "state-files.after",
)
"""Steps that every checkpoint comes by in a worker."""
CHANCES = 12
"""At so many checkpoints after the one that is named a life may end: not every one has a barrier
that overtakes."""


@dataclass(frozen=True)
class Mode:
    """A way to run the job, with as many records as its checkpoints need."""

    batches: int
    environ: dict[str, str]
    exactly: bool = True


MICRO_BATCH = Mode(30, {"HEADRACE_STREAM_MODE": "micro-batch"})
REAL_TIME = Mode(160, {"HEADRACE_STREAM_MODE": "real-time", "KILL_JOBS_PAUSE": "0.03"})
OVERTAKING = Mode(
    120,
    {
        "HEADRACE_STREAM_MODE": "real-time",
        "KILL_JOBS_SLOW": "0.006",
        "KILL_JOBS_PAUSE": "0.02",
        "KILL_JOBS_AHEAD": "8",
        "KILL_JOBS_OPTIONS": "execution.checkpointing.unaligned.enabled=true",
    },
)
"""Too slow for its sources."""
AT_LEAST_ONCE = Mode(
    80,
    {
        **OVERTAKING.environ,
        "KILL_JOBS_OPTIONS": "execution.checkpointing.mode=AT_LEAST_ONCE",
    },
    exactly=False,
)


@dataclass(frozen=True)
class Life:
    """One start of the program, and the step of a checkpoint at which it ends."""

    step: str
    parallelism: int = 2
    options: str = ""
    mode: str = ""
    """If it is another than that of its chain."""
    after: int = 2
    """At which of its checkpoints."""

    def environ(self, mode: Mode, *more: str) -> dict[str, str]:
        found = {**mode.environ, "KILL_JOBS_PARALLELISM": str(self.parallelism)}
        options = (found.get("KILL_JOBS_OPTIONS", ""), self.options, *more)
        found["KILL_JOBS_OPTIONS"] = " ".join(options)
        return {**found, "HEADRACE_STREAM_MODE": self.mode} if self.mode else found


@dataclass(frozen=True)
class Chain:
    """The lives of one job. All have the output of one job that nobody disturbs."""

    mode: Mode
    lives: tuple[Life, ...]
    asleep_at: str = ""
    """A step of the driver at which one more life falls asleep, before the last of those that are
    killed: it wakes up behind that."""
    asleep_before: str = ""
    """A step at which a worker of that life does so, and is woken up again."""
    workers: tuple[str, ...] = field(default=IN_WORKERS)
    """Where the last life loses workers."""

    @property
    def steps(self) -> set[str]:
        found = {*(life.step for life in self.lives), self.asleep_at, self.asleep_before}
        return (found | {*self.workers}) - {""}


CHAINS = {
    "micro-batch": Chain(
        MICRO_BATCH,
        (
            Life("checkpoint-triggered", after=1),
            Life("sink-pre-commit.after", options=ROCKSDB),
            Life("journal.before"),
            Life("metadata.after", options=ROCKSDB),
            Life("sink-commit.after"),
        ),
        asleep_at="journal.before",
    ),
    "real time": Chain(
        REAL_TIME,
        (
            Life("state-files.after", 4, ROCKSDB),
            Life("journal.after", 4),
            Life("metadata.after", 1, ROCKSDB),
            Life("cleanup.before", 1, mode="micro-batch"),
            Life("cleanup.after"),
        ),
        asleep_at="sink-commit.before",
        asleep_before="state-files.before",
    ),
    "overtaking": Chain(
        OVERTAKING,
        (
            Life("barrier-overtakes"),
            Life("metadata.after", 4),
            Life("metadata.before", 1, ROCKSDB),
        ),
        workers=("snapshot-taken", "state-files.before"),
    ),
    "at least once": Chain(
        AT_LEAST_ONCE, (Life("metadata.after", options=ROCKSDB),), workers=("state-files.after",)
    ),
}


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


def kill_at(folder: Path, life: Life, mode: Mode, first: int) -> None:
    """One life of the job that ends at a step of a checkpoint: of that number or of a later one."""
    ended = run(
        folder,
        mode.batches,
        **life.environ(mode),
        **dies_at(life.step, first, folder / f"died-{len(list(folder.glob('died-*')))}", CHANCES),
    )
    point = life, first
    assert ended.returncode == -signal.SIGKILL, (point, ended.stdout, ended.stderr[-3000:])
    if mode.exactly:
        check_nothing_wrong_yet(folder, mode.batches)


@contextmanager
def asleep(folder: Path, chain: Chain) -> Iterator[subprocess.Popen[str]]:
    """A life all of whose processes have come to stand still when it is handed over."""
    mark, number = folder / "asleep", last_checkpoint(folder, 2) + 2
    points, options = [f"{chain.asleep_at}@{number + 3}"], ""
    if chain.asleep_before:
        points.append(f"{chain.asleep_before}@{number}")
        options = f"{RETRIES} execution.checkpointing.timeout=3s"
    late = begin(
        folder,
        chain.mode.batches,
        **Life("").environ(chain.mode, options),
        HEADRACE_CONF=PATIENT_SPARK,
        HEADRACE_CRASH_AT=",".join(points),
        HEADRACE_CRASH_MARK=str(mark),
        HEADRACE_CRASH_WHOM="process",
        HEADRACE_CRASH_SIGNAL="SIGSTOP",
    )
    try:
        if chain.asleep_before:
            wake_up_a_worker(folder, mark, late.pid, number)
        wait_until(lambda: is_stopped(late.pid) or late.poll() is not None, PATIENCE_S)
        assert Path(f"{mark}.{points[0]}").exists(), late.communicate()
        _send(late.pid, signal.SIGSTOP)
        yield late
    finally:
        _send(late.pid, signal.SIGKILL)
        late.communicate()


def wake_up_a_worker(folder: Path, mark: Path, job: int, number: int) -> None:
    """It stands still with its snapshot taken and not written, until others have done its work."""
    wait_until(lambda: list(mark.parent.glob(f"{mark.name}.*")), PATIENCE_S)
    wait_until(lambda: last_checkpoint(folder, 2) >= number, PATIENCE_S)
    stopped = [pid for pid in session(job) if pid != job and is_stopped(pid)]
    assert stopped
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)


def last_life(folder: Path, chain: Chain) -> None:
    """It loses a worker at one step after the other, and comes to its end."""
    deaths = Deaths(folder / "worker", chain.workers, last_checkpoint(folder, 2) + 2)
    environ = Life("").environ(chain.mode, RETRIES) | deaths.environ
    job = begin(folder, chain.mode.batches, **environ)
    try:
        wait_until(lambda: deaths.all_happened() or job.poll() is not None, PATIENCE_S)
        out, messages = job.communicate(timeout=PATIENCE_S)
    finally:
        _send(job.pid, signal.SIGKILL)
    assert out.endswith("finished\n"), messages[-3000:]
    assert deaths.all_happened(), messages[-3000:]


def check(folder: Path, chain: Chain) -> None:
    if chain.mode.exactly:
        moved = any(life.parallelism != 2 for life in chain.lives)
        check_output(folder, chain.mode.batches, moved=moved)
    else:
        check_output_at_least_once(folder, chain.mode.batches)


def go_through(folder: Path, chain: Chain) -> None:
    """Kill one job at all the steps in turn; then it must come to its end."""
    prepared(folder)
    *earlier, last = chain.lives
    for life in earlier:
        kill_next(folder, life, chain.mode)
    if chain.asleep_at:
        kill_beside_a_sleeper(folder, last, chain)
    else:
        kill_next(folder, last, chain.mode)
    last_life(folder, chain)
    check(folder, chain)


def kill_next(folder: Path, life: Life, mode: Mode) -> None:
    kill_at(folder, life, mode, last_checkpoint(folder, life.parallelism) + life.after)


def kill_beside_a_sleeper(folder: Path, life: Life, chain: Chain) -> None:
    """One that has gone on is dead when the sleeper wakes up: whoever starts next finds what both
    have left."""
    with asleep(folder, chain) as late:
        kill_next(folder, life, chain.mode)
        _send(late.pid, signal.SIGCONT)
        _, messages = late.communicate(timeout=PATIENCE_S)
        assert late.returncode != 0
        assert "started once more meanwhile" in messages


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", CHAINS)
def test_killed_at_every_step(tmp_path: Path, name: str) -> None:
    chain = CHAINS[name]
    go_through(tmp_path / "job", chain)
    if chain.mode.exactly:  # no life of the other ends with output noted and no checkpoint
        made = calls(tmp_path / "job")
        assert made["recover and commit"]
        assert made["recover and abort"]


def test_every_step_has_its_point() -> None:
    """What workers come by in both ways to run a job; what the driver does is the same in both."""
    ways = CHAINS["micro-batch"].steps, CHAINS["real time"].steps
    assert ways[0] & ways[1] >= set(IN_WORKERS)
    assert ways[0] | ways[1] | CHAINS["overtaking"].steps == set(STEPS)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_executors_that_are_killed(tmp_path: Path) -> None:
    """A cluster of two executors; each mode loses one of them, and goes on with another."""
    folder, home = tmp_path / "job", tmp_path / "spark"
    home.mkdir()
    for name in ("bin", "conf", "jars", "RELEASE"):
        if (installed := Path(pyspark.__file__).parent / name).exists():
            (home / name).symlink_to(installed)  # below it Spark keeps what executors write
    modes = {"real-time": 60, "micro-batch": 8}
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
        KILL_JOBS_HOLD="1",
        KILL_JOBS_PAUSE="0.04",
        KILL_JOBS_SLOW="0.01",
    )
    try:
        for mode in modes:
            wait_until(partial(_has_come_to, folder / mode, 2), PATIENCE_S)
            # The eldest: whoever took the place of one that was killed is left alone.
            os.kill(min(filter(_is_executor, session(job.pid))), signal.SIGKILL)
            (folder / mode / "go").touch()
        out, messages = job.communicate(timeout=2 * PATIENCE_S)
        assert out.endswith("finished\n"), messages[-3000:]
        for mode, batches in modes.items():
            check_output(folder / mode, batches)
        # An executor may have had nothing to do between two micro-batches.
        assert max(attempt for _, _, attempt in checkpoints(folder / "real-time")) > 1
    finally:
        _send(job.pid, signal.SIGKILL)
        job.communicate()


def _has_come_to(folder: Path, number: int) -> bool:
    return any(found >= number for _, found, _ in checkpoints(folder))


def _is_executor(pid: int) -> bool:
    with suppress(FileNotFoundError):
        return b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


@when_asked
@pytest.mark.parametrize("number", [1, 3, 5])
@pytest.mark.parametrize("step", EVERY_STEP)
def test_one_kill(tmp_path: Path, step: str, number: int) -> None:
    life = Life(step, after=number)
    go_through(tmp_path / "job", Chain(MICRO_BATCH, (life,), workers=()))
