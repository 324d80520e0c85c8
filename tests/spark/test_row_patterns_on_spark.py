"""Row patterns beyond Flink on Spark: the same rows as in process, from state after every row."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spark.forgetful_workers import Forgetful
from tests.spark.sql_case_jobs import run_together
from tests.sql import sql_cases
from tests.sql.test_match_recognize_results import case

pytestmark = pytest.mark.slow
PRICES = [5, 3, 1, 2, 6, 6, 4, 1, 7, 8, 2, 2]
ALL = "ALL ROWS PER MATCH"
CLAUSES = {
    "phases": f"MEASURES CLASSIFIER() AS v, MATCH_NUMBER() AS n, FINAL COUNT(*) AS c {ALL} "
    "PATTERN (U+ | (D | S)+) DEFINE U AS price > PREV(price), D AS price < PREV(price), "
    "S AS price = PREV(price)",
    "unmatched": f"MEASURES MATCH_NUMBER() AS n, LAST(A.price) AS a {ALL} WITH UNMATCHED ROWS "
    "PATTERN (A B{2,3}?) DEFINE A AS price > 4, B AS B.price < A.price",
    "permuted": "MEASURES FIRST(CLASSIFIER()) AS f, CLASSIFIER() AS l AFTER MATCH SKIP TO NEXT ROW "
    "PATTERN (PERMUTE(A, B, C)) DEFINE A AS price < 3, B AS price > 5, C AS NEXT(price) < price",
    "limited": f"MEASURES SUM(price) AS s {ALL} PATTERN (A {{- B* -}} A+) WITHIN INTERVAL '4' "
    "SECOND DEFINE A AS price > 1, B AS SUM(B.price) < 9",
    "empty": f"MEASURES MATCH_NUMBER() AS n, COUNT(*) AS c {ALL} PATTERN (^ X | A*) "
    "DEFINE A AS A.price >= LAST(A.price, 1) OR LAST(A.price, 1) IS NULL AND price < 3",
}


def _cases() -> list[dict[str, Any]]:
    rows = [("ab"[at % 2], price, at) for at, price in enumerate(2 * PRICES, 1)]
    return [
        case(f"SELECT * FROM ticker MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY rowtime {text}) "
             "AS m", rows) | {"id": name}
        for name, text in CLAUSES.items()
    ]  # fmt: skip


def _alike(found: dict[str, list[str]]) -> None:
    for each in _cases():
        wanted = sorted(map(sql_cases.normal, sql_cases.lines(each)))
        assert wanted
        assert sorted(map(sql_cases.normal, found[each["id"]])) == wanted, each["id"]


def test_stream(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_MODE", "stream")
    forgetful = Forgetful(tmp_path / "forget")
    forgetful.begin()
    found = run_together(_cases(), per_record=True, parallelism=1, forgetful=forgetful)
    forgetful.end(at_least=2 * len(PRICES) - 1)  # the last one is not kept
    _alike(found)


def test_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_MODE", "batch")
    _alike(run_together(_cases(), per_record=False, parallelism=2))
