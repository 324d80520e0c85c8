"""MATCH_RECOGNIZE over long runs of rows: what a row costs does not grow with the match."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import InvalidGraph
from headrace.operators.cep import limits
from headrace.operators.cep.shared_buffer import Link
from headrace.operators.table import running_totals
from headrace.operators.table.running_totals import running_total
from tests.sql import sql_cases

SCHEMA = [
    "symbol STRING", "price INT", "ts BIGINT", "rowtime AS TO_TIMESTAMP_LTZ(ts, 3)",
    "WATERMARK FOR rowtime AS rowtime - INTERVAL '2' SECOND",
]  # fmt: skip


def matched(prices: list[int], pattern: str, define: str, within: str = "") -> list[str]:
    """The matches of one symbol; all rows come at once."""
    rows = [{"kind": "+I", "row": ["a", price, at]} for at, price in enumerate(prices)]
    sql = (
        "SELECT * FROM ticker MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY rowtime "
        "MEASURES FIRST(price) AS low, LAST(price) AS high, COUNT(*) AS n "
        f"ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN ({pattern}) {within} "
        f"DEFINE {define}) AS m"
    )
    table = {"name": "ticker", "schema": SCHEMA, "rows": rows}
    case = {"id": "case", "mode": "streaming", "sql": sql, "tables": [table]}
    return sql_cases.lines(case, at_once=True)


def test_two_loops_over_a_long_run_are_one_partial_match() -> None:
    """Flink keeps one partial match for each row; only the one that began first can win."""
    define = "A AS A.price > 0, B AS B.price < 0, C AS C.price = 0"
    found = matched([*range(1, 5001), *[-1] * 5000, 0, 7, -1, 0], "A+ B+ C", define)
    assert found == ["+I[a, 1, 0, 10001]", "+I[a, 7, 0, 3]"]


def test_what_cannot_be_merged_is_refused_when_it_gets_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each row begins a match, each goes on for ever, and conditions look back."""
    monkeypatch.setattr(limits, "_LINKS_PER_RUN", 1)
    define = "A AS A.price >= FIRST(A.price), B AS B.price < 0"
    with pytest.raises(InvalidGraph, match="632 partial matches with 200,028") as caught:
        matched(list(range(4000)), "A+ B", define)
    message = str(caught.value)
    assert "the pattern A → B" in message
    assert "key:    ('a',)" in message or "key:    'a'" in message
    assert "WITHIN INTERVAL" in message


def test_a_time_limit_bounds_it() -> None:
    define = "A AS A.price >= FIRST(A.price), B AS B.price < 0"
    limit = "WITHIN INTERVAL '0.100' SECOND"
    found = matched([*range(1000), -1], "A+ B", define, limit)
    assert found == ["+I[a, 901, -1, 100]"]


def test_a_long_match_with_an_aggregate_in_its_condition() -> None:
    define = "A AS SUM(A.price) <= 300 AND AVG(A.price) < 2, B AS B.price = 9"
    found = matched([9, *[1] * 300, 9], "A+ B", define)
    assert found == ["+I[a, 1, 9, 301]"]


class Summing:
    """An aggregate that counts how often it was handed a row."""

    calls = ()
    added = 0

    def create(self) -> list[Any]:
        return [[0, 0]]

    def add(self, kept: list[Any], row: int) -> None:
        self.added += 1
        kept[0][0] += row
        kept[0][1] += 1

    def results(self, kept: list[Any]) -> tuple[Any, ...]:
        return ((*kept[0],),)


@pytest.mark.parametrize("most", [10_000, 5])
def test_running_totals_add_each_row_once(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running_totals, "_MOST", most)
    handler = Summing()
    total = running_total(handler, ("A",))  # type: ignore[arg-type]
    last: Link | None = None
    for at in range(100):
        assert total(last, at) == (sum(range(at + 1)), at + 1)
        last = Link(last, "A", (at, at), at)
    assert handler.added == 199  # once when it is asked for, once when it is part of the match
    other = Link(last, "B", (100, 100), 7)
    assert total(other, None) == total(last, None) == (sum(range(100)), 100)
    branch = Link(last.before if last else None, "A", (101, 101), 1)
    assert total(branch, None) == (sum(range(99)) + 1, 100)
    assert total(last, None) == (sum(range(100)), 100)
