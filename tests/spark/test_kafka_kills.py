"""Kafka to keyed state to Kafka, exactly once: whatever is killed when, nobody sees it.

Each job reads up to offsets that do not exist yet, and the test sends as it goes: so no life of a
job comes to its end before what has to happen to it has happened.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from headrace.core.crash_points import KAFKA_STEPS
from headrace.testing.servers import KafkaBroker
from headrace.testing.servers.kafka_topics import Topics
from tests.servers.kafka_tools import committed
from tests.spark.conftest import wait_until
from tests.spark.counts import are_in_order, expected
from tests.spark.kafka_kill_jobs import PARTITIONS, begin
from tests.spark.sessions import Deaths, dies_at, is_stopped, send

RECORDS = 6000
AT_ONCE, IN_BETWEEN = 300, 9
"""How many are sent before a life, and again and again while it lasts."""
PATIENCE_S = 240
CHANCES = 50
"""At so many checkpoints a life may end: some have nothing to commit."""
MICRO_BATCH = {"HEADRACE_STREAM_MODE": "micro-batch"}
REAL_TIME = {"HEADRACE_STREAM_MODE": "real-time"}
WORKERS = ("sink-pre-commit.after", "kafka-commit.before", "kafka-commit.after")


class Server(Protocol):
    """What a job needs."""

    def kill(self) -> None: ...

    def start(self) -> None: ...


class Job:
    """The job, the topics it uses, and what they must hold."""

    records, at_once = RECORDS, AT_ONCE

    def __init__(self, topics: Topics, folder: Path):
        self.topics = topics
        self.folder = folder
        self.input = topics.create(partitions=PARTITIONS, name="in")
        self.output = topics.create(partitions=2, name="out")
        self.sent = 0
        self._fed_at = 0.0

    def feed(self, count: int) -> None:
        """Send some more; as many to each partition."""
        upto = min(self.sent + count, self.records)
        self.topics.send(self.input, range(self.sent, upto))
        self.sent = upto

    def feed_slowly(self) -> None:
        """To be called again and again."""
        if time.monotonic() > self._fed_at + 0.5:
            self.feed(IN_BETWEEN)
            self._fed_at = time.monotonic()

    def begin(self, **environ: str) -> subprocess.Popen[str]:
        self.feed(self.at_once)
        until = str(self.records // PARTITIONS)
        arguments = (self.folder, self.topics.servers, self.input, self.output)
        return begin(*arguments, **environ, KAFKA_JOBS_UNTIL=until)

    @contextmanager
    def life(self, **environ: str) -> Iterator[subprocess.Popen[str]]:
        """One start of the program; none of its processes is left behind."""
        process = self.begin(**environ)
        try:
            yield process
        finally:
            send(process.pid, signal.SIGKILL)
            process.communicate()

    def feed_until_it_ends(self, process: subprocess.Popen[str]) -> tuple[str, str]:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return process.communicate(timeout=0.5)
            except subprocess.TimeoutExpired:
                assert time.monotonic() < deadline, f"it did not end within {PATIENCE_S} s"
                self.feed_slowly()

    def die_at(
        self, step: str, first: int, parallelism: int = 2, *, chances: int = CHANCES, **environ: str
    ) -> None:
        """A life that ends at a step, with all its processes; then nothing wrong is to be seen."""
        mark = self.folder.parent / f"died-{len(list(self.folder.parent.glob('died-*')))}"
        environ["KAFKA_JOBS_PARALLELISM"] = str(parallelism)
        with self.life(**environ, **dies_at(step, first, mark, chances)) as process:
            out, messages = self.feed_until_it_ends(process)
        assert process.returncode == -signal.SIGKILL, (step, out, messages[-3000:])
        assert not self.seen() - expected(self.sent), step

    def seen(self) -> Counter[str]:
        """What it has written, as everybody sees it."""
        found = self.topics.values(self.output)
        assert are_in_order(found)
        return Counter(found)

    def finish(self, *servers: Server, workers: Collection[str] = WORKERS, **environ: str) -> None:
        """A life to the end, which loses workers at these steps, and the servers for a while."""
        deaths = Deaths(self.folder.parent / f"worker-{self.sent}", workers)
        with self.life(**environ, **deaths.environ) as process:
            wait_until(lambda: self.feed_slowly() or deaths.all_happened(), PATIENCE_S)
            wait_until(lambda: self.feed_slowly() or self.last > deaths.last, PATIENCE_S)
            self.feed(self.at_once)
            for server in servers:
                server.kill()
                server.start()
            self.feed(self.records)
            out, messages = process.communicate(timeout=PATIENCE_S)
        assert out.endswith("finished\n"), messages[-3000:]
        self.check()
        # For a broker it waits, and goes on.
        restarts = messages.count("failed, the next begins")
        assert len(servers) > 1 or restarts <= deaths.count, messages[-3000:]

    def check(self) -> None:
        """All is there once and in order, no transaction is open, and the group is where the job
        is."""
        found = committed(self.topics, self.output)
        assert Counter(found) == expected(self.records)
        assert are_in_order(found)
        read = self.topics.group_offsets(f"group-{self.input}", self.input)
        assert read == self.topics.ends(self.input)

    @property
    def last(self) -> int:
        return last_number(self.folder)


@pytest.fixture
def job(broker: KafkaBroker, tmp_path: Path) -> Job:
    return Job(Topics(broker.bootstrap_servers), tmp_path / "job")


def last_number(folder: Path) -> int:
    """The last complete checkpoint of the current run."""
    runs = sorted(folder.glob("checkpoints/job-1/run-*"), key=lambda run: int(run.name[4:]))
    found = [path.name.partition("-")[0] for path in runs[-1].glob("checkpoints/*")] if runs else []
    return max((int(number) for number in found if number.isdigit()), default=0)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_killed_in_micro_batches(job: Job, broker: KafkaBroker) -> None:
    job.die_at("metadata.after", 2, **MICRO_BATCH)
    # It finds a checkpoint that was not committed, and dies while it writes that anew.
    job.die_at("kafka-anew.before", job.last, chances=1, **MICRO_BATCH)
    job.die_at("kafka-commit.after", job.last + 1, **MICRO_BATCH)
    job.finish(broker, **MICRO_BATCH)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_killed_in_real_time_at_another_parallelism_each_time(
    job: Job, broker: KafkaBroker
) -> None:
    job.die_at("metadata.before", 1, 4, **REAL_TIME)
    job.die_at("kafka-commit.before", job.last + 2, 1, **REAL_TIME)
    # What it finds, it has to write anew, and dies once more while it does so.
    job.die_at("kafka-anew.after", job.last, 3, chances=1, **REAL_TIME)
    with a_driver_that_sleeps(job) as late:
        job.finish(broker, **REAL_TIME)
        send(late.pid, signal.SIGCONT)
        _, messages = late.communicate(timeout=PATIENCE_S)
        assert late.returncode != 0
        assert "no longer counts" in messages
        job.check()


@contextmanager
def a_driver_that_sleeps(job: Job) -> Iterator[subprocess.Popen[str]]:
    """Its checkpoint is complete and not committed; its successor has to do so."""
    crash = {
        "HEADRACE_CRASH_AT": "sink-commit.before@3",
        "HEADRACE_CRASH_MARK": str(job.folder.parent / "stopped"),
        "HEADRACE_CRASH_SIGNAL": "SIGSTOP",
    }
    with job.life(**REAL_TIME, **crash) as late:
        ended = lambda: is_stopped(late.pid) or late.poll() is not None  # noqa: E731
        wait_until(lambda: job.feed_slowly() or ended(), PATIENCE_S)
        assert late.poll() is None, late.communicate()
        yield late


def test_every_step_has_its_point() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert not [step for step in KAFKA_STEPS if f'"{step}"' not in source]
