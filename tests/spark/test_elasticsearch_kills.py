"""Files to keyed state to documents; SIGKILL of driver, worker and the server itself: in the end
each document is as it must be.

The job never ends: files come as it goes, until the test has seen what it wants to see.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace.testing.servers import OpenSearchServer
from tests.spark.conftest import wait_until
from tests.spark.elasticsearch_jobs import begin, expected
from tests.spark.sessions import Deaths, dies_at, send
from tests.spark.test_kill_matrix import last_checkpoint

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

INDEX, LINES = "killed", 5
MICRO_BATCH = {"HEADRACE_STREAM_MODE": "micro-batch"}
REAL_TIME = {"HEADRACE_STREAM_MODE": "real-time"}
RETRIES = "restart-strategy.type=fixed-delay restart-strategy.fixed-delay.attempts=1000 "
RETRIES += "restart-strategy.fixed-delay.delay=200ms"
PATIENCE_S = 240
CHANCES = 50
"""At so many checkpoints the first life may end: one without news has no such step."""


class Files:
    """What the job reads: one file after the other, each there as a whole."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.lines = 0
        (folder / "in").mkdir()
        self.add()

    def add(self) -> None:
        numbers = range(self.lines, self.lines + LINES)
        new = self.folder / "new"
        new.write_text("".join(f"{number}\n" for number in numbers))
        self.lines += LINES
        new.rename(self.folder / "in" / f"until-{self.lines}.txt")

    def add_until(self, holds: Callable[[], Any]) -> None:
        wait_until(lambda: self.add() or holds(), PATIENCE_S)


@contextmanager
def life(folder: Path, server: OpenSearchServer, **environ: str) -> Iterator[Any]:
    """One start of the program; none of its processes is left behind."""
    job = begin(folder, folder / "in", server.url, INDEX, **environ)
    try:
        yield job
    finally:
        send(job.pid, signal.SIGKILL)
        job.wait()


def said(folder: Path) -> str:
    return (folder / "said").read_text()


def test_whatever_is_killed(tmp_path: Path, opensearch: OpenSearchServer) -> None:
    """Documents are written and no checkpoint knows of it; then the job goes on at another
    parallelism, in real time, and loses a worker, and the server for a while."""
    files = Files(tmp_path)
    crash = dies_at("metadata.before", 3, tmp_path / "died", CHANCES)
    with life(tmp_path, opensearch, **MICRO_BATCH, **crash) as job:
        files.add_until(lambda: job.poll() is not None)
        assert job.returncode == -signal.SIGKILL, said(tmp_path)[-3000:]
    deaths = Deaths(tmp_path / "worker", ["sink-pre-commit.after"])
    environ = {
        **REAL_TIME,
        **deaths.environ,
        "KILL_JOBS_OPTIONS": RETRIES,
        "KILL_JOBS_PARALLELISM": "3",
    }
    with life(tmp_path, opensearch, **environ) as job:
        files.add_until(deaths.all_happened)
        files.add_until(lambda: last_checkpoint(tmp_path, 3) > deaths.last)
        opensearch.kill()
        files.add()  # something is left to be written
        wait_until(lambda: "documents are written again until they are taken" in said(tmp_path))
        opensearch.start()
        wait_until(lambda: "takes documents again" in said(tmp_path), PATIENCE_S)
        wait_until(lambda: opensearch.documents(INDEX) == expected(files.lines), PATIENCE_S)
        seen = last_checkpoint(tmp_path, 3)
        wait_until(lambda: last_checkpoint(tmp_path, 3) > seen + 1, PATIENCE_S)
        assert job.poll() is None, said(tmp_path)[-3000:]
    assert opensearch.documents(INDEX) == expected(files.lines)
