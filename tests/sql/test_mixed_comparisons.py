"""Text compared with numbers, truth values and dates: found by running Flink 2.3."""

from __future__ import annotations

import pytest

from headrace.errors import HeadraceError, InvalidQuery
from tests.sql.in_process import collect

ROW = (
    "(VALUES (1, CAST('1' AS STRING), CAST('1.0' AS STRING), CAST(' 1' AS STRING), TRUE, "
    "DATE '2020-01-01', CAST(1 AS DECIMAL(5, 2)), CAST(NULL AS STRING), CAST('x' AS STRING), "
    "TIMESTAMP '2020-01-01 00:00:00', TIME '12:00:00', 1E0, CAST(1 AS FLOAT))) "
    "AS r(i, s, p, l, b, d, m, n, x, ts, t, db, f)"
)
TRUE, FALSE = True, False
MEETING = {
    "i < s": FALSE,
    "i >= p": TRUE,
    "m <= l": TRUE,
    "p > i": FALSE,
    "db >= '1e0'": TRUE,
    "i BETWEEN '1' AND '5'": TRUE,
    "i BETWEEN '1.0' AND '5'": TRUE,
    "p BETWEEN 1 AND 5": TRUE,
    "i NOT BETWEEN '2' AND '5'": TRUE,
    "i BETWEEN n AND '5'": None,
    "i IN ('1')": TRUE,
    "i IN ('1.0', '2')": TRUE,
    "i IN (l, '2')": TRUE,
    "i NOT IN ('1')": FALSE,
    "s IN (1, 2)": TRUE,
    "p IN (1, 2)": FALSE,
    "x IN (1, 2)": FALSE,
    "s IN (1E0)": FALSE,
    "p IN (1E0)": TRUE,
    "s NOT IN (1, 2)": FALSE,
    "n IN (1)": None,
    "i IN (n)": None,
    "b IN ('true')": TRUE,
    "b IN ('t')": TRUE,
    "b IN ('false')": FALSE,
    "b = 'true'": FALSE,
    "'TRUE' = b": FALSE,
    "b <> 'true'": TRUE,
    "b = x": FALSE,
    "b = n": None,
    "d = '2020-01-01'": TRUE,
    "d IN ('2020-1-1')": TRUE,
    "ts = '2020-01-01'": TRUE,
}
REFUSED = (
    "i = '1'",
    "s = i",
    "m <> s",
    "db = s",
    "CASE i WHEN '1' THEN 1 ELSE 0 END",
    "NULLIF(i, '1')",
    "i IS DISTINCT FROM '1'",
    "i IN (1, '2')",
    "s IN (1, '2')",
    "i + '1'",
    "COALESCE(i, s)",
    "CASE WHEN b THEN i ELSE s END",
    "b = 1",
    "d = ts",
    "t = ts",
    "CASE WHEN b THEN d ELSE ts END",
)


def test_text_is_read_as_what_it_is_compared_with() -> None:
    (row,) = collect(f"SELECT {', '.join(MEETING)} FROM {ROW}")
    assert dict(zip(MEETING, row, strict=True)) == MEETING


@pytest.mark.parametrize("expression", REFUSED)
def test_what_flink_does_not_compare_is_refused(expression: str) -> None:
    with pytest.raises(InvalidQuery):
        collect(f"SELECT {expression} FROM {ROW}")


@pytest.mark.parametrize("expression", ["i < x", "i IN ('x')", "x BETWEEN 1 AND 5", "b IN ('x')"])
def test_text_that_cannot_be_read_is_an_error(expression: str) -> None:
    with pytest.raises(HeadraceError, match=r"CAST of 'x' .* failed"):
        collect(f"SELECT {expression} FROM {ROW}")


def test_results_keep_the_types_flink_gives_them() -> None:
    chosen = "TYPEOF(NULLIF(i, 1E0)), TYPEOF(CASE WHEN b THEN f ELSE db END), CAST(db AS BOOLEAN)"
    (row,) = collect(f"SELECT {chosen} FROM {ROW}")
    assert list(row) == ["INT", "FLOAT NOT NULL", True]
