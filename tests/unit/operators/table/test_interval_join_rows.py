"""Interval joins of tables: who meets whom, who is padded when, what happens to late rows."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.datastream.connected_streams import _together
from headrace.errors import HeadraceError
from headrace.operators.table.interval_join import IntervalJoinOperator
from headrace.operators.table.window_aggregate import TumblingAggregateOperator
from headrace.operators.table.window_spec import LATE, WindowSpec
from headrace.testing import OperatorHarness
from tests.unit.operators.table.driving import MS, Driven, I, aggregate
from tests.unit.operators.table.two_inputs import RIGHT, Paired, less_than


def row(key, time, *more):
    return I(key, time * MS, *more)


def join(kind, lower=-5, upper=10, condition=None, **options):
    return IntervalJoinOperator(kind, (2, 2), (1, 1), lower, upper, condition, **options)


def times(rows):
    """Rows as (key, time, key, time) in milliseconds."""
    return [tuple(v // MS if at % 2 and v is not None else v for at, v in enumerate(row[1:]))
            for row in rows]  # fmt: skip


class Timed(Paired):
    def take(self):
        return times(self.harness.take_outputs())


def test_rows_within_the_interval_meet():
    driven = Timed(join("inner"))
    assert driven.left(row("a", 100)) == []
    assert driven.right(row("a", 94), row("a", 95), row("a", 110), row("a", 111)) == [
        ("a", 100, "a", 95), ("a", 100, "a", 110),
    ]  # fmt: skip
    assert driven.right(row("b", 100)) == []
    assert driven.left(row("a", 101)) == [("a", 101, "a", 110), ("a", 101, "a", 111)]


def test_outer_joins_pad_when_no_partner_can_come_any_more():
    driven = Timed(join("full"))
    driven.left(row("a", 100))
    driven.right(row("a", 200))
    assert driven.watermark(117) == []
    assert driven.watermark(118) == [("a", 100, None, None)]
    assert driven.finish() == [(None, None, "a", 200)]


def test_a_row_that_has_met_one_is_not_padded():
    driven = Timed(join("left"))
    driven.left(row("a", 100))
    assert driven.right(row("a", 100)) == [("a", 100, "a", 100)]
    assert driven.finish() == []


def test_late_rows_meet_who_is_remembered_and_are_padded_at_once():
    driven = Timed(join("left"))
    driven.right(row("a", 100))
    driven.watermark(104)
    assert driven.left(row("a", 95)) == [("a", 95, "a", 100)]
    assert driven.left(row("a", 80)) == [("a", 80, None, None)]
    assert driven.watermark(200) == []
    assert driven.left(row("a", 95)) == [("a", 95, None, None)]


def test_a_condition_and_a_null_key():
    driven = Timed(join("left", condition=less_than(1, 3)))
    driven.left(row("a", 100), row(None, 100))
    assert driven.right(row("a", 100), row(None, 101)) == []
    assert driven.finish() == [("a", 100, None, None), (None, 100, None, None)]


def test_by_the_clock():
    operator = IntervalJoinOperator("left", (1, 1), None, -5, 10)
    driven = Paired(operator, processing_time=1000)
    driven.left(I("a"))
    driven.clock(1010)
    assert driven.right(I("a")) == ["+I[a, a]"]
    driven.left(I("b"))
    assert driven.clock(1027) == []
    assert driven.clock(1028) == ["+I[b, NULL]"]


def test_a_row_without_a_time_is_refused():
    driven = Timed(join("inner"))
    with pytest.raises(HeadraceError, match="time attribute of a row is NULL"):
        driven.left(I("a", None))


def test_results_may_lie_behind_the_watermark():
    assert join("inner").watermark_delay_ms == 10
    assert join("left").watermark_delay_ms == 10 + 7 + 1


def test_state_is_empty_when_all_has_passed():
    driven = Timed(join("full"))
    driven.left(row("a", 1), row("a", 3), row("a", 9))
    driven.right(row("a", 2), row("b", 50))
    driven.crash()
    driven.watermark(1000)
    for name in ("left-waiting", "right-waiting", "cleaning"):
        assert driven.harness.state_of(name) == {}
    assert driven.harness.timers() == []


ROWS = st.lists(
    st.tuples(st.sampled_from([0, 1]), st.sampled_from(["a", "b"]), st.integers(0, 60)), max_size=20
)


@settings(max_examples=30, deadline=None)
@given(ROWS, st.sampled_from(["inner", "left", "right", "full"]))
def test_rows_that_are_not_late_give_the_join(rows, kind):
    driven = Timed(join(kind))
    rows = sorted(rows, key=lambda each: each[2])
    out = []
    for side, key, time in rows:
        out += driven.left(row(key, time)) if side == 0 else driven.right(row(key, time))
        out += driven.watermark(time - 1)
    out += driven.finish()
    left = [(key, time) for side, key, time in rows if side == 0]
    right = [(key, time) for side, key, time in rows if side == RIGHT]

    def meet(a, b):
        return a[0] == b[0] and -5 <= b[1] - a[1] <= 10

    expected = Counter(a + b for a in left for b in right if meet(a, b))
    if kind in ("left", "full"):
        expected.update((*a, None, None) for a in left if not any(meet(a, b) for b in right))
    if kind in ("right", "full"):
        expected.update((None, None, *b) for b in right if not any(meet(a, b) for a in left))
    assert Counter(out) == expected


def test_windows_after_a_join_wait_for_its_results():
    operator = IntervalJoinOperator("inner", (2, 2), (1, 1), 0, 50)
    window = TumblingAggregateOperator([aggregate("COUNT")], WindowSpec("tumble", 10), time=1)

    def build(left, right):
        left, right = (side.key_by(lambda row: (row[1],)) for side in (left, right))
        joined = _together(left, right.node_id, "join", operator, None)
        return joined.key_by(lambda row: (row[1],))._then("window", window)

    driven = Driven.__new__(Driven)
    driven.harness = OperatorHarness(build, inputs=2)
    driven.harness.send(row("a", 5))
    driven.watermark(40)
    driven.harness.send(row("a", 41), side=RIGHT)
    assert driven.watermark(58) == []
    assert driven.watermark(59) == ["+I[a, 1]"]
    assert driven.counter(LATE) == 0
