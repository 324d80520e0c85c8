"""A changing table of a database to Kafka, exactly once, whatever is killed when."""

from __future__ import annotations

import json
import random
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any

from headrace.testing.servers import KafkaBroker
from headrace.testing.servers.kafka_topics import Topics
from tests.spark.cdc_jobs import begin
from tests.spark.conftest import wait_until
from tests.spark.test_kafka_kills import last_number
from tests.spark.test_kill_matrix import _send

MICRO_BATCH = {"HEADRACE_STREAM_MODE": "micro-batch"}
REAL_TIME = {"HEADRACE_STREAM_MODE": "real-time"}


class Writer(threading.Thread):
    """Changes rows as long as it may; each version of a row is there once."""

    def __init__(self, server: Any):
        super().__init__(daemon=True)
        self._server = server
        self._ended = threading.Event()
        self.start()

    def run(self) -> None:
        chosen = random.Random(7)
        with self._server.connect() as connection, connection.cursor() as session:
            session.execute("SELECT max(id) FROM killed")
            (last,) = session.fetchone()
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


Steps = list[tuple[str, int | None, dict[str, str]]]
"""Where the driver dies, at which checkpoint (None: the second to come), and how the job runs."""


def _kill_drivers(where: tuple[Any, ...], steps: Steps, topics: Topics, marks: Path) -> None:
    """One life after the other that ends at its step; no row is ever there twice."""
    folder, *_, topic = where
    for number, (step, after, mode) in enumerate(steps):
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


def kill_one_after_the_other(
    connector: str, server: Any, broker: KafkaBroker, tmp_path: Path, steps: Steps
) -> None:
    """Drivers at these steps, then a worker, then the database. The table `killed` has rows 1 to
    200; at the end the topic has its changes once."""
    topics = Topics(broker.bootstrap_servers)
    topic, folder = topics.create(partitions=1, name=f"changes-{connector}"), tmp_path / "job"
    where = folder, connector, server.port, broker.bootstrap_servers, topic
    writer = Writer(server)
    _kill_drivers(where, steps, topics, tmp_path)
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
        server.kill()
        server.start()
        writer = Writer(server)
        server.run("INSERT INTO killed VALUES (100000, 0)")
        wait_until(lambda: (100000, 0) in Seen(topics, topic).after, 100)
    finally:
        writer.end()
        rows = sorted(server.rows("SELECT id, v FROM killed"))
        _, messages = live(process, until=lambda: Seen(topics, topic).rows == rows)
    seen = Seen(topics, topic)
    seen.check()
    assert seen.rows == rows, messages[-3000:]
