"""Databases: an upsert sink against a bare `executemany`, and a lookup join with a cache."""

from __future__ import annotations

import statistics
import tempfile
import time
from typing import Any

from bench.engines import figures_of, headrace
from bench.figures import Bar, Check, Outcome, ratio
from bench.measure import Progress

BATCH = 1000
ROWS = 200_000
LOOKED_UP = 500_000
UPSERT = "INSERT INTO {} (id, name, price) VALUES ({}) ON CONFLICT (id) DO UPDATE SET "
UPSERT += "name = EXCLUDED.name, price = EXCLUDED.price"


def jdbc(repeats: int, progress: Progress) -> Outcome:
    """Rows a second of both, on a PostgreSQL server of its own."""
    from tests.servers.postgres import Postgres

    server = Postgres()
    try:
        seconds: dict[str, list[float]] = {name: [] for name in ("bare", "sink", "lookup")}
        for turn in range(repeats):
            progress(f"a bare executemany, run {turn + 1} of {repeats}")
            seconds["bare"].append(_bare(server))
            progress(f"the sink and a lookup join, run {turn + 1} of {repeats}")
            for name, value in _jobs(server).items():
                seconds[name].append(value)
    finally:
        server.remove()
    records = {"bare": ROWS, "sink": ROWS, "lookup": LOOKED_UP}
    notes = {
        "bare": f"psycopg's executemany, {BATCH} rows at a time",
        "sink": f"headrace, JdbcSink, batches of {BATCH}",
        "lookup": "headrace, lookup join, 90 % of the keys in the cache",
    }
    speeds = {name: records[name] / statistics.median(seconds[name]) for name in notes}
    bars = tuple(
        Bar(name=note, value=speeds[name], unit="records/s", records=records[name])
        for name, note in notes.items()
    )
    looked_up = Check(
        name="lookup join with 90 % hits",
        value=speeds["lookup"],
        unit="rows/s",
        bound="at least",
        target=100_000,
    )
    sink = ratio("upsert sink to executemany", speeds["sink"] / speeds["bare"], 0.5)
    return Outcome(benchmark="jdbc", bars=bars, checks=(sink, looked_up))


def _bare(server: Any) -> float:
    server.run(
        "DROP TABLE IF EXISTS bare",
        "CREATE TABLE bare (id INT PRIMARY KEY, name TEXT, price FLOAT8)",
    )
    rows = [(number, f"name {number}", number / 7) for number in range(ROWS)]
    statement = UPSERT.format("bare", "%s, %s, %s")
    with server.connect() as session:
        session.autocommit = False
        begun = time.perf_counter()
        for start in range(0, ROWS, BATCH):
            with session.cursor() as cursor:
                cursor.executemany(statement, rows[start : start + BATCH])
            session.commit()
        return time.perf_counter() - begun


def _jobs(server: Any) -> dict[str, float]:
    server.run(
        "DROP TABLE IF EXISTS sunk",
        "CREATE TABLE sunk (id INT PRIMARY KEY, name TEXT, price FLOAT8)",
        "CREATE TABLE IF NOT EXISTS people AS SELECT n AS id, 'name ' || n AS name "
        f"FROM generate_series(0, {LOOKED_UP // 10 - 1}) AS n",
        "CREATE UNIQUE INDEX IF NOT EXISTS people_by_id ON people (id)",
    )
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as scratch:
        return figures_of(
            headrace(),
            "jobs/jdbc.py",
            scratch,
            "--url",
            server.url,
            "--user",
            server.user,
            "--password",
            server.password,
            "--rows",
            str(ROWS),
            "--batch",
            str(BATCH),
            "--lookups",
            str(LOOKED_UP),
        )
