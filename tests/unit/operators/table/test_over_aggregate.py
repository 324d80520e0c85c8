"""OVER windows by time and by any order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core.expressions import Column, Literal, SortKey
from headrace.core.logical_types import INT, STRING
from headrace.errors import HeadraceError, Unsupported
from headrace.operators.table.over_aggregate import ProctimeOverOperator, RowtimeOverOperator
from headrace.operators.table.over_changelog import ChangelogOverOperator
from headrace.operators.table.temporal_sort import (
    EndSortOperator,
    ProctimeSortOperator,
    RowtimeSortOperator,
)
from tests.unit.operators.table.driving import (
    MS,
    TIME,
    UA,
    UB,
    D,
    Driven,
    I,
    aggregate,
    changelog,
    in_batches,
    materialised,
    run,
    special,
)

TYPES = (STRING, INT, TIME)
SUM = [aggregate("SUM", 1)]
NUMBER = special("ROW_NUMBER", "rank")
LAG = special("LAG", "offset", Column(INT, 1))


def at(name, value, time):
    return I(name, value, time * MS)


def results(lines):
    """Value and results of each line, without name and time."""
    return [
        tuple(part for place, part in enumerate(line[3:-1].split(", ")) if place not in (0, 2))
        for line in lines
    ]


def rowtime(calls=SUM, **options):
    return Driven(RowtimeOverOperator(TYPES, calls, rowtime=2, **options), [0])


def test_rows_wait_for_the_watermark_and_come_in_order():
    driven = rowtime(unit="rows")
    assert driven.send(at("a", 3, 30), at("a", 1, 10), at("a", 2, 10)) == []
    assert results(driven.watermark(20)) == [("1", "1"), ("2", "3")]
    driven.crash()
    assert results(driven.watermark(30)) == [("3", "6")]
    driven.send(at("a", 9, 30), at("a", 4, 31))
    assert driven.counter("numLateRecordsDropped") == 1
    assert results(driven.finish()) == [("4", "10")]


def test_emitted_rows_have_their_time():
    driven = rowtime()
    driven.harness.send_all([at("a", 1, 10)])
    driven.harness.finish()
    assert [stamp for _, stamp in driven.harness.take_records()] == [10]


def test_range_takes_rows_of_the_same_time_together():
    driven = rowtime(unit="range")
    driven.send(at("a", 1, 10), at("a", 2, 10), at("a", 3, 20))
    assert results(driven.finish()) == [("1", "3"), ("2", "3"), ("3", "6")]


def test_some_rows_preceding():
    driven = rowtime([*SUM, aggregate("MAX", 1)], unit="rows", preceding=1)
    driven.send(at("a", 5, 10), at("a", 1, 20), at("a", 2, 30))
    assert results(driven.watermark(20)) == [("5", "5", "5"), ("1", "6", "5")]
    driven.crash()
    assert results(driven.finish()) == [("2", "3", "2")]


def test_some_time_preceding():
    driven = rowtime(unit="range", preceding=10)
    driven.send(at("a", 1, 10), at("a", 2, 20), at("a", 4, 21), at("b", 7, 5))
    assert results(driven.watermark(20)) == [("7", "7"), ("1", "1"), ("2", "3")]
    driven.crash()
    assert results(driven.watermark(21)) == [("4", "6")]
    driven.watermark(100)
    assert driven.harness.state_of("kept") == {}
    assert driven.harness.state_of("frame-rows") == {}
    driven.send(at("a", 9, 200))
    assert results(driven.finish()) == [("9", "9")]


@pytest.mark.parametrize(
    ("unit", "preceding", "found"),
    [
        ("range", 5, "10:10 12:22 30:30 40:40 60:60 61:121"),
        ("range", None, "10:10 12:22 30:52 40:92 60:152 61:213"),
        ("rows", 1, "10:10 12:22 30:42 40:70 60:100 61:121"),
    ],
)
def test_rows_behind_the_time_of_their_key_are_dropped_and_counted(unit, preceding, found):
    driven = rowtime(unit=unit, preceding=preceding)
    late = late_steps(driven, "xxxxxxxxxxxxxxx")
    assert late == found.split()
    assert driven.counter("numLateRecordsDropped") == 9


RANGE_OF_KEYS = (
    "a10:10 b12:12 b30:30 a11:11 a12:23 a29:29 a40:40 b34:34 t60:60 b36:36 a41:41 b61:61"
)
ROWS_OF_KEYS = "a10:10 b12:12 b30:42 a11:21 a12:23 a29:41 a40:69 b34:64 t60:60 b36:70 a41:81 b61:97"


@pytest.mark.parametrize(
    ("unit", "preceding", "found", "dropped"),
    [
        ("range", 5, RANGE_OF_KEYS, 3),
        ("range", None, "a10:10 b12:12 b30:42 a40:50 t60:60 b61:103", 9),
        ("rows", 1, ROWS_OF_KEYS, 3),
    ],
)
def test_a_late_row_of_a_key_without_later_rows_counts_for_bounded_frames(
    unit, preceding, found, dropped
):
    driven = rowtime(unit=unit, preceding=preceding)
    assert sorted(late_steps(driven, "abbaaabaabatabb", named=True)) == sorted(found.split())
    assert driven.counter("numLateRecordsDropped") == dropped


def late_steps(driven, keys, named=False):
    """Rows of these keys, many of them late, with a watermark after each; found on Flink."""
    reached = 0
    steps = (10, 12, 30, 11, 12, 29, 20, 40, 33, 34, 28, 60, 41, 36, 61)
    for key, time in zip(keys, steps, strict=True):
        driven.harness.send(at(key, time, time))
        reached = max(reached, time)
        driven.harness.advance_watermark(reached)
    driven.harness.finish()
    return [f"{row[1] if named else ''}{row[2]}:{row[4]}" for row in driven.harness.take_outputs()]


def test_a_row_before_the_time_up_to_which_a_frame_was_tidied_is_dropped():
    driven = rowtime(unit="range", preceding=10)
    driven.send(at("a", 1, 100), at("a", 2, 108))
    driven.watermark(119)
    assert driven.send(at("a", 7, 115)) == []
    assert driven.counter("numLateRecordsDropped") == 1
    driven.send(at("a", 9, 117))
    assert results(driven.watermark(120)) == [("9", "11")]
    driven.watermark(200)
    for name in ("kept", "frame-rows", "reached", "tidied-at", "waiting-rows"):
        assert driven.harness.state_of(name) == {}
    assert driven.harness.timers() == []


def test_ranks_and_earlier_rows():
    lag_two = special("LAG", "offset", Column(INT, 1), Literal(INT, 2), Literal(INT, -1))
    calls = [NUMBER, *SUM, LAG, lag_two, special("RANK", "rank"), special("DENSE_RANK", "rank")]
    driven = rowtime(calls, unit="rows")
    driven.send(at("a", 5, 10), at("a", 6, 10), at("a", 7, 20))
    assert results(driven.finish()) == [
        ("5", "1", "5", "NULL", "-1", "1", "1"),
        ("6", "2", "11", "5", "-1", "1", "1"),
        ("7", "3", "18", "6", "5", "3", "2"),
    ]


def test_ranks_beside_a_range():
    driven = rowtime([NUMBER, *SUM, LAG], unit="range")
    driven.send(at("a", 5, 10), at("a", 6, 10))
    assert results(driven.finish()) == [("5", "1", "11", "NULL"), ("6", "2", "11", "5")]


def test_what_looks_ahead_is_refused():
    with pytest.raises(Unsupported, match="LEAD"):
        RowtimeOverOperator(TYPES, [special("LEAD", "offset", Column(INT, 1))], rowtime=2)


def test_a_retraction_is_refused():
    with pytest.raises(HeadraceError, match="taken back"):
        rowtime().send(D("a", 1, MS))


def test_by_processing_time_each_row_is_answered_at_once():
    driven = Driven(ProctimeOverOperator(TYPES, [*SUM, NUMBER], unit="rows", preceding=1), [0])
    assert results(driven.send(I("a", 1, 0), I("b", 9, 0), I("a", 2, 0))) == [
        ("1", "1", "1"), ("9", "9", "1"), ("2", "3", "2"),
    ]  # fmt: skip
    driven.crash()
    assert results(driven.send(I("a", 3, 0))) == [("3", "5", "3")]
    unbounded = Driven(ProctimeOverOperator(TYPES, SUM), [0])
    assert results(unbounded.send(I("a", 1, 0), I("a", 2, 0))) == [("1", "1"), ("2", "3")]


def test_a_span_of_processing_time():
    driven = Driven(ProctimeOverOperator(TYPES, SUM, unit="range", preceding=10), [0])
    assert driven.send(I("a", 1, 0), I("a", 2, 0)) == []
    assert results(driven.clock(1)) == [("1", "3"), ("2", "3")]
    driven.send(I("a", 4, 0))
    assert results(driven.clock(5)) == [("4", "7")]
    driven.clock(50)
    assert driven.harness.state_of("kept") == {}
    driven.send(I("a", 8, 0))
    assert results(driven.finish()) == [("8", "8")]


def by_value(unit, **options):
    return ChangelogOverOperator((STRING, INT), SUM, order=(SortKey(1),), unit=unit, **options)


def test_any_order_updates_the_rows_after():
    driven = Driven(by_value("rows", per_record=True), [0])
    assert driven.send(I("a", 5), I("a", 2)) == [
        "+I[a, 5, 5]", "+I[a, 2, 2]", "-U[a, 5, 5]", "+U[a, 5, 7]",
    ]  # fmt: skip
    assert driven.send(I("a", 0)) == ["+I[a, 0, 0]"]
    assert driven.send(UB("a", 2), UA("a", 3)) == [
        "-D[a, 2, 2]", "-U[a, 5, 7]", "+U[a, 5, 5]", "+U[a, 3, 3]", "-U[a, 5, 5]", "+U[a, 5, 8]",
    ]  # fmt: skip


def test_any_order_with_peers():
    driven = Driven(by_value("range", per_record=True), [0])
    driven.send(I("a", 2), I("a", 5))
    assert driven.send(I("a", 2)) == [
        "-U[a, 2, 2]", "+U[a, 2, 4]", "+I[a, 2, 4]", "-U[a, 5, 7]", "+U[a, 5, 9]",
    ]  # fmt: skip
    driven.crash()
    assert driven.send(D("a", 2)) == [
        "-D[a, 2, 4]", "-U[a, 2, 4]", "+U[a, 2, 2]", "-U[a, 5, 9]", "+U[a, 5, 7]",
    ]  # fmt: skip
    assert driven.send(D("a", 77)) == []


def test_any_frame_over_changes():
    calls = [aggregate("SUM", 1), special("LEAD", "offset", Column(INT, 1))]
    operator = ChangelogOverOperator(
        (STRING, INT), calls, order=(SortKey(1),), unit="rows", preceding=1, following=None
    )
    driven = Driven(operator, [0])
    assert driven.send(I("a", 1), I("a", 2)) == ["+I[a, 1, 3, 2]", "+I[a, 2, 3, NULL]"]
    assert driven.send(I("a", 4)) == [
        "-U[a, 1, 3, 2]", "+U[a, 1, 7, 2]", "-U[a, 2, 3, NULL]", "+U[a, 2, 7, 4]",
        "+I[a, 4, 6, NULL]",
    ]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 63), st.tuples(st.sampled_from("ab"), st.integers(-2, 2))),
        max_size=20,
    ),
    st.integers(0, 9),
    st.sampled_from(["rows", "range"]),
)
def test_batches_end_where_records_end(steps, seed, unit):
    rows = changelog(steps)
    one_by_one = run(by_value(unit, per_record=True), [0], [rows] if rows else [])
    batches = run(by_value(unit), [0], in_batches(rows, seed))
    assert materialised(batches) == materialised(one_by_one)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.integers(0, 30)), max_size=20),
    st.sampled_from(["rows", "range"]),
    st.sampled_from([None, 0, 2, 7]),
)
def test_frames_are_what_sql_says(columns, unit, preceding):
    driven = rowtime(unit=unit, preceding=preceding)
    driven.harness.send_all([at(*each) for each in columns])
    driven.harness.finish()
    found = driven.harness.take_outputs()
    expected = []
    for name in "ab":
        rows = sorted((each for each in columns if each[0] == name), key=lambda each: each[2])
        for place, (_, value, time) in enumerate(rows):
            if unit == "rows":
                frame = rows[0 if preceding is None else max(0, place - preceding) : place + 1]
            else:
                first = 0 if preceding is None else time - preceding
                frame = [each for each in rows if first <= each[2] <= time]
            expected.append((0, name, value, time * MS, sum(each[1] for each in frame)))
    assert sorted(found) == sorted(expected)


def test_sorting_by_event_time():
    driven = Driven(RowtimeSortOperator(TYPES, rowtime=2, then_by=(SortKey(1),)), [])
    assert driven.send(at("a", 3, 30), at("b", 2, 10), at("c", 1, 10)) == []
    assert driven.watermark(15) == ["+I[c, 1, 10000000]", "+I[b, 2, 10000000]"]
    driven.crash()
    driven.send(at("d", 0, 9), at("e", 0, 12))
    assert driven.counter("numLateRecordsDropped") == 1
    assert driven.finish() == ["+I[e, 0, 12000000]", "+I[a, 3, 30000000]"]


def test_sorting_when_the_input_ends():
    driven = Driven(EndSortOperator(TYPES, order=(SortKey(1, ascending=False),)), [])
    assert driven.send(I("a", 3, 0), I("b", 5, 0), UB("a", 3, 0), UA("a", 7, 0)) == []
    driven.crash()
    assert driven.finish() == ["+I[a, 7, 0]", "+I[b, 5, 0]"]


def test_sorting_by_processing_time():
    driven = Driven(ProctimeSortOperator(TYPES, then_by=(SortKey(1),)), [])
    assert driven.send(I("a", 3, 0), I("b", 2, 0)) == []
    assert driven.clock(1) == ["+I[b, 2, 0]", "+I[a, 3, 0]"]
    driven.send(I("c", 1, 0))
    assert driven.finish() == ["+I[c, 1, 0]"]
