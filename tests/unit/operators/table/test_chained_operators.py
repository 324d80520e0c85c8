"""Operators that feed on each other's changes: an aggregation, its Top-N, and a sink's key."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core.expressions import Column, SortKey
from headrace.core.logical_types import BIGINT, STRING
from headrace.operators.table.calc import CalcOperator
from headrace.operators.table.changelog_normalize import ChangelogNormalizeOperator
from headrace.operators.table.group_aggregate import GroupAggregateOperator
from headrace.operators.table.rank import RETRACT, UPSERT, RankOperator
from headrace.operators.table.upsert_materialize import UpsertMaterializeOperator
from headrace.testing import OperatorHarness
from tests.unit.operators.table.driving import (
    Row,
    aggregate,
    at_least,
    changelog,
    in_batches,
    materialised,
)

TYPES = (STRING, BIGINT)
LARGEST = (SortKey(1, ascending=False), SortKey(0))


def top_two_sums(kind: str, *, per_record: bool) -> OperatorHarness:
    """The two names with the largest sums, of those whose sum is at least 0."""
    wants_before = kind == RETRACT

    def build(stream):
        sums = stream.key_by(lambda row: row[1:2])._then(
            "sums", GroupAggregateOperator(
                [aggregate("SUM", 1)], per_record=per_record, emits_before=wants_before
            ),
        )  # fmt: skip
        if kind == RETRACT:
            sums = sums._then("having", CalcOperator(None, at_least(1, 0)))
        else:
            normalized = ChangelogNormalizeOperator(
                TYPES, condition=at_least(1, 0), per_record=per_record, emits_before=False
            )
            sums = sums.key_by(lambda row: row[1:2])._then("having", normalized)
        top = RankOperator(
            LARGEST, TYPES, last=2, with_rank=True, input=kind, per_record=per_record,
            row_key=(0,) if kind == UPSERT else None,
        )  # fmt: skip
        return sums.key_by(lambda row: ())._then("top", top)

    return OperatorHarness(build, parallelism=2)


STEPS = st.lists(
    st.tuples(st.integers(0, 63), st.tuples(st.sampled_from("abcd"), st.integers(-3, 3))),
    max_size=25,
)


def expected(rows: list[Row]) -> Counter[Row]:
    left = materialised(rows)
    sums: dict[str, int] = {}
    for (name, value), count in left.items():
        sums[name] = sums.get(name, 0) + value * count
    best = sorted((-total, name) for name, total in sums.items() if total >= 0)[:2]
    return Counter((name, -total, rank) for rank, (total, name) in enumerate(best, start=1))


@settings(max_examples=30, deadline=None)
@given(STEPS, st.integers(0, 9), st.sampled_from([RETRACT, UPSERT]), st.booleans())
def test_a_rank_of_sums(steps, seed, kind, per_record):
    rows = changelog(steps)
    harness = top_two_sums(kind, per_record=per_record)
    changes = []
    for number, batch in enumerate(in_batches(rows, seed)):
        harness.send_all(batch)
        if number == 2:
            harness.rescale(3)
        changes += harness.take_outputs()
    assert materialised(changes) == expected(rows)


@settings(max_examples=20, deadline=None)
@given(STEPS, st.integers(0, 9), st.booleans())
def test_a_sink_holds_one_row_per_key(steps, seed, per_record):
    """Groups by two columns, written by one of them: any of the groups may be the one it has."""
    rows = changelog(steps)
    calls = [aggregate("COUNT")]
    types = (STRING, BIGINT, BIGINT)

    def build(stream):
        counts = stream.key_by(lambda row: row[1:3])._then(
            "counts", GroupAggregateOperator(calls, per_record=per_record)
        )
        shown = counts._then("project", CalcOperator([Column(t, c) for c, t in enumerate(types)]))
        sink = UpsertMaterializeOperator(types, upsert_key=(0, 1), per_record=per_record)
        return shown.key_by(lambda row: row[1:2])._then("sink", sink)

    harness = OperatorHarness(build, parallelism=2)
    holds: dict[str, Row] = {}
    for batch in in_batches(rows, seed):
        harness.send_all(batch)
        for kind, *columns in harness.take_outputs():
            assert kind in (0, 2, 3)
            assert (columns[0] in holds) == (kind != 0)
            if kind == 3:
                del holds[columns[0]]
            else:
                holds[columns[0]] = tuple(columns)
    left = materialised(rows)
    assert holds.keys() == {name for name, _ in left}
    assert all(left[name, value] == count for name, value, count in holds.values())
