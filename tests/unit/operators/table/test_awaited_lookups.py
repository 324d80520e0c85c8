"""Look-ups that are awaited: those of a batch run together, behind the same caches."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headrace.core.expressions import Column
from headrace.core.logical_types import STRING
from headrace.errors import HeadraceError
from headrace.operators.table.awaited_calls import AwaitedCalls
from headrace.operators.table.lookup_cache import PartialCacheOptions, RetryOptions
from headrace.operators.table.lookup_join import LookupJoinOperator
from tests.unit.operators.table.driving import Driven, I

ASKED: list[tuple[str, int]] = []
"""The keys that were asked for, each with how many look-ups ran then."""


class Cities:
    """Knows all but x; the first `misses` times it finds nothing."""

    def __init__(self, misses: int = 0, seconds: float = 0.001):
        self.misses = misses
        self.seconds = seconds
        self.running = 0

    async def __call__(self, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        (key,) = values
        if key == "broken":
            raise ConnectionError("no such host")
        self.running += 1
        ASKED.append((key, self.running))
        await asyncio.sleep(self.seconds)
        self.running -= 1
        self.misses -= 1
        return [] if key == "x" or self.misses >= 0 else [(key, key.upper())]


def driven(lookup: Any = None, **options: Any) -> Driven:
    ASKED.clear()
    join = LookupJoinOperator(True, 2, [Column(STRING, 0)], lookup or Cities(), **options)
    return Driven(join)


def test_a_batch_is_asked_for_together_in_its_order() -> None:
    found = driven().send(I("b"), I("a"), I("x"), I(None), I("b"))
    assert found == [
        "+I[b, b, B]", "+I[a, a, A]", "+I[x, NULL, NULL]", "+I[NULL, NULL, NULL]", "+I[b, b, B]",
    ]  # fmt: skip
    assert ASKED == [("b", 1), ("a", 2), ("x", 3)]


def test_no_more_at_a_time_than_allowed() -> None:
    driven(awaited=AwaitedCalls(concurrent=2)).send(*(I(key) for key in "abcdef"))
    assert max(running for _, running in ASKED) == 2


def test_a_cache_is_asked_first() -> None:
    join = driven(cache=PartialCacheOptions(max_rows=2))
    join.send(I("a"), I("b"))
    assert join.send(I("a"), I("b"), I("a")) == ["+I[a, a, A]", "+I[b, b, B]", "+I[a, a, A]"]
    assert [key for key, _ in ASKED] == ["a", "b"]
    # What a cache drops while a batch is joined is asked for again.
    assert join.send(I("c"), I("a"), I("b"))[1:] == ["+I[a, a, A]", "+I[b, b, B]"]
    assert [key for key, _ in ASKED[2:]] == ["c", "b"]


def test_what_is_not_found_is_looked_for_again() -> None:
    retry = RetryOptions(max_attempts=2, delay_ms=0)
    assert driven(Cities(misses=2), retry=retry).send(I("a")) == ["+I[a, a, A]"]
    assert driven(Cities(misses=3), retry=retry).send(I("a")) == ["+I[a, NULL, NULL]"]


def test_one_that_fails_or_takes_too_long_ends_the_job() -> None:
    with pytest.raises(HeadraceError, match=r"(?s)no such host.*lookup join"):
        driven(awaited=AwaitedCalls(retries=0)).send(I("a"), I("broken"))
    slow = driven(Cities(seconds=60), awaited=AwaitedCalls(timeout_ms=10, retries=0))
    with pytest.raises(HeadraceError, match=r"a look-up took longer than 0\.01 seconds"):
        slow.send(I("a"))
