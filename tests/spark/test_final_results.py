"""Queries over tables that end: final results of both engines, natively by groups of distinct
values, and in Python with the session's settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.core.table_values import change_text
from headrace.spark.native import RULES, Frames
from headrace.table import EnvironmentSettings, TableEnvironment
from tests.taken import Taken
from tests.unit.table.in_process import changes_of, table_environment

ROWS = """
    CREATE TEMPORARY VIEW bids AS SELECT * FROM (VALUES
        ('a', 1, 7, 10), ('a', 1, 7, 20000), ('a', 2, 8, 200), ('b', 1, 9, 10), ('b', 3, 9, 11),
        (CAST(NULL AS STRING), 4, 7, 5), ('c', CAST(NULL AS INT), 7, CAST(NULL AS INT)),
        ('c', 5, CAST(NULL AS INT), 100000)
    ) AS t (channel, bidder, auction, price)
"""
QUERIES = [
    """
    SELECT channel, COUNT(DISTINCT bidder), COUNT(DISTINCT bidder) FILTER (WHERE price < 100)
    FROM bids GROUP BY channel
    """,
    """
    SELECT channel, COUNT(*), COUNT(*) FILTER (WHERE price > 10), MAX(price), SUM(price),
        COUNT(price), COUNT(DISTINCT bidder) FILTER (WHERE price < 100), COUNT(DISTINCT auction),
        COUNT(DISTINCT auction) FILTER (WHERE price >= 100)
    FROM bids GROUP BY channel
    """,
    """
    SELECT COUNT(*), SUM(DISTINCT bidder) FILTER (WHERE price > 10), MIN(price),
        COUNT(DISTINCT channel) FILTER (WHERE bidder > 1)
    FROM bids
    """,
    """
    SELECT COUNT(*), COUNT(price), SUM(price), COUNT(DISTINCT bidder) FILTER (WHERE price > 1),
        COUNT(DISTINCT auction)
    FROM bids WHERE price < 0
    """,
    """
    SELECT bidder, COUNT(DISTINCT bidder) FILTER (WHERE price > 10),
        COUNT(DISTINCT bidder + auction), AVG(DISTINCT price) FILTER (WHERE auction = 7)
    FROM bids GROUP BY bidder
    """,
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.smoke
def test_distinct_values_with_conditions(query: str) -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.execute_sql(ROWS)
    in_process = table_environment()
    in_process.get_config().set("execution.runtime-mode", "BATCH")
    in_process.execute_sql(ROWS)
    expected = changes_of(in_process.sql_query(query))
    assert natively(env, query) == sorted(expected)


def natively(env: TableEnvironment, query: str) -> list[str]:
    execution = env._execution
    relation = env._session.query_text(query)
    execution.frames().frame(execution.optimized(relation))  # it is native
    changes = Taken()
    client = execution.collect(relation, changes, "distinct")
    client.get_job_execution_result().result()
    return sorted(change_text(change, relation.types) for change in changes)


def test_rows_are_not_copied_for_each_condition() -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.execute_sql(ROWS)
    execution = env._execution
    frames = Frames(execution._session(), RULES)

    def plan(query: str) -> str:
        relation = execution.optimized(env._session.query_text(query))
        return str(frames.frame(relation)._jdf.queryExecution().optimizedPlan().toString())

    one = plan(QUERIES[0])
    assert "Expand" not in one
    two = plan(QUERIES[1])
    assert two.count("Expand") == 1


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_groups_of_checked_rows_go_to_files(tmp_path: Path, mode: str) -> None:
    settings = EnvironmentSettings.new_instance()
    made = settings.in_batch_mode() if mode == "batch" else settings.in_streaming_mode()
    env = TableEnvironment.create(made.build())
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("1,x\nq,y\n1,z\n2,x\n")
    env.execute_sql(
        f"CREATE TEMPORARY TABLE lines (a INT, b STRING) WITH ('connector' = 'filesystem', "
        f"'format' = 'csv', 'path' = '{tmp_path}/in', 'bad-rows' = 'dead-letter', "
        f"'bad-rows.path' = '{tmp_path}/bad')"
    )
    env.execute_sql(
        f"CREATE TEMPORARY TABLE counts (a INT, n BIGINT) WITH ('connector' = 'filesystem', "
        f"'format' = 'json', 'path' = '{tmp_path}/out')"
    )
    plan = env.explain_sql("INSERT INTO counts SELECT a, COUNT(*) FROM lines GROUP BY a")
    assert "key-group operators" in plan
    assert "changelogMode=[I]" in plan
    result = env.execute_sql("INSERT INTO counts SELECT a, COUNT(*) FROM lines GROUP BY a")
    result.wait()
    files = [each for each in (tmp_path / "out").rglob("*") if each.is_file()]
    lines = [line for each in files for line in each.read_text().splitlines()]
    assert sorted(map(str, map(json.loads, lines))) == ["{'a': 1, 'n': 2}", "{'a': 2, 'n': 1}"]
    client = result.get_job_client()
    assert client is not None
    counts = client.get_job_execution_result().result().get_all_accumulator_results()
    assert list(counts.values()) == [1]
    assert len([each for each in (tmp_path / "bad").rglob("bad-rows*") if each.is_file()]) == 1


def test_functions_in_python_know_the_time_zone() -> None:
    query = """
        SELECT CAST(TO_TIMESTAMP_LTZ(0, 3) AS STRING), DATE_FORMAT(t, 'HH:mm:ss.SSSSSSS')
        FROM (VALUES (TO_TIMESTAMP_LTZ(0, 3))) AS v (t)
    """
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("table.local-time-zone", "Asia/Tokyo")
    in_process = table_environment()
    in_process.get_config().set("table.local-time-zone", "Asia/Tokyo")
    assert natively(env, query) == changes_of(in_process.sql_query(query))


def test_frames_of_over_are_as_wide_as_the_order_counts() -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    query = """
        SELECT v, SUM(v) OVER (PARTITION BY k ORDER BY o RANGE BETWEEN 1 PRECEDING AND CURRENT ROW),
            SUM(v) OVER (ORDER BY d DESC RANGE BETWEEN CURRENT ROW AND INTERVAL '1' DAY FOLLOWING),
            SUM(v) OVER (ORDER BY o, v DESC ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING),
            COUNT(DISTINCT k) OVER (ORDER BY o)
        FROM (VALUES ('a', 1, DATE '2020-01-01', 10), ('a', 2, DATE '2020-01-02', 20),
            ('a', 2, DATE '2020-01-04', 5)) AS t (k, o, d, v)
    """
    with env.execute_sql(query).collect() as rows:
        assert sorted(list(row) for row in rows) == [
            [5, 35, 5, 20, 1], [10, 10, 10, None, 1], [20, 35, 30, 10, 1],
        ]  # fmt: skip
