"""A user's two-phase sink into a database: every record once, whenever the job is stopped."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, WatermarkStrategy
from headrace.datastream import (
    RichSinkFunction,
    StreamExecutionEnvironment,
    TwoPhaseCommitSinkFunction,
)
from tests.spark.fault_jobs import Numbers, files
from tests.spark.test_file_sink import Endless

SCHEMA = """
    CREATE TABLE staged (txn TEXT, value TEXT);
    CREATE TABLE output (value TEXT);
    CREATE TABLE calls (name TEXT, txn TEXT);
"""


@contextmanager
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection whose changes are one transaction of the database."""
    with closing(sqlite3.connect(path, timeout=60)) as database, database:
        yield database


def create(path: Path) -> Path:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(f"PRAGMA journal_mode = WAL; {SCHEMA}")
    return path


class DatabaseSink(TwoPhaseCommitSinkFunction[Any, str]):
    """Records are staged under the name of their transaction; a commit moves them."""

    def __init__(self, path: Path):
        self.path = path
        self.rows: list[tuple[str, str]] = []

    def open(self, runtime_context: Any) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def begin_transaction(self) -> str:
        return f"{self.subtask}-{os.urandom(8).hex()}"

    def invoke(self, transaction: str, value: Any, context: Any) -> None:
        self.rows.append((transaction, f"{value[0]} {value[1]}"))

    def pre_commit(self, transaction: str) -> None:
        with connection(self.path) as database:
            database.executemany("INSERT INTO staged VALUES (?, ?)", self.rows)
        self.rows.clear()

    def commit(self, transaction: str) -> None:
        self._end("commit", transaction)

    def abort(self, transaction: str) -> None:
        self.rows.clear()
        self._end("abort", transaction)

    def recover_and_commit(self, transaction: str) -> None:
        self._end("recover and commit", transaction)

    def recover_and_abort(self, transaction: str) -> None:
        self._end("recover and abort", transaction)

    def _end(self, call: str, transaction: str) -> None:
        with connection(self.path) as database:
            database.execute("INSERT INTO calls VALUES (?, ?)", (call, transaction))
            if call.endswith("commit"):
                database.execute(
                    "INSERT INTO output SELECT value FROM staged WHERE txn = ?", (transaction,)
                )
            database.execute("DELETE FROM staged WHERE txn = ?", (transaction,))


def rows(path: Path, table: str = "output", column: str = "value") -> Counter[str]:
    with connection(path) as database:
        return Counter(value for (value,) in database.execute(f"SELECT {column} FROM {table}"))


def expected(source: Numbers) -> Counter[str]:
    return Counter(f"key-{n % 7} {n * source.count + part}"
                   for n in range(source.limit) for part in range(source.count))  # fmt: skip


def environment(checkpoints: Path, parallelism: int = 2) -> StreamExecutionEnvironment:
    settings = Configuration()
    settings.set_string("execution.checkpointing.dir", str(checkpoints))
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_parallelism(parallelism)
    env.enable_checkpointing(100)
    return env


def build(
    env: StreamExecutionEnvironment, source: Numbers, database: Path, folder: Path | None = None
) -> None:
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    if folder is not None:
        texts = records.map(lambda record: f"{record[0]} {record[1]}").uid("texts")
        texts.sink_to(files(folder)).uid("files")
    records.key_by(lambda record: record[0]).map(lambda record: record).uid("same").add_sink(
        DatabaseSink(database)
    ).uid("database")


@pytest.mark.smoke
def test_a_bounded_job(env: StreamExecutionEnvironment, mode: str, tmp_path: Path) -> None:
    database = create(tmp_path / "db")
    source = Numbers(limit=40, step=10)
    build(env, source, database)
    env.execute()
    assert rows(database) == expected(source)
    assert set(rows(database, "calls", "name")) == {"commit"}
    assert not rows(database, "staged")


def test_a_stopped_job_goes_on(tmp_path: Path, eventually: Callable[..., None]) -> None:
    database = create(tmp_path / "db")
    for limit in (30, 70):
        env = environment(tmp_path / "checkpoints")
        source = Endless(limit=limit, step=10)
        build(env, source, database)
        job = env.execute_async("endless")
        known = expected(source)
        eventually(lambda known=known: rows(database) == known)
        job.cancel().result()
    assert rows(database) == expected(source)


def run(folder: Path, parallelism: int) -> None:
    """A job to its end, or to where it is killed."""
    env = environment(folder / "checkpoints", parallelism)
    build(env, Numbers(limit=60, step=10), folder / "db", folder / "files")
    env.execute()


_JOB = """
import sys
from pathlib import Path
import cloudpickle
from tests.spark import test_two_phase_commit

# Workers would import it, and with it all that tests need, one after the other.
cloudpickle.register_pickle_by_value(test_two_phase_commit)
test_two_phase_commit.run(Path(sys.argv[1]), int(sys.argv[2]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "call", "parallelism"),
    [
        # At one parallelism, and at all other steps, it is killed in test_kill_matrix.py.
        ("metadata.after", "recover and commit", 3),
    ],
)
def test_a_killed_job_goes_on(
    tmp_path: Path, repository: Path, lines_of: Callable[[Path], Counter[str]],
    step: str, call: str, parallelism: int,
) -> None:  # fmt: skip
    database = create(tmp_path / "db")
    crash = {"HEADRACE_CRASH_AT": f"{step}@2", "HEADRACE_CRASH_MARK": str(tmp_path / "died")}

    ended = subprocess.run(
        [sys.executable, "-c", _JOB, str(tmp_path), "2"], cwd=repository, text=True, timeout=240,
        capture_output=True, start_new_session=True, check=False, env={**os.environ, **crash},
    )  # fmt: skip
    assert ended.returncode == -signal.SIGKILL, ended.stderr[-3000:]
    assert not rows(database, "calls", "name")[call]
    run(tmp_path, parallelism)
    wanted = expected(Numbers(limit=60, step=10))
    assert rows(database) == wanted
    assert rows(database, "calls", "name")[call] > 0
    assert lines_of(tmp_path / "files") == wanted
    assert not list((tmp_path / "files").glob(".*.pending"))


class AtLeastOnce(RichSinkFunction[Any]):
    """Writes each record as it comes."""

    def __init__(self, path: Path):
        self.path = path

    def open(self, runtime_context: Any) -> None:
        self.database = sqlite3.connect(self.path, timeout=60)

    def invoke(self, value: Any, context: Any) -> None:
        with self.database:
            self.database.execute("INSERT INTO output VALUES (?)", (f"{value[0]} {value[1]}",))

    def close(self) -> None:
        self.database.close()


def test_a_plain_sink_function(env: StreamExecutionEnvironment, mode: str, tmp_path: Path) -> None:
    database = create(tmp_path / "db")
    source = Numbers(limit=20, step=10)
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    records.add_sink(AtLeastOnce(database))
    env.execute()
    assert rows(database) == expected(source)
