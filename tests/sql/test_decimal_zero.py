"""Decimals have one zero: a negative one would be shown, and grouped, apart."""

from __future__ import annotations

import pytest

from tests.sql.sql_cases import lines, materialized

TABLE = {
    "name": "x",
    "schema": ["m DECIMAL(5, 2)"],
    "rows": [{"kind": "+I", "row": [text]} for text in ("-0.01", "0.00")],
}


def _rows(query: str) -> dict[str, int]:
    case = {"id": "", "mode": "streaming", "config": {}, "tables": [TABLE], "sql": query}
    return dict(materialized(lines(case)))


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("CAST(m AS DECIMAL(5, 1))", "0.0"),
        ("CAST(CAST(m AS DECIMAL(5, 1)) AS STRING)", "0.0"),
        ("CAST('-0.00' AS DECIMAL(4, 2))", "0.00"),
        ("ROUND(m, 1)", "0.0"),
        ("TRUNCATE(m, 1)", "0.0"),
        ("m * 0", "0.00"),
        ("CEIL(m)", "0"),
    ],
)
def test_zero(expression: str, shown: str) -> None:
    assert _rows(f"SELECT {expression} FROM x") == {f"[{shown}]": 2}


def test_one_group() -> None:
    query = "SELECT z, COUNT(*) FROM (SELECT ROUND(m, 1) AS z FROM x) t GROUP BY z"
    assert _rows(query) == {"[0.0, 2]": 1}
