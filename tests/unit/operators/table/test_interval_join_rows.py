"""Interval joins of tables: who meets whom, who is padded when, what happens to late rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core import logical_types as lt
from headrace.datastream.connected_streams import _together
from headrace.errors import HeadraceError
from headrace.operators.table.interval_join import IntervalJoinOperator
from headrace.operators.table.window_aggregate import TumblingAggregateOperator
from headrace.operators.table.window_spec import LATE, WindowSpec
from headrace.testing import OperatorHarness
from tests.unit.operators.table.driving import MS, TIME, Driven, I, aggregate
from tests.unit.operators.table.two_inputs import RIGHT, Paired, less_than

ONE = ((lt.STRING,),) * 2
TYPES = ((lt.STRING, TIME),) * 2
NUMBERED = ((lt.STRING, TIME, lt.INT),) * 2


def row(key, time, *more):
    return I(key, time * MS, *more)


def join(kind, lower=-5, upper=10, condition=None, **options):
    return IntervalJoinOperator(kind, TYPES, (1, 1), lower, upper, condition, **options)


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
    assert driven.watermark(110) == []
    assert driven.watermark(111) == [("a", 100, None, None)]
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


def test_rows_may_be_forgotten_in_bunches():
    driven = Timed(join("left", bunch_ms=7))
    driven.left(row("a", 100))
    assert driven.watermark(117) == []
    assert driven.watermark(118) == [("a", 100, None, None)]


@pytest.mark.parametrize("bounds", [(5, -10), (0, -1), (-5, -10), (10, 5)])
@pytest.mark.parametrize("kind", ["inner", "left", "right", "full"])
def test_an_empty_interval_pads_outer_rows_at_once_and_ends(kind, bounds):
    driven = Timed(join(kind, *bounds))
    left, right = ("a", 100, None, None), (None, None, "a", 100)
    assert driven.left(row("a", 100)) == ([left] if kind in ("left", "full") else [])
    assert driven.right(row("a", 100)) == ([right] if kind in ("right", "full") else [])
    assert driven.watermark(200) == []
    assert driven.finish() == []
    assert driven.harness.timers() == []


STEPS = [
    (10, 0), (12, 1), (30, 1), (11, 0), (12, 0), (29, 0), (20, 1), (40, 0), (33, 0), (34, 1),
    (28, 0), (60, None), (41, 0), (36, 1), (61, 1),
]  # fmt: skip
"""Times and sides of rows, many of them late: the watermark is the latest time so far."""


@pytest.mark.parametrize(
    ("lower", "upper", "joined"),
    [
        (-2, 2, [(0, 1), (5, 2)]),
        (-5, 0, []),
        (0, 0, []),
        (-1, 1, [(5, 2)]),
        (5, 10, []),  # row 9 would meet row 5, which is just forgotten
    ],
)
@pytest.mark.parametrize("kind", ["inner", "left", "right", "full"])
def test_late_rows_meet_whom_flink_still_remembers(kind, lower, upper, joined):
    """Which rows join was found by running the same steps on Flink."""
    driven = Timed(IntervalJoinOperator(kind, NUMBERED, (1, 1), lower, upper))
    reached = 0
    for number, (time, side) in enumerate(STEPS):
        if side is not None:
            driven.harness.send(row("a", time, number), side=side)
        if time > reached:
            driven.harness.advance_watermark(reached := time)
    driven.harness.finish()
    found = [(made[3], made[6]) for made in driven.harness.take_outputs()]
    expected = list(joined)
    for outer, side in (("left", 0), ("right", 1)):
        if kind in (outer, "full"):
            met = {pair[side] for pair in joined}
            alone = [n for n, (_, of) in enumerate(STEPS) if of == side and n not in met]
            expected += [(n, None) if side == 0 else (None, n) for n in alone]
    assert Counter(found) == Counter(expected)


def test_a_row_is_late_for_rows_that_are_past_though_still_there():
    driven = Timed(join("inner", -2, 2, bunch_ms=50))
    driven.right(row("a", 100))
    driven.watermark(110)
    assert driven.left(row("b", 108)) == []  # by now the other side's rows up to 107 are past
    assert driven.left(row("a", 101)) == []
    driven = Timed(join("inner", -2, 2, bunch_ms=50))
    driven.right(row("a", 100))
    driven.watermark(110)
    assert driven.left(row("a", 101)) == [("a", 101, "a", 100)]


def test_waiting_for_the_clock_ends_with_a_batch():
    operator = IntervalJoinOperator("left", ONE, None, -5, 10)
    driven = Paired(operator, processing_time=1000)
    harness = driven.harness
    harness._plan = replace(harness._plan, batch=True)
    harness.restore(harness.snapshot())
    driven.left(I("a"))
    assert driven.finish() == ["+I[a, NULL]"]


def test_a_condition_and_a_null_key():
    driven = Timed(join("left", condition=less_than(1, 3)))
    driven.left(row("a", 100), row(None, 100))
    assert driven.right(row("a", 100), row(None, 101)) == []
    assert driven.finish() == [("a", 100, None, None), (None, 100, None, None)]


def test_by_the_clock():
    operator = IntervalJoinOperator("left", ONE, None, -5, 10)
    driven = Paired(operator, processing_time=1000)
    driven.left(I("a"))
    driven.clock(1010)
    assert driven.right(I("a")) == ["+I[a, a]"]
    driven.left(I("b"))
    assert driven.clock(1020) == []
    assert driven.clock(1021) == ["+I[b, NULL]"]


def test_a_row_without_a_time_is_refused():
    driven = Timed(join("inner"))
    with pytest.raises(HeadraceError, match="time attribute of a row is NULL"):
        driven.left(I("a", None))


def test_results_may_lie_behind_the_watermark():
    assert join("inner").watermark_delay_ms == 10
    assert join("left").watermark_delay_ms == 10 + 1
    assert join("left", bunch_ms=7).watermark_delay_ms == 10 + 7 + 1


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
    operator = IntervalJoinOperator("inner", TYPES, (1, 1), 0, 50)
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
