"""A job that writes to a database exactly once, to be killed at named steps and started again.

python -m tests.spark.jdbc_jobs <folder> <batches>

    JDBC_JOBS_URL, JDBC_JOBS_USER, JDBC_JOBS_PASSWORD, JDBC_JOBS_TABLE    where it writes to
    KILL_JOBS_...    as of kill_jobs
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from headrace.common import Row, Types, WatermarkStrategy
from headrace.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
)
from tests.conftest import ROOT
from tests.spark.kill_jobs import STEP, environment, patient

TYPE = Types.ROW([Types.STRING(), Types.LONG()])


def expected(batches: int) -> Counter[tuple[str, int]]:
    numbers = range(STEP * batches)
    return Counter((f"key-{n % 7}", n * 2 + part) for n in numbers for part in range(2))


def begin(server: Any, table: str, folder: Path, batches: int, **environ: str) -> Any:
    """The program, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.spark.jdbc_jobs", str(folder), str(batches)],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={
            **os.environ,
            "HEADRACE_PARALLELISM": "1",
            "JDBC_JOBS_URL": server.url,
            "JDBC_JOBS_USER": server.user,
            "JDBC_JOBS_PASSWORD": server.password,
            "JDBC_JOBS_TABLE": table,
            **environ,
        },
    )


def main() -> None:
    folder, batches, given = Path(sys.argv[1]), int(sys.argv[2]), os.environ
    options = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(given["JDBC_JOBS_URL"])
        .with_user_name(given["JDBC_JOBS_USER"])
        .with_password(given["JDBC_JOBS_PASSWORD"])
        .build()
    )
    sink = JdbcSink.exactly_once_sink(
        f"INSERT INTO {given['JDBC_JOBS_TABLE']} VALUES (?, ?)",
        TYPE,
        options,
        JdbcExecutionOptions.builder().with_batch_size(5).build(),
    )
    env = environment(folder)
    numbers = patient(batches, folder)
    records = env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    keyed = records.key_by(lambda record: record[0])
    keyed.map(lambda record: Row(*record), TYPE).uid("rows").add_sink(sink).uid("sink")
    env.execute("exactly once")
    print("finished")


if __name__ == "__main__":
    main()
