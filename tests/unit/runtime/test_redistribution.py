"""Operator state at another parallelism."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.runtime.redistribution import broadcast, next_first, split_list, union

PARTS = st.lists(st.lists(st.integers(), max_size=6), min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("parts", "parallelism", "expected"),
    [
        ([["a", "b", "c"], ["d", "e"]], 1, [["a", "b", "c", "d", "e"]]),
        ([["a", "b", "c", "d", "e"]], 2, [["a", "b", "c"], ["d", "e"]]),
        ([["a", "b"], ["c", "d"]], 3, [["a", "b"], ["c"], ["d"]]),
        ([["a"], []], 5, [["a"], [], [], [], []]),
        ([["a", "b", "c"], []], 2, [["a", "b", "c"], []]),
    ],
)
def test_list_elements_are_dealt_in_even_runs(parts, parallelism, expected):
    assert split_list(parts, parallelism) == expected


def test_the_next_list_begins_where_the_longer_runs_ended():
    first = next_first(elements=4, parallelism=3)
    assert first == 1
    assert split_list([["x"]], 3, first) == [[], ["x"], []]


@given(PARTS, st.integers(1, 7), st.integers(0, 6))
def test_every_element_has_one_new_owner(parts, parallelism, first):
    new = split_list(parts, parallelism, first)
    assert len(new) == parallelism
    assert sorted(x for part in new for x in part) == sorted(x for part in parts for x in part)
    if len(parts) == parallelism:
        assert new == parts
    else:
        assert max(map(len, new)) - min(map(len, new)) <= 1


@given(PARTS, st.integers(1, 7))
def test_union_gives_everything_to_everyone(parts, parallelism):
    everything = [element for part in parts for element in part]
    assert union(parts, parallelism) == [everything] * parallelism


def test_broadcast_gives_each_one_copy():
    new = broadcast([{"a": 1}, {"a": 1}], 3)
    assert new == [{"a": 1}] * 3
    new[0]["a"] = 2
    assert new[1] == {"a": 1}
    assert broadcast([], 2) == [{}, {}]
