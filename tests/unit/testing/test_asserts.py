"""Comparing records whatever their order."""

from __future__ import annotations

import pytest

from headrace.testing import assert_same_records, difference


@pytest.mark.parametrize(
    ("actual", "expected"),
    [([], []), ([1, 2, 1], [1, 1, 2]), ([{"a": [1]}], [{"a": [1]}]), ([1.0, {1, 2}], [{2, 1}, 1])],
)
def test_same_records(actual, expected):
    assert_same_records(actual, expected)


def test_the_difference_counts_occurrences():
    assert difference(["a", "b", "b"], ["a", "a", "b"]) == (["a"], ["b"])


def test_the_message_shows_what_differs_and_only_that():
    with pytest.raises(AssertionError) as failure:
        assert_same_records([("a", 1), ("b", 2)], [("a", 1), ("c", 3)], "counts")
    assert str(failure.value).splitlines() == [
        "counts: 2 given, 2 expected",
        "  missing:",
        "    - ('c', 3)",
        "  unexpected:",
        "    + ('b', 2)",
    ]


def test_a_long_difference_is_cut():
    with pytest.raises(AssertionError, match="and 80 more"):
        assert_same_records(range(100), [])
