"""SIGKILL of driver, worker and the server itself: in the end each document is as it must be."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from headrace.testing.servers import OpenSearchServer
from tests.spark.conftest import wait_until
from tests.spark.elasticsearch_jobs import begin, expected
from tests.spark.test_kill_matrix import _send, checkpoints, last_checkpoint

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MICRO_BATCH = {"HEADRACE_STREAM_MODE": "micro-batch"}
REAL_TIME = {"HEADRACE_STREAM_MODE": "real-time", "KILL_JOBS_PAUSE": "0.04"}
LIVES = (
    ("sink-pre-commit.after", 2, MICRO_BATCH),
    ("metadata.before", 3, REAL_TIME),
)
"""The step, the parallelism and the mode of each life of one job."""
RETRIES = "restart-strategy.type=fixed-delay restart-strategy.fixed-delay.attempts=30 "
RETRIES += "restart-strategy.fixed-delay.delay=200ms"


def ended(job: Any) -> tuple[int, str, str]:
    try:
        out, messages = job.communicate(timeout=240)
    finally:
        _send(job.pid, signal.SIGKILL)
    return job.returncode, out, messages


def test_killed_at_steps_of_a_checkpoint(tmp_path: Path, opensearch: OpenSearchServer) -> None:
    index, batches = "killed", 30
    for number, (step, parallelism, mode) in enumerate(LIVES):
        at = last_checkpoint(tmp_path, parallelism) + 2
        environ = {
            **mode,
            "KILL_JOBS_PARALLELISM": str(parallelism),
            "HEADRACE_CRASH_AT": f"{step}@{at}",
            "HEADRACE_CRASH_MARK": str(tmp_path / f"died-{number}"),
        }
        job = begin(tmp_path, batches, opensearch.url, index, **environ)
        code, out, messages = ended(job)
        assert code == -signal.SIGKILL, (step, out, messages[-3000:])
    _, out, messages = ended(begin(tmp_path, batches, opensearch.url, index, **MICRO_BATCH))
    assert out.endswith("finished\n"), messages[-3000:]
    assert opensearch.documents(index) == expected(batches)


def test_a_killed_worker_and_a_killed_server(tmp_path: Path, opensearch: OpenSearchServer) -> None:
    """One job loses a worker, and then the server for a while, and goes on."""
    index, batches = "lost", 80
    job = begin(
        tmp_path,
        batches,
        opensearch.url,
        index,
        **REAL_TIME,
        KILL_JOBS_OPTIONS=RETRIES,
        HEADRACE_CRASH_AT="sink-pre-commit.after@3",
        HEADRACE_CRASH_WHOM="process",
        HEADRACE_CRASH_MARK=str(tmp_path / "died"),
    )
    try:
        wait_until(lambda: any(attempt > 1 for _, _, attempt in checkpoints(tmp_path)))
        opensearch.kill()
        opensearch.start()
    finally:
        _, out, messages = ended(job)
    assert out.endswith("finished\n"), messages[-3000:]
    assert list(tmp_path.glob("died.*"))
    assert "takes documents again" in messages, messages[-3000:]
    assert opensearch.documents(index) == expected(batches)
