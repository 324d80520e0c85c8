"""OVER windows of bounded input."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core.expressions import Column, Literal, SortKey
from headrace.core.logical_types import INT, STRING
from headrace.errors import HeadraceError
from headrace.operators.table.over_partition import PartitionOverOperator
from tests.unit.operators.table.driving import MS, TIME, D, Driven, I, aggregate, special

TYPES = (STRING, INT)
SUM = [aggregate("SUM", 1)]
BY_NUMBER = (SortKey(1),)


def over(rows, calls=SUM, order=BY_NUMBER, types=TYPES, **options):
    driven = Driven(PartitionOverOperator(types, calls, order=order, **options), [0])
    driven.harness.send_all(rows)
    driven.harness.crash()
    driven.harness.finish()
    return [row[2:] for row in driven.harness.take_outputs()]


def test_ranks():
    names = ["ROW_NUMBER", "RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST"]
    calls = [special(name, "rank") for name in names]
    rows = [I("a", 2), I("a", 1), I("a", 1), I("a", 9), I("a", 7), D("a", 7)]
    assert over(rows, calls) == [
        (1, 1, 1, 1, 0.0, 0.5), (1, 2, 1, 1, 0.0, 0.5), (2, 3, 3, 2, 2 / 3, 0.75),
        (9, 4, 4, 3, 1.0, 1.0),
    ]  # fmt: skip
    assert over([I("a", 1)], calls) == [(1, 1, 1, 1, 0.0, 1.0)]


def test_neighbours_and_tiles():
    calls = [
        special("LAG", "offset", Column(INT, 1)),
        special("LEAD", "offset", Column(INT, 1), Literal(INT, 2), Literal(INT, -1)),
        special("NTILE", "rank", Literal(INT, 2)), *SUM,
    ]  # fmt: skip
    assert over([I("a", 1), I("a", 2), I("a", 3)], calls) == [
        (1, None, 3, 1, 1), (2, 1, -1, 1, 3), (3, 2, -1, 2, 6),
    ]  # fmt: skip


def test_a_whole_partition():
    assert over([I("a", 1), I("a", 2)], order=(), preceding=None, following=None) == [
        (1, 3), (2, 3),
    ]  # fmt: skip


def test_a_span_of_time():
    rows = [I("a", 1, 10 * MS), I("a", 2, 12 * MS), I("a", 4, 15 * MS)]
    found = over(rows, types=(STRING, INT, TIME), order=(SortKey(2),), preceding=2, following=3)
    assert [row[-1] for row in found] == [3, 7, 4]


def test_nulls_are_near_to_nulls():
    rows = [I("a", None), I("a", None), I("a", 1), I("a", 3)]
    calls = [aggregate("COUNT")]
    for order, expected in ((SortKey(1), [2, 2, 1, 1]), (SortKey(1, False), [2, 2, 1, 1]),
                            (SortKey(1, nulls_first=False), [1, 1, 2, 2])):  # fmt: skip
        found = over(rows, calls, (order,), preceding=1, following=1)
        assert [row[-1] for row in found] == expected


def test_what_cannot_be_said():
    for calls, options in (
        ([special("UNKNOWN", "rank")], {}), (SUM, {"order": (), "preceding": 1}),
    ):  # fmt: skip
        with pytest.raises(HeadraceError):
            over([I("a", 1)], calls, **options)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=10),
    st.sampled_from(["rows", "range"]),
    st.sampled_from([None, 0, 2, -1]),
    st.sampled_from([None, 0, 3]),
    st.booleans(),
)
def test_frames_are_what_sql_says(numbers, unit, preceding, following, ascending):
    if preceding == -1 and following == 0:
        following = 3
    order = (SortKey(1, ascending),)
    found = over([I("a", n) for n in numbers], order=order, unit=unit, preceding=preceding,
                 following=following)  # fmt: skip
    numbers = sorted(numbers, reverse=not ascending)
    sign = 1 if ascending else -1
    expected = []
    for at, value in enumerate(numbers):
        frame = [
            other for place, other in enumerate(numbers)
            if (preceding is None or (place - at if unit == "rows" else sign * (other - value))
                >= -preceding)
            and (following is None or (place - at if unit == "rows" else sign * (other - value))
                 <= following)
        ]  # fmt: skip
        expected.append((value, sum(frame) if frame else None))
    assert found == expected
