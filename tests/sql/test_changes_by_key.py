"""Updates that reach a sink, or a join, by key: rows that move must not get lost or stay behind."""

from __future__ import annotations

import pytest

from headrace.core.table_connector import DELETE, INSERT, UPDATE_AFTER
from tests.sql.random_queries import Query
from tests.sql.random_runs import check, check_by_key
from tests.sql.random_tables import Changes, Tables
from tests.sql.sql_cases import lines, materialized

pytest.importorskip("duckdb")
PLACES = (((INSERT, 1, 1, "a"), (INSERT, 2, 2, "a"), (INSERT, 3, 3, "a")), ((INSERT, 0, 4, "a"),))
"""A row comes that is before all others."""
BACK = (((INSERT, 1, 3, "a"), (INSERT, 2, 2, "a")), ((UPDATE_AFTER, 1, 1, "a"),))
"""A row moves to a place before its old one."""
MOVES = (
    ((INSERT, 1, 1, "a"), (INSERT, 2, 2, "a")),
    ((INSERT, 3, 2, "a"), (UPDATE_AFTER, 1, 2, "a"), (UPDATE_AFTER, 2, 1, "b")),
)
"""Rows change places between two partitions, one of which has been written to before."""
LEAVES = (((INSERT, 1, 1, "a"), (INSERT, 2, 2, "a"), (INSERT, 3, 3, "a")), ((DELETE, 3, 3, "a"),))
"""The first row goes, all others move up."""
RANKED = "(SELECT k, a, ROW_NUMBER() OVER (PARTITION BY a ORDER BY k) AS rn FROM p) x"
HIGHEST = "(SELECT k, a, ROW_NUMBER() OVER (ORDER BY a DESC, k) AS rn FROM p) x"


def _tables(rows: tuple[tuple[tuple[object, ...], ...], ...]) -> Tables:
    return {
        "t": Changes("append", (((INSERT, 0, 7, "a"), (INSERT, 1, 1, "a"), (INSERT, 2, 1, "a")),)),
        "u": Changes("append", (((INSERT, 1, 1, True),),)),
        "p": Changes("upsert", rows),
    }


MODES = pytest.mark.parametrize(
    ("per_record", "parallelism"), [(False, 1), (False, 3), (True, 1), (True, 3)]
)


@MODES
@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (PLACES, f"SELECT k AS c0, a AS c1, rn AS c2 FROM {HIGHEST} WHERE rn <= 2"),
        (PLACES, f"SELECT k AS c0, a AS c1, 1 AS c2 FROM {HIGHEST} WHERE rn BETWEEN 2 AND 3"),
        (PLACES, f"SELECT k AS c0, a AS c1, 1 AS c2 FROM {HIGHEST} WHERE rn = 1"),
        (PLACES, "SELECT k AS c0, a AS c1, a AS c2 FROM p ORDER BY a DESC, k LIMIT 1 OFFSET 1"),
        (PLACES, "SELECT k AS c0, a AS c1, a AS c2 FROM p ORDER BY a DESC, k LIMIT 1"),
        (BACK, "SELECT k AS c0, a AS c1, SUM(a) OVER (ORDER BY a, k) AS c2 FROM p"),
        (MOVES, "SELECT k AS c0, a AS c1, SUM(k) OVER (PARTITION BY a ORDER BY k) AS c2 FROM p"),
        (MOVES, f"SELECT k AS c0, a AS c1, 1 AS c2 FROM {RANKED} WHERE rn <= 2"),
        (MOVES, "SELECT x.k AS c0, x.a AS c1, y.a AS c2 FROM p x JOIN p y ON x.a = y.k"),
        (MOVES, "SELECT k AS c0, a AS c1, a AS c2 FROM p WHERE a IN (SELECT a FROM t)"),
    ],
)
def test_a_sink_by_key(
    rows: tuple[tuple[tuple[object, ...], ...], ...], text: str, per_record: bool, parallelism: int
) -> None:
    check_by_key(_tables(rows), Query(text, ("int", "int", "int")), per_record, parallelism)


@MODES
def test_a_join_of_the_first_rows_and_their_places(per_record: bool, parallelism: int) -> None:
    first = f"(SELECT * FROM {HIGHEST} WHERE rn <= 2) y"
    text = f"SELECT y.k AS c0, y.rn AS c1, t.b AS c2 FROM {first} JOIN t ON t.a = y.k - y.k"
    check(_tables(LEAVES), Query(text, ("int", "int", "int")), per_record, parallelism)


@MODES
@pytest.mark.parametrize(
    "test", ["rn <= a", "rn <= a AND rn <= 1", "rn <= k", "rn < 1", "rn < 2 AND rn > 2", "rn < -1"]
)
def test_limits_of_ranks(test: str, per_record: bool, parallelism: int) -> None:
    query = Query(f"SELECT k AS c0 FROM {RANKED} WHERE {test}", ("int",))
    check(_tables(MOVES), query, per_record, parallelism)


@MODES
def test_a_rank_without_places(per_record: bool, parallelism: int) -> None:
    below = "(SELECT a, RANK() OVER (PARTITION BY a ORDER BY b) AS r FROM t) x"
    query = Query(f"SELECT a AS c0 FROM {below} WHERE r <= a", ("int",))
    check(_tables(MOVES), query, per_record, parallelism)


def test_nobody_reads_a_column_of_a_semi_join() -> None:
    below = "(SELECT a, b FROM t WHERE EXISTS (SELECT 1 FROM u WHERE c = 1)) "
    text = f"SELECT 0 AS c0 FROM {below} x JOIN {below} y ON TRUE"
    check(_tables(MOVES), Query(text, ("int",)))


REPEATED = (
    ("+I", 1, 1), ("+I", 1, 1), ("+I", 2, 2), ("+I", 2, 2),
    ("-U", 2, 2), ("+U", 2, 5), ("+U", 2, 5),
)  # fmt: skip


@pytest.mark.parametrize("per_record", [False, True])
@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("SELECT SUM(v) FROM r", {"[6]": 1}),
        ("SELECT v, COUNT(*) FROM r GROUP BY v", {"[1, 1]": 1, "[5, 1]": 1}),
        ("SELECT v FROM r WHERE v > 1", {"[5]": 1}),
    ],
)
def test_repeated_changes_are_told_apart_by_a_key_that_nobody_reads(
    query: str, rows: dict[str, int], per_record: bool
) -> None:
    table = {
        "name": "r",
        "schema": ["k INT", "v INT", "PRIMARY KEY (k) NOT ENFORCED"],
        "rows": [{"kind": kind, "row": values} for kind, *values in REPEATED],
        "options": {"changelog-mode": "I,UB,UA,D"},
    }
    options = {"table.exec.source.cdc-events-duplicate": "true"}
    case = {"id": "", "mode": "streaming", "config": options, "tables": [table], "sql": query}
    assert materialized(lines(case, per_record=per_record)) == rows
