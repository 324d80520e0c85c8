"""No space for a checkpoint: the job fails over, and when there is space again nothing is lost."""

from __future__ import annotations

import errno
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from headrace.datastream.connectors import Split
from headrace.jobs.client import JobClient
from headrace.spark.file_store import LocalStore
from tests.conftest import IN_REAL_TIME
from tests.spark.fault_jobs import Steps
from tests.spark.kill_jobs import build, check_output, environment, prepared, source

BATCHES = 10
SIZE = "2m"
PAUSE = 0.2 if IN_REAL_TIME else 0
"""A job that flows would be done before its third checkpoint."""

Eventually = Callable[..., None]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own, and a small one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root may make a small file system")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def started(folder: Path, checkpoints: Path, pause: float = 0) -> JobClient:
    env = environment(
        folder, execution_checkpointing_dir=str(checkpoints), restart__strategy_type="fixed-delay",
        restart__strategy_fixed__delay_attempts="1000",
        restart__strategy_fixed__delay_delay="200 ms",
    )  # fmt: skip
    build(env, folder, source(BATCHES, pause))
    return env.execute_async("on a small disk")


def committed(checkpoints: Path) -> int:
    """The number of the last checkpoint."""
    found = checkpoints.glob("job-1/run-0/checkpoints/[0-9]*")
    return max((int(path.name.partition("-")[0]) for path in found), default=0)


@pytest.mark.slow
def test_a_full_disk(
    small_disk: Path, tmp_path: Path, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = prepared(tmp_path / "job")
    is_full, offer = threading.Event(), Steps.latest_position

    def in_time(self: Steps, split: Split, start: Any) -> Any:
        """After some checkpoints there is nothing more to read before the disk is full."""
        if committed(small_disk) >= 3:
            is_full.wait(120)
        return offer(self, split, start)

    monkeypatch.setattr(Steps, "latest_position", in_time)
    client = started(folder, small_disk, PAUSE)
    eventually(lambda: committed(small_disk) >= 3)
    fill(small_disk / "ballast")
    is_full.set()
    eventually(lambda: client.get_exceptions())
    failure = client.get_exceptions()[-1]
    assert "no space left" in failure.message.lower()
    before = committed(small_disk)
    assert before < BATCHES
    (small_disk / "ballast").unlink()
    client.get_job_execution_result().result(timeout=120)
    check_output(folder, BATCHES)


def fill(ballast: Path) -> None:
    """Leave no byte."""
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            with suppress(OSError):
                while True:
                    file.write(b"x" * size)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["batch-", "settled", "checkpoints/"])
def test_what_the_driver_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The journal and the checkpoint itself, whatever the machine allows."""
    folder = prepared(tmp_path / "job")
    write = LocalStore.write
    refused = 0

    def sometimes(self: LocalStore, file: str, content: bytes) -> None:
        nonlocal refused
        done = committed(folder / "checkpoints") >= 3
        if file.startswith(name.partition("-")[0]) and done and refused < 2:
            refused += 1
            raise OSError(errno.ENOSPC, "No space left on device", file)
        write(self, file, content)

    monkeypatch.setattr(LocalStore, "write", sometimes)
    client = started(folder, folder / "checkpoints", PAUSE)
    client.get_job_execution_result().result(timeout=120)
    assert refused == 2
    assert client.get_exceptions()
    for failure in client.get_exceptions():
        assert "the disk is full" in failure.message
    check_output(folder, BATCHES)
