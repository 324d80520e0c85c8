"""Kafka to keyed state to a database, exactly once. Whatever dies, or sleeps and wakes up late,
driver, workers and the database itself: each record is in the table once, and no transaction is
left prepared.

What the steps of a checkpoint do to a job is for the kill matrix to show; here they are those at
which a transaction of a database is open, prepared, or committed without anybody knowing of it. A
start of the program costs most, so all of it happens to one job for each kind of database: its last
life loses workers for good.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.testing.servers import KafkaBroker
from headrace.testing.servers.kafka_topics import Topics
from tests.servers.mariadb import mariadb  # noqa: F401
from tests.servers.postgres import postgres  # noqa: F401
from tests.spark.conftest import wait_until
from tests.spark.counts import expected
from tests.spark.kill_jobs import checkpoints
from tests.spark.sessions import Deaths, is_stopped, send, session
from tests.spark.test_kafka_kills import MICRO_BATCH, REAL_TIME, Job

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

SETTINGS = {
    "execution.checkpointing.timeout": "3s",
    "spark.python.task.killTimeout": "600s",  # Spark leaves a worker alone that has fallen asleep
}
OPEN, PREPARED, TO_COMMIT = "sink-pre-commit.before", "sink-pre-commit.after", "sink-commit.before"
PATIENCE_S = 240


@pytest.fixture(params=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


class DatabaseJob(Job):
    """The job that the kills of Kafka have, with a table for its output."""

    records, at_once = 3000, 120

    def __init__(self, server: Any, topics: Topics, folder: Path):
        super().__init__(topics, folder)
        self.server, self.output = server, ""
        server.run("DROP TABLE IF EXISTS counted", "CREATE TABLE counted (line VARCHAR(40))")

    def begin(self, **environ: str) -> subprocess.Popen[str]:
        table = self.server.url, self.server.user, self.server.password
        return super().begin(**environ, KAFKA_JOBS_ALSO=json.dumps({"jdbc": [table]}))

    def seen(self) -> Counter[str]:
        return Counter(line for (line,) in self.server.rows("SELECT line FROM counted"))

    def check(self) -> None:
        """All is there once, nothing is prepared, and the group is where the job is."""
        rows, wanted = self.seen(), expected(self.records)
        assert rows == wanted, ("too many", rows - wanted, "missing", wanted - rows)
        assert self.server.prepared() == []
        read = self.topics.group_offsets(f"group-{self.input}", self.input)
        assert read == self.topics.ends(self.input)

    def feed_until(self, holds: Callable[[], Any]) -> None:
        """Records come all the time, so that there is something to write and to commit."""
        wait_until(lambda: self.feed_slowly() or holds(), PATIENCE_S)

    def last_run(self) -> tuple[int, int, int]:
        return max(checkpoints(self.folder), default=(0, 0, 0))


def test_each_record_is_there_once_whatever_happens(
    tmp_path: Path, server: Any, broker: KafkaBroker
) -> None:
    job = DatabaseJob(server, Topics(broker.bootstrap_servers), tmp_path / "job")
    workers = Deaths(tmp_path / "asleep", (OPEN, PREPARED), first=4)
    driver = Deaths(tmp_path / "asleep", (TO_COMMIT,), chances=2000)
    driver.put_off()
    falls_asleep = {
        **workers.environ,
        "HEADRACE_CRASH_AT": f"{workers.points},{driver.points}",
        "HEADRACE_CRASH_SIGNAL": "SIGSTOP",
        "HEADRACE_CONF": json.dumps(SETTINGS),
    }
    with job.life(**REAL_TIME, **falls_asleep) as elder:
        two_workers_wake_up_late(job, elder, workers)
        the_database_dies(job)
        driver.take_place()
        job.feed_until(lambda: is_stopped(elder.pid))  # complete, and nothing of it committed
        send(elder.pid, signal.SIGSTOP)
        # The successor's commit is not known of: the next one must notice it.
        job.die_at("sink-commit.after", 2, 1, **MICRO_BATCH)
        run, *_ = job.last_run()
        deaths = Deaths(tmp_path / "worker", (OPEN, PREPARED))
        with job.life(**REAL_TIME, **deaths.environ) as successor:
            job.feed_until(lambda: job.last_run()[0] > run)
            the_elder_wakes_up(elder)
            job.feed_until(deaths.all_happened)
            job.feed(job.records)
            out, messages = successor.communicate(timeout=PATIENCE_S)
            assert out.endswith("finished\n"), messages[-3000:]
    job.check()


def two_workers_wake_up_late(job: DatabaseJob, elder: Any, workers: Deaths) -> None:
    """One with an open transaction, one with a prepared one; others do their work meanwhile."""
    job.feed_until(workers.all_happened)
    job.feed_until(lambda: job.last_run()[2] > 1)
    assert any(map(is_stopped, session(elder.pid)))
    send(elder.pid, signal.SIGCONT)


def the_database_dies(job: DatabaseJob) -> None:
    number = job.last
    job.feed_until(lambda: job.last > number + 1)
    job.server.kill()
    job.server.start()


def the_elder_wakes_up(elder: Any) -> None:
    """While a successor works: it must neither commit nor disturb that."""
    send(elder.pid, signal.SIGCONT)
    _, messages = elder.communicate(timeout=PATIENCE_S)
    assert elder.returncode != 0, messages[-3000:]
    assert "started once more meanwhile" in messages, messages[-3000:]
