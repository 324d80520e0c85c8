"""Whatever dies, or sleeps and wakes up late, driver, workers and the database itself: each record
is in the table once, and no transaction is left prepared.

What the steps of a checkpoint do to a job is for the kill matrix to show; here they are those at
which a transaction of a database is open, prepared, or committed without anybody knowing of it. A
start of the program costs most, so all of it happens to one job for each kind of database.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.servers.mariadb import mariadb  # noqa: F401
from tests.servers.postgres import postgres  # noqa: F401
from tests.spark.conftest import wait_until
from tests.spark.jdbc_jobs import begin, expected
from tests.spark.kill_jobs import checkpoints
from tests.spark.sessions import dies_at, is_stopped, send, session
from tests.spark.test_kill_matrix import PATIENT_SPARK, last_checkpoint

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

BATCHES = 120
MICRO_BATCH = {"HEADRACE_STREAM_MODE": "micro-batch"}
REAL_TIME = {"HEADRACE_STREAM_MODE": "real-time", "KILL_JOBS_PAUSE": "0.04"}
RETRIES = "restart-strategy.type=fixed-delay restart-strategy.fixed-delay.attempts=1000 "
RETRIES += "restart-strategy.fixed-delay.delay=200ms execution.checkpointing.timeout=3s"
OPEN, PREPARED = "sink-pre-commit.before@4", "sink-pre-commit.after@4"
TO_COMMIT = "sink-commit.before@12"


@pytest.fixture(params=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def found(server: Any) -> Counter[tuple[str, int]]:
    return Counter(server.rows("SELECT name, n FROM once"))


@contextmanager
def life(server: Any, folder: Path, **environ: str) -> Iterator[Any]:
    """One start of the program; none of its processes is left behind."""
    job = begin(server, "once", folder, BATCHES, **environ)
    try:
        yield job
    finally:
        send(job.pid, signal.SIGKILL)
        job.communicate()


def test_each_record_is_there_once_whatever_happens(tmp_path: Path, server: Any) -> None:
    server.run("CREATE TABLE once (name VARCHAR(20), n BIGINT)")
    mark = tmp_path / "asleep"
    falls_asleep = {
        "KILL_JOBS_OPTIONS": RETRIES,
        "HEADRACE_CONF": PATIENT_SPARK,
        "HEADRACE_CRASH_AT": f"{OPEN},{PREPARED},{TO_COMMIT}",
        "HEADRACE_CRASH_MARK": str(mark),
        "HEADRACE_CRASH_WHOM": "process",
        "HEADRACE_CRASH_SIGNAL": "SIGSTOP",
    }
    with life(server, tmp_path, **REAL_TIME, **falls_asleep) as elder:
        two_workers_wake_up_late(elder, tmp_path, mark)
        the_database_dies(server, tmp_path)
        the_driver_falls_asleep(elder, mark)
        assert not found(server) - expected(BATCHES)
        dies_after_its_commit(server, tmp_path)
        runs = max(run for run, _, _ in checkpoints(tmp_path))
        with life(server, tmp_path, **REAL_TIME) as successor:
            the_elder_wakes_up(elder, tmp_path, runs)
            out, messages = successor.communicate(timeout=240)
            assert out.endswith("finished\n"), messages[-3000:]
    rows, wanted = found(server), expected(BATCHES)
    assert rows == wanted, ("too many", rows - wanted, "missing", wanted - rows)
    assert server.prepared() == []


def two_workers_wake_up_late(job: Any, folder: Path, mark: Path) -> None:
    """One with an open transaction, one with a prepared one; others do their work meanwhile."""
    points = [Path(f"{mark}.{point}") for point in (OPEN, PREPARED)]
    wait_until(lambda: all(point.exists() for point in points), 240)
    wait_until(lambda: any(attempt > 1 for _, _, attempt in checkpoints(folder)), 240)
    assert any(map(is_stopped, session(job.pid)))
    send(job.pid, signal.SIGCONT)


def the_database_dies(server: Any, folder: Path) -> None:
    wait_until(lambda: any(number >= 6 for _, number, _ in checkpoints(folder)), 240)
    server.kill()
    server.start()


def the_driver_falls_asleep(job: Any, mark: Path) -> None:
    """A checkpoint is complete, and nothing of it committed."""
    wait_until(lambda: Path(f"{mark}.{TO_COMMIT}").exists(), 240)
    send(job.pid, signal.SIGSTOP)


def dies_after_its_commit(server: Any, folder: Path) -> None:
    """The successor, at another parallelism: the next one must notice what is committed."""
    at = last_checkpoint(folder, 1) + 2
    crash = dies_at("sink-commit.after", at, folder / "died")
    with life(server, folder, **MICRO_BATCH, **crash, KILL_JOBS_PARALLELISM="1") as job:
        _, messages = job.communicate(timeout=240)
        assert job.returncode == -signal.SIGKILL, messages[-3000:]
    assert not found(server) - expected(BATCHES)


def the_elder_wakes_up(job: Any, folder: Path, runs: int) -> None:
    """While a successor works: it must neither commit nor disturb that."""
    wait_until(lambda: any(run > runs for run, _, _ in checkpoints(folder)), 240)
    send(job.pid, signal.SIGCONT)
    _, messages = job.communicate(timeout=240)
    assert job.returncode != 0, messages[-3000:]
    assert "started once more meanwhile" in messages, messages[-3000:]
