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


@pytest.mark.parametrize("crash", [False, True], ids=["straight", "restored"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_changelog(case: dict[str, Any], crash: bool) -> None:
    if case["id"] in EXCEPTIONS:
        pytest.skip(EXCEPTIONS[case["id"]])
    if crash and case["id"] in NOT_RESTORED:
        pytest.skip(NOT_RESTORED[case["id"]])
    wrong = sql_cases.is_met(case, crash)
    assert wrong is None, wrong
