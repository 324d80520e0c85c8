"""SIGKILL of driver, worker and the server itself: in the end each document is as it must be."""

from __future__ import annotations

import signal
from collections.abc import Iterator
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

BATCHES, INDEX = 60, "killed"
MICRO_BATCH = {"HEADRACE_STREAM_MODE": "micro-batch"}
REAL_TIME = {"HEADRACE_STREAM_MODE": "real-time", "KILL_JOBS_PAUSE": "0.04"}
RETRIES = "restart-strategy.type=fixed-delay restart-strategy.fixed-delay.attempts=1000 "
RETRIES += "restart-strategy.fixed-delay.delay=200ms"
PATIENCE_S = 240


@contextmanager
def life(folder: Path, server: OpenSearchServer, **environ: str) -> Iterator[Any]:
    """One start of the program; none of its processes is left behind."""
    job = begin(folder, BATCHES, server.url, INDEX, **environ)
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
    crash = dies_at("metadata.before", 3, tmp_path / "died")
    with life(tmp_path, opensearch, **MICRO_BATCH, **crash) as job:
        assert job.wait(PATIENCE_S) == -signal.SIGKILL, said(tmp_path)[-3000:]
    deaths = Deaths(tmp_path / "worker", ["sink-pre-commit.after"])
    environ = {
        **REAL_TIME,
        **deaths.environ,
        "KILL_JOBS_HOLD": "1",
        "KILL_JOBS_OPTIONS": RETRIES,
        "KILL_JOBS_PARALLELISM": "3",
    }
    with life(tmp_path, opensearch, **environ) as job:
        wait_until(deaths.all_happened, PATIENCE_S)
        wait_until(lambda: last_checkpoint(tmp_path, 3) > deaths.last, PATIENCE_S)
        opensearch.kill()
        (tmp_path / "go").touch()  # something is left to be written
        wait_until(lambda: "documents are written again until they are taken" in said(tmp_path))
        opensearch.start()
        assert job.wait(PATIENCE_S) == 0, said(tmp_path)[-3000:]
    assert "takes documents again" in said(tmp_path)
    assert said(tmp_path).endswith("finished\n")
    assert opensearch.documents(INDEX) == expected(BATCHES)
