"""A changing table of a database to Kafka, exactly once, whatever is killed when."""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from headrace.testing.servers import KafkaBroker
from headrace.testing.servers.kafka_topics import Topics
from tests.spark.cdc_jobs import begin
from tests.spark.sessions import EVERY_STEP, Deaths, dies_at, send
from tests.spark.test_kafka_kills import last_number
from tests.spark.test_kill_matrix import IN_WORKERS

MICRO_BATCH = {"HEADRACE_STREAM_MODE": "micro-batch"}
REAL_TIME = {"HEADRACE_STREAM_MODE": "real-time"}


CHANCES = 1000
"""At so many checkpoints a life may end: one without a change writes nothing, and has no such
step."""
PATIENCE = 180


class Writer(threading.Thread):
    """Changes rows as long as it may; each version of a row is there once.

    Not as many as it could: what comes while nothing runs has to be read by all that do."""

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
            while not self._ended.wait(0.02):
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


Steps = list[tuple[str, int | None, dict[str, str]]]
"""Where the driver dies, when at the earliest (None: in the second checkpoint to come), and how the
job runs."""

_NEVER = {"barrier-aligned", "state-files.before"}
"""What a job without an exchange and without keyed state does not come by."""

AT_EVERY_STEP: Steps = [
    ("cdc-table", 3, MICRO_BATCH),
    *(
        (step, None, mode)
        for mode in (MICRO_BATCH, REAL_TIME)
        for step in EVERY_STEP
        if step not in _NEVER
    ),
]
EVERY_WORKER = {*IN_WORKERS} - _NEVER


def _kill_drivers(where: tuple[Any, ...], steps: Steps, topics: Topics, marks: Path) -> None:
    """One life after the other that ends at its step; no row is ever there twice."""
    folder, *_, topic = where
    for number, (step, after, mode) in enumerate(steps):
        at, mark = last_number(folder) + 2 if after is None else after, marks / f"died-{number}"
        process = begin(*where, **mode, **dies_at(step, at, mark, CHANCES))
        try:
            _, messages = process.communicate(timeout=PATIENCE)
        finally:
            send(process.pid, signal.SIGKILL)
            process.communicate()
        assert process.returncode == -signal.SIGKILL, (step, messages[-3000:])
        assert list(marks.glob(f"{mark.name}.*")), step
        Seen(topics, topic).check()


def _await(process: Any, what: str, holds: Callable[[], Any]) -> None:
    """Wait for something that a running life does; a life that has ended does nothing."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert process.poll() is None, (f"it ended before {what}", process.stderr.read()[-3000:])
        assert time.monotonic() < deadline, f"{what}: not within {PATIENCE} s"
        time.sleep(1)  # looking at the topic takes a while, and a core


def kill_one_after_the_other(
    connector: str, server: Any, broker: KafkaBroker, tmp_path: Path, steps: Steps,
    workers: Iterable[str] = ("sink-pre-commit.after",),
    where_it_is: Callable[[], Callable[[], object]] = lambda: lambda: True,
) -> None:  # fmt: skip
    """Drivers at these steps, then workers, then the database. The table `killed` has rows 1 to
    200; at the end the topic has its changes once, no transaction is open, and the database knows
    that all is read: `where_it_is` takes down where its log ends, and then tells whether it does.
    """
    topics = Topics(broker.bootstrap_servers)
    topic, folder = topics.create(partitions=1, name=f"changes-{connector}"), tmp_path / "job"
    where = folder, connector, server.port, broker.bootstrap_servers, topic
    writer = Writer(server)
    _kill_drivers(where, steps, topics, tmp_path)
    deaths = Deaths(tmp_path / "died-worker", workers)
    process = begin(*where, **{**REAL_TIME, **deaths.environ})
    try:
        _await(process, "the workers died", deaths.all_happened)
        writer.end()
        server.kill()
        server.start()
        writer = Writer(server)
        server.run("INSERT INTO killed VALUES (100000, 0)")
        _await(process, "a new row", lambda: (100000, 0) in Seen(topics, topic).after)
        writer.end()
        rows, is_known = sorted(server.rows("SELECT id, v FROM killed")), where_it_is()
        _await(process, "all was there", lambda: Seen(topics, topic).rows == rows)
        _await(process, "none was open", lambda: not topics.has_open_transactions(topic))
        _await(process, "the database knew", is_known)
    finally:
        writer.end()
        send(process.pid, signal.SIGKILL)
        process.communicate()
    seen = Seen(topics, topic)
    seen.check()
    assert seen.rows == rows
