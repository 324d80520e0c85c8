"""Row patterns with all that the standard has, against a matcher that follows the definition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.core.row_pattern_terms import (
    Alternation,
    Anchor,
    Concatenation,
    Exclusion,
    Permutation,
    Quantified,
    Term,
    Variable,
    variables_of,
)
from headrace.errors import HeadraceError
from headrace.graph.relations import MatchRecognize
from headrace.operators.table.row_pattern_operator import RowPatternOperator
from tests.sql.naive_rows import Holds, NowhereToSkip, Partition, Way, rows_of, sql
from tests.sql.planning import Planning
from tests.unit.operators.table.driving import Driven, I

SECOND = 1_000_000_000
NAMES = "ABC"
MEASURES = (
    "CLASSIFIER() AS v, MATCH_NUMBER() AS n, COUNT(*) AS c, FINAL COUNT(*) AS f, COUNT(A.*) AS a, "
    "PREV(price) AS p"
)

# Conditions as SQL and in Python; $ stands for the variable.
CONDITIONS: list[tuple[str, Holds]] = [
    ("price > 0", lambda part, way, name, at: part.prices[at] > 0),
    ("price < 2", lambda part, way, name, at: part.prices[at] < 2),
    ("$.price = 1", lambda part, way, name, at: part.prices[at] == 1),
    (
        "price >= PREV(price)",
        lambda part, way, name, at: at > 0 and part.prices[at] >= part.prices[at - 1],
    ),
    (
        "NEXT(price) < price",
        lambda part, way, name, at: (part.price(at + 1) is not None
                                     and part.prices[at + 1] < part.prices[at]),
    ),
    (
        "LAST(price, 1) IS NULL OR price <> LAST(price, 1)",
        lambda part, way, name, at: not way or part.prices[at] != part.prices[way[-1].at],
    ),
    (
        "FIRST($.price) <= price",
        lambda part, way, name, at: part.prices[next(
            (row.at for row in way if row.variable == name), at)] <= part.prices[at],
    ),
    (
        "SUM(price) < 4",
        lambda part, way, name, at: sum(part.prices[row.at] for row in way) + part.prices[at] < 4,
    ),
    (
        "COUNT(A.*) < 3",
        lambda part, way, name, at: sum(row.variable == "A" for row in way) + (name == "A") < 3,
    ),
    (
        "PREV(LAST($.price, 1), 1) IS NULL OR PREV(LAST($.price, 1), 1) < 2",
        lambda part, way, name, at: next(
            (part.price(row.at - 1) is None or part.prices[row.at - 1] < 2
             for row in reversed(way) if row.variable == name), True),
    ),
    (
        "FIRST(CLASSIFIER()) <> 'B'",
        lambda part, way, name, at: (way[0].variable if way else name) != "B",
    ),
    (
        "LAST(CLASSIFIER(), 1) IS NULL OR LAST(CLASSIFIER(), 1) <> CLASSIFIER()",
        lambda part, way, name, at: not way or way[-1].variable != name,
    ),
    ("MATCH_NUMBER() < 3", lambda part, way, name, at: part.number < 3),
]  # fmt: skip


def _terms(anchors: bool) -> st.SearchStrategy[Term]:
    leaves: Any = st.sampled_from(NAMES).map(Variable)
    if anchors:
        leaves = st.one_of(leaves, leaves, st.booleans().map(Anchor))

    def larger(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
        several = st.lists(inner, min_size=2, max_size=3).map(tuple)
        bounds = st.sampled_from([(0, None), (1, None), (0, 1), (2, 3), (0, 2), (2, None), (2, 2)])
        return st.one_of(
            several.map(Concatenation), several.map(Concatenation), several.map(Alternation),
            several.map(Permutation), inner.map(Exclusion),
            st.builds(lambda part, bound, greedy: Quantified(part, *bound, greedy),
                      inner, bounds, st.booleans()),
            st.just(Concatenation(())),
        )  # fmt: skip

    return st.recursive(leaves, larger, max_leaves=5)


@dataclass
class Drawn:
    term: Term
    conditions: list[tuple[str, Holds]]
    prices: list[int]
    skip: str
    target: str | None
    output: str
    within: int | None
    batch: bool


@st.composite
def _drawn(draw: st.DrawFn) -> Drawn:
    batch = draw(st.booleans())
    term = draw(_terms(batch).filter(variables_of))
    skip = draw(st.sampled_from(["PAST LAST ROW", "TO NEXT ROW", "TO FIRST", "TO LAST"]))
    target = (
        draw(st.sampled_from(variables_of(term))) if skip.startswith(("TO F", "TO L")) else None
    )
    outputs = ["", " SHOW EMPTY MATCHES", " OMIT EMPTY MATCHES", " WITH UNMATCHED ROWS"]
    if "{-" in sql(term):
        outputs.pop()
    return Drawn(
        term, draw(st.lists(st.sampled_from(CONDITIONS), min_size=3, max_size=3)),
        draw(st.lists(st.integers(0, 3), min_size=1, max_size=7)), skip, target,
        f"ALL ROWS PER MATCH{draw(st.sampled_from(outputs))}",
        draw(st.sampled_from([None, None, 3])), batch,
    )  # fmt: skip


@pytest.fixture(scope="module")
def planning() -> Planning:
    made = Planning()
    made.table("t", "price BIGINT, k BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts")
    return made


def _operator(planning: Planning, drawn: Drawn) -> RowPatternOperator:
    names = variables_of(drawn.term)
    define = ", ".join(f"{name} AS {condition[0].replace('$', name)}"
                       for name, condition in zip(NAMES, drawn.conditions, strict=True)
                       if name in names)  # fmt: skip
    define = define.replace("COUNT(A.*)", "COUNT(A.*)" if "A" in names else "0")
    measures = MEASURES if "A" in names else MEASURES.replace("COUNT(A.*)", "0")
    within = "" if drawn.within is None else f"WITHIN INTERVAL '{drawn.within}' SECOND"
    text = (
        f"SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES {measures} "
        f"{drawn.output} AFTER MATCH SKIP {drawn.skip} {drawn.target or ''} "
        f"PATTERN ({sql(drawn.term)}) {within} DEFINE {define}) AS m"
    )
    builder = planning.builder
    planning.builder = replace(builder, batch=drawn.batch)
    try:
        relation = planning.query(text)
    finally:
        planning.builder = builder
    while not isinstance(relation, MatchRecognize):
        (relation,) = relation.inputs
    return RowPatternOperator(relation.pattern, relation.input.types)


def _wanted(drawn: Drawn) -> list[str] | None:
    conditions = dict(zip(NAMES, [holds for _, holds in drawn.conditions], strict=True))
    partition = Partition(drawn.prices, conditions, drawn.within)
    try:
        found = list(rows_of(partition, drawn.term, drawn.skip, drawn.target, drawn.output))
    except NowhereToSkip:
        return None
    return [", ".join("NULL" if value is None else str(value) for value in row) for row in found]


def _got(operator: RowPatternOperator, drawn: Drawn, cuts: set[int], crash: bool) -> list[str]:
    driven = Driven(operator, key=[1])
    lines: list[str] = []
    for at, price in enumerate(drawn.prices):
        driven.harness.send_all([I(price, 7, at * SECOND)])
        if at in cuts and not drawn.batch:
            lines += driven.watermark(at * 1000)
        if crash:
            driven.crash()
    lines += [*driven.take(), *driven.finish()]
    # Behind the partition and the time come the measures, then the other column.
    return [line[3:-1].split(", ", 2)[2] for line in lines]


@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=_drawn(), cuts=st.sets(st.integers(0, 7)), crash=st.booleans())
def test_like_the_definition(planning: Planning, drawn: Drawn, cuts: set[int], crash: bool) -> None:
    operator = _operator(planning, drawn)
    wanted = _wanted(drawn)
    if wanted is None:
        with pytest.raises(HeadraceError, match="skip"):
            _got(operator, drawn, cuts, crash)
        return
    assert _got(operator, drawn, cuts, crash) == wanted


def _prices(part: Partition, way: Way, name: str) -> list[int]:
    return [part.prices[row.at] for row in way if row.variable == name]


# Ways that are at the same place, but have taken rows for other variables: only the last condition
# tells which of them is the match.
TELLING: list[tuple[str, Holds]] = [
    ("COUNT(A.*) = 1", lambda part, way, name, at: len(_prices(part, way, "A")) == 1),
    ("SUM(A.price) = 3", lambda part, way, name, at: sum(_prices(part, way, "A")) == 3),
    ("LAST(A.price) = 2", lambda part, way, name, at: _prices(part, way, "A")[-1:] == [2]),
    ("FIRST(B.price, 1) = 1", lambda part, way, name, at: _prices(part, way, "B")[1:2] == [1]),
    ("LAST(B.price, 1) = 0", lambda part, way, name, at: _prices(part, way, "B")[-2:-1] == [0]),
    (
        "LAST(CLASSIFIER(), 2) = 'B'",
        lambda part, way, name, at: len(way) > 1 and way[-2].variable == "B",
    ),
    (
        "PREV(LAST(A.price), 1) = 1",
        lambda part, way, name, at: any(
            part.price(row.at - 1) == 1 for row in [row for row in way if row.variable == "A"][-1:]
        ),
    ),
]


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    telling=st.sampled_from(TELLING), greedy=st.booleans(), skip=st.booleans(),
    crash=st.booleans(), prices=st.lists(st.integers(0, 3), min_size=2, max_size=7),
)  # fmt: skip
def test_ways_that_differ_in_the_past_are_kept_apart(
    planning: Planning, telling: tuple[str, Holds], greedy: bool, skip: bool, crash: bool,
    prices: list[int],
) -> None:  # fmt: skip
    either = Alternation((Variable("A"), Variable("B")))
    term = Concatenation((Quantified(either, 1, None, greedy), Variable("C")))
    anything: tuple[str, Holds] = ("price >= 0", lambda part, way, name, at: True)
    drawn = Drawn(
        term, [anything, anything, telling], prices,
        "TO NEXT ROW" if skip else "PAST LAST ROW", None, "ALL ROWS PER MATCH", None, False,
    )  # fmt: skip
    got = _got(_operator(planning, drawn), drawn, set(range(len(prices))), crash)
    assert got == _wanted(drawn)
