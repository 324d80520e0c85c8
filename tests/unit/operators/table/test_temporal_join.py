"""Joins with a table as it was at a row's time."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core import logical_types as lt
from headrace.operators.table.temporal_join import (
    EventTimeTemporalJoinOperator,
    ProcessingTimeTemporalJoinOperator,
)
from tests.unit.operators.table.driving import MS, TIME, UA, UB, D, I
from tests.unit.operators.table.two_inputs import Paired, less_than

BOTH = ((lt.STRING, TIME, lt.INT),) * 2
PAIR = (lt.STRING, lt.INT)


class Rates(Paired):
    """Orders (currency, time, amount) with rates (currency, time, rate), both by event time."""

    def __init__(self, left_outer=False, condition=None, **options):
        operator = EventTimeTemporalJoinOperator(left_outer, BOTH, (1, 1), condition, **options)
        super().__init__(operator)

    def order(self, currency, time, amount):
        return self.left(I(currency, time * MS, amount))

    def rate(self, currency, time, rate, kind=I):
        return self.right(kind(currency, time * MS, rate))

    def take(self):
        return [f"{row[3]}*{row[6]}" for row in self.harness.take_outputs()]


def test_orders_wait_for_the_watermark_and_find_the_version_of_their_time():
    rates = Rates()
    rates.rate("euro", 10, 114)
    assert rates.order("euro", 15, 1) == []
    rates.order("euro", 20, 2)
    rates.order("euro", 19, 3)
    rates.rate("euro", 20, 116)
    assert rates.watermark(14) == []
    assert rates.watermark(15) == ["1*114"]
    assert rates.watermark(30) == ["2*116", "3*114"]


def test_without_a_version_a_left_join_pads():
    inner, outer = Rates(), Rates(left_outer=True)
    for rates in (inner, outer):
        rates.order("euro", 5, 1)
        rates.rate("euro", 10, 114)
        rates.order(None, 12, 2)
        rates.rate(None, 11, 3)
    assert inner.watermark(20) == []
    assert outer.watermark(20) == ["1*None", "2*None"]


def test_a_deletion_ends_the_last_version():
    rates = Rates(left_outer=True)
    rates.rate("euro", 10, 114)
    rates.rate("euro", 20, 114, D)
    rates.rate("euro", 30, 120)
    for time in (19, 20, 30):
        rates.order("euro", time, time)
    assert rates.watermark(50) == ["19*114", "20*None", "30*120"]


def test_what_was_before_an_update_tells_nothing():
    rates = Rates()
    rates.rate("euro", 10, 114)
    rates.rate("euro", 10, 114, UB)
    rates.rate("euro", 20, 116, UA)
    rates.order("euro", 12, 1)
    assert rates.watermark(50) == ["1*114"]


def test_a_late_order_finds_the_version_before_the_watermark():
    rates = Rates()
    rates.rate("euro", 10, 114)
    rates.rate("euro", 20, 116)
    rates.rate("euro", 30, 118)
    rates.watermark(25)
    rates.order("euro", 21, 1)
    rates.order("euro", 12, 2)  # its version has been forgotten
    assert rates.watermark(26) == ["1*116"]
    assert sorted(rates.harness.state_of("right-versions")[("euro",)]) == [20, 30]


def test_a_condition_beyond_the_key():
    rates = Rates(left_outer=True, condition=less_than(2, 5))
    rates.rate("euro", 10, 114)
    rates.order("euro", 12, 1)
    rates.order("euro", 12, 200)
    assert rates.watermark(20) == ["1*114", "200*None"]


def test_a_crash_loses_nothing():
    rates = Rates()
    rates.rate("euro", 10, 114)
    rates.order("euro", 12, 1)
    rates.order("euro", 30, 2)
    rates.crash()
    assert rates.watermark(20) == ["1*114"]
    rates.crash()
    assert rates.watermark(40) == ["2*114"]


def test_by_the_clock_the_latest_row_counts():
    driven = Paired(ProcessingTimeTemporalJoinOperator(True, (PAIR, PAIR)))
    assert driven.left(I("a", 1)) == ["+I[a, 1, NULL, NULL]"]
    assert driven.right(I("a", 7), UB("a", 7), UA("a", 8)) == []
    assert driven.left(I("a", 2), D("a", 1)) == ["+I[a, 2, a, 8]", "-D[a, 1, a, 8]"]
    driven.right(D("a", 8))
    assert driven.left(I("a", 3)) == ["+I[a, 3, NULL, NULL]"]


def test_by_the_clock_a_row_is_forgotten_after_its_time():
    driven = Paired(ProcessingTimeTemporalJoinOperator(False, (PAIR, PAIR), ttl_ms=100))
    driven.right(I("a", 7))
    driven.clock(101)
    assert driven.left(I("a", 3)) == []


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30), st.integers(0, 99)), max_size=15))
def test_any_order_of_rows_ahead_of_the_watermark_gives_the_same(events):
    versions = {time: value for right, time, value in events if right}
    rates = Rates(left_outer=True)
    out = []
    pending = sorted(events, key=lambda each: each[1] // 10)  # out of order by less than 10
    for right, time, value in pending:
        if right:
            rates.rate("euro", time, versions[time])
        else:
            rates.order("euro", time, value)
        out += rates.watermark(time // 10 * 10 - 1)
    out += rates.finish()
    expected = []
    for right, time, value in events:
        known = [at for at in versions if at <= time]
        if not right:
            expected.append(f"{value}*{versions[max(known)] if known else None}")
    assert sorted(out) == sorted(expected)
