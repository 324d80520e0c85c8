"""Types and values of expressions at their edges: found by running Flink 2.3 (`compare/`)."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from headrace.errors import InvalidQuery
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
    "IS_DIGIT(CAST(NULL AS STRING))": ("BOOLEAN NOT NULL", False),
    "IS_ALPHA(CAST(NULL AS STRING))": ("BOOLEAN NOT NULL", False),
    "IS_DECIMAL(CAST(NULL AS STRING))": ("BOOLEAN NOT NULL", False),
    "ARRAY_APPEND(ARRAY[1], CAST(2 AS INT))": ("ARRAY<INT NOT NULL> NOT NULL", [1, 2]),
    "ARRAY_APPEND(ARRAY[1], CAST(NULL AS INT))": ("ARRAY<INT>", [1, None]),
    "ARRAY_PREPEND(ARRAY[1], CAST(NULL AS INT))": ("ARRAY<INT>", [None, 1]),
    ".5": ("DECIMAL(1, 1) NOT NULL", Decimal("0.5")),
    "0.5": ("DECIMAL(2, 1) NOT NULL", Decimal("0.5")),
    "-0.05": ("DECIMAL(3, 2) NOT NULL", Decimal("-0.05")),
    "00.10": ("DECIMAL(4, 2) NOT NULL", Decimal("0.10")),
    "0.1 + 0.2": ("DECIMAL(3, 1) NOT NULL", Decimal("0.3")),
    "1.": ("INT NOT NULL", 1),
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


def test_the_only_column_of_values_is_called_like_the_table() -> None:
    assert [list(row) for row in collect("SELECT t FROM (VALUES (1), (2)) AS t")] == [[1], [2]]


@pytest.mark.parametrize(
    "query",
    [
        "VALUES (DATE '2020-01-01'), (TIMESTAMP '2020-01-01 10:00:00')",
        "SELECT TIMESTAMP '2020-01-01 10:00:00' UNION ALL SELECT DATE '2020-01-01'",
    ],
)
def test_rows_of_dates_and_timestamps_have_no_common_type(query: str) -> None:
    with pytest.raises(InvalidQuery, match="no common type"):
        collect(query)
