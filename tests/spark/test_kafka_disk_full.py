"""No space left at the broker: it ends, the job waits for it, and nothing is lost."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.testing.servers import KafkaBroker
from headrace.testing.servers.kafka_topics import Topics
from tests.spark.conftest import wait_until
from tests.spark.kafka_kill_jobs import begin, expected
from tests.spark.test_disk_full import fill

RECORDS = 1200
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


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_broker_whose_disk_is_full(
    broker_on_a_small_disk: tuple[KafkaBroker, Path], tmp_path: Path
) -> None:
    broker, disk = broker_on_a_small_disk
    topics = Topics(broker.bootstrap_servers)
    first, second = topics.create(partitions=3, name="in"), topics.create(partitions=2, name="out")
    topics.send(first, range(RECORDS))
    job = begin(
        tmp_path / "job",
        *(topics.servers, first, second),
        HEADRACE_STREAM_MODE="real-time",
        KAFKA_JOBS_SLOW="0.01",
    )
    try:
        wait_until(lambda: topics.ends(second) != [0, 0])
        fill(disk / "ballast")
        wait_until(lambda: not broker.is_running)
        (disk / "ballast").unlink()
        broker.start()
        out, messages = job.communicate(timeout=200)
        assert out.endswith("finished\n"), messages[-3000:]
    finally:
        job.kill()
        job.communicate()
    assert topics.servers in messages, messages[-3000:]
    assert Counter(topics.values(second)) == expected(RECORDS)
    assert not topics.has_open_transactions(second)
