"""Savepoints: taken while a job runs, resumed at other parallelisms, with nothing lost or twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.common import Duration, Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import FileSource, StreamFormat
from headrace.errors import InvalidArgument
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


@pytest.mark.smoke
def test_drain(job: Job) -> None:
    client = job.start(2, "checkpoints")
    job.give(250)
    job.wait_for(250)
    path = client.stop_with_savepoint(True, str(job.folder / "savepoints")).result(120)
    client.get_job_execution_result().result(60)
    assert Path(path, "_metadata.json").exists()
    last = [line for line in timers_of(job) if " at 2999:" in line]
    assert len(last) == 7  # the last hundred is not full, but there will be no more


NAMES = ["plain.txt", "with space.txt", "per%cent.txt", "plus+.txt", "ü.txt"]


def test_files_that_were_read_are_not_read_again(tmp_path: Path, lines_of: LinesOf) -> None:
    """A watched folder is read by Spark; what it has seen goes with the savepoint."""
    inbox, out = tmp_path / "inbox", tmp_path / "out"
    inbox.mkdir()
    path = ""
    for turn, name in enumerate(NAMES):
        (tmp_path / name).write_text(f"{name}\n")
        (tmp_path / name).rename(inbox / name)
        more = {} if not path else {"execution_state__recovery_path": path}
        env = StreamExecutionEnvironment.get_execution_environment(
            settings(tmp_path / f"checkpoints-{turn}", **more)
        )
        env.set_parallelism(1 + turn % 2)
        env.enable_checkpointing(50)
        source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(inbox))
        watched = source.monitor_continuously(Duration.of_millis(100)).build()
        lines = env.from_source(watched, WatermarkStrategy.no_watermarks(), "inbox").uid("inbox")
        to_files(lines.key_by(lambda line: line).map(str, Types.STRING()).uid("lines"), out)
        client = env.execute_async()
        wait_until(lambda wanted=turn: lines_of(out).total() > wanted)
        path = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result(120)
        client.get_job_execution_result().result(60)
    assert lines_of(out) == Counter(NAMES)


def test_a_savepoint_that_cannot_be_written_leaves_the_job_running(job: Job) -> None:
    client = job.start(2, "checkpoints")
    job.give(50)
    job.wait_for(50)
    with pytest.raises(InvalidArgument, match="cannot be written to /proc/nowhere"):
        client.stop_with_savepoint(False, "/proc/nowhere").result(120)
    job.give(100)
    job.wait_for(100)
    client.cancel().result(60)
    assert job.lines() == Counter(expected(100))
