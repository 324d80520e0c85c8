"""Savepoints: taken while a job runs, resumed at other parallelisms, with nothing lost or twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.datastream import StreamExecutionEnvironment
from headrace.jobs.client import JobClient
from tests.spark.conftest import wait_until
from tests.spark.savepoint_jobs import every_state, expected, settings, to_files

LinesOf = Callable[[Path], Counter[str]]


class Job:
    """A run of `every_state` that a test lets go on step by step."""

    def __init__(self, folder: Path, lines_of: LinesOf):
        self.folder = folder
        self.valve = folder / "valve"
        self.out = folder / "out"
        self.lines_of = lines_of

    def start(self, parallelism: int, run: str, **more: str) -> JobClient:
        env = StreamExecutionEnvironment.get_execution_environment(
            settings(self.folder / run, **more)
        )
        env.set_parallelism(parallelism)
        env.enable_checkpointing(50)
        to_files(every_state(env, self.valve), self.out)
        return env.execute_async("every state")

    def give(self, limit: int) -> None:
        self.valve.write_text(str(limit))

    def lines(self) -> Counter[str]:
        return Counter(
            {line: n for line, n in self.lines_of(self.out).items() if " at " not in line}
        )

    def wait_for(self, limit: int) -> None:
        wait_until(lambda: self.lines().total() >= limit)


@pytest.fixture
def job(tmp_path: Path, lines_of: LinesOf) -> Job:
    made = Job(tmp_path, lines_of)
    made.give(0)
    return made


def test_rescale(job: Job) -> None:
    """2 -> 5 -> 1, each from a savepoint of the one before."""
    path = None
    for number, (parallelism, limit) in enumerate([(2, 300), (5, 500), (1, 800)]):
        more = {} if path is None else {"execution_state__recovery_path": path}
        client = job.start(parallelism, f"checkpoints-{number}", **more)
        job.give(limit)
        job.wait_for(limit)
        path = client.stop_with_savepoint(False, str(job.folder / "savepoints")).result(120)
        client.get_job_execution_result().result(60)
    assert job.lines() == Counter(expected(800))


def test_savepoint_of_a_running_job_and_fork(job: Job, tmp_path: Path) -> None:
    client = job.start(2, "checkpoints")
    job.give(200)
    job.wait_for(200)
    path = client.trigger_savepoint(str(tmp_path / "savepoints")).result(120)
    job.give(300)
    job.wait_for(300)
    client.cancel().result(60)
    assert job.lines() == Counter(expected(300))
    main = job.out
    for fork in ("a", "b"):
        job.out = tmp_path / fork
        forked = job.start(3, f"checkpoints-{fork}", execution_state__recovery_path=path)
        job.wait_for(100)
        forked.cancel().result(60)
        assert job.lines() == Counter(expected(300)) - Counter(expected(200))
    job.out = main
    assert job.lines() == Counter(expected(300))


def test_resume_own_checkpoint_at_another_parallelism(job: Job) -> None:
    for parallelism, limit in [(2, 150), (3, 250), (3, 300), (1, 400)]:
        client = job.start(parallelism, "checkpoints")
        job.give(limit)
        job.wait_for(limit)
        client.cancel().result(60)
    assert job.lines() == Counter(expected(400))


def timers_of(job: Job) -> Counter[str]:
    return Counter({line: n for line, n in job.lines_of(job.out).items() if " at " in line})


def test_drain(job: Job) -> None:
    client = job.start(2, "checkpoints")
    job.give(250)
    job.wait_for(250)
    path = client.stop_with_savepoint(True, str(job.folder / "savepoints")).result(120)
    client.get_job_execution_result().result(60)
    assert Path(path, "_metadata.json").exists()
    last = [line for line in timers_of(job) if " at 2999:" in line]
    assert len(last) == 7  # the last hundred is not full, but there will be no more
