"""What MATCH_RECOGNIZE gives for rows of a price series."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import HeadraceError
from headrace.table.udf import udf
from tests.sql import sql_cases

SCHEMA = [
    "symbol STRING", "price INT", "ts BIGINT", "rowtime AS TO_TIMESTAMP_LTZ(ts, 3)",
    "WATERMARK FOR rowtime AS rowtime - INTERVAL '2' SECOND",
]  # fmt: skip
FALL = "A B+ C"
FALLS = "B AS B.price < LAST(price, 1), C AS C.price > LAST(B.price)"
V = [("a", 10, 1), ("a", 8, 2), ("a", 7, 3), ("a", 9, 4), ("a", 9, 5)]
double = udf(lambda value: None if value is None else value * 2, result_type="INT")


def case(sql: str, rows: list[tuple[Any, ...]], **more: Any) -> dict[str, Any]:
    """Rows (symbol, price, seconds) and a statement over them."""
    given = [{"kind": "+I", "row": [*row[:2], row[2] and row[2] * 1000]} for row in rows]
    table = {"name": "ticker", "schema": more.pop("schema", SCHEMA), "rows": given}
    return {"id": "case", "mode": "streaming", "sql": sql, "tables": [table], **more}


def matched(
    measures: str, rows: list[tuple[Any, ...]] | None = None, *, pattern: str = FALL,
    define: str = FALLS, partition: str = "PARTITION BY symbol", skip: str = "PAST LAST ROW",
    within: str = "", query: str = "SELECT * FROM {}", **more: Any,
) -> list[str]:  # fmt: skip
    """The rows of matches, which must be the same after restoring at every row."""
    clause = (
        f"ticker MATCH_RECOGNIZE ({partition} ORDER BY rowtime MEASURES {measures} "
        f"ONE ROW PER MATCH AFTER MATCH SKIP {skip} PATTERN ({pattern}) {within} DEFINE {define}) "
        "AS m"
    )
    given = case(query.format(clause), V if rows is None else rows, **more)
    found = [sql_cases.normal(line) for line in sql_cases.lines(given)]
    assert sorted(map(sql_cases.normal, sql_cases.lines(given, crash=True))) == sorted(found)
    return found


def test_columns_of_variables_and_of_all_rows() -> None:
    measures = (
        "A.price AS a, FIRST(B.price) AS b0, LAST(B.price) AS b1, FIRST(B.price, 1) AS b2, "
        "LAST(B.price, 2) AS b3, price AS last_price, FIRST(price) AS first_price, "
        "LAST(price, 1) AS before_last, ticker.price AS by_table"
    )
    assert matched(measures) == ["+I[a, 10, 8, 7, 7, null, 9, 10, 7, 9]"]


def test_aggregates_of_variables_and_of_all_rows() -> None:
    rows = [("a", 10, 1), ("a", 7, 2), ("a", 7, 3), ("a", 6, 4), ("a", 9, 5)]
    define = "B AS B.price <= LAST(price, 1), C AS C.price > LAST(B.price)"
    measures = (
        "SUM(B.price) AS s, SUM(DISTINCT B.price) AS d, COUNT(*) AS n, COUNT(B.*) AS nb, "
        "MAX(price) - MIN(B.price * 2) AS e, SUM(price) FILTER (WHERE price > 8) AS f, "
        "FINAL LAST(B.price) AS l"
    )
    assert matched(measures, rows, define=define) == ["+I[a, 20, 13, 5, 3, -2, 19, 6]"]


def test_an_optional_variable_without_rows_is_null() -> None:
    found = matched(
        "A.price AS a, X.price AS x, COUNT(X.price) AS n, C.price AS c", V[:3],
        pattern="A X? C", define="X AS X.price > 100",
    )  # fmt: skip
    assert found == ["+I[a, 10, null, 0, 8]"]


def test_without_partitions_and_with_null_as_one() -> None:
    rows = [(None, 10, 1), ("b", 8, 2), (None, 7, 3), ("b", 9, 4), (None, 11, 5)]
    assert matched("A.price AS a, C.price AS c", rows, partition="") == ["+I[10, 9]"]
    assert matched("A.price AS a, C.price AS c", rows) == ["+I[null, 10, 11]"]


@pytest.mark.parametrize(
    ("skip", "starts"),
    [("PAST LAST ROW", [1, 3]), ("TO NEXT ROW", [1, 2, 3]), ("TO LAST B", [1, 2, 3])],
)
def test_where_matching_goes_on(skip: str, starts: list[int]) -> None:
    rows = [("a", price, price) for price in range(1, 5)]
    found = matched("A.price AS a", rows, pattern="A B", define="A AS A.price > 0", skip=skip)
    assert found == [f"+I[a, {start}]" for start in starts]


def test_greedy_and_reluctant() -> None:
    rows = [("a", price, at) for at, price in enumerate((1, 5, 6, 7, 2), 1)]
    define = "B AS B.price > 4, C AS C.price > 1"
    assert matched("C.price AS c", rows, pattern="A B+ C", define=define) == ["+I[a, 2]"]
    assert matched("C.price AS c", rows, pattern="A B+? C", define=define) == ["+I[a, 6]"]


def test_rows_wait_for_the_watermark_and_late_ones_are_dropped() -> None:
    rows = [("a", 8, 2), ("a", 10, 1), ("a", 9, 7), ("a", 1, 3), ("a", 1, 12)]
    assert matched("A.price AS a, C.price AS c", rows) == ["+I[a, 10, 9]"]


def test_batch_mode_has_no_late_rows() -> None:
    rows = [("a", 9, 7), ("a", 8, 2), ("a", 10, 1), ("a", 7, 3)]
    assert matched("A.price AS a, C.price AS c", rows, mode="batch") == ["+I[a, 10, 9]"]


def test_a_match_must_lie_within() -> None:
    rows = [("a", 10, 1), ("a", 8, 2), ("a", 7, 30), ("a", 9, 31)]
    assert matched("A.price AS a", rows) == ["+I[a, 10]"]
    assert matched("A.price AS a", rows, within="WITHIN INTERVAL '31' SECOND") == ["+I[a, 10]"]
    assert matched("A.price AS a", rows, within="WITHIN INTERVAL '30' SECOND") == ["+I[a, 8]"]


def test_functions_of_the_user_in_conditions_and_measures() -> None:
    path = "tests.sql.test_match_recognize_results.double"
    setup = [f"CREATE TEMPORARY FUNCTION twice AS '{path}' LANGUAGE PYTHON"]
    found = matched(
        "twice(A.price) AS a, twice(LAST(B.price, 5)) AS b", pattern=FALL, setup_sql=setup,
        define="A AS twice(price) = 20, B AS twice(B.price) < twice(LAST(price, 1)), "
        "C AS C.price > LAST(B.price)",
    )  # fmt: skip
    assert found == ["+I[a, 20, null]"]


def test_the_time_of_a_match_is_a_time_attribute() -> None:
    found = matched(
        "MATCH_ROWTIME() AS t, C.price AS c",
        query="SELECT COUNT(*), MAX(c), TUMBLE_END(t, INTERVAL '10' SECOND) FROM {} "
        "GROUP BY TUMBLE(t, INTERVAL '10' SECOND)",
    )
    assert found == ["+I[1, 9, 1970-01-01 00:00:10]"]


def test_conditions_with_case_and_with_time() -> None:
    found = matched(
        "A.price AS a, C.price AS c", pattern="A C",
        define="A AS CASE WHEN price > 9 THEN TRUE WHEN price < 8 THEN FALSE END, "
        "C AS C.rowtime < A.rowtime + INTERVAL '5' SECOND",
    )  # fmt: skip
    assert found == ["+I[a, 10, 8]"]


def test_a_subset_stands_for_its_variables() -> None:
    found = matched(
        "FIRST(U.price) AS f, LAST(U.price) AS l, SUM(U.price) AS s, COUNT(U.*) AS n, "
        "LAST(W.price, 1) AS w",
        within="SUBSET U = (B, A), W = (C, A)",
        define=f"{FALLS} AND C.price > MIN(U.price) + 1 AND LAST(W.price, 1) = 10",
    )
    assert found == ["+I[a, 10, 7, 25, 3, 10]"]


def test_classifier_is_the_variable_of_the_last_row() -> None:
    found = matched(
        "CLASSIFIER() AS v, C.price AS c", pattern="A C D?", skip="TO NEXT ROW",
        define="A AS CLASSIFIER() = 'A' AND price = 10, D AS D.price = 7",
    )  # fmt: skip
    assert found == ["+I[a, C, 8]"]


def test_a_row_without_time_is_an_error() -> None:
    with pytest.raises(HeadraceError, match="NULL"):
        matched("A.price AS a", [("a", 1, None)])
