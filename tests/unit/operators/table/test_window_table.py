"""Rows with their windows, and what is made of all rows of a window: joins, Top-N, one of each."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core.expressions import SortKey
from headrace.core.logical_types import INT, STRING
from headrace.errors import Unsupported
from headrace.operators.table.window_join import WindowJoinOperator
from headrace.operators.table.window_rank import WindowDeduplicateOperator, WindowRankOperator
from headrace.operators.table.window_spec import LATE, NO_TIME, WindowSpec
from headrace.operators.table.window_table import SessionTableOperator, WindowTableOperator
from tests.unit.operators.table.driving import MS, TIME, D, Driven, I
from tests.unit.operators.table.test_join import expected
from tests.unit.operators.table.two_inputs import RIGHT, Paired, less_than


def in_ms(rows):
    return [tuple(v // MS if isinstance(v, int) and abs(v) >= MS else v for v in row[1:])
            for row in rows]  # fmt: skip


class Timed(Driven):
    def take(self):
        return in_ms(self.harness.take_outputs())


class TimedPair(Paired):
    def take(self):
        return in_ms(self.harness.take_outputs())


# TUMBLE, HOP, CUMULATE and SESSION.


def test_rows_are_multiplied_by_their_windows():
    tumble = Timed(WindowTableOperator(WindowSpec("tumble", 10), time=1))
    assert tumble.send(I("a", 17 * MS), D("b", 3 * MS)) == [
        ("a", 17, 10, 20, 19), ("b", 3, 0, 10, 9),
    ]  # fmt: skip
    hop = Timed(WindowTableOperator(WindowSpec("hop", 10, 5), time=1))
    assert hop.send(I("a", 17 * MS)) == [("a", 17, 15, 25, 24), ("a", 17, 10, 20, 19)]
    cumulate = Timed(WindowTableOperator(WindowSpec("cumulate", 15, 5), time=1))
    assert cumulate.send(I("a", 22 * MS)) == [("a", 22, 15, 25, 24), ("a", 22, 15, 30, 29)]


def test_a_row_keeps_its_kind_and_one_without_a_time_is_left_out():
    driven = Driven(WindowTableOperator(WindowSpec("tumble", 10), time=0))
    assert driven.send(D(0), I(None)) == [f"-D[0, 0, {10 * MS}, {9 * MS}]"]
    assert driven.counter(NO_TIME) == 1


def test_windows_in_a_time_zone():
    operator = WindowTableOperator(WindowSpec("tumble", 86_400_000), time=0, zone="Asia/Shanghai")
    assert Timed(operator).send(I(57_600_000 * MS)) == [
        (57_600_000, 86_400_000, 172_800_000, 144_000_000 - 1)
    ]


def test_the_rows_of_a_session_come_when_it_is_over():
    driven = Timed(SessionTableOperator(WindowSpec("session", 5), (STRING, TIME), time=1), [0])
    assert driven.send(I("a", 11 * MS), I("a", 14 * MS), I("b", 30 * MS)) == []
    assert driven.watermark(17) == []
    assert driven.watermark(18) == [("a", 11, 11, 19, 18), ("a", 14, 11, 19, 18)]
    assert driven.send(I("a", 13 * MS)) == []
    assert driven.counter(LATE) == 1
    driven.send(D("b", 30 * MS), I("b", 31 * MS))
    assert driven.finish() == [("b", 31, 30, 36, 35)]


# Joins of windows: columns (key, number, start, end).

IN_WINDOW = (STRING, INT, TIME, TIME)


def in_window(key, number, end=10):
    return I(key, number, (end - 10) * MS, end * MS)


def join(kind, condition=None):
    return TimedPair(WindowJoinOperator(kind, (IN_WINDOW, IN_WINDOW), ((2, 3), (2, 3)), condition))


def numbers(rows):
    """Only the numbers of a pair."""
    return [(row[1], row[5]) if len(row) == 8 else row[1] for row in rows]


def test_pairs_of_a_window_come_when_it_is_over():
    driven = join("inner")
    driven.left(in_window("a", 1), in_window("a", 2, end=20))
    assert driven.right(in_window("a", 7), in_window("a", 8), in_window("b", 9)) == []
    assert numbers(driven.watermark(9)) == [(1, 7), (1, 8)]
    driven.right(in_window("a", 9))
    assert driven.counter(LATE) == 1
    assert driven.finish() == []


@pytest.mark.parametrize(
    ("kind", "result"),
    [
        ("left", [(1, 7), (2, None)]),
        ("right", [(1, 7), (None, 0)]),
        ("full", [(1, 7), (2, None), (None, 0)]),
        ("semi", [1]),
        ("anti", [2]),
    ],
)
def test_kinds_of_joins(kind, result):
    driven = join(kind, less_than(1, 5))
    driven.left(in_window("a", 1), in_window("b", 2))
    driven.right(in_window("a", 7), in_window("a", 0))
    assert sorted(numbers(driven.watermark(9)), key=str) == sorted(result, key=str)


def test_null_keys_have_no_partner():
    driven = join("full")
    driven.left(in_window(None, 1))
    driven.right(in_window(None, 7))
    assert numbers(driven.finish()) == [(1, None), (None, 7)]


ROWS = st.lists(
    st.tuples(st.sampled_from([0, 1]), st.sampled_from(["a", None]), st.integers(0, 3),
              st.sampled_from([10, 20])), max_size=15
)  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(ROWS, st.sampled_from(["inner", "left", "right", "full", "semi", "anti"]), st.booleans())
def test_window_joins_are_joins_by_window(rows, kind, crash):
    driven = join(kind)
    for side, *row in rows:
        driven.left(in_window(*row)) if side == 0 else driven.right(in_window(*row))
    if crash:
        driven.crash()
    left, right = ([(key, number, end) for side, key, number, end in rows if side == wanted]
                   for wanted in (0, RIGHT))  # fmt: skip
    result = [(row[0], row[1], row[3], *((row[4], row[5], row[7]) if len(row) == 8 else ()))
              for row in driven.finish()]  # fmt: skip
    model = expected(kind, left, right, lambda a, b: a[0] is not None and a[::2] == b[::2])
    assert Counter(map(squeezed, result)) == Counter(map(squeezed, model.elements()))


def squeezed(row):
    """The row without its NULLs: the model pads two columns, windows have more."""
    return tuple(value for value in row if value is not None)


# Top-N and one of each.


def rank(first=1, last=2, with_rank=True, **options):
    order = [SortKey(1, ascending=False)]
    types = (STRING, INT, TIME, TIME)
    return Timed(
        WindowRankOperator((2, 3), order, types, first=first, last=last, with_rank=with_rank,
                           **options), [0],
    )  # fmt: skip


def test_the_first_rows_of_a_window_in_order():
    driven = rank()
    driven.send(*(in_window("a", number) for number in (3, 1, 7, 5)), in_window("b", 2))
    driven.send(in_window("a", 9, end=20))
    assert driven.watermark(9) == [
        ("a", 7, 0, 10, 1), ("a", 5, 0, 10, 2), ("b", 2, 0, 10, 1),
    ]  # fmt: skip
    driven.send(in_window("a", 99))
    assert driven.counter(LATE) == 1
    assert driven.finish() == [("a", 9, 10, 20, 1)]


def test_a_range_of_rows_without_their_number():
    driven = rank(first=2, last=3, with_rank=False)
    driven.send(*(in_window("a", number) for number in (3, 1, 7, 5)))
    assert [row[1] for row in driven.finish()] == [5, 3]


def test_rows_beyond_the_last_are_not_kept():
    driven = rank()
    for start in range(0, 1000, 100):
        driven.send(*(in_window("a", number) for number in range(start, start + 100)))
    ((kept,),) = (windows.values() for windows in driven.harness.state_of("left-rows").values())
    assert len(kept) <= 66
    assert [row[1] for row in driven.finish()] == [999, 998]


def test_rows_taken_back_make_room():
    driven = rank(retracts=True)
    driven.send(*(in_window("a", number) for number in (3, 1, 7)))
    driven.send((3, *in_window("a", 7)[1:]))
    assert [row[1] for row in driven.finish()] == [3, 1]


def test_only_row_numbers():
    with pytest.raises(Unsupported, match="only ROW_NUMBER"):
        rank(function="RANK")


@pytest.mark.parametrize(("keep_last", "kept"), [(False, "first"), (True, "last")])
def test_one_row_of_each_window(keep_last, kept):
    operator = WindowDeduplicateOperator((2, 3), 1, (STRING, TIME, TIME, TIME), keep_last=keep_last)
    driven = Timed(operator, [])
    for name, time in [("other", 5), ("first", 3), ("tied", 3), ("tied", 8), ("last", 8)]:
        driven.send(I(name, time * MS, 0, 10 * MS))
    ((name, *_),) = driven.watermark(9)
    assert name == kept
