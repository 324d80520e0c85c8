"""Results of tables that end: each row once, whatever the sink takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.errors import InvalidQuery
from headrace.table import EnvironmentSettings, TableEnvironment
from tests.sql import sql_cases

ORDERS = [(1, "a", 1), (2, "a", 5), (3, "a", 9), (4, "b", 9)]
RATES = [("a", 10, 0), ("a", 20, 4), ("a", 30, 8)]


def table(name: str, columns: list[str], rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    """A table whose last column is a time in seconds."""
    schema = [*columns, "ts TIMESTAMP(3)", "WATERMARK FOR ts AS ts"]
    timed = [[*values, f"2020-01-01 00:00:0{second}"] for *values, second in rows]
    given = [{"kind": "+I", "row": row} for row in timed]
    return {"name": name, "schema": schema, "rows": given, "rows_after_restore": []}


def case(mode: str, sql: str, *setup: str) -> dict[str, Any]:
    orders = table("orders", ["id INT", "currency STRING"], ORDERS)
    rates = table("rates", ["currency STRING", "rate INT"], RATES)
    return {"mode": mode, "tables": [orders, rates], "setup_sql": setup, "sql": sql}


VERSIONS = """
    CREATE TEMPORARY VIEW versions AS SELECT currency, rate, ts FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY currency ORDER BY ts DESC) AS n FROM rates
    ) WHERE n = 1
"""


@pytest.mark.parametrize("per_record", [True, False])
@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_versions_that_come_together_all_count(mode: str, per_record: bool) -> None:
    query = """
        SELECT id, rate FROM orders
        LEFT JOIN versions FOR SYSTEM_TIME AS OF orders.ts
        ON orders.currency = versions.currency
    """
    found = sql_cases.lines(case(mode, query, VERSIONS), per_record=per_record, at_once=True)
    assert sorted(found) == ["+I[1, 10]", "+I[2, 20]", "+I[3, 30]", "+I[4, null]"]


@pytest.mark.parametrize("per_record", [True, False])
def test_first_rows_are_not_late_for_windows(per_record: bool) -> None:
    query = """
        SELECT currency, COUNT(*), window_start FROM TABLE(TUMBLE(
            TABLE firsts, DESCRIPTOR(ts), INTERVAL '2' SECOND))
        GROUP BY currency, window_start, window_end
    """
    view = """
        CREATE TEMPORARY VIEW firsts AS SELECT currency, ts FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY currency ORDER BY PROCTIME()) AS n
            FROM orders
        ) WHERE n = 1
    """
    found = sql_cases.lines(case("streaming", query, view), per_record=per_record, at_once=True)
    assert sorted(found) == ["+I[a, 1, 2020-01-01T00:00]", "+I[b, 1, 2020-01-01T00:00:08]"]


QUERIES = {
    "SELECT currency, COUNT(*) FROM orders GROUP BY currency": ["+I[a, 3]", "+I[b, 1]"],
    "SELECT DISTINCT currency FROM orders": ["+I[a]", "+I[b]"],
    "SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM orders GROUP BY currency)": ["+I[3]"],
    "SELECT id FROM orders ORDER BY id DESC LIMIT 2": ["+I[3]", "+I[4]"],
    "SELECT id, SUM(id) OVER (ORDER BY id) FROM orders": [
        "+I[1, 1]", "+I[2, 3]", "+I[3, 6]", "+I[4, 10]"],
    "SELECT id FROM orders WHERE currency NOT IN (SELECT currency FROM rates)": ["+I[4]"],
    "SELECT id, rate FROM orders LEFT JOIN rates ON id * 10 = rate": [
        "+I[1, 10]", "+I[2, 20]", "+I[3, 30]", "+I[4, null]"],
    "SELECT COUNT(*) FROM orders WHERE id > 9": ["+I[0]"],
    "SELECT id, r FROM (SELECT *, RANK() OVER (PARTITION BY window_start, window_end "
    "ORDER BY currency DESC) AS r FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), "
    "INTERVAL '1' MINUTE))) WHERE r <= 2": ["+I[1, 2]", "+I[2, 2]", "+I[3, 2]", "+I[4, 1]"],
    "SELECT currency FROM orders EXCEPT SELECT currency FROM rates": ["+I[b]"],
}  # fmt: skip


@pytest.mark.parametrize("query", QUERIES)
def test_every_row_is_an_insert_in_batch_mode(query: str) -> None:
    assert sorted(sql_cases.lines(case("batch", query))) == QUERIES[query]


def group_into_files(env: TableEnvironment, folder: Path) -> None:
    """Plans a query with groups into a table of files; rows that are bad are skipped, so that Spark
    alone cannot run it."""
    (folder / "in").mkdir()
    for name, columns, more in (
        ("lines", "a INT", ", 'bad-rows' = 'skip'"),
        ("counts", "a INT, n BIGINT", ""),
    ):
        env.execute_sql(
            f"CREATE TEMPORARY TABLE {name} ({columns}) WITH ('connector' = 'filesystem', "
            f"'format' = 'csv', 'path' = '{folder}/in'{more})"
        )
    execution = env._execution
    insert = env._session.insert(
        sql_cases.parse_statement("INSERT INTO counts SELECT a, COUNT(*) FROM lines GROUP BY a")
    )
    execution.lower(execution.optimized(insert))


def test_files_take_the_groups_of_a_batch(tmp_path: Path) -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    group_into_files(env, tmp_path)
    graph = env._env.builder.peek("files", **env._env._graph_settings())
    assert any("Sink: " in node.name for node in graph)


def test_files_do_not_take_the_updates_of_a_stream(tmp_path: Path) -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    with pytest.raises(InvalidQuery, match="does not support consuming update changes"):
        group_into_files(env, tmp_path)


def test_a_batch_that_runs_as_a_stream_still_has_updates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_MODE", "stream")
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    with pytest.raises(InvalidQuery, match="does not support consuming update changes"):
        group_into_files(env, tmp_path)
