"""MATCH_RECOGNIZE beyond Flink: what each construct means by the SQL:2016 row pattern definition,
as Oracle, Trino and Snowflake document it. Each case says why its rows follow."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.errors import HeadraceError
from tests.sql import sql_cases
from tests.sql.test_match_recognize_results import case

DOWN_UP = "D AS price < PREV(price), U AS price > PREV(price)"


def found(
    measures: str, pattern: str, define: str, prices: list[int], *, rows: str = "",
    skip: str = "", tail: str = "", crash: bool = True, **more: Any,
) -> list[str]:  # fmt: skip
    """The rows without the partition, the same when everything is restored at every row."""
    after = f"AFTER MATCH SKIP {skip}" if skip else ""
    sql = (
        f"SELECT * FROM ticker MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY rowtime "
        f"MEASURES {measures} {rows} {after} PATTERN ({pattern}) {tail} DEFINE {define}) AS m"
    )
    given = case(sql, [("a", price, at) for at, price in enumerate(prices, 1)], **more)
    lines = sql_cases.lines(given)
    if crash:
        assert sql_cases.lines(given, crash=True) == lines
    return [line.removeprefix("+I[a, ")[:-1] for line in lines]


def labels(pattern: str, define: str, prices: list[int], **more: Any) -> list[str]:
    """The matches, each as its prices with their variables."""
    rows = found(
        "CLASSIFIER() AS v, MATCH_NUMBER() AS n, price AS p", pattern, define, prices,
        rows="ALL ROWS PER MATCH", **more,
    )  # fmt: skip
    matches: dict[str, list[str]] = {}
    for row in rows:
        _, variable, number, price, *_ = row.split(", ")
        matches.setdefault(number, []).append(f"{variable}{price}" if variable != "null" else "-")
    return [" ".join(match) for match in matches.values()]


# Alternation: the alternative that is written first is preferred, not the longer one.


def test_the_first_alternative_that_leads_to_a_match_counts() -> None:
    define = "A AS price > 0, B AS price > 4"
    # 5 fits A and B; A is written first.
    assert labels("A | B", define, [5, 0]) == ["A5"]
    assert labels("B | A", define, [5, 1, 0]) == ["B5", "A1"]
    # A alone is preferred to A B, although A B takes more rows.
    assert labels("A | A B", define, [5, 5, 0]) == ["A5", "A5"]
    # With C behind, only the second alternative gets there: preference comes second to matching.
    assert labels("(A | A B) C", f"{define}, C AS price = 9", [1, 5, 9]) == ["A1 B5 C9"]


def test_alternatives_inside_a_sequence() -> None:
    define = "A AS price = 1, B AS price = 2, C AS price = 3, D AS price = 4"
    # | binds less than the sequence: A B or C D, not A (B or C) D.
    assert labels("A B | C D", define, [1, 2, 3, 4, 1, 3, 4]) == ["A1 B2", "C3 D4", "C3 D4"]
    assert labels("A (B | C) D", define, [1, 2, 3, 4, 1, 3, 4]) == ["A1 C3 D4"]


# Groups with quantifiers.


def test_groups_are_repeated_as_a_whole() -> None:
    define = "A AS price = 1, B AS price = 2"
    # Greedy: as many pairs as there are; the 1 without a 2 behind it does not belong to them.
    assert labels("(A B)+", define, [1, 2, 1, 2, 1, 1, 2]) == ["A1 B2 A1 B2", "A1 B2"]
    # Reluctant: one pair is enough, the next match begins after it.
    assert labels("(A B)+?", define, [1, 2, 1, 2]) == ["A1 B2", "A1 B2"]
    # Exactly two; the last pair is alone.
    assert labels("(A B){2}", define, [1, 2, 1, 2, 1, 2]) == ["A1 B2 A1 B2"]


@pytest.mark.parametrize(
    ("quantifier", "matches"),
    [
        # Three are preferred; of five rows two are left, which are enough.
        ("{2,3}", ["A1 B2 A1", "B2 A1"]),
        # Two are preferred; of five rows one is left, which is not enough.
        ("{2,3}?", ["A1 B2", "A1 B2"]),
        # At most two: 2, 2 and 1.
        ("{,2}", ["A1 B2", "A1 B2", "A1"]),
    ],
)
def test_bounds_of_a_group_of_alternatives(quantifier: str, matches: list[str]) -> None:
    define = "A AS price = 1, B AS price = 2"
    got = labels(f"(A | B){quantifier} X?", f"{define}, X AS FALSE", [1, 2, 1, 2, 1, 0])
    assert [match for match in got if match != "-"] == matches


def test_nested_quantifiers() -> None:
    define = "A AS price = 1, B AS price = 2"
    # Runs of at least two 1s with a 2 after each run.
    prices = [1, 1, 2, 1, 1, 1, 2, 1, 2]
    assert labels("(A{2,} B)+", define, prices) == ["A1 A1 B2 A1 A1 A1 B2"]
    # A loop whose body may take nothing comes to an end.
    assert labels("(A* B?)* C", f"{define}, C AS price = 9", [1, 2, 1, 9]) == ["A1 B2 A1 C9"]


# PERMUTE: all orders, preferred as a dictionary lists them.


def test_permute_takes_all_parts_in_any_order() -> None:
    define = "A AS price = 1, B AS price = 2, C AS price = 3"
    assert labels("PERMUTE(A, B, C)", define, [3, 1, 2, 2, 1, 3, 3]) == ["C3 A1 B2", "B2 A1 C3"]


def test_permute_prefers_the_order_of_its_parts() -> None:
    # Both rows fit both variables: A B comes before B A in the list of orders.
    assert labels("PERMUTE(A, B)", "A AS price > 0, B AS price > 0", [5, 6]) == ["A5 B6"]
    assert labels("PERMUTE(B, A)", "A AS price > 0, B AS price > 0", [5, 6]) == ["B5 A6"]


def test_permute_of_parts_with_quantifiers() -> None:
    define = "A AS price < 5, B AS price > 3"
    # 4 fits both. A+ B with a greedy A takes 1 4 4 for A, so the 9 is B.
    assert labels("PERMUTE(A+, B)", define, [1, 4, 4, 9]) == ["A1 A4 A4 B9"]
    # Here A+ B is impossible from 9 on, and B A+ is not.
    assert labels("PERMUTE(A+, B)", define, [9, 1, 2, 9]) == ["B9 A1 A2"]


# Exclusion.


def test_excluded_rows_belong_to_the_match_but_are_not_shown() -> None:
    define = "A AS price = 1, B AS price > 1, C AS price = 0"
    measures = "CLASSIFIER() AS v, COUNT(*) AS n, FINAL SUM(price) AS s"
    rows = found(measures, "A {- B+ -} C", define, [1, 5, 7, 0], rows="ALL ROWS PER MATCH")
    # C is the fourth row of the match and the sum has the 5 and the 7.
    assert [row.split(", ")[1:4] for row in rows] == [["A", "1", "13"], ["C", "4", "13"]]


def test_exclusion_says_nothing_about_one_row_per_match() -> None:
    define = "A AS price = 1, B AS price > 1, C AS price = 0"
    assert found("SUM(price) AS s", "A {- B+ -} C", define, [1, 5, 7, 0]) == ["13"]


# Anchors.


def test_anchors_are_the_ends_of_a_partition() -> None:
    prices, define = [5, 6, 1, 7, 8], "A AS price > 4"
    # Without anchors two runs, with ^ the one at the start, with $ the one at the end.
    assert labels("A+", define, prices) == ["A5 A6", "A7 A8"]
    assert labels("^ A+", define, prices) == ["A5 A6"]
    assert labels("A+ $", define, prices, mode="batch") == ["A7 A8"]
    assert labels("^ A+ $", define, prices, mode="batch") == []
    assert labels("^ A+ $", define, prices[:2], mode="batch") == ["A5 A6"]


def test_anchors_may_be_in_one_alternative() -> None:
    # At the start any row will do, later only one above 4.
    assert labels("^ X | A", "A AS price > 4", [1, 2, 5, 3]) == ["X1", "A5"]


# A variable in two places.


def test_a_variable_may_be_in_the_pattern_twice() -> None:
    define = "A AS price > 4, B AS price < 3"
    assert labels("A B A", define, [5, 1, 6, 2, 7]) == ["A5 B1 A6"]
    measures = "FIRST(A.price) AS f, LAST(A.price) AS l, COUNT(A.*) AS n"
    # Rows of A are those of both places, in the order of rows.
    assert found(measures, "A B A", define, [5, 1, 6]) == ["5, 6, 2"]


# Empty matches and unmatched rows.


def test_empty_matches_are_shown_or_omitted() -> None:
    measures = "MATCH_NUMBER() AS n, CLASSIFIER() AS v, COUNT(*) AS c, price AS p"
    given = (measures, "A*", "A AS price > 4", [5, 6, 1, 7])
    shown = found(*given, rows="ALL ROWS PER MATCH SHOW EMPTY MATCHES")
    # The 1 starts an empty match: it has a number, no variable, no rows, and no last row.
    assert [row.split(", ", 1)[1].rsplit(", ", 1)[0] for row in shown] == [
        "1, A, 1, 5, 5", "1, A, 2, 6, 6", "2, null, 0, null, 1", "3, A, 1, 7, 7",
    ]  # fmt: skip
    assert found(*given, rows="ALL ROWS PER MATCH") == shown
    # Omitted, it still has its number.
    assert found(*given, rows="ALL ROWS PER MATCH OMIT EMPTY MATCHES") == [*shown[:2], shown[3]]
    # With one row per match it is a row as well.
    assert found(*given) == ["1, A, 2, 6", "2, null, 0, null", "3, A, 1, 7"]


def test_unmatched_rows() -> None:
    measures = "MATCH_NUMBER() AS n, CLASSIFIER() AS v, COUNT(*) AS c"
    rows = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"
    got = found(measures, "A B", "A AS price > 4, B AS price < 3", [1, 5, 2, 6], rows=rows)
    # Unlike an empty match, a row in no match has no number and counts nothing.
    assert [row.split(", ", 1)[1].rsplit(", ", 1)[0] for row in got] == [
        "null, null, null, 1", "1, A, 1, 5", "1, B, 2, 2", "null, null, null, 6",
    ]  # fmt: skip


def test_a_row_of_an_overlapping_match_is_not_unmatched() -> None:
    rows = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"
    got = found(
        "CLASSIFIER() AS v", "A B", "B AS price > PREV(price)", [1, 2, 1], rows=rows,
        skip="TO NEXT ROW",
    )  # fmt: skip
    # From the 2 no match starts, but it was the B of the one before; the last 1 is in none.
    assert [row.split(", ")[1:3] for row in got] == [["A", "1"], ["B", "2"], ["null", "1"]]


def test_optional_parts_may_be_reluctant() -> None:
    define = "A AS price = 1, B AS price > 0, C AS price > 0"
    # ? takes the row if it can, ?? leaves it to C if that can take it.
    assert labels("A B? C", define, [1, 5, 6]) == ["A1 B5 C6"]
    assert labels("A B?? C", define, [1, 5, 6]) == ["A1 C5"]


# PREV and NEXT go by rows of the partition, FIRST and LAST by rows of a variable.


def test_prev_goes_to_rows_before_the_match() -> None:
    measures = "PREV(A.price) AS b, PREV(A.price, 2) AS b2, PREV(B.price, 0) AS same"
    define = "A AS price = 5, B AS price = 6"
    # The match is 5 6; before it are 4 and 3. Of the first match nothing is two rows before.
    assert found(measures, "A B", define, [4, 5, 6, 3, 4, 5, 6]) == ["4, null, 6", "4, 3, 6"]


def test_next_waits_for_the_rows_it_asks_for() -> None:
    define = "A AS NEXT(price) > price AND NEXT(price, 2) > NEXT(price)"
    # 1 and 2 are followed by two rising rows; at the end of input there is no row, which is NULL.
    assert labels("A+", define, [1, 2, 3, 4, 0]) == ["A1 A2"]
    # After the match comes a 4, after that one a 0; after the last row nothing.
    measures = "NEXT(LAST(A.price)) AS n, NEXT(price, 2) AS n2"
    assert found(measures, "A{2}", "A AS price > 2", [3, 4, 0, 3, 4]) == ["0, 3", "null, null"]


def test_prev_and_next_around_first_and_last() -> None:
    define = "A AS price > 4, B AS price < 3"
    measures = (
        "PREV(LAST(A.price, 1), 2) AS x, NEXT(FIRST(A.price)) AS y, PREV(FIRST(B.price), 1) AS z"
    )
    # A: 5 6 7, B: 1. LAST(A, 1) is 6, two rows before it is the 0. After the first A is 6, before
    # the first B is 7.
    assert found(measures, "A+ B", define, [0, 5, 6, 7, 1]) == ["0, 6, 7"]


def test_conditions_may_look_at_rows_around_those_of_other_variables() -> None:
    define = "A AS price = 1, B AS price > PREV(A.price), C AS PREV(LAST(B.price), 1) = 1"
    # B is above the row before A (7); C wants that the row before the last B is a 1.
    assert labels("A B C", define, [7, 1, 8, 3]) == ["A1 B8 C3"]
    assert labels("A B C", define, [9, 1, 8, 3]) == []


# RUNNING and FINAL.


def test_running_counts_up_to_the_row_and_final_the_whole_match() -> None:
    measures = (
        "RUNNING SUM(price) AS r, FINAL SUM(price) AS f, LAST(B.price) AS l, "
        "FINAL LAST(B.price) AS fl, FIRST(B.price, 1) AS f1, FINAL COUNT(B.*) - COUNT(B.*) AS left_"
    )
    rows = found(
        measures, "A B+", "B AS price > 1", [1, 2, 3, 0], rows="ALL ROWS PER MATCH"
    )  # fmt: skip
    # At row A no B is known yet, unless FINAL; FIRST(B, 1) is there from the second B on.
    assert [row.split(", ", 1)[1].rsplit(", ", 2)[0] for row in rows] == [
        "1, 6, null, 3, null, 2", "3, 6, 2, 3, null, 1", "6, 6, 3, 3, 3, 0",
    ]  # fmt: skip


def test_classifier_of_a_subset() -> None:
    measures = "CLASSIFIER(U) AS u, CLASSIFIER() AS v, FIRST(CLASSIFIER(U)) AS f"
    define = "A AS price = 1, B AS price = 2, C AS price = 3"
    got = found(
        measures, "(A | B)+ C", define, [1, 2, 3], rows="ALL ROWS PER MATCH",
        tail="SUBSET U = (A, B)",
    )  # fmt: skip
    # At C the last row of A or B is the B; running, so at row A it is A.
    assert [row.split(", ")[1:4] for row in got] == [
        ["A", "A", "A"], ["B", "B", "A"], ["B", "C", "A"],
    ]  # fmt: skip


def test_a_subset_has_its_rows_in_their_order() -> None:
    define = "A AS price < 3, B AS price > 4"
    measures = "FIRST(U.price) AS f, LAST(U.price) AS l, LAST(U.price, 1) AS l1, SUM(U.price) AS s"
    # A and B take turns: rows of U are those of both, by time and not by variable.
    got = found(measures, "(A B)+ C", f"{define}, C AS price = 4", [1, 5, 2, 6, 4],
                tail="SUBSET U = (B, A)")  # fmt: skip
    assert got == ["1, 6, 2, 14"]


def test_match_numbers_count_for_each_partition() -> None:
    sql = (
        "SELECT symbol, n FROM ticker MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY rowtime "
        "MEASURES MATCH_NUMBER() AS n PATTERN (A) DEFINE A AS price > 0) AS m"
    )
    rows = [("a", 1, 1), ("b", 1, 2), ("a", 0, 3), ("a", 1, 4), ("b", 1, 5)]
    for crash in (False, True):
        lines = sql_cases.lines(case(sql, rows), crash=crash)
        assert sorted(lines) == ["+I[a, 1]", "+I[a, 2]", "+I[b, 1]", "+I[b, 2]"]


# Where matching goes on.


def test_without_a_word_the_next_match_starts_after_the_last_row() -> None:
    define = "A AS price > 0"
    assert labels("A A", define, [1, 2, 3, 4]) == ["A1 A2", "A3 A4"]
    assert labels("A A", define, [1, 2, 3, 4], skip="TO NEXT ROW") == ["A1 A2", "A2 A3", "A3 A4"]


def test_skipping_to_a_variable_or_a_subset() -> None:
    define = "A AS price = 1, B AS price = 2, C AS price = 1"
    prices = [1, 2, 2, 1, 2, 1]
    # The C of one match is the A of the next one.
    assert labels("A B+ C | Z Z Z Z Z Z Z", define, prices, skip="TO LAST C") == [
        "A1 B2 B2 C1", "A1 B2 C1",
    ]  # fmt: skip
    # Of (B | C) there is a row in any case, of C alone there is not.
    got = labels(
        "A (B | C)", define, [1, 2, 1, 1], skip="TO LAST U", tail="SUBSET U = (B, C)"
    )  # fmt: skip
    assert got == ["A1 B2", "A1 C1"]
    with pytest.raises(HeadraceError, match="no row of variable C"):
        labels("A (B | C)", define, [1, 2, 1, 1], skip="TO LAST C", crash=False)
    with pytest.raises(HeadraceError, match="would be found for ever") as caught:
        labels("A (B | C)", define, [1, 2, 1, 1], skip="TO FIRST A", crash=False)
    assert "MATCH_RECOGNIZE" in str(caught.value)
    assert "SKIP PAST LAST ROW" in str(caught.value)


# Time.


def test_a_greedy_last_variable_waits_until_it_is_decided() -> None:
    rows = [("a", 5, 1), ("a", 6, 2), ("a", 7, 30), ("a", 1, 31), ("a", 8, 50)]
    sql = (
        "SELECT * FROM ticker MATCH_RECOGNIZE (ORDER BY rowtime MEASURES COUNT(*) AS n, "
        "MATCH_NUMBER() AS m, MATCH_ROWTIME() AS t PATTERN (A+){} DEFINE A AS price > 4) AS m"
    )
    # 5 6 7 ends with the 1, at whose time that is known; 8 ends with the input.
    lines = list(map(sql_cases.normal, sql_cases.lines(case(sql.format(""), rows))))
    assert lines[0] == "+I[3, 1, 1970-01-01 00:00:31]"
    assert [line[:9] for line in lines] == ["+I[3, 1, ", "+I[1, 2, "]
    # With a limit 5 6 is decided ten seconds after its start, 7 with the 1.
    limited = sql_cases.lines(case(sql.format(" WITHIN INTERVAL '10' SECOND"), rows))
    assert list(map(sql_cases.normal, limited))[:2] == [
        "+I[2, 1, 1970-01-01 00:00:11]", "+I[1, 2, 1970-01-01 00:00:31]",
    ]  # fmt: skip


def test_rows_wait_for_the_watermark() -> None:
    rows = [("a", 8, 2), ("a", 10, 1), ("a", 9, 7), ("a", 1, 3), ("a", 1, 12)]
    sql = (
        "SELECT p FROM ticker MATCH_RECOGNIZE (ORDER BY rowtime MEASURES price AS p "
        f"ALL ROWS PER MATCH PATTERN (X D+ U) DEFINE {DOWN_UP}) AS m"
    )
    # By time the rows are 10 8 9 1; the 1 of second 3 came too late.
    assert sql_cases.lines(case(sql, rows)) == ["+I[10]", "+I[8]", "+I[9]"]


def test_a_match_that_ends_with_the_input_is_not_late() -> None:
    sql = (
        "SELECT n, COUNT(*) FROM ticker MATCH_RECOGNIZE (ORDER BY rowtime MEASURES COUNT(*) AS n, "
        "MATCH_ROWTIME() AS t, MATCH_NUMBER() AS m PATTERN (A+) DEFINE A AS price > 4) AS m "
        "GROUP BY n, TUMBLE(t, INTERVAL '10' SECOND)"
    )
    # The watermark is at second 48 when input ends; the window of the match must still be open.
    rows = [("a", 5, 1), ("a", 6, 2), ("a", 7, 50)]
    for crash in (False, True):
        assert sql_cases.lines(case(sql, rows), crash=crash) == ["+I[3, 1]"]


def test_by_processing_time() -> None:
    schema = ["symbol STRING", "price INT", "ts BIGINT", "rowtime AS PROCTIME()"]
    define = "A AS price = 1, B AS price = 2, C AS price = 3"
    got = found("CLASSIFIER() AS v, MATCH_NUMBER() AS n", "(A | B)+ C", define, [1, 2, 3, 2, 3],
                schema=schema)  # fmt: skip
    assert got == ["C, 1", "C, 2"]
    # In batch mode the end of input decides, in a stream by the clock nothing does.
    for mode, rows in (("batch", ["2, 1"]), ("streaming", [])):
        greedy = ("COUNT(*) AS c, MATCH_NUMBER() AS n", "A+", "A AS price > 0", [1, 2])
        assert found(*greedy, schema=schema, mode=mode, crash=False) == rows


def test_functions_of_the_user() -> None:
    path = "tests.sql.test_match_recognize_results.double"
    setup = [f"CREATE TEMPORARY FUNCTION twice AS '{path}' LANGUAGE PYTHON"]
    got = found(
        "twice(A.price) AS a, twice(PREV(B.price)) AS b, SUM(twice(price)) AS s", "A | A B",
        "A AS twice(price) = 20, B AS twice(price) < twice(PREV(price))", [10, 8, 7],
        setup_sql=setup, skip="TO NEXT ROW",
    )  # fmt: skip
    assert got == ["20, null, 20"]


def test_columns_that_nobody_asks_for_are_not_kept() -> None:
    sql = (
        "SELECT v FROM ticker MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY rowtime "
        "MEASURES CLASSIFIER() AS v, SUM(price) AS s ALL ROWS PER MATCH PATTERN (A | B) "
        "DEFINE A AS price > 4) AS m"
    )
    rows = [("a", 5, 1), ("a", 1, 2)]
    assert sql_cases.lines(case(sql, rows)) == ["+I[A]", "+I[B]"]


def test_the_pathological_pattern_stays_small() -> None:
    # A* A* B over a long run of A: ways that have the same future are one.
    prices = [1] * 100
    assert labels("(A* A*)* B", "A AS price = 1, B AS price = 2", prices, crash=False) == []
    # Also where conditions look at the rows of the match, as long as they see the same.
    define = "A AS A.price >= LAST(A.price, 1) OR LAST(A.price, 1) IS NULL, B AS SUM(A.price) = 9"
    assert labels("(A* A*)* B", define, [1] * 30, crash=False) == ["A1 " * 9 + "B1"] * 3
