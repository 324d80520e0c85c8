"""What a row pattern keeps of a key: little, for a limited time, or an error in words."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.core.row_pattern_terms import Alternation, Quantified, Variable
from headrace.errors import HeadraceError, IncompatibleState
from headrace.graph.relations import MatchRecognize
from headrace.operators.table import row_matcher, row_threads
from headrace.operators.table.row_pattern_operator import RowPatternOperator
from headrace.operators.table.row_programs import compiled_program
from tests.sql.planning import Planning
from tests.unit.operators.table.driving import Driven, I

SECOND = 1_000_000_000
ALL = "ALL ROWS PER MATCH"


def operator(
    pattern: str, define: str, measures: str = "COUNT(*) AS n", rows: str = ""
) -> RowPatternOperator:
    planning = Planning()
    planning.table("t", "price BIGINT, k BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts")
    relation = planning.query(
        f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES {measures} {rows} "
        f"PATTERN ({pattern}) DEFINE {define}) AS m"
    )
    while not isinstance(relation, MatchRecognize):
        (relation,) = relation.inputs
    return RowPatternOperator(relation.pattern, relation.input.types)


def driven(*given: str) -> Driven:
    return Driven(operator(*given), key=[1])


def rows(prices: list[int], start: int = 0) -> list[Any]:
    return [I(price, 7, (start + at) * SECOND) for at, price in enumerate(prices)]


def tasks(run: Driven) -> list[Any]:
    engine: Any = run.harness._engine
    return [task for level in engine.tasks() for task in level.tasks.values()]


def store(run: Driven) -> Any:
    return next(task.operator.inner._store for task in tasks(run)
                if hasattr(task.operator, "inner"))  # fmt: skip


def kept(run: Driven) -> Any:
    """What is stored for the key after the last micro-batch."""
    found = store(run).load((7,))
    store(run).opened.clear()
    return found


def test_nothing_is_kept_of_rows_that_begin_no_match() -> None:
    run = driven("A B | C D", "A AS price = 5, C AS price = 6")
    run.send(*rows([1, 2, 3]))
    run.watermark(10_000)
    found = kept(run)
    assert (found.rows, found.threads, found.timer) == ([], [], None)


def test_rows_before_the_start_are_kept_only_for_prev() -> None:
    run = driven("A", "A AS price > PREV(price, 2)")
    run.send(*rows([5, 4, 3, 2, 1]))
    run.watermark(10_000)
    assert [row[1] for _, row in kept(run).rows] == [2, 1]


def test_a_match_that_goes_on_keeps_its_rows_once() -> None:
    # Two ways to match, of which one begins like the other: links are shared, rows stored once.
    run = driven("(A | A B)+ C", "A AS price = 1, B AS price = 1, C AS price = 2")
    run.send(*rows([1] * 50))
    run.watermark(60_000)
    found = kept(run)
    assert len(found.rows) == 50
    assert len(found.threads) <= len(compiled_program(operator(
        "(A | A B)+ C", "A AS price = 1")._written.term).instructions)  # fmt: skip


def test_time_limits_what_is_kept() -> None:
    run = driven(
        "A+ B) WITHIN (INTERVAL '3' SECOND", "A AS price = 1, B AS price = 2", "1 AS x", ALL
    )
    for at in range(20):
        run.send(*rows([1], at))
        run.watermark(at * 1000)
        assert len(kept(run).rows) <= 3
    run.watermark(30_000)
    assert kept(run).rows == []


def test_no_timer_is_left_when_a_match_is_decided() -> None:
    run = driven("A+ | B", "A AS price = 1, B AS price = 2")
    run.send(*rows([1, 1]))
    run.watermark(5000)
    assert kept(run).timer == 2**63 - 1
    run.send(*rows([0], 6))
    assert run.watermark(7000) == ["+I[7, 2]"]
    assert kept(run).timer is None
    assert all(task.timers.next_time("event") is None for task in tasks(run))


def test_too_many_ways_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_threads, "MOST_THREADS", 50)
    monkeypatch.setattr(row_threads.Stepper.__init__, "__defaults__", (50,))
    # What CLASSIFIER() of earlier rows says differs with every way.
    define = "A AS price = 1, B AS price = 1, C AS FIRST(CLASSIFIER(), 9) = 'X' AND price = 2"
    run = driven("(A | B)+ C", define)
    run.send(*rows([1] * 12))
    with pytest.raises(HeadraceError) as caught:
        run.watermark(60_000)
    assert "ways to match the rows so far" in str(caught.value)
    assert "WITHIN" in str(caught.value)


def test_too_many_rows_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = {**row_matcher.RowMatcher.__init__.__kwdefaults__, "most_rows": 10}
    monkeypatch.setattr(row_matcher.RowMatcher.__init__, "__kwdefaults__", defaults)
    run = driven("A+ | B", "A AS price = 1")
    run.send(*rows([1] * 12))
    with pytest.raises(HeadraceError, match="11 rows") as caught:
        run.watermark(60_000)
    assert "WITHIN" in str(caught.value)


def test_state_of_another_pattern_is_refused() -> None:
    run = driven("A+ | B", "A AS price = 1")
    run.send(*rows([1, 1]))
    run.watermark(5000)
    found = kept(run)
    other = driven("A+ | C", "A AS price = 1")
    other.send(*rows([1]))
    with pytest.raises(IncompatibleState, match="of the pattern"):
        store(other)._restore(found, ("(A{1,} | B)", *found.pack(["A", "B"])))


def test_programs_stay_small() -> None:
    # Counters, not copies: the size does not grow with the bounds.
    small = compiled_program(Quantified(Alternation((Variable("A"), Variable("B"))), 2, 3))
    large = compiled_program(Quantified(Alternation((Variable("A"), Variable("B"))), 200, 3000))
    assert len(small.instructions) == len(large.instructions)
