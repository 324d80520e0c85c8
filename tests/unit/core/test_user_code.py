"""Functions of users that are called for many records at once."""

from __future__ import annotations

import pytest

from headrace.core.user_code import RecordFailure, apply_all


def test_a_failure_knows_its_record():
    with pytest.raises(RecordFailure) as raised:
        apply_all(lambda value: 1 // value, [1, 0, 2], "map")
    assert raised.value.record == 0
    assert isinstance(raised.value.error, ZeroDivisionError)


@pytest.mark.parametrize("values", [[1, 2, 3], [1, 2]])
def test_what_ends_an_iteration_ends_no_batch(values):
    """Nothing is lost because a function lets StopIteration through."""
    few = iter("a")
    with pytest.raises(RecordFailure, match="StopIteration") as raised:
        apply_all(lambda value: next(few), values, "map")
    assert raised.value.record == 2


def test_values_beside():
    assert apply_all(lambda value, stamp: (value, stamp), "ab", "write", [1, None]) == [
        ("a", 1),
        ("b", None),
    ]
