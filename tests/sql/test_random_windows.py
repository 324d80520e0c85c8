"""Random windows over random rows, also before 1970, cut and restored anywhere: DuckDB's result."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from headrace.graph.nodes import SinkNode
from headrace.operators.sinks import CollectOperator
from tests.sql.random_runs import Run, environment, materialized
from tests.sql.random_tables import Changes

duckdb = pytest.importorskip("duckdb")
NANOS_PER_MS = 1_000_000
Rows = list[tuple[int | None, int | None, int]]
TABLE = """
CREATE TABLE w (k INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' HOUR)
WITH ('connector' = 'random', 'data-id' = 'w')
"""
ALIGNED = "ms - ((ms - {offset}) % {step} + {step}) % {step}"
"""The start of the last window that holds a row."""
WINDOWS = {
    "TUMBLE(TABLE w, DESCRIPTOR(ts), INTERVAL '7' SECOND)":
        f"SELECT *, {ALIGNED.format(step=7000, offset=0)} AS b, b + 7000 AS e FROM w",
    "TUMBLE(TABLE w, DESCRIPTOR(ts), INTERVAL '10' SECOND, INTERVAL '3' SECOND)":
        f"SELECT *, {ALIGNED.format(step=10000, offset=3000)} AS b, b + 10000 AS e FROM w",
    "HOP(TABLE w, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '6' SECOND)":
        f"SELECT w.*, {ALIGNED.format(step=2000, offset=0)} - n * 2000 AS b, b + 6000 AS e "
        "FROM w, range(3) r(n)",
    "CUMULATE(TABLE w, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '6' SECOND)":
        f"SELECT w.*, {ALIGNED.format(step=6000, offset=0)} AS b, b + 2000 * (n + 1) AS e "
        "FROM w, range(3) r(n) WHERE b + 2000 * (n + 1) > ms",
    "SESSION(TABLE w PARTITION BY k, DESCRIPTOR(ts), INTERVAL '3' SECOND)":
        "SELECT k, v, ms, MIN(ms) OVER s AS b, MAX(ms) OVER s + 3000 AS e FROM ("
        "SELECT *, SUM(begins) OVER (PARTITION BY k ORDER BY ms ROWS UNBOUNDED PRECEDING) AS n "
        "FROM (SELECT *, CASE WHEN ms - LAG(ms) OVER (PARTITION BY k ORDER BY ms) <= 3000 THEN 0 "
        "ELSE 1 END AS begins FROM w)) WINDOW s AS (PARTITION BY k, n)",
}  # fmt: skip
"""How DuckDB computes the same windows, from `b` to `e`."""
QUERIES = (
    (
        "SELECT k, {b}, {e}, COUNT(*), SUM(v), COUNT(DISTINCT v), MAX(v) FILTER (WHERE v < 2) "
        "FROM {w} GROUP BY k, {b}, {e}"
    ),
    "SELECT k, v, {b}, {e} FROM {w} WHERE v > 0",
    (
        "SELECT k, v, {b}, rn FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {b}, {e}, k "
        "ORDER BY v, {t}) AS rn FROM {w}) x WHERE rn <= 2"
    ),
    (
        "SELECT {b}, SUM(n) FROM (SELECT k, {b}, {e}, COUNT(*) AS n FROM {w} "
        "GROUP BY k, {b}, {e}) x GROUP BY {b}, {e}"
    ),
)

_row = st.tuples(
    st.none() | st.integers(1, 2), st.none() | st.integers(0, 3), st.integers(-20_000, 20_000)
)
_parts = st.lists(st.lists(_row, min_size=1, max_size=6), min_size=1, max_size=4)


def _expected(rows: Rows, window: str, query: str) -> Counter[Any]:
    connection = duckdb.connect()
    connection.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    connection.execute("CREATE TABLE w (k INT, v INT, ms BIGINT)")
    connection.executemany("INSERT INTO w VALUES (?, ?, ?)", rows)
    text = query.format(b="b", e="e", t="ms", w=f"({WINDOWS[window]}) q")
    found = connection.execute(text)
    times = [at for at, column in enumerate(found.description) if column[0] in ("b", "e")]
    return Counter(
        tuple(cell * NANOS_PER_MS if at in times else cell for at, cell in enumerate(row))
        for row in found.fetchall()
    )


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(_parts, st.sampled_from(list(WINDOWS)), st.sampled_from(QUERIES), st.booleans(),
       st.integers(1, 3), st.frozensets(st.integers(1, 4)))  # fmt: skip
def test_windows(
    parts: list[Rows], window: str, query: str, per_record: bool, parallelism: int,
    crash_after: frozenset[int],
) -> None:  # fmt: skip
    changes = tuple(tuple((0, k, v, ms * NANOS_PER_MS) for k, v, ms in part) for part in parts)
    env = environment({"w": Changes("append", changes)}, per_record, parallelism)
    env.execute_sql(TABLE)
    text = query.format(b="window_start", e="window_end", t="ts", w=f"TABLE({window})")
    note(text)
    execution = env._execution
    node = execution.lower(execution.optimized(env._session.query_text(text)))
    env._env.builder.add(SinkNode, "out", (node,), operator=CollectOperator())
    run = Run(env, crash_after)
    for _ in run.batches():
        pass
    rows = [row for part in parts for row in part]
    assert materialized(run.changes) == _expected(rows, window, query)


@pytest.mark.parametrize("per_record", [False, True])
def test_rows_before_1970_meet_in_an_interval_join(per_record: bool) -> None:
    times = (-310_478_399_999, -1, 0, 7000)
    changes = tuple(((0, 1, at, ms * NANOS_PER_MS),) for at, ms in enumerate(times))
    env = environment({"w": Changes("append", changes)}, per_record, 1)
    env.execute_sql(TABLE.replace("'1' HOUR", "'40000' DAY"))
    text = "SELECT x.v, y.v FROM w x JOIN w y ON x.k = y.k AND x.ts = y.ts"
    execution = env._execution
    node = execution.lower(execution.optimized(env._session.query_text(text)))
    env._env.builder.add(SinkNode, "out", (node,), operator=CollectOperator())
    run = Run(env, frozenset())
    for _ in run.batches():
        pass
    assert materialized(run.changes) == Counter((at, at) for at in range(len(times)))
