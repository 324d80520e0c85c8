"""Cases of Flink's own tests: the changelog of each statement, record by record."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sql import sql_cases
from tests.sql.exceptions import EXCEPTIONS, NOT_RESTORED

CASES = [
    *sql_cases.cases("sql_cases.json"),
    *(case for case in sql_cases.cases("window_cases.json") if case["kind"] == "sql"),
]
pytestmark = pytest.mark.skipif(not CASES, reason="the conformance cases are not beside this tree")


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
