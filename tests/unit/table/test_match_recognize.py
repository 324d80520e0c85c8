"""Patterns of rows in the Table API: the same relations as SQL's, and errors with the line."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from headrace.common import Duration, Row, Types
from headrace.errors import HeadraceError
from headrace.table import Schema, StreamTableEnvironment, Table
from headrace.table.expressions import col, lit
from headrace.table.match_recognize import (
    PatternVariable,
    classifier,
    final,
    first,
    last,
    match_number,
    match_proctime,
    match_rowtime,
    next_,
    prev,
    row_count,
    running,
    variable,
)
from headrace.table.udf import udf
from tests.unit.table.in_process import changes_of, stream_environment

A, B, C = variable("A"), variable("B"), variable("C")
FALLING: dict[str, Any] = {"B": B.price < last(col("price"), 1), "C": C.price > last(B.price)}
TICKS = Types.ROW_NAMED(
    ["symbol", "price", "ms"], [Types.STRING(), Types.INT(), Types.LONG()]
)  # fmt: skip
V = [("a", 10, 1), ("a", 8, 2), ("b", 3, 2), ("a", 7, 3), ("b", 9, 4), ("a", 9, 4), ("a", 9, 5)]


@pytest.fixture(scope="module")
def env() -> StreamTableEnvironment:
    made = stream_environment()
    rows = [Row(symbol, price, second * 1000) for symbol, price, second in V]
    schema = (
        Schema.new_builder()
        .column_by_expression("ts", "TO_TIMESTAMP_LTZ(ms, 3)")
        .column_by_expression("pt", "PROCTIME()")
        .watermark("ts", "ts - INTERVAL '1' SECOND")
        .build()
    )
    stream = made._env.from_collection(rows, TICKS)
    made.create_temporary_view("ticks", made.from_data_stream(stream, schema))
    return made


def found(env: StreamTableEnvironment, **more: Any) -> Table:
    given: dict[str, Any] = {
        "partition_by": col("symbol"), "order_by": col("ts"), "pattern": "A B+ C",
        "define": FALLING, "measures": {"top": A.price, "bottom": last(B.price)},
        "after_match": "SKIP PAST LAST ROW",
    }  # fmt: skip
    return env.from_path("ticks").match_recognize(**given | more)


def test_rows_of_matches(env: StreamTableEnvironment) -> None:
    table = found(env)
    assert list(table.relation.names) == ["symbol", "top", "bottom"]
    assert changes_of(table) == ["+I[a, 10, 7]"]
    assert changes_of(table.select((col("top") - col("bottom")).alias("depth"))) == ["+I[3]"]


EQUAL: list[tuple[dict[str, Any], str]] = [
    (
        {},
        """PARTITION BY symbol ORDER BY ts MEASURES A.price AS top, LAST(B.price, 0) AS bottom
        AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C)
        DEFINE B AS B.price < LAST(price, 1), C AS C.price > LAST(B.price, 0)""",
    ),
    (
        {
            "partition_by": [], "order_by": [col("ts"), col("price").desc], "pattern": "A B*? C",
            "measures": {
                "n": row_count(), "nb": row_count(B), "s": B.price.sum, "f": first(B.price, 1),
                "t": match_rowtime(), "v": classifier(), "l": final(last(B.price)),
            },
            "define": {"A": (A.price > 3) & A.symbol.is_not_null, "C": C["price"] > A.price},
            "after_match": "SKIP TO LAST C", "within": lit(10).minutes,
            "rows_per_match": "ONE ROW PER MATCH",
        },
        """ORDER BY ts, price DESC MEASURES COUNT(*) AS n, COUNT(B.*) AS nb, SUM(B.price) AS s,
        FIRST(B.price, 1) AS f, MATCH_ROWTIME() AS t, CLASSIFIER() AS v,
        FINAL LAST(B.price, 0) AS l ONE ROW PER MATCH
        AFTER MATCH SKIP TO LAST C PATTERN (A B*? C) WITHIN INTERVAL '10' MINUTE
        DEFINE A AS A.price > 3 AND A.symbol IS NOT NULL, C AS C.price > A.price""",
    ),
    (
        {
            "order_by": col("pt"), "subsets": {"U": ["A", "B"]}, "after_match": "SKIP TO NEXT ROW",
            "measures": {"u": variable("U").price.avg, "p": match_proctime()}, "define": {
                "B": B.price > 1},
        },
        """PARTITION BY symbol ORDER BY pt MEASURES AVG(U.price) AS u, MATCH_PROCTIME() AS p
        AFTER MATCH SKIP TO NEXT ROW PATTERN (A B+ C) SUBSET U = (A, B)
        DEFINE B AS B.price > 1""",
    ),
    (
        {
            "pattern": "A (B | C)+? {- D -}", "rows_per_match": "ALL ROWS PER MATCH",
            "subsets": {"U": ["B", "C"]},
            "measures": {
                "n": match_number(), "v": classifier(variable("U")), "p": prev(A.price),
                "q": next_(A.price, 2), "r": running(last(B.price)),
            },
            "define": {"B": B.price < prev(B.price), "C": C.price > prev(C.price)},
        },
        """PARTITION BY symbol ORDER BY ts MEASURES MATCH_NUMBER() AS n, CLASSIFIER(U) AS v,
        PREV(A.price, 1) AS p, NEXT(A.price, 2) AS q, RUNNING LAST(B.price, 0) AS r
        ALL ROWS PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A (B | C)+? {- D -})
        SUBSET U = (B, C)
        DEFINE B AS B.price < PREV(B.price, 1), C AS C.price > PREV(C.price, 1)""",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("given", "clause"), EQUAL)
def test_the_same_relation_as_sql(
    env: StreamTableEnvironment, given: dict[str, Any], clause: str
) -> None:
    written = env.sql_query(f"SELECT * FROM ticks MATCH_RECOGNIZE ({clause})")
    optimized = env._execution.optimized
    assert optimized(found(env, **given).relation) == optimized(written.relation)


@pytest.mark.parametrize("within", [lit(2).seconds, timedelta(seconds=2), Duration.of_seconds(2)])
def test_within(env: StreamTableEnvironment, within: Any) -> None:
    assert changes_of(found(env, within=within)) == []
    assert changes_of(found(env, within=lit(4).seconds)) == ["+I[a, 10, 7]"]


def test_functions_of_the_user(env: StreamTableEnvironment) -> None:
    double = udf(lambda value: value * 2, result_type="INT")
    table = found(env, measures={"d": double(A.price)}, define={
        **FALLING, "A": double(A.price) == 20})  # fmt: skip
    assert changes_of(table) == ["+I[a, 20]"]


# What is given, and parts of the message and the hint.
REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"pattern": "A C B*"}, "the last variable of PATTERN, B, is greedy", "?"),
    ({"pattern": "A (B"}, "pattern is not understood", "SQL"),
    ({"pattern": "A B) DEFINE (C"}, "pattern is not understood", ""),
    ({"pattern": 3}, "pattern of match_recognize() is text", "A B+ C"),
    ({"after_match": "SKIP BACK"}, "after_match is not understood", ""),
    ({"after_match": "SKIP TO LAST X"}, "no variable X", "A, B, C"),
    ({"rows_per_match": "SOME ROWS"}, "rows_per_match is not understood", ""),
    ({"define": {"X": col("price") > 1}}, "not in PATTERN", "A, B, C"),
    ({"define": {"B": variable("X").price > 1}}, "no variable X", "A, B, C"),
    ({"define": {"B": B.prize > 1}}, "column prize", "price?"),
    ({"define": [B.price > 1]}, "define of match_recognize() is a dictionary", "variable"),
    ({"define": {"B": "price > 1"}}, "takes expressions", "col("),
    ({"order_by": col("price")}, "time attribute", "WATERMARK"),
    ({"order_by": col("ts").desc}, "ascending", "ASC"),
    ({"order_by": []}, "needs ORDER BY", "time"),
    ({"partition_by": col("price") + 1}, "PARTITION BY of MATCH_RECOGNIZE takes columns", "sub"),
    ({"within": lit(1).months}, "days to seconds", "HOUR"),
    ({"subsets": {"U": "AB"}}, "subset U", '["A", "B"]'),
    ({"subsets": {"U": ["X"]}}, "no variable X", "A, B, C"),
    ({"measures": {"symbol": A.price}}, "two columns", "own"),
    ({"measures": {"p": C.prize}}, "column prize", "price?"),
]


@pytest.mark.parametrize(("given", "message", "hint"), REFUSED)
def test_refused_with_the_users_line(
    env: StreamTableEnvironment, given: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(HeadraceError) as caught:
        found(env, **given)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")
    assert "test_match_recognize.py" in str(caught.value.origin)


def test_variables() -> None:
    assert repr(A) == "variable('A')"
    assert str(A["a column"]) == "A.a column"
    assert not hasattr(PatternVariable("A"), "__wrapped__")
    with pytest.raises(HeadraceError, match="takes a name"):
        variable(3)  # type: ignore[arg-type]
    with pytest.raises(HeadraceError, match="a variable is needed"):
        row_count("A")  # type: ignore[arg-type]


def test_drawn(env: StreamTableEnvironment) -> None:
    written = env.sql_query(f"SELECT bottom FROM ticks MATCH_RECOGNIZE ({EQUAL[0][1]})")
    (drawing,) = written.draw_patterns()
    assert [each.svg() for each in found(env).draw_patterns()] == [drawing.svg()]
    assert str(drawing).startswith("▶ A   (waits for a first event)\n    take ")
    assert "    take    B                        → itself\n" in str(drawing)
    assert f"== Pattern ==\n{drawing}" in written.explain()
    assert env.from_path("ticks").draw_patterns() == ()
    (beyond,) = found(env, **EQUAL[3][0]).draw_patterns()
    assert "{- D -}" in beyond.text()
