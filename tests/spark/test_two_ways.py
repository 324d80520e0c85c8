"""A native query and headrace's own operators give a program the same values of the same types."""

from __future__ import annotations

import pytest

from headrace.table import DataTypes
from headrace.table.expressions import col
from tests.sql.collected_values import QUERIES, shape
from tests.sql.in_process import batch_environment


def test_native_queries_collect_values_of_every_type_as_operators_do() -> None:
    env = batch_environment()
    wrong = {}
    for query, expected in QUERIES:
        with env.execute_sql(query).collect() as rows:
            (row,) = rows
        for got, (text, value) in zip(row, expected.items(), strict=True):
            if shape(got) != shape(value):
                wrong[text] = (got, value)
    assert wrong == {}


@pytest.mark.smoke
def test_native_sums_over_windows_and_of_many_distinct_values_wrap_around() -> None:
    highest = 2**63 - 1
    rows = f"(VALUES (1, {highest}), (1, {highest}), (2, 5)) AS t(k, v)"
    env = batch_environment()
    with env.execute_sql(f"SELECT k, SUM(v) OVER (PARTITION BY k) FROM {rows}").collect() as found:
        assert sorted(map(tuple, found)) == [(1, -2), (1, -2), (2, 5)]
    distinct = "COUNT(DISTINCT v) FILTER (WHERE k = 1), COUNT(DISTINCT k), SUM(v)"
    with env.execute_sql(f"SELECT {distinct} FROM {rows}").collect() as found:
        assert list(map(tuple, found)) == [(1, 2, 3)]


def test_floats_of_elements_are_collected_with_the_digits_they_were_given_with() -> None:
    for changes in ("record", "micro-batch"):
        env = batch_environment()
        env.get_config().set("headrace.table.changes", changes)
        type = DataTypes.ROW([DataTypes.FIELD("f", DataTypes.FLOAT())])
        with env.from_elements([(1.23,)], type).execute().collect() as rows:
            assert [row[0] for row in rows] == [1.23]


def test_the_default_of_a_neighbour_also_stands_for_null_in_native_queries() -> None:
    rows = "(VALUES (1, 1), (2, CAST(NULL AS INT)), (3, 3)) AS t(o, v)"
    neighbours = "LEAD(v, 1, -1) OVER (ORDER BY o), LAG(v, 1, -1) OVER (ORDER BY o)"
    query = f"SELECT o, {neighbours}, LEAD(v) OVER (ORDER BY o) FROM {rows}"
    with batch_environment().execute_sql(query).collect() as found:
        assert sorted(map(tuple, found)) == [(1, -1, -1, None), (2, 3, 1, 3), (3, -1, -1, None)]


def test_groups_of_no_rows_in_native_queries() -> None:
    env = batch_environment()
    empty = env.from_elements([(1, "a")], ["i", "s"]).where(col("i") > 5)
    env.create_temporary_view("nothing", empty)
    for query, expected in (
        ("SELECT COUNT(*), MAX(s) FROM nothing", [(0, None)]),
        ("SELECT 1 FROM nothing GROUP BY ()", [(1,)]),
        ("SELECT i, COUNT(*) FROM nothing GROUP BY GROUPING SETS ((i), ())", []),
        ("SELECT COUNT(*) FROM nothing GROUP BY GROUPING SETS (())", [(0,)]),
    ):
        with env.execute_sql(query).collect() as found:
            assert list(map(tuple, found)) == expected, query
