"""Types and values of expressions at their edges: found by running Flink 2.3 (`compare/`)."""

from __future__ import annotations

import datetime as dt

import pytest

from tests.sql.in_process import batch_environment, collect

_START, _END = "TIMESTAMP '2020-01-31 12:00:00'", "TIMESTAMP '2020-02-29 11:00:00'"
CASES = {
    f"TIMESTAMPDIFF(MILLISECOND, {_START}, {_END})": ("INT NOT NULL", -1792967296),
    f"TIMESTAMPDIFF(MICROSECOND, {_START}, {_END})": ("INT NOT NULL", -1965933568),
    "TIMESTAMPDIFF(ISOYEAR, DATE '2020-02-29', DATE '2019-02-28')": ("INT NOT NULL", -1),
    "TIMESTAMPDIFF(CENTURY, DATE '1700-01-01', DATE '2020-06-01')": ("INT NOT NULL", 3),
    "TIMESTAMPDIFF(MILLENNIUM, DATE '0700-01-01', DATE '2020-06-01')": ("INT NOT NULL", 1),
    "TIMESTAMPADD(DECADE, -1, DATE '2020-03-31')": ("DATE NOT NULL", dt.date(2010, 3, 31)),
    "TIMESTAMPADD(CENTURY, -1, DATE '2020-03-31')": ("DATE NOT NULL", dt.date(1920, 3, 31)),
    "TIMESTAMPADD(MILLENNIUM, -1, DATE '2020-03-31')": ("DATE NOT NULL", dt.date(1020, 3, 31)),
    "TIMESTAMPADD(ISOYEAR, -1, DATE '2020-03-31')": ("DATE NOT NULL", dt.date(2019, 3, 31)),
    "CONVERT_TZ('2020-01-01 00:00:00', 'UTC', 'nothing')": ("STRING", "2020-01-01 00:00:00"),
    "TRY_CAST('2020-02-30' AS TIMESTAMP(3))": ("TIMESTAMP(3)", dt.datetime(2020, 2, 29)),
    "TO_TIMESTAMP('2020-01-01 24:00:00')": ("TIMESTAMP(3)", dt.datetime(2020, 1, 2)),
}


@pytest.mark.parametrize("text", CASES)
def test_expressions_at_their_edges_are_those_of_flink(text: str) -> None:
    type, value = CASES[text]
    assert [
        str(each) for each in batch_environment().sql_query(f"SELECT {text}").relation.types
    ] == [type]
    assert [list(row) for row in collect(f"SELECT {text}")] == [[value]]


def test_values_in_parentheses_of_a_row_are_that_row() -> None:
    rows = collect("SELECT * FROM (VALUES (ROW(1, 'a')), (ROW(2, 'b'))) AS t (x, y)")
    assert [list(row) for row in rows] == [[1, "a"], [2, "b"]]
    assert [len(row) for row in collect("VALUES (ROW(1, 'a'), 2)")] == [2]
