"""INTERSECT and EXCEPT as changelogs."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.operators.table.set_operations import SetOperator
from tests.unit.operators.table.driving import UA, UB, D, I, materialised
from tests.unit.operators.table.test_join import changes_of
from tests.unit.operators.table.two_inputs import LEFT, RIGHT, Paired


def operation(kind, all=False, per_record=True):
    return Paired(SetOperator(kind, all=all, per_record=per_record))


def test_intersect_tells_a_row_once_it_is_on_both_sides():
    driven = operation("intersect")
    assert driven.left(I(1), I(1)) == []
    assert driven.right(I(1), I(1), D(1)) == ["+I[1]"]
    assert driven.left(UB(1), UA(1), UB(1), D(1)) == ["-D[1]"]


def test_except_tells_rows_that_are_only_on_the_left():
    driven = operation("except")
    assert driven.left(I(1), I(1), I(None)) == ["+I[1]", "+I[NULL]"]
    assert driven.right(I(1), I(1)) == ["-D[1]"]
    assert driven.right(D(1), D(1)) == ["+I[1]"]


def test_intersect_all_repeats_the_copies():
    driven = operation("intersect", all=True)
    assert driven.left(I(1), I(1)) == []
    assert driven.right(I(1)) == ["+U[1]"]
    assert driven.right(I(1)) == ["-U[1]", "+U[1]", "+U[1]"]
    assert driven.left(D(1)) == ["-U[1]", "-U[1]", "+U[1]"]


def test_except_all_subtracts():
    driven = operation("except", all=True)
    assert driven.left(I(1), I(1)) == ["+I[1]", "-U[1]", "+U[1]", "+U[1]"]
    assert driven.right(I(1)) == ["-U[1]", "-U[1]", "+U[1]"]
    assert driven.left(D(1), D(1)) == ["-U[1]"]
    assert driven.right(D(1)) == []
    assert driven.left(I(1), D(1)) == ["+I[1]", "-D[1]"]


def test_a_micro_batch_gives_the_difference():
    driven = operation("except", all=True, per_record=False)
    assert driven.left(I(1), I(1), D(1)) == ["+I[1]"]
    assert driven.left(I(1), I(1)) == ["+I[1]", "+I[1]"]
    assert driven.right(I(1), I(1), D(1)) == ["-D[1]"]


STEPS = st.lists(
    st.tuples(st.sampled_from([LEFT, RIGHT]), st.integers(0, 7), st.tuples(st.integers(0, 2))),
    max_size=25,
)


@pytest.mark.parametrize("kind", ["intersect", "except"])
@pytest.mark.parametrize("all", [False, True])
@settings(max_examples=15, deadline=None)
@given(steps=STEPS, per_record=st.booleans())
def test_all_modes_end_with_the_same_table(kind, all, steps, per_record):
    rows, (left, right) = changes_of(steps)
    out = operation(kind, all, per_record).run(rows)
    one, other = Counter(left), Counter(right)
    if not all:
        one, other = Counter(set(left)), Counter(set(right))
    expected = one & other if kind == "intersect" else one - other
    assert materialised(out) == expected
