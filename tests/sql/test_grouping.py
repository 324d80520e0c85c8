"""GROUPING, GROUPING_ID and GROUP_ID: with and without grouping sets, and beside windows."""

from __future__ import annotations

import pytest

from headrace.errors import InvalidQuery
from tests.sql.in_process import collect

ROWS = (
    "(TIMESTAMP '2020-01-01 00:00:01', 'a', 'x', 1), (TIMESTAMP '2020-01-01 00:00:02', 'b', 'x', 2)"
    ", (TIMESTAMP '2020-01-01 00:00:11', 'a', 'y', 3)"
)
PLAIN = f"(VALUES {ROWS}) AS t(ts, k, l, v)"
WINDOWED = (
    f"TABLE(TUMBLE(DATA => (SELECT * FROM {PLAIN}), TIMECOL => DESCRIPTOR(ts), "
    "SIZE => INTERVAL '10' SECOND))"
)


@pytest.mark.parametrize(
    ("chosen", "groups", "expected"),
    [
        (
            "k, GROUPING(k), GROUPING(window_start), SUM(v)",
            "GROUPING SETS ((k), ())",
            [("a", 0, 0, 1), ("a", 0, 0, 3), ("b", 0, 0, 2), (None, 1, 0, 3), (None, 1, 0, 3)],
        ),
        (
            "k, l, GROUPING(k) + 1, GROUPING_ID(window_end, k, l), SUM(v)",
            "ROLLUP (k, l)",
            [
                ("a", "x", 1, 0, 1),
                ("a", "y", 1, 0, 3),
                ("a", None, 1, 1, 1),
                ("a", None, 1, 1, 3),
                ("b", "x", 1, 0, 2),
                ("b", None, 1, 1, 2),
                (None, None, 2, 3, 3),
                (None, None, 2, 3, 3),
            ],
        ),
        (
            "k, GROUPING(k), GROUP_ID(), SUM(v)",
            "k",
            [("a", 0, 0, 1), ("a", 0, 0, 3), ("b", 0, 0, 2)],
        ),
    ],
)
def test_grouping_beside_a_window_table_function(
    chosen: str, groups: str, expected: list[tuple[object, ...]]
) -> None:
    query = f"SELECT {chosen} FROM {WINDOWED} GROUP BY window_start, window_end, {groups}"
    assert sorted((tuple(row) for row in collect(query)), key=str) == sorted(expected, key=str)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            f"SELECT k, GROUPING(k), GROUPING_ID(k, l), GROUP_ID() FROM {PLAIN} GROUP BY k, l",
            {("a", 0, 0, 0), ("b", 0, 0, 0)},
        ),
        (f"SELECT GROUP_ID(), SUM(v) FROM {PLAIN}", {(0, 6)}),
        (
            f"SELECT k, GROUP_ID(), SUM(v) FROM {PLAIN} GROUP BY GROUPING SETS ((k), (k), ())",
            {("a", 0, 4), ("a", 1, 4), ("b", 0, 2), ("b", 1, 2), (None, 0, 6)},
        ),
    ],
)
def test_grouping_without_grouping_sets_is_zero(
    query: str, expected: set[tuple[object, ...]]
) -> None:
    assert {tuple(row) for row in collect(query)} == expected


def test_grouping_of_a_column_that_is_not_grouped_is_refused() -> None:
    with pytest.raises(InvalidQuery, match="GROUPING is about column l that is not being grouped"):
        collect(f"SELECT GROUPING(l), SUM(v) FROM {PLAIN} GROUP BY k")
