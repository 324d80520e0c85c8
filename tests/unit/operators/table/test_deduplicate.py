"""First and last rows, normalized changelogs, and rows that claim a sink's key."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core.logical_types import INT, STRING
from headrace.errors import HeadraceError
from headrace.operators.table.changelog_normalize import ChangelogNormalizeOperator
from headrace.operators.table.deduplicate import DeduplicateOperator, FirstRowOperator
from headrace.operators.table.drop_update_before import DropUpdateBeforeOperator
from headrace.operators.table.upsert_materialize import UpsertMaterializeOperator
from tests.unit.operators.table.driving import (
    MS,
    TIME,
    UA,
    UB,
    D,
    Driven,
    I,
    at_least,
    in_batches,
    materialised,
    run,
)

TYPES = (STRING, INT)
TIMED = (STRING, INT, TIME)


def test_the_first_row_by_arrival_stays():
    driven = Driven(DeduplicateOperator(TYPES, keep_last=False, per_record=True), [0])
    assert driven.send(I("a", 1), I("a", 2), I("b", 3)) == ["+I[a, 1]", "+I[b, 3]"]
    driven.crash()
    assert driven.send(I("a", 4)) == []


def test_the_last_row_by_arrival_is_updated():
    driven = Driven(DeduplicateOperator(TYPES, keep_last=True, per_record=True), [0])
    assert driven.send(I("a", 1), I("a", 2), I("a", 2)) == ["+I[a, 1]", "-U[a, 1]", "+U[a, 2]"]
    batch = Driven(DeduplicateOperator(TYPES, keep_last=True, emits_before=False), [0])
    assert batch.send(I("a", 1), I("a", 2)) == ["+I[a, 2]"]
    assert batch.send(I("a", 3), I("a", 2)) == []
    assert batch.send(I("a", 3)) == ["+U[a, 3]"]


def test_by_event_time_an_earlier_first_row_replaces_a_later_one():
    driven = Driven(
        DeduplicateOperator(TIMED, keep_last=False, rowtime=2, time=2, per_record=True), [0]
    )
    driven.harness.send_all([I("a", 1, 5 * MS), I("a", 2, 3 * MS), I("a", 3, 3 * MS)])
    assert driven.harness.take_records() == [
        (I("a", 1, 5 * MS), 5), (UB("a", 1, 5 * MS), 5), (UA("a", 2, 3 * MS), 3),
    ]  # fmt: skip


def test_by_event_time_the_last_row_is_the_latest():
    driven = Driven(DeduplicateOperator(TIMED, keep_last=True, rowtime=2, per_record=True), [0])
    assert driven.send(I("a", 1, 5), I("a", 2, 3), I("a", 3, 5)) == [
        "+I[a, 1, 5]", "-U[a, 1, 5]", "+U[a, 3, 5]",
    ]  # fmt: skip


def test_the_rank_is_one():
    driven = Driven(DeduplicateOperator(TYPES, keep_last=True, with_rank=True), [0])
    assert driven.send(I("a", 1)) == ["+I[a, 1, 1]"]


def test_a_retraction_is_refused():
    driven = Driven(DeduplicateOperator(TYPES, keep_last=True), [0])
    with pytest.raises(HeadraceError, match="taken back"):
        driven.send(D("a", 1))


def test_the_first_row_once_it_is_certain():
    driven = Driven(FirstRowOperator(TIMED, rowtime=2), [0])
    assert driven.send(I("a", 1, 5 * MS), I("a", 2, 3 * MS), I("b", 1, 9 * MS)) == []
    assert driven.watermark(4) == ["+I[a, 2, 3000000]"]
    assert driven.send(I("a", 3, 4 * MS), I("b", 2, 3 * MS)) == []
    driven.crash()
    assert driven.watermark(20) == ["+I[b, 1, 9000000]"]
    assert driven.send(I("c", 1, 3 * MS)) == []
    assert driven.counter("numLateRecordsDropped") == 1


def test_upserts_become_a_full_changelog():
    driven = Driven(ChangelogNormalizeOperator(TYPES, per_record=True), [0])
    assert driven.send(UA("a", 1), UA("a", 1), UA("a", 2), D("a", None), D("a", None)) == [
        "+I[a, 1]", "-U[a, 1]", "+U[a, 2]", "-D[a, 2]",
    ]  # fmt: skip
    assert driven.send(I("b", 1), UB("b", 1), UA("b", 2)) == ["+I[b, 1]", "-D[b, 1]", "+I[b, 2]"]


def test_normalizing_per_micro_batch():
    driven = Driven(ChangelogNormalizeOperator(TYPES), [0])
    assert driven.send(UA("a", 1), UA("a", 2), UA("b", 1), D("b", 1)) == ["+I[a, 2]"]
    assert driven.send(UB("a", 2), UA("a", 3)) == ["-U[a, 2]", "+U[a, 3]"]
    assert driven.send(UA("a", 4), UA("a", 3)) == []
    assert driven.send(UA("a", 4), D("a", 4)) == ["-D[a, 3]"]


def test_normalizing_with_a_condition():
    operator = ChangelogNormalizeOperator(TYPES, condition=at_least(1, 5), per_record=True)
    driven = Driven(operator, [0])
    assert driven.each(UA("a", 1), UA("a", 5), UA("a", 6), UA("a", 2), D("a", 2)) == [
        [], ["+I[a, 5]"], ["-U[a, 5]", "+U[a, 6]"], ["-D[a, 6]"], [],
    ]  # fmt: skip


def test_normalizing_without_what_was_before():
    driven = Driven(ChangelogNormalizeOperator(TYPES, per_record=True, emits_before=False), [0])
    assert driven.send(UA("a", 1), UA("a", 2)) == ["+I[a, 1]", "+U[a, 2]"]


def test_with_a_time_to_live_equal_rows_keep_others_alive():
    driven = Driven(ChangelogNormalizeOperator(TYPES, per_record=True, ttl_ms=100), [0])
    assert driven.send(UA("a", 1), UA("a", 1)) == ["+I[a, 1]", "-U[a, 1]", "+U[a, 1]"]
    driven.clock(200)
    assert driven.send(UA("a", 2)) == ["+I[a, 2]"]


def test_changes_before_updates_are_left_out():
    driven = Driven(DropUpdateBeforeOperator())
    assert driven.send(I("a", 1), UB("a", 1), UA("a", 2), D("a", 2)) == [
        "+I[a, 1]", "+U[a, 2]", "-D[a, 2]",
    ]  # fmt: skip
    driven.harness.send_all([UB("a", 1), I("b", 1)], [1, 2])
    assert driven.harness.take_records() == [(I("b", 1), 2)]


def test_the_last_claim_to_a_key_wins():
    driven = Driven(UpsertMaterializeOperator(TYPES, per_record=True), [0])
    assert driven.each(I("k", 1), I("k", 2), D("k", 1), I("k", 3), UB("k", 3), D("k", 2)) == [
        ["+I[k, 1]"], ["+U[k, 2]"], [], ["+U[k, 3]"], ["+U[k, 2]"], ["-D[k, 2]"],
    ]  # fmt: skip
    assert driven.send(D("k", 9)) == []


def test_updates_out_of_order():
    driven = Driven(UpsertMaterializeOperator(TYPES, per_record=True), [0])
    assert driven.each(I("k", 1), UA("k", 2), UB("k", 1)) == [["+I[k, 1]"], ["+U[k, 2]"], []]


def test_claims_by_an_upsert_key():
    types = (STRING, STRING, INT)
    driven = Driven(UpsertMaterializeOperator(types, upsert_key=(1,), per_record=True), [0])
    assert driven.each(
        I("k", "x", 1), I("k", "y", 1), UA("k", "y", 2), D("k", "y", None), UA("k", "x", 5)
    ) == [["+I[k, x, 1]"], ["+U[k, y, 1]"], ["+U[k, y, 2]"], ["+U[k, x, 1]"], ["+U[k, x, 5]"]]


def test_conflicts_may_be_errors_or_ignored():
    strict = Driven(UpsertMaterializeOperator(TYPES, conflict="ERROR"), [0])
    assert strict.send(I("k", 1), UA("k", 2), UB("k", 1)) == ["+I[k, 2]"]
    with pytest.raises(HeadraceError, match="2 rows have the primary key"):
        strict.send(I("k", 3))
    first = Driven(UpsertMaterializeOperator(TYPES, conflict="NOTHING"), [0])
    assert first.each(I("k", 1), I("k", 2), D("k", 1)) == [["+I[k, 1]"], [], ["+U[k, 2]"]]


UPSERTS = st.lists(
    st.tuples(st.sampled_from([0, 2, 3]), st.sampled_from("ab"), st.integers(0, 3)), max_size=20
)


@settings(max_examples=30, deadline=None)
@given(UPSERTS, st.integers(0, 9), st.sampled_from([None, 2]))
def test_batches_end_where_records_end(rows, seed, limit):
    condition = None if limit is None else at_least(1, limit)
    one_by_one = run(
        ChangelogNormalizeOperator(TYPES, condition=condition, per_record=True), [0],
        [rows] if rows else [],
    )  # fmt: skip
    batches = run(
        ChangelogNormalizeOperator(TYPES, condition=condition), [0], in_batches(rows, seed)
    )
    assert materialised(batches) == materialised(one_by_one)
