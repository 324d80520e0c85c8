"""Operator state at another parallelism."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.runtime.placement import split_list

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


@given(PARTS, st.integers(1, 7))
def test_every_element_has_one_new_owner(parts, parallelism):
    new = split_list(parts, parallelism)
    assert len(new) == parallelism
    assert sorted(x for part in new for x in part) == sorted(x for part in parts for x in part)
    if len(parts) == parallelism:
        assert new == parts
    else:
        assert max(map(len, new)) - min(map(len, new)) <= 1
