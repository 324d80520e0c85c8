"""What MATCH_RECOGNIZE refuses, where it was written, and what to do instead."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.core.logical_types import BIGINT, STRING, LocalZonedTimestampType, TimestampType
from headrace.errors import HeadraceError, Unsupported
from headrace.plan.relational.changelog import annotated
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.table_environment import TableEnvironment
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


def failure(planning: Planning, text: str, *, strict: bool = False) -> HeadraceError:
    builder = planning.builder
    planning.builder = replace(builder, strict_patterns=strict)
    try:
        with pytest.raises(HeadraceError) as caught:
            annotated(planning.optimized(text))
    finally:
        planning.builder = builder
    return caught.value


# A query, the kind of error, the words it is about, parts of the message and of the hint.
REFUSED = [
    (query("A B*"), "invalid-query", "B*", "the last variable of PATTERN, B, is greedy", "?"),
    (query("A B{2,3}"), "invalid-query", "B{2,3}", "is greedy", "reluctant"),
    (query("A B{3,2} C"), "invalid-query", "B{3,2}", "3 to 2 times", "greater"),
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
    (query("A (B | C){3,2}"), "invalid-query", "(B | C){3,2}", "a group may occur 3 to 2", "0"),
    (query("A B $"), "unsupported", "$", "partitions have no end", "batch mode"),
    (
        query("A {- B -} C", rows="ALL ROWS PER MATCH WITH UNMATCHED ROWS"),
        "invalid-query", "{- B -}", "WITH UNMATCHED ROWS wants every row", "{-",
    ),
    (
        query("PERMUTE(A, B, C, D, E, F, G)"), "unsupported", "PERMUTE(A, B, C, D, E, F, G)",
        "PERMUTE of 7 parts", "at most 6",
    ),
    (
        query("PERMUTE(A, B, PERMUTE(C, D, E, F, A, B), C, D)"), "unsupported", None,
        "more orders than can be followed", "long themselves",
    ),
    (query("A | B) SUBSET A = (A, B"), "invalid-query", None, "the name A once more", "subset"),
    (query(define="A AS FINAL LAST(price) > 1"), "invalid-query", "FINAL LAST(price)",
     "FINAL cannot be used in DEFINE", "leave it out"),
    (query(measures="PREV(A.price, -1) AS p"), "invalid-query", None, "from 0 on", None),
    (query(measures="PREV(A.price, B.price) AS p"), "invalid-query", "B.price", "constant", None),
    (query(measures="PREV(A.price, 1, 2) AS p"), "invalid-query", "PREV", "an offset", "PREV(A.x)"),
    (query(measures="PREV(A.price + B.price) AS p"), "invalid-query", "PREV", "A, B", "one"),
    (query(measures="PREV(SUM(A.price)) AS p"), "invalid-query", "PREV", "one row", "LAST(A.x, 1)"),
    (query(measures="PREV(PREV(A.price)) AS p"), "invalid-query", "PREV", "one row", "FIRST"),
    (query(measures="LAST(PREV(A.price)) AS p"), "invalid-query", "LAST", "already", "columns"),
    (query(measures="CLASSIFIER(X) AS p"), "invalid-query", "X", "no variable X", "A, B"),
    (query(measures="CLASSIFIER(A, B) AS p"), "invalid-query", "CLASSIFIER", "a variable", "U"),
    (query(measures="MATCH_NUMBER(1) AS p"), "invalid-query", "MATCH_NUMBER", "no arguments", None),
    (
        query(measures="A.price AS price", rows="ALL ROWS PER MATCH"),
        "invalid-query", "A.price AS price", "two columns", "own",
    ),
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


# What Flink does not have: refused only where nothing else is wanted. The words it is about, parts
# of the message and of the hint.
BEYOND_FLINK = [
    (query("A* B*?"), "A*", "matches without any row", "A+"),
    (query("A+ B? C"), "B?", "after the greedy variable A", "reluctant"),
    (query("A B?? C"), "B??", "B??", "B?"),
    (query("A B A"), "A", "A in PATTERN twice", "same condition"),
    (query("A | B"), "A | B", "alternatives", "OR"),
    (query("(A B)+ C"), "(A B)+", "a group with a quantifier", "single"),
    (query("PERMUTE(A, B)"), "PERMUTE(A, B)", "PERMUTE", None),
    (query("A {- B -} C"), "{- B -}", "left out", None),
    (query("^ A"), "^", "^ and $", "anchors"),
    (query(rows="ALL ROWS PER MATCH"), None, "ALL ROWS PER MATCH", "ONE ROW"),
    (query(measures="PREV(A.price) AS p"), "PREV", "PREV", "LAST(A.x, 1)"),
    (query(define="A AS NEXT(price) > 1"), "NEXT", "NEXT", "FIRST(A.x, 1)"),
    (query(measures="MATCH_NUMBER() AS p"), "MATCH_NUMBER", "MATCH_NUMBER", None),
    (query(measures="CLASSIFIER() AS p"), "CLASSIFIER", "CLASSIFIER", None),
    (query("A B) SUBSET U = (A, B"), None, "SUBSET", "themselves"),
    (query(measures="SUM(DISTINCT A.price) AS p"), "SUM", "DISTINCT", "leave out"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words", "message", "hint"), BEYOND_FLINK, ids=str)
def test_what_flink_does_not_have_is_refused_on_demand(
    planning: Planning, text: str, words: str | None, message: str, hint: str | None
) -> None:
    annotated(planning.optimized(text))
    error = failure(planning, text, strict=True)
    assert error.code == "unsupported"
    assert "Flink does not have" in error.message
    assert message in error.message
    assert "headrace.table.match-recognize.strict" in str(error.hint)
    assert hint is None or hint in str(error.hint)
    if words is not None:
        line, carets = str(error.origin).splitlines()[1:]
        start = carets.index("^")
        assert line[start : start + carets.count("^")] == words


def test_the_option_is_read(planning: Planning) -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.execute_sql(f"CREATE TABLE ticker ({TICKER}) WITH ('connector' = 'datagen')")
    env.sql_query(query("A | B"))
    env.get_config().set("headrace.table.match-recognize.strict", "true")
    with pytest.raises(Unsupported, match="alternatives"):
        env.sql_query(query("A | B"))
    env.sql_query(query("A B"))


def test_the_end_of_a_partition_is_known_in_batch_mode(planning: Planning) -> None:
    builder = planning.builder
    planning.builder = replace(builder, batch=True)
    annotated(planning.optimized(query("A B $")))
    planning.builder = builder


def test_a_greedy_end_is_allowed_where_rows_are_matched_in_order(planning: Planning) -> None:
    error = failure(planning, query("A B*"))
    assert "ALL ROWS PER MATCH" in str(error.hint)
    annotated(planning.optimized(query("A B*", rows="ALL ROWS PER MATCH")))


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


def test_types_with_all_rows(planning: Planning) -> None:
    measures = (
        "A.price AS a, FINAL LAST(symbol) AS s, CLASSIFIER() AS v, MATCH_NUMBER() AS n, "
        "PREV(symbol) AS p, MATCH_ROWTIME() AS r"
    )
    all_rows = planning.optimized(query(measures=measures, rows="ALL ROWS PER MATCH"))
    assert all_rows.names == ("symbol", "ts", "a", "s", "v", "n", "p", "r", "price")
    assert all_rows.types == (
        STRING.not_null(), TimestampType(3), BIGINT, STRING.not_null(), STRING.not_null(),
        BIGINT.not_null(), STRING, TimestampType(3, "rowtime").not_null(), BIGINT,
    )  # fmt: skip
    # Rows in no match have no measures: all may be NULL, and the time is no attribute any more.
    rows = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"
    unmatched = planning.optimized(query(measures=measures, rows=rows))
    assert unmatched.types[2:8] == (BIGINT, STRING, STRING, BIGINT, STRING, TimestampType(3))
    # Nor is there anything in an empty match but its number.
    empty = planning.optimized(query("A*", measures="LAST(symbol) AS s, CLASSIFIER() AS v"))
    assert empty.types == (STRING.not_null(), STRING, STRING)


def test_only_wanted_columns_are_read(planning: Planning) -> None:
    clause = query(measures="CLASSIFIER() AS v, SUM(price) AS s", rows="ALL ROWS PER MATCH")
    text = planning.tree(clause.replace("*", "v", 1).replace("A.price > 1", "TRUE"), optimized=True)
    assert "ALL ROWS PER MATCH []" in text
    assert "price" not in text
