"""Cases whose results are Flink's: the changelog of each statement, record by record."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sql import sql_cases
from tests.sql.exceptions import EXCEPTIONS, NOT_RESTORED

CASES = [
    *sql_cases.cases("sql"),
    *(case for case in sql_cases.beside("window_cases.json") if case["kind"] == "sql"),
]


@pytest.mark.parametrize("way", ["straight", "restored", "micro-batches"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_changelog(case: dict[str, Any], way: str) -> None:
    """Record by record, also restored after each one; and one change per key and micro-batch."""
    if case["id"] in EXCEPTIONS:
        pytest.skip(EXCEPTIONS[case["id"]])
    if way != "straight" and case["id"] in NOT_RESTORED:
        pytest.skip(NOT_RESTORED[case["id"]])
    per_record = way != "micro-batches"
    wrong = sql_cases.is_met(case, crash=way == "restored", per_record=per_record)
    assert wrong is None, wrong
