"""No space left at the broker: it ends, the job waits for it, and nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from headrace.testing.servers import KafkaBroker
from headrace.testing.servers.kafka_topics import Topics
from tests.servers.kafka_tools import committed
from tests.spark.conftest import wait_until
from tests.spark.counts import expected
from tests.spark.kafka_kill_jobs import begin
from tests.spark.sessions import send
from tests.spark.test_disk_full import fill

RECORDS = 1200
PATIENCE_S = 240
SIZE = "64m"


@pytest.fixture
def broker_on_a_small_disk(tmp_path: Path) -> Iterator[tuple[KafkaBroker, Path]]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may make a small file system")
    broker = KafkaBroker(disk)
    try:
        broker.start()
        yield broker, disk
    finally:
        broker.stop()
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def ends_when_it_writes(broker: KafkaBroker, servers: str, topic: str) -> None:
    """The job may not write for a while; somebody else does."""
    other = Producer({"bootstrap.servers": servers, "log_level": 0})

    def has_ended() -> bool:
        other.produce(topic, b"x" * 1000)
        other.poll(0)
        return not broker.is_running

    wait_until(has_ended, PATIENCE_S)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_broker_whose_disk_is_full(
    broker_on_a_small_disk: tuple[KafkaBroker, Path], tmp_path: Path
) -> None:
    broker, disk = broker_on_a_small_disk
    topics = Topics(broker.bootstrap_servers)
    first, second = topics.create(partitions=3, name="in"), topics.create(partitions=2, name="out")
    third = topics.create()
    topics.send(first, range(RECORDS))
    said, hurry = tmp_path / "said", tmp_path / "hurry"
    with said.open("w") as messages:
        job = begin(
            tmp_path / "job",
            *(topics.servers, first, second),
            stderr=messages,
            HEADRACE_STREAM_MODE="real-time",
            KAFKA_JOBS_SLOW="0.05",  # half a minute: it is not done before the disk is full
            KAFKA_JOBS_HURRY=str(hurry),
        )
    try:
        wait_until(lambda: topics.ends(second) != [0, 0], PATIENCE_S)
        fill(disk / "ballast")
        ends_when_it_writes(broker, topics.servers, third)
        wait_until(lambda: topics.servers in said.read_text(), PATIENCE_S)
        (disk / "ballast").unlink()
        broker.start()
        hurry.touch()
        out, _ = job.communicate(timeout=PATIENCE_S)
        assert out.endswith("finished\n"), said.read_text()[-3000:]
    finally:
        send(job.pid, signal.SIGKILL)
        job.communicate()
    assert Counter(committed(topics, second)) == expected(RECORDS)
