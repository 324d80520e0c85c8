"""Top-N, LIMIT and ORDER BY … LIMIT as changelogs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core.expressions import SortKey
from headrace.core.logical_types import DOUBLE, INT, STRING
from headrace.operators.table.limit import LimitOperator, limit_operator
from headrace.operators.table.rank import APPEND, RETRACT, UPSERT, RankOperator
from tests.unit.operators.table.driving import (
    UA,
    UB,
    D,
    Driven,
    I,
    changelog,
    in_batches,
    materialised,
    run,
)

TYPES = (STRING, STRING, INT)
BY_NUMBER = (SortKey(2),)
LARGEST = (SortKey(2, ascending=False),)


def top(order=BY_NUMBER, types=TYPES, **options):
    return RankOperator(order, types, **options)


def test_additions_without_rank_number():
    driven = Driven(top(last=2, input=APPEND, per_record=True), [0])
    assert driven.send(I("p", "a", 5), I("p", "b", 3)) == ["+I[p, a, 5]", "+I[p, b, 3]"]
    assert driven.send(I("p", "c", 4)) == ["-D[p, a, 5]", "+I[p, c, 4]"]
    assert driven.send(I("p", "d", 4), I("p", "e", 9)) == []
    assert driven.send(I("q", "a", 9)) == ["+I[q, a, 9]"]


def test_additions_with_rank_number():
    driven = Driven(top(last=3, input=APPEND, with_rank=True, per_record=True), [0])
    assert driven.send(I("p", "a", 5), I("p", "b", 3)) == [
        "+I[p, a, 5, 1]", "-U[p, a, 5, 1]", "+U[p, b, 3, 1]", "+I[p, a, 5, 2]",
    ]  # fmt: skip
    assert driven.send(I("p", "c", 3)) == [
        "-U[p, a, 5, 2]", "+U[p, c, 3, 2]", "+I[p, a, 5, 3]",
    ]  # fmt: skip
    assert driven.send(I("p", "d", 4)) == ["-U[p, a, 5, 3]", "+U[p, d, 4, 3]"]


def test_the_best_row_is_updated():
    driven = Driven(top(LARGEST, last=1, input=APPEND, per_record=True), [0])
    assert driven.send(I("p", "a", 5), I("p", "b", 5), I("p", "c", 6)) == [
        "+I[p, a, 5]", "-U[p, a, 5]", "+U[p, c, 6]",
    ]  # fmt: skip


def test_the_best_row_with_its_rank():
    driven = Driven(
        top(LARGEST, last=1, input=APPEND, with_rank=True, per_record=True, emits_before=False), [0]
    )
    assert driven.send(I("p", "a", 5), I("p", "c", 6)) == ["+I[p, a, 5, 1]", "+U[p, c, 6, 1]"]


def test_offset():
    driven = Driven(top(first=2, last=3, input=APPEND, per_record=True), [0])
    assert driven.send(I("p", "a", 5)) == []
    assert driven.send(I("p", "b", 3)) == ["+I[p, a, 5]"]
    assert driven.send(I("p", "c", 4)) == ["-U[p, a, 5]", "+U[p, c, 4]", "+I[p, a, 5]"]


@pytest.mark.parametrize("move_up", [True, False])
def test_updates_by_key_that_move_up(move_up):
    options = {"input": UPSERT, "row_key": (0, 1), "per_record": True, "move_up": move_up}
    driven = Driven(top(LARGEST, last=2, **options), [0])
    assert driven.send(I("p", "a", 1), I("p", "b", 2)) == ["+I[p, a, 1]", "+I[p, b, 2]"]
    assert driven.send(UA("p", "a", 3)) == ["-U[p, a, 1]", "+U[p, a, 3]"]
    assert driven.send(I("p", "c", 9)) == ["-D[p, b, 2]", "+I[p, c, 9]"]
    ranked = Driven(top(LARGEST, last=2, with_rank=True, **options), [0])
    ranked.send(I("p", "a", 1), I("p", "b", 2))
    assert ranked.send(UA("p", "a", 3)) == [
        "-U[p, b, 2, 1]", "+U[p, a, 3, 1]", "-U[p, a, 1, 2]", "+U[p, b, 2, 2]",
    ]  # fmt: skip
    assert ranked.send(UA("p", "a", 4)) == ["-U[p, a, 3, 1]", "+U[p, a, 4, 1]"]


def test_updates_by_key_in_any_direction():
    driven = Driven(top(LARGEST, last=2, input=UPSERT, row_key=(1,), per_record=True), [0])
    driven.send(I("p", "a", 3), I("p", "b", 2), I("p", "c", 1))
    assert driven.send(UA("p", "a", 0)) == ["-D[p, a, 3]", "+I[p, c, 1]"]
    driven.crash()
    assert driven.send(D("p", "b", None)) == ["-D[p, b, 2]", "+I[p, a, 0]"]
    assert driven.send(D("p", "nobody", None), UA("p", "c", 1)) == []


def test_retractions_without_rank_number():
    driven = Driven(top(last=2, per_record=True), [0])
    driven.send(I("p", "a", 1), I("p", "b", 2), I("p", "c", 3))
    assert driven.send(D("p", "c", 3)) == []
    driven.send(I("p", "c", 3))
    assert driven.send(D("p", "a", 1)) == ["-D[p, a, 1]", "+I[p, c, 3]"]
    assert driven.send(I("p", "z", 0)) == ["-D[p, c, 3]", "+I[p, z, 0]"]
    assert driven.send(D("p", "nobody", 0)) == []


def test_retractions_with_rank_number():
    driven = Driven(top(last=2, with_rank=True, per_record=True), [0])
    driven.send(I("p", "a", 1), I("p", "b", 2), I("p", "c", 3))
    assert driven.send(UB("p", "a", 1)) == [
        "-U[p, a, 1, 1]", "+U[p, b, 2, 1]", "-U[p, b, 2, 2]", "+U[p, c, 3, 2]",
    ]  # fmt: skip
    assert driven.send(D("p", "b", 2)) == [
        "-U[p, b, 2, 1]", "+U[p, c, 3, 1]", "-D[p, c, 3, 2]",
    ]  # fmt: skip


def test_the_best_row_of_retractions():
    driven = Driven(top(last=1, per_record=True), [0])
    driven.send(I("p", "a", 1), I("p", "b", 2))
    assert driven.send(UB("p", "a", 1), UA("p", "a", 0)) == [
        "-D[p, a, 1]", "+I[p, b, 2]", "-D[p, b, 2]", "+I[p, a, 0]",
    ]  # fmt: skip
    batch = Driven(top(last=1), [0])
    batch.send(I("p", "a", 1), I("p", "b", 2))
    assert batch.send(UB("p", "a", 1), UA("p", "a", 0)) == ["-U[p, a, 1]", "+U[p, a, 0]"]


def test_the_best_row_of_retractions_changes_alike_with_its_rank():
    driven = Driven(top(last=1, with_rank=True, per_record=True), [0])
    driven.send(I("p", "a", 1), I("p", "b", 2))
    assert driven.send(UB("p", "a", 1)) == ["-D[p, a, 1, 1]", "+I[p, b, 2, 1]"]


@pytest.mark.parametrize(
    ("function", "ranks"), [("RANK", (1, 1, 3)), ("DENSE_RANK", (1, 1, 2)), ("ROW_NUMBER", (1, 2))]
)
@pytest.mark.parametrize("kind", [APPEND, RETRACT])
def test_ranks_with_ties(function, ranks, kind):
    limit = 2 if function != "RANK" else 3
    driven = Driven(top(function=function, last=limit, input=kind, with_rank=True), [0])
    rows = [I("p", "a", 1), I("p", "b", 1), I("p", "c", 2), I("p", "d", 3)]
    expected = [f"+I[p, {n}, {v}, {r}]" for (n, v), r in zip(
        [("a", 1), ("b", 1), ("c", 2)], ranks, strict=False)]  # fmt: skip
    assert driven.send(*rows) == expected


def test_a_rank_that_changes():
    driven = Driven(top(function="RANK", last=2, with_rank=True, per_record=True), [0])
    driven.send(I("p", "a", 5), I("p", "b", 5))
    assert driven.send(I("p", "c", 1)) == [
        "+I[p, c, 1, 1]", "-U[p, a, 5, 1]", "+U[p, a, 5, 2]", "-U[p, b, 5, 1]", "+U[p, b, 5, 2]",
    ]  # fmt: skip
    assert driven.send(I("p", "d", 1)) == ["-D[p, a, 5, 2]", "-D[p, b, 5, 2]", "+I[p, d, 1, 1]"]


def test_the_limit_may_be_a_column():
    types = (STRING, INT, INT)
    driven = Driven(RankOperator((SortKey(1),), types, last_column=2, input=APPEND), [0])
    assert driven.send(I("p", 1, 2), I("p", 2, 9), I("p", 3, 9), I("q", 7, 1), I("q", 8, 1)) == [
        "+I[p, 1, 2]", "+I[p, 2, 9]", "+I[q, 7, 1]",
    ]  # fmt: skip


def test_one_change_per_row_and_micro_batch():
    driven = Driven(top(last=2, row_key=(1,)), [0])
    assert driven.send(I("p", "a", 1), I("p", "b", 2), I("p", "c", 0)) == [
        "+I[p, c, 0]", "+I[p, a, 1]",
    ]  # fmt: skip
    assert driven.send(UB("p", "a", 1), UA("p", "a", -1)) == ["-U[p, a, 1]", "+U[p, a, -1]"]
    driven.crash()
    assert driven.send(D("p", "a", -1)) == ["-D[p, a, -1]", "+I[p, b, 2]"]


def test_null_is_the_smallest_and_nan_the_greatest():
    nan = float("nan")
    rows = [I("p", "n", nan), I("p", "x", 1.0), I("p", "-", None)]
    types = (STRING, STRING, DOUBLE)
    for order, expected in (
        (SortKey(2), ["-", "x", "n"]), (SortKey(2, ascending=False, nulls_first=False),
        ["n", "x", "-"]), (SortKey(2, nulls_first=False), ["x", "n", "-"]),
    ):  # fmt: skip
        driven = Driven(RankOperator((order,), types, last=3, with_rank=True), [0])
        assert [line.split(", ")[1] for line in driven.send(*rows)] == expected


def test_texts_in_descending_order():
    driven = Driven(RankOperator((SortKey(1, ascending=False), SortKey(2)), TYPES, last=2), [0])
    assert driven.send(I("p", "a", 1), I("p", "c", 2), I("p", "c", 1)) == [
        "+I[p, c, 1]", "+I[p, c, 2]",
    ]  # fmt: skip


def test_limit_counts_rows():
    driven = Driven(LimitOperator(1, 3), [])
    assert driven.send(I(1), I(2)) == ["+I[2]"]
    driven.crash()
    assert driven.send(I(3), I(4), I(5)) == ["+I[3]", "+I[4]"]
    assert driven.send(I(6)) == []
    assert Driven(LimitOperator(2), []).send(I(1), I(2), I(3)) == ["+I[3]"]


def test_limit_of_changes():
    driven = Driven(limit_operator(0, 2, (INT,), append_only=False, per_record=True), [])
    assert driven.send(I(5), I(4), I(3)) == ["+I[5]", "+I[4]"]
    assert driven.send(D(5)) == ["-D[5]", "+I[3]"]


def test_sorted_limit():
    operator = limit_operator(1, 1, (INT,), order=(SortKey(0),), append_only=True)
    driven = Driven(operator, [])
    assert driven.send(I(5), I(4), I(3)) == ["+I[4]"]
    assert driven.send(I(0)) == ["-U[4]", "+U[3]"]


STEPS = st.lists(
    st.tuples(
        st.integers(0, 63),
        st.tuples(st.sampled_from("pq"), st.sampled_from("abc"), st.integers(0, 4) | st.none()),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(STEPS, st.integers(0, 9), st.sampled_from(["ROW_NUMBER", "RANK", "DENSE_RANK"]),
       st.booleans(), st.integers(1, 2))  # fmt: skip
def test_batches_end_where_records_end(steps, seed, function, with_rank, first):
    rows = changelog(steps)
    options = {"function": function, "with_rank": with_rank, "first": first, "last": 3}
    one_by_one = run(top(per_record=True, **options), [0], [rows] if rows else [])
    batches = run(top(**options), [0], in_batches(rows, seed))
    assert materialised(batches) == materialised(one_by_one)
    there = [row[:0] + key for key, n in materialised(rows).items() for row in [()] * n]
    for part in "pq":
        mine = sorted((r for r in there if r[0] == part), key=lambda r: (r[2] is not None, r[2]))
        if function == "ROW_NUMBER":
            found = [r for r in materialised(batches).elements() if r[0] == part]
            assert sorted(r[2] is not None and r[2] for r in found) == sorted(
                r[2] is not None and r[2] for r in mine[first - 1 : 3]
            )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("pq"), st.sampled_from("abc"), st.integers(0, 4)),
                max_size=20), st.integers(0, 9), st.booleans())  # fmt: skip
def test_additions_agree_with_retractions(columns, seed, with_rank):
    rows = [I(*each) for each in columns]
    options = {"with_rank": with_rank, "last": 3}
    few = run(top(input=APPEND, **options), [0], in_batches(rows, seed))
    every = run(top(input=RETRACT, per_record=True, **options), [0], [rows] if rows else [])
    assert materialised(few) == materialised(every)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0, 2, 3]), st.sampled_from("abcd"), st.integers(0, 4)),
                max_size=20), st.integers(0, 9), st.booleans())  # fmt: skip
def test_updates_by_key_agree_with_retractions(changes, seed, with_rank):
    upserts, full, there = [], [], {}
    for kind, name, value in changes:
        before = there.pop(name, None)
        if before is not None:
            full.append(D("p", name, before))
        elif kind == 3:
            continue
        upserts.append((kind, "p", name, value))
        if kind != 3:
            there[name] = value
            full.append(I("p", name, value))
    options = {"with_rank": with_rank, "last": 2}
    order = (SortKey(2), SortKey(1))
    by_key = run(top(order, input=UPSERT, row_key=(1,), **options), [0], in_batches(upserts, seed))
    every = run(top(order, per_record=True, **options), [0], [full] if full else [])
    assert materialised(by_key) == materialised(every)
