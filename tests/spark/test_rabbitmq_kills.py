"""A queue to keyed state to files, exactly once by correlation ids, whatever is killed when."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path

import pytest

from headrace.core.crash_points import RABBITMQ_STEPS
from tests.servers.rabbitmq import RabbitMQ, rabbitmq  # noqa: F401
from tests.spark.conftest import wait_until
from tests.spark.counts import expected
from tests.spark.rabbitmq_jobs import begin, lines
from tests.spark.sessions import Deaths, send
from tests.spark.test_kafka_kills import last_number

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MICRO_BATCH = {"HEADRACE_STREAM_MODE": "micro-batch"}
REAL_TIME = {"HEADRACE_STREAM_MODE": "real-time"}
STEPS = (
    ("rabbitmq-ack.before@2", MICRO_BATCH),
    ("metadata.after", REAL_TIME),  # complete, and nobody knows yet
)
"""Where a life of the job ends, with all its processes, and how it runs."""
WORKERS = ("rabbitmq-ack.before", "rabbitmq-ack.after")
"""Where the last life loses only its worker."""
EACH = 300


def die(folder: Path, port: int, queue: str, number: int, point: str, way: dict[str, str]) -> None:
    if "@" not in point:
        point += f"@{last_number(folder) + 2}"
    crash = {"HEADRACE_CRASH_AT": point, "HEADRACE_CRASH_MARK": f"{folder.parent}/died-{number}"}
    job = begin(folder, str(port), queue, "-", **way, **crash)
    try:
        _, messages = job.communicate(timeout=240)
    finally:
        send(job.pid, signal.SIGKILL)
    assert job.returncode == -signal.SIGKILL, (point, messages[-3000:])


def test_killed_at_any_step_and_then_a_worker_and_the_server(
    rabbitmq: RabbitMQ,  # noqa: F811
    tmp_path: Path,
) -> None:
    queue, folder, sent = "killed", tmp_path / "job", 0
    for number, (point, way) in enumerate(STEPS):
        rabbitmq.send(queue, range(sent, sent + EACH))
        sent += EACH
        die(folder, rabbitmq.port, queue, number, point, way)
        assert not lines(folder / "output") - expected(sent), point
    rabbitmq.send(queue, range(sent, sent + EACH))
    sent += EACH
    deaths = Deaths(tmp_path / "worker", WORKERS)
    job = begin(folder, str(rabbitmq.port), queue, "-", **REAL_TIME, **deaths.environ)
    try:
        wait_until(deaths.all_happened, 240)
        wait_until(lambda: lines(folder / "output").total() >= sent)
        rabbitmq.kill()
        rabbitmq.start()
        rabbitmq.send(queue, range(sent, sent + EACH))
        wait_until(lambda: lines(folder / "output").total() >= sent + EACH)
        wait_until(lambda: rabbitmq.unacknowledged(queue) == 0)
    finally:
        send(job.pid, signal.SIGKILL)
        _, messages = job.communicate()
    assert "answers again" in messages, messages[-3000:]
    assert lines(folder / "output") == expected(sent + EACH)
    assert rabbitmq.waiting(queue) == 0


def test_without_ids_nothing_is_lost(rabbitmq: RabbitMQ, tmp_path: Path) -> None:  # noqa: F811
    """At least once, from queue to queue: the sink's messages are there when a checkpoint is."""
    queue, output, folder = "twice", "twice-out", tmp_path / "job"
    rabbitmq.send(queue, range(EACH), ids=False)
    found: Counter[str] = Counter()
    environ = {**MICRO_BATCH, "RABBITMQ_JOBS_IDS": "0"}
    arguments = (folder, str(rabbitmq.port), queue, output)
    dies = {"HEADRACE_CRASH_AT": "rabbitmq-ack.before@2", "HEADRACE_CRASH_MARK": f"{tmp_path}/died"}
    first = begin(*arguments, **environ, **dies)
    first.communicate(timeout=240)
    assert first.returncode == -signal.SIGKILL
    second = begin(*arguments, **environ)

    def all_are_there() -> bool:
        found.update(rabbitmq.take(output))
        return not expected(EACH) - found

    try:
        wait_until(all_are_there)
    finally:
        send(second.pid, signal.SIGKILL)
        second.communicate()
    assert found.total() > EACH


def test_every_step_has_its_point() -> None:
    assert {*(point.partition("@")[0] for point, _ in STEPS), *WORKERS} >= set(RABBITMQ_STEPS)
