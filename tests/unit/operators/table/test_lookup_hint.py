"""What the hint LOOKUP may say."""

from __future__ import annotations

import pytest

from headrace.errors import InvalidQuery
from headrace.operators.table.awaited_calls import AwaitedCalls
from headrace.operators.table.lookup_cache import RetryOptions
from headrace.operators.table.lookup_hint import LookupHint, read_lookup_hint

RETRY = {
    "retry-predicate": "lookup_miss",
    "retry-strategy": "fixed_delay",
    "fixed-delay": "10s",
    "max-attempts": "3",
}


def test_all_that_a_hint_may_say() -> None:
    hint = read_lookup_hint(
        {
            "table": "t",
            "async": "true",
            "output-mode": "allow_unordered",
            "capacity": "20",
            "timeout": "180s",
            **RETRY,
        }
    )
    assert hint == LookupHint(True, 20, 180_000, RetryOptions(3, 10_000))
    assert hint.settings(AwaitedCalls(concurrent=100, retries=0)) == AwaitedCalls(20, 180_000, 0)


def test_what_it_does_not_say_is_the_sessions() -> None:
    hint = read_lookup_hint({"table": "t"})
    usual = AwaitedCalls(concurrent=7, timeout_ms=8, retries=0)
    assert hint == LookupHint()
    assert hint.settings(usual) == usual


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"async": "true"}, "'table' is missing"),
        ({"table": "t", "asynchron": "true"}, "no option 'asynchron'"),
        ({"table": "t", "async": "yes"}, "'async' is true or false, not 'yes'"),
        ({"table": "t", "capacity": "0"}, "'capacity' is a whole number above 0, not '0'"),
        ({"table": "t", "timeout": "soon"}, "'timeout' is a duration"),
        ({"table": "t", "output-mode": "random"}, "'output-mode' is one of ORDERED"),
        ({"table": "t", "retry-predicate": "lookup_miss"}, "all are needed or none"),
        ({"table": "t", **RETRY, "retry-predicate": "always"}, "is 'lookup_miss', not 'always'"),
        ({"table": "t", **RETRY, "max-attempts": "often"}, "'max-attempts' is a whole number"),
    ],
)
def test_what_makes_no_sense(options: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidQuery, match=said):
        read_lookup_hint(options)
