"""SIGKILL of driver, workers and the database itself: each record is in the table once, and no
transaction is left prepared."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.servers.mariadb import mariadb  # noqa: F401
from tests.servers.postgres import postgres  # noqa: F401
from tests.spark.conftest import wait_until
from tests.spark.jdbc_jobs import begin, expected
from tests.spark.test_kill_matrix import _is_stopped, _send, _session, checkpoints, last_checkpoint

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

MICRO_BATCH = {"HEADRACE_STREAM_MODE": "micro-batch"}
REAL_TIME = {"HEADRACE_STREAM_MODE": "real-time", "KILL_JOBS_PAUSE": "0.04"}
CHAINS: dict[str, list[tuple[str, int, dict[str, str]]]] = {
    "postgres": [
        ("sink-pre-commit.before", 2, MICRO_BATCH),
        ("sink-pre-commit.after", 2, MICRO_BATCH),
        ("metadata.before", 3, MICRO_BATCH),
        ("metadata.after", 3, REAL_TIME),
        ("sink-commit.after", 1, MICRO_BATCH),
    ],
    "mariadb": [
        ("sink-pre-commit.after", 2, MICRO_BATCH),
        ("journal.after", 3, MICRO_BATCH),
        ("sink-commit.before", 1, REAL_TIME),
    ],
}
"""The step, the parallelism and the mode of each life of one job."""
RETRIES = "restart-strategy.type=fixed-delay restart-strategy.fixed-delay.attempts=30 "
RETRIES += "restart-strategy.fixed-delay.delay=200ms"


@pytest.fixture(params=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def kind_of(server: Any) -> str:
    return type(server).__name__.lower()


def make_table(server: Any, name: str) -> str:
    server.run(f"CREATE TABLE {name} (name VARCHAR(20), n BIGINT)")
    return name


def found(server: Any, table: str) -> Counter[tuple[str, int]]:
    return Counter(server.rows(f"SELECT name, n FROM {table}"))


def check(server: Any, table: str, batches: int) -> None:
    rows, wanted = found(server, table), expected(batches)
    assert rows == wanted, ("too many", rows - wanted, "missing", wanted - rows)
    assert server.prepared() == []


def ended(job: Any) -> tuple[int, str, str]:
    try:
        out, messages = job.communicate(timeout=240)
    finally:
        _send(job.pid, signal.SIGKILL)
    return job.returncode, out, messages


def test_killed_at_steps_of_a_checkpoint(tmp_path: Path, server: Any) -> None:
    table, batches = make_table(server, "killed"), 60
    for number, (step, parallelism, mode) in enumerate(CHAINS[kind_of(server)]):
        at = last_checkpoint(tmp_path, parallelism) + 2
        environ = {
            **mode,
            "KILL_JOBS_PARALLELISM": str(parallelism),
            "HEADRACE_CRASH_AT": f"{step}@{at}",
            "HEADRACE_CRASH_MARK": str(tmp_path / f"died-{number}"),
        }
        code, out, messages = ended(begin(server, table, tmp_path, batches, **environ))
        assert code == -signal.SIGKILL, (step, out, messages[-3000:])
        assert not found(server, table) - expected(batches), step
    _, out, messages = ended(begin(server, table, tmp_path, batches, **MICRO_BATCH))
    assert out.endswith("finished\n"), messages[-3000:]
    check(server, table, batches)


def test_a_killed_worker_and_a_killed_database(tmp_path: Path, server: Any) -> None:
    """One job loses a worker, and then its database for a while, and goes on."""
    table, batches = make_table(server, "lost"), 50
    job = begin(
        server,
        table,
        tmp_path,
        batches,
        **{**MICRO_BATCH, "KILL_JOBS_PAUSE": "0.04"},
        KILL_JOBS_OPTIONS=RETRIES,
        HEADRACE_CRASH_AT="sink-pre-commit.after@3",
        HEADRACE_CRASH_WHOM="process",
        HEADRACE_CRASH_MARK=str(tmp_path / "died"),
    )
    try:
        wait_until(lambda: any(number >= 8 for _, number, _ in checkpoints(tmp_path)))
        server.kill()
        server.start()
    finally:
        _, out, messages = ended(job)
    assert out.endswith("finished\n"), messages[-3000:]
    assert list(tmp_path.glob("died.*"))
    check(server, table, batches)


def test_a_worker_that_wakes_up_late_changes_nothing(tmp_path: Path, server: Any) -> None:
    """It stands still with an open transaction until others have done its work."""
    table, batches, mark = make_table(server, "late"), 130, tmp_path / "stopped"
    point = "sink-pre-commit.before@4"
    job = begin(
        server,
        table,
        tmp_path,
        batches,
        **REAL_TIME,
        KILL_JOBS_OPTIONS=f"{RETRIES} execution.checkpointing.timeout=2s",
        HEADRACE_CRASH_AT=point,
        HEADRACE_CRASH_MARK=str(mark),
        HEADRACE_CRASH_WHOM="process",
        HEADRACE_CRASH_SIGNAL="SIGSTOP",
    )
    try:
        wait_until(lambda: Path(f"{mark}.{point}").exists())
        wait_until(lambda: any(map(_is_stopped, _session(job.pid))), 10)
        stopped = [pid for pid in _session(job.pid) if _is_stopped(pid)]
        wait_until(lambda: any(attempt > 1 for _, _, attempt in checkpoints(tmp_path)))
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    finally:
        _, out, messages = ended(job)
    assert out.endswith("finished\n"), messages[-3000:]
    check(server, table, batches)
