"""What MATCH_RECOGNIZE refuses, where it was written, and what to do instead."""

from __future__ import annotations

import pytest

from headrace.core.logical_types import BIGINT, STRING, LocalZonedTimestampType, TimestampType
from headrace.errors import HeadraceError
from headrace.plan.relational.changelog import annotated
from tests.sql.planning import Planning, sample

TICKER = "symbol STRING NOT NULL, price BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts"


@pytest.fixture(scope="module")
def planning() -> Planning:
    made = sample()
    made.table("ticker", TICKER)
    made.table("plain", "symbol STRING, price BIGINT, p AS PROCTIME()")
    made.table("changing", TICKER, changes="I,UB,UA,D")
    return made


def query(
    pattern: str = "A B", define: str = "A AS A.price > 1", measures: str = "A.price AS p",
    order: str = "ORDER BY ts", table: str = "ticker", rows: str = "",
) -> str:  # fmt: skip
    return (
        f"SELECT * FROM {table} MATCH_RECOGNIZE (PARTITION BY symbol {order} MEASURES {measures} "
        f"{rows} PATTERN ({pattern}) DEFINE {define}) AS m"
    )


def failure(planning: Planning, text: str) -> HeadraceError:
    with pytest.raises(HeadraceError) as caught:
        annotated(planning.optimized(text))
    return caught.value


# A query, the kind of error, the words it is about, parts of the message and of the hint.
REFUSED = [
    (query("A B*"), "invalid-query", "B*", "the last variable of PATTERN, B, is greedy", "?"),
    (query("A B{2,3}"), "invalid-query", "B{2,3}", "is greedy", "reluctant"),
    (query("A* B*?"), "invalid-query", "A*", "matches without any row", "A+"),
    (query("A+ B? C"), "invalid-query", "B?", "after the greedy variable A", "reluctant"),
    (query("A B{3,2} C"), "invalid-query", "B{3,2}", "3 to 2 times", "greater"),
    (query("A B?? C"), "unsupported", "B??", "B?? cannot be had", "B?"),
    (query("A B A"), "unsupported", "A", "A is in PATTERN twice", "same condition"),
    (query("A | B"), "unsupported", "A | B", "alternatives", "OR"),
    (query("(A B)+ C"), "unsupported", "(A B)+", "a group with a quantifier", "single"),
    (query("PERMUTE(A, B)"), "unsupported", "PERMUTE(A, B)", "PERMUTE", None),
    (query("A {- B -} C"), "unsupported", "{- B -}", "left out", None),
    (query(rows="ALL ROWS PER MATCH"), "unsupported", None, "ALL ROWS PER MATCH", "ONE ROW"),
    (query(define="X AS X.price > 1"), "invalid-query", "X", "not in PATTERN", "A, B"),
    (query(define="A AS price > X.price"), "invalid-query", "X.price", "no variable X", "A, B"),
    (query(measures="C.price AS p"), "invalid-query", "C.price", "no variable C", "A, B"),
    (query(measures="A.prize AS p"), "invalid-query", "A.prize", "column prize", "price?"),
    (query(measures="prize AS p"), "invalid-query", "prize", "column prize", "price?"),
    (query(define="A AS price"), "invalid-query", "price", "must be BOOLEAN", "compare"),
    (query(order=""), "invalid-query", None, "needs ORDER BY", "time"),
    (query(order="ORDER BY price"), "invalid-query", "price", "time attribute", "WATERMARK"),
    (query(order="ORDER BY price, ts"), "invalid-query", "price", "time attribute", "WATERMARK"),
    (query(order="ORDER BY ts DESC"), "invalid-query", "ts DESC", "ascending", "ASC"),
    (query(measures="SUM(A.price + B.price) AS p"), "invalid-query", "SUM", "several", "one"),
    (query(measures="LAST(A.price + B.price) AS p"), "invalid-query", "LAST", "A, B", "one"),
    (query(measures="LAST(SUM(A.price)) AS p"), "invalid-query", "LAST", "already", "columns"),
    (query(measures="SUM(LAST(A.price)) AS p"), "invalid-query", "SUM", "already", "columns"),
    (query(measures="LAST(A.price, B.price) AS p"), "invalid-query", "B.price", "constant", None),
    (query(measures="LAST(A.price, -1) AS p"), "invalid-query", None, "from 0 on", None),
    (query(measures="PREV(A.price) AS p"), "unsupported", "PREV", "PREV", "LAST(A.x, 1)"),
    (query(measures="MATCH_NUMBER() AS p"), "unsupported", "MATCH_NUMBER", "MATCH_NUMBER", None),
    (query("A B) SUBSET A = (A, B"), "invalid-query", None, "the name A once more", "subset"),
    (query("A B) SUBSET U = (A, X"), "invalid-query", "X", "no variable X", "A, B"),
    (query(measures="A.price AS p, B.price AS p"), "invalid-query", "B.price AS p", "two", "own"),
    (query(measures="A.price AS symbol"), "invalid-query", "A.price AS symbol", "two", "own"),
    (query(rows="AFTER MATCH SKIP TO LAST X"), "invalid-query", "X", "no variable X", "A, B"),
    (query("A B) WITHIN (price"), "invalid-query", None, "constant", None),
    (query("A B) WITHIN (INTERVAL '1' MONTH"), "invalid-query", None, "days to seconds", "HOUR"),
    (query(table="changing"), "invalid-query", None, "Match does not support consuming", "insert"),
    (
        query(table="plain", order="ORDER BY p", measures="MATCH_ROWTIME() AS t"),
        "invalid-query", "MATCH_ROWTIME", "event time", "MATCH_PROCTIME",
    ),
    (
        query(table="(SELECT t.* FROM ticker t JOIN plain ON t.symbol = plain.symbol)"),
        "invalid-query", None, "comes out of a regular join", "interval join",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "words", "message", "hint"), REFUSED, ids=str)
def test_what_is_refused(
    planning: Planning, text: str, code: str, words: str | None, message: str, hint: str | None
) -> None:
    error = failure(planning, text)
    assert error.code == code
    assert message in error.message
    assert hint is None or hint in str(error.hint)
    if words is not None:
        line, carets = str(error.origin).splitlines()[1:]
        start = carets.index("^")
        assert line[start : start + carets.count("^")] == words


def test_changes_are_refused_at_the_clause(planning: Planning) -> None:
    error = failure(planning, query(table="changing"))
    assert "MATCH_RECOGNIZE" in str(error.origin)


def test_types_of_the_result(planning: Planning) -> None:
    measures = (
        "A.ts AS a, B.price AS b, LAST(symbol) AS s, LAST(symbol, 1) AS s1, COUNT(*) AS n, "
        "MATCH_ROWTIME() AS r, MATCH_PROCTIME() AS p"
    )
    relation = planning.optimized(query("A B? C", measures=measures))
    assert relation.names == ("symbol", "a", "b", "s", "s1", "n", "r", "p")
    assert relation.types == (
        STRING.not_null(), TimestampType(3), BIGINT, STRING.not_null(), STRING, BIGINT.not_null(),
        TimestampType(3, "rowtime").not_null(),
        LocalZonedTimestampType(3, "proctime").not_null(),
    )  # fmt: skip
