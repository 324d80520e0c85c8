"""GROUP BY, DISTINCT and GROUPING SETS as changelogs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core.expressions import Column
from headrace.core.logical_types import INT, STRING
from headrace.errors import HeadraceError
from headrace.operators.table.expand import ExpandOperator, GroupingSets
from headrace.operators.table.group_aggregate import GroupAggregateOperator
from headrace.operators.table.local_aggregate import LocalAggregateOperator
from headrace.testing import OperatorHarness
from tests.unit.operators.table.driving import (
    UA,
    UB,
    D,
    Driven,
    I,
    aggregate,
    at_least,
    changelog,
    in_batches,
    materialised,
    run,
    special,
)

SUM_AND_COUNT = [aggregate("SUM", 1), aggregate("COUNT")]


def grouped(calls=SUM_AND_COUNT, **options):
    return GroupAggregateOperator(calls, **options)


def test_each_record_updates_its_group():
    driven = Driven(grouped(per_record=True), [0])
    assert driven.send(I("a", 1), I("a", 2), I("b", 5)) == [
        "+I[a, 1, 1]", "-U[a, 1, 1]", "+U[a, 3, 2]", "+I[b, 5, 1]",
    ]  # fmt: skip


def test_a_group_without_rows_is_deleted():
    driven = Driven(grouped(per_record=True), [0])
    assert driven.send(I("a", 1), D("a", 1)) == ["+I[a, 1, 1]", "-D[a, 1, 1]"]
    assert driven.send(I("a", 7)) == ["+I[a, 7, 1]"]


def test_an_update_of_a_group_of_one_row_deletes_it_in_between():
    driven = Driven(grouped(per_record=True), [0])
    assert driven.send(I("a", 1), UB("a", 1), UA("a", 2)) == [
        "+I[a, 1, 1]", "-D[a, 1, 1]", "+I[a, 2, 1]",
    ]  # fmt: skip


def test_a_result_that_stays_the_same_is_not_repeated():
    calls = [aggregate("MAX", 1)]
    driven = Driven(grouped(calls, per_record=True), [0])
    assert driven.send(I("a", 9), I("a", 3), I("a", 9)) == ["+I[a, 9]"]
    assert driven.send(D("a", 9)) == []
    assert driven.send(D("a", 9)) == ["-U[a, 9]", "+U[a, 3]"]


def test_with_a_time_to_live_it_is_repeated_and_forgotten():
    calls = [aggregate("MAX", 1)]
    driven = Driven(grouped(calls, per_record=True, ttl_ms=100), [0])
    assert driven.send(I("a", 9), I("a", 3)) == ["+I[a, 9]", "-U[a, 9]", "+U[a, 9]"]
    driven.clock(101)
    assert driven.send(D("a", 9)) == []
    assert driven.send(I("a", 1)) == ["+I[a, 1]"]


def test_without_what_was_before():
    driven = Driven(grouped(per_record=True, emits_before=False), [0])
    assert driven.send(I("a", 1), I("a", 2), D("a", 1), D("a", 2)) == [
        "+I[a, 1, 1]", "+U[a, 3, 2]", "+U[a, 2, 1]", "-D[a, 2, 1]",
    ]  # fmt: skip


def test_a_retraction_without_its_group_is_ignored():
    driven = Driven(grouped(per_record=True), [0])
    assert driven.send(D("a", 1), UB("b", 1)) == []
    batch = Driven(grouped(), [0])
    assert batch.send(D("a", 1), I("a", 4)) == ["+I[a, 4, 1]"]


def test_one_change_per_group_and_micro_batch():
    driven = Driven(grouped(), [0])
    assert driven.send(I("a", 1), I("b", 1), I("a", 2)) == ["+I[a, 3, 2]", "+I[b, 1, 1]"]
    assert driven.send(I("a", 3), D("a", 3)) == []
    assert driven.send(D("b", 1), I("a", 3)) == ["-D[b, 1, 1]", "-U[a, 3, 2]", "+U[a, 6, 3]"]
    assert driven.send(I("c", 1), D("c", 1)) == []


def both_halves(calls):
    """Aggregation on both sides of the exchange."""

    def build(stream):
        before = stream._then("local", LocalAggregateOperator([0], calls))
        return before.key_by(lambda row: row[1:2])._then("global", grouped(calls, partial=True))

    return OperatorHarness(build)


def test_groups_cross_the_exchange_once():
    harness = both_halves(SUM_AND_COUNT)
    harness.send_all([I("a", 1), I("b", 1), I("a", 2)])
    assert harness.take_outputs() == [I("a", 3, 2), I("b", 1, 1)]
    harness.crash()
    harness.send_all([I("a", 4)])
    assert harness.take_outputs() == [UB("a", 3, 2), UA("a", 7, 3)]


def test_state_goes_to_more_subtasks():
    driven = Driven(grouped(), [0])
    driven.send(*(I(name, 1) for name in "abcdef"))
    driven.harness.rescale(3)
    found = driven.send(*(I(name, 1) for name in "abcdef"))
    assert sorted(found) == sorted(
        line for name in "abcdef" for line in (f"-U[{name}, 1, 1]", f"+U[{name}, 2, 2]")
    )


def test_state_survives():
    driven = Driven(grouped(), [0])
    driven.send(I("a", 1))
    driven.crash()
    assert driven.send(I("a", 2)) == ["-U[a, 1, 1]", "+U[a, 3, 2]"]


def test_null_is_a_group_and_not_a_value():
    calls = [aggregate("SUM", 1), aggregate("COUNT", 1)]
    driven = Driven(grouped(calls), [0])
    assert driven.send(I(None, 1), I(None, None)) == ["+I[NULL, 1, 1]"]
    assert driven.send(D(None, 1)) == ["-U[NULL, 1, 1]", "+U[NULL, NULL, 0]"]


def test_filter_and_distinct():
    calls = [aggregate("SUM", 1, distinct=True), aggregate("COUNT", filter=at_least(1, 3))]
    driven = Driven(grouped(calls, per_record=True), [0])
    assert driven.send(I("a", 2), I("a", 2), I("a", 3), D("a", 2), D("a", 2)) == [
        "+I[a, 2, 0]", "-U[a, 2, 0]", "+U[a, 5, 1]", "-U[a, 5, 1]", "+U[a, 3, 1]",
    ]  # fmt: skip


def test_distinct_rows():
    driven = Driven(grouped([], per_record=True), [0, 1])
    assert driven.send(I("a", 1), I("a", 1), I("a", 2), D("a", 1), D("a", 1)) == [
        "+I[a, 1]", "+I[a, 2]", "-D[a, 1]",
    ]  # fmt: skip


def test_a_global_aggregate_is_silent_until_a_row_comes():
    driven = Driven(grouped(per_record=True), [])
    assert driven.finish() == []
    batch = Driven(grouped(row_if_empty=True), [])
    assert batch.finish() == ["+I[NULL, 0]"]
    batch = Driven(grouped(row_if_empty=True), [])
    batch.send(I("a", 1))
    assert batch.finish() == []


def test_grouping_sets():
    sets = GroupingSets((0, 1), ((0, 1), (0,), ()))
    expanded = Driven(ExpandOperator(sets))
    assert expanded.send(I("a", 1, 5)) == [
        "+I[a, 1, 5, a, 1, 0]", "+I[a, 1, 5, a, NULL, 1]", "+I[a, 1, 5, NULL, NULL, 2]",
    ]  # fmt: skip
    calls = [
        special("GROUPING_ID", "grouping", Column(STRING, 0), Column(INT, 1)),
        aggregate("SUM", 2), special("GROUPING", "grouping", Column(STRING, 0)),
        special("GROUP_ID", "grouping"),
    ]  # fmt: skip
    driven = Driven(grouped(calls, grouping=sets), [3, 4, 5])
    assert driven.send(
        I("a", 1, 5, "a", 1, 0), I("a", 1, 5, "a", None, 1), I("a", 1, 5, None, None, 2)
    ) == ["+I[a, 1, 0, 5, 0, 0]", "+I[a, NULL, 1, 5, 0, 0]", "+I[NULL, NULL, 3, 5, 1, 0]"]


def test_equal_sets_have_ids():
    sets = GroupingSets((0,), ((0,), (0,)))
    call = special("GROUP_ID", "grouping")
    assert [sets.value(call, number) for number in (0, 1)] == [0, 1]


def test_a_failing_aggregate_names_its_record():
    driven = Driven(grouped([aggregate("SUM", 1)]), [0])
    with pytest.raises(HeadraceError, match="record: \\(0, 'a', 'x'\\)"):
        driven.send(I("a", "x"))


def test_state_can_be_read():
    driven = Driven(grouped(), [0])
    driven.send(I("a", 1))
    assert driven.harness.state("groups", ("a",)) == (1, [[1, 1], 1])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 63), st.tuples(st.sampled_from("abc"), st.integers(-2, 2) | st.none())
        ),
        max_size=25,
    ),
    st.integers(0, 9),
    st.booleans(),
)
def test_batches_end_where_records_end(steps, seed, distinct):
    rows = changelog(steps)
    calls = [aggregate("SUM", 1, distinct=distinct), aggregate("COUNT", 1), aggregate("MAX", 1)]
    one_by_one = run(grouped(calls, per_record=True), [0], [rows] if rows else [])
    batches = run(grouped(calls), [0], in_batches(rows, seed))
    assert materialised(batches) == materialised(one_by_one)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(-2, 2)), max_size=25), st.integers(0, 9)
)
def test_additions_alone_take_the_quick_way(columns, seed):
    rows = [I(*each) for each in columns]
    calls = [aggregate("SUM", 1), aggregate("MAX", 1)]
    slow = run(grouped(calls, per_record=True), [0], [rows] if rows else [])
    quick = run(grouped(calls, retracts=False), [0], in_batches(rows, seed))
    assert materialised(quick) == materialised(slow)
    harness = both_halves([*calls[:1], aggregate("MAX", 1, distinct=True)])
    for batch in in_batches(rows, seed):
        harness.send_all(batch)
    assert materialised(harness.take_outputs()) == materialised(slow)
