"""A changing table of PostgreSQL to Kafka, exactly once, whatever is killed when."""

from __future__ import annotations

import json
import random
import signal
import threading
from collections import Counter
from pathlib import Path

import pytest

from headrace.testing.servers import KafkaBroker
from headrace.testing.servers.kafka_topics import Topics
from tests.servers.postgres import Postgres, postgres  # noqa: F401
from tests.spark.cdc_jobs import begin
from tests.spark.conftest import wait_until
from tests.spark.test_kafka_kills import last_number
from tests.spark.test_kill_matrix import _send

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
MICRO_BATCH = {"HEADRACE_STREAM_MODE": "micro-batch"}
REAL_TIME = {"HEADRACE_STREAM_MODE": "real-time"}


class Writer(threading.Thread):
    """Changes rows as long as it may; each version of a row is there once."""

    def __init__(self, server: Postgres):
        super().__init__(daemon=True)
        self._server = server
        self._ended = threading.Event()
        self.start()

    def run(self) -> None:
        chosen = random.Random(7)
        with self._server.connect() as session:
            last = session.execute("SELECT max(id) FROM killed").fetchone()[0]
            while not self._ended.wait(0.004):
                some = chosen.randint(1, last)
                session.execute("UPDATE killed SET v = v + 1 WHERE id = %s", (some,))
                if some % 10 == 0:
                    session.execute("DELETE FROM killed WHERE id = %s", (some,))
                    last += 1
                    session.execute("INSERT INTO killed VALUES (%s, 0)", (last,))

    def end(self) -> None:
        self._ended.set()
        self.join()


class Seen:
    """What stands in the topic."""

    def __init__(self, topics: Topics, topic: str):
        found = [json.loads(value) for value in topics.values(topic)]
        self.after = Counter(_row(each["after"]) for each in found if each["after"])
        self.before = Counter(_row(each["before"]) for each in found if each["before"])

    def check(self) -> None:
        assert not [row for row, count in self.after.items() if count > 1]
        assert not self.before - self.after

    @property
    def rows(self) -> list[tuple[int, int]]:
        return sorted((self.after - self.before).elements())


def _row(found: dict[str, int]) -> tuple[int, int]:
    return found["id"], found["v"]


def live(process, *, until=None) -> tuple[int, str]:
    """Its return code and what it said; a life that does not end by itself is ended."""
    try:
        if until is not None:
            wait_until(lambda: until() or process.poll() is not None, 100)
            _send(process.pid, signal.SIGKILL)
        _, messages = process.communicate(timeout=100)
    finally:
        _send(process.pid, signal.SIGKILL)
    return process.returncode, messages


STEPS = [
    ("cdc-table", 3, MICRO_BATCH),  # in the middle of the table
    ("cdc-confirm.before", 2, MICRO_BATCH),
    ("sink-pre-commit.after", None, MICRO_BATCH),
    ("cdc-confirm.after", 1, REAL_TIME),
    ("metadata.after", None, REAL_TIME),
]
"""Where the driver dies, at which checkpoint (or the second to come), and how the job runs."""


def kill_drivers(where: tuple[Path, int, str, str], topics: Topics, marks: Path) -> None:
    """One life after the other that ends at its step; no row is ever there twice."""
    folder, *_, topic = where
    for number, (step, after, mode) in enumerate(STEPS):
        at = last_number(folder) + 2 if after is None else after
        code, messages = live(
            begin(
                *where,
                **mode,
                HEADRACE_CRASH_AT=f"{step}@{at}",
                HEADRACE_CRASH_MARK=str(marks / f"died-{number}"),
            )
        )
        assert code == -signal.SIGKILL, (step, messages[-3000:])
        assert list(marks.glob(f"died-{number}.*")), step
        Seen(topics, topic).check()


def test_killed_at_any_step_with_the_database(
    postgres: Postgres,  # noqa: F811
    broker: KafkaBroker,
    tmp_path: Path,
) -> None:
    topics = Topics(broker.bootstrap_servers)
    topic, folder = topics.create(partitions=1, name="changes"), tmp_path / "job"
    postgres.run(
        "CREATE TABLE killed (id INT PRIMARY KEY, v INT)",
        "ALTER TABLE killed REPLICA IDENTITY FULL",
        "INSERT INTO killed SELECT i, 0 FROM generate_series(1, 200) AS i",
    )
    where = folder, postgres.port, broker.bootstrap_servers, topic
    writer = Writer(postgres)
    kill_drivers(where, topics, tmp_path)
    # A worker dies, then the database.
    process = begin(
        *where,
        **REAL_TIME,
        HEADRACE_CRASH_AT=f"sink-pre-commit.after@{last_number(folder) + 3}",
        HEADRACE_CRASH_WHOM="process",
        HEADRACE_CRASH_MARK=str(tmp_path / "died-worker"),
    )
    try:
        wait_until(lambda: list(tmp_path.glob("died-worker.*")), 100)
        writer.end()
        postgres.kill()
        postgres.start()
        writer = Writer(postgres)
        postgres.run("INSERT INTO killed VALUES (100000, 0)")
        wait_until(lambda: (100000, 0) in Seen(topics, topic).after, 100)
    finally:
        writer.end()
        rows = sorted(postgres.rows("SELECT id, v FROM killed"))
        _, messages = live(process, until=lambda: Seen(topics, topic).rows == rows)
    seen = Seen(topics, topic)
    seen.check()
    assert seen.rows == rows, messages[-3000:]
    postgres.run("SELECT pg_drop_replication_slot('killed')", "DROP PUBLICATION killed")
