"""Regular joins as changelogs: record by record as Flink's, and the same table at the end."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core import logical_types as lt
from headrace.errors import HeadraceError
from headrace.operators.table.join import JoinOperator, SemiJoinOperator
from headrace.operators.table.join_state import JoinInput
from tests.unit.operators.table.driving import UA, UB, D, I, materialised
from tests.unit.operators.table.two_inputs import LEFT, RIGHT, Paired, equals, less_than

TYPES = (lt.STRING, lt.INT)
TWO = JoinInput(TYPES)
BY_FIRST = JoinInput(TYPES, unique_key=(0,))


def join(kind, condition=None, left=TWO, right=TWO, **options):
    return JoinOperator(kind, left, right, condition, **{"per_record": True, **options})


def semi(condition=None, **options):
    return SemiJoinOperator(TWO, TWO, condition, **{"per_record": True, **options})


def test_an_inner_join_keeps_the_kind_of_the_change():
    driven = Paired(join("inner"))
    assert driven.left(I("a", 1)) == []
    assert driven.right(I("a", 7)) == ["+I[a, 1, a, 7]"]
    assert driven.left(UB("a", 1), UA("a", 2)) == ["-U[a, 1, a, 7]", "+U[a, 2, a, 7]"]
    assert driven.right(D("a", 7)) == ["-D[a, 2, a, 7]"]
    assert driven.left(D("a", 2)) == []


def test_equal_rows_are_counted():
    driven = Paired(join("inner"))
    driven.left(I("a", 1), I("a", 1))
    assert driven.right(I("a", 7)) == ["+I[a, 1, a, 7]"] * 2
    driven.left(D("a", 1))
    assert driven.right(D("a", 7)) == ["-D[a, 1, a, 7]"]


def test_a_left_join_pads_until_there_is_a_partner():
    driven = Paired(join("left"))
    assert driven.left(I("a", 1)) == ["+I[a, 1, NULL, NULL]"]
    assert driven.right(I("a", 7)) == ["-D[a, 1, NULL, NULL]", "+I[a, 1, a, 7]"]
    assert driven.right(I("a", 8)) == ["+I[a, 1, a, 8]"]
    assert driven.right(UB("a", 7), UA("a", 9)) == ["-U[a, 1, a, 7]", "+I[a, 1, a, 9]"]
    assert driven.right(D("a", 8)) == ["-D[a, 1, a, 8]"]
    assert driven.right(D("a", 9)) == ["-D[a, 1, a, 9]", "+I[a, 1, NULL, NULL]"]
    assert driven.left(UB("a", 1)) == ["-D[a, 1, NULL, NULL]"]


def test_a_right_join_is_a_left_join_seen_from_the_other_side():
    driven = Paired(join("right"))
    assert driven.right(I("a", 7)) == ["+I[NULL, NULL, a, 7]"]
    assert driven.left(I("a", 1)) == ["-D[NULL, NULL, a, 7]", "+I[a, 1, a, 7]"]
    assert driven.left(D("a", 1)) == ["-D[a, 1, a, 7]", "+I[NULL, NULL, a, 7]"]


def test_a_full_join_pads_both_sides():
    driven = Paired(join("full"))
    assert driven.left(I("a", 1), I("b", 2)) == ["+I[a, 1, NULL, NULL]", "+I[b, 2, NULL, NULL]"]
    assert driven.right(I("a", 7)) == ["-D[a, 1, NULL, NULL]", "+I[a, 1, a, 7]"]
    assert driven.left(D("a", 1)) == ["-D[a, 1, a, 7]", "+I[NULL, NULL, a, 7]"]
    assert driven.right(D("a", 7)) == ["-D[NULL, NULL, a, 7]"]


def test_a_condition_beyond_the_key_decides_who_is_a_partner():
    driven = Paired(join("left", less_than(1, 3)))
    driven.left(I("a", 5))
    assert driven.right(I("a", 5)) == []
    assert driven.right(I("a", 6)) == ["-D[a, 5, NULL, NULL]", "+I[a, 5, a, 6]"]


def test_null_is_no_partner_of_null_unless_it_is_said_to_be():
    driven = Paired(join("full"))
    assert driven.left(I(None, 1)) == ["+I[NULL, 1, NULL, NULL]"]
    assert driven.right(I(None, 7)) == ["+I[NULL, NULL, NULL, 7]"]
    assert driven.left(D(None, 1)) == ["-D[NULL, 1, NULL, NULL]"]
    safe = Paired(join("inner", null_safe=(True,)))
    safe.left(I(None, 1))
    assert safe.right(I(None, 7)) == ["+I[NULL, 1, NULL, 7]"]


def test_updates_by_key_take_the_row_before_back():
    driven = Paired(join("inner", left=BY_FIRST))
    driven.right(I("a", 7))
    assert driven.left(I("a", 1), UA("a", 2)) == [
        "+I[a, 1, a, 7]", "-U[a, 1, a, 7]", "+U[a, 2, a, 7]",
    ]  # fmt: skip
    assert driven.left(D("a", None)) == ["-D[a, 2, a, 7]"]
    upserts = Paired(join("inner", left=BY_FIRST, emits_before=False))
    upserts.right(I("a", 7))
    assert upserts.left(I("a", 1), UA("a", 2)) == ["+I[a, 1, a, 7]", "+U[a, 2, a, 7]"]


def test_an_insert_is_believed_even_if_the_key_is_there_already():
    driven = Paired(join("inner", left=BY_FIRST))
    driven.right(I("a", 7))
    assert driven.left(I("a", 1), I("a", 2), D("a", 2)) == [
        "+I[a, 1, a, 7]", "+I[a, 2, a, 7]", "-D[a, 2, a, 7]",
    ]  # fmt: skip


def test_rows_of_a_side_are_forgotten_after_their_time():
    driven = Paired(join("inner", left=JoinInput(TYPES, ttl_ms=100)))
    driven.left(I("a", 1))
    driven.clock(99)
    assert driven.right(I("a", 7)) == ["+I[a, 1, a, 7]"]
    driven.clock(101)
    assert driven.right(I("a", 8)) == []
    assert driven.left(D("a", 1)) == ["-D[a, 1, a, 7]", "-D[a, 1, a, 8]"]


def test_rows_with_maps_are_told_apart_by_value():
    driven = Paired(join("inner"))
    driven.left(I("a", {"x": 1, "y": 2}), I("a", {"x": 1}))
    driven.left(D("a", {"y": 2, "x": 1}))
    assert driven.right(I("a", 7)) == ["+I[a, {'x': 1}, a, 7]"]


def test_a_semi_join_tells_a_row_when_it_has_its_first_partner():
    driven = Paired(semi())
    assert driven.left(I("a", 1)) == []
    assert driven.right(I("a", 7)) == ["+I[a, 1]"]
    assert driven.right(I("a", 8)) == []
    assert driven.left(I("a", 2)) == ["+I[a, 2]"]
    assert driven.right(D("a", 7)) == []
    assert driven.right(UB("a", 8)) == ["-U[a, 1]", "-U[a, 2]"]
    assert driven.left(D("a", 1)) == []


def test_an_anti_join_tells_rows_without_a_partner():
    driven = Paired(semi(anti=True))
    assert driven.left(I("a", 1), I(None, 2)) == ["+I[a, 1]", "+I[NULL, 2]"]
    assert driven.right(I("a", 7)) == ["-D[a, 1]"]
    assert driven.left(UA("a", 3)) == []
    assert driven.right(D("a", 7)) == ["+I[a, 1]", "+I[a, 3]"]


def test_not_in_leaves_nothing_once_there_is_a_null():
    operator = semi(equals(0, 2), anti=True, null_aware=True)
    driven = Paired(operator, left_key=(), right_key=())
    assert driven.left(I(1, 0), I(None, 0)) == ["+I[1, 0]", "+I[NULL, 0]"]
    assert driven.right(I(2, 0)) == ["-D[NULL, 0]"]
    assert driven.right(I(None, 0)) == ["-D[1, 0]"]
    assert driven.right(D(None, 0)) == ["+I[1, 0]"]


def test_a_micro_batch_gives_what_is_left_of_its_changes():
    driven = Paired(join("left", per_record=False))
    assert driven.left(I("a", 1), I("b", 2)) == ["+I[a, 1, NULL, NULL]", "+I[b, 2, NULL, NULL]"]
    assert driven.right(I("a", 7), D("a", 7), I("a", 8)) == [
        "-D[a, 1, NULL, NULL]", "+I[a, 1, a, 8]",
    ]  # fmt: skip
    assert driven.left(UB("a", 1), UA("a", 1)) == []


def test_with_a_key_of_its_rows_a_micro_batch_gives_updates():
    driven = Paired(join("left", per_record=False, output_key=(0,)))
    driven.left(I("a", 1), I("b", 2))
    assert driven.right(I("a", 7)) == ["-U[a, 1, NULL, NULL]", "+U[a, 1, a, 7]"]
    assert driven.left(D("b", 2), I("c", 3)) == ["-D[b, 2, NULL, NULL]", "+I[c, 3, NULL, NULL]"]
    driven = Paired(join("left", per_record=False, output_key=(0,), emits_before=False))
    driven.left(I("a", 1))
    assert driven.right(I("a", 7)) == ["+U[a, 1, a, 7]"]


def test_a_condition_that_fails_names_the_row():
    driven = Paired(join("inner", less_than(1, 3)))
    driven.left(I("a", 5))
    with pytest.raises(HeadraceError, match=r"(?s)'<' not supported.*record: \(0, 'a', 'x'\)"):
        driven.right(I("a", "x"))


# The same table at the end, whatever the cuts.

ROWS = st.tuples(st.sampled_from([1, 2, None]), st.integers(0, 2))
STEPS = st.lists(st.tuples(st.sampled_from([LEFT, RIGHT]), st.integers(0, 7), ROWS), max_size=25)


def changes_of(steps):
    """Changelogs of two sides that take back only what is there."""
    there = ([], [])
    rows = []
    for side, choice, columns in steps:
        if choice % 2 and there[side]:
            gone = there[side].pop(choice % len(there[side]))
            rows.append((side, (3 if choice % 4 == 1 else 1, *gone)))
        else:
            there[side].append(columns)
            rows.append((side, (0 if choice % 4 == 0 else 2, *columns)))
    return rows, there


def expected(kind, left, right, matches):
    pairs = [(a, b) for a, b in product(left, right) if matches(a, b)]
    met_left = [any(matches(a, b) for b in right) for a in left]
    if kind in ("semi", "anti"):
        return Counter(a for a, met in zip(left, met_left, strict=True) if met is (kind == "semi"))
    rows = Counter(a + b for a, b in pairs)
    if kind in ("left", "full"):
        rows.update((*a, None, None) for a, met in zip(left, met_left, strict=True) if not met)
    if kind in ("right", "full"):
        rows.update((None, None, *b) for b in right if not any(matches(a, b) for a in left))
    return rows


@settings(max_examples=25, deadline=None)
@given(STEPS, st.sampled_from(["inner", "left", "right", "full", "semi", "anti"]), st.booleans(),
       st.booleans())  # fmt: skip
def test_all_modes_end_with_the_same_table(steps, kind, conditional, per_record):
    rows, (left, right) = changes_of(steps)
    condition = less_than(1, 3) if conditional else None

    def matches(a, b):
        return a[0] is not None and a[0] == b[0] and (not conditional or a[1] < b[1])

    if kind in ("semi", "anti"):
        operator = semi(condition, anti=kind == "anti", per_record=per_record)
    else:
        operator = join(kind, condition, per_record=per_record)
    assert materialised(Paired(operator).run(rows)) == expected(kind, left, right, matches)


def test_state_survives_a_crash():
    driven = Paired(join("full"))
    driven.left(I("a", 1), I("a", 1))
    driven.crash()
    driven.right(I("a", 7))
    driven.crash()
    assert driven.left(D("a", 1)) == ["-D[a, 1, a, 7]"]
    assert driven.left(D("a", 1)) == ["-D[a, 1, a, 7]", "+I[NULL, NULL, a, 7]"]
