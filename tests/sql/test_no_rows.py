"""Aggregates where the query itself says that there are no rows: what Flink gave for each."""

from __future__ import annotations

import pytest

from tests.unit.table.in_process import changes_of, table_environment

GIVEN = "(VALUES (1, 'a')) AS t(i, s)"
NOTHING = (f"{GIVEN} WHERE FALSE", f"{GIVEN} WHERE i > 5", f"{GIVEN} WHERE CAST(NULL AS BOOLEAN)")


@pytest.mark.parametrize("rows", NOTHING)
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT COUNT(*), SUM(i), MIN(i), MAX(s) FROM {}", ["+I[0, null, null, null]"]),
        ("SELECT COUNT(*) FROM {} HAVING COUNT(*) = 0", ["+I[0]"]),
        ("SELECT COUNT(*) FROM {} HAVING COUNT(*) > 0", []),
        ("SELECT COUNT(*) FROM {} GROUP BY ()", ["+I[0]"]),
        ("SELECT 1 FROM {} GROUP BY ()", ["+I[1]"]),
        ("SELECT i, COUNT(*) FROM {} GROUP BY i", []),
        ("SELECT i, COUNT(*) FROM {} GROUP BY GROUPING SETS ((i), ())", []),
        ("SELECT LISTAGG(s) FROM {}", []),
    ],
)
def test_aggregates_of_no_rows_in_a_stream(query: str, expected: list[str], rows: str) -> None:
    assert changes_of(table_environment().sql_query(query.format(rows))) == expected


def test_a_scalar_subquery_of_no_rows_counts_none() -> None:
    query = f"SELECT (SELECT COUNT(*) FROM {NOTHING[1]}), (SELECT MAX(i) FROM {NOTHING[1]})"
    assert changes_of(table_environment().sql_query(query))[-1].endswith("[0, null]")


def test_rows_that_a_condition_keeps_are_there() -> None:
    query = f"SELECT COUNT(*) FROM {GIVEN} WHERE i > 0"
    assert changes_of(table_environment().sql_query(query)) == ["+I[1]"]
