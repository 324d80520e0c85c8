"""Joins with a table that is asked for each row."""

from __future__ import annotations

import pytest

from headrace.core.expressions import Column
from headrace.core.logical_types import INT, STRING
from headrace.errors import HeadraceError
from headrace.operators.table.lookup_cache import (
    FetchedInOneQuery,
    PartialCache,
    PartialCacheOptions,
    RetryOptions,
    retried,
)
from headrace.operators.table.lookup_join import LookupJoinOperator
from tests.unit.operators.table.driving import D, Driven, I, at_least
from tests.unit.operators.table.two_inputs import less_than

CITIES = {("a",): [("a", 1), ("a", 5)], ("b",): [("b", 2)]}


def find_city(values):
    if values == ("broken",):
        raise ConnectionError("no such host")
    return CITIES.get(values, [])


def join(left_outer=False, **options):
    return LookupJoinOperator(left_outer, 2, [Column(STRING, 0)], find_city, **options)


def test_each_row_is_joined_with_what_is_found():
    driven = Driven(join())
    assert driven.send(I("a", 0), I("x", 0), I(None, 0), D("b", 1)) == [
        "+I[a, 0, a, 1]", "+I[a, 0, a, 5]", "-D[b, 1, b, 2]",
    ]  # fmt: skip


def test_a_left_join_pads():
    driven = Driven(join(True))
    assert driven.send(I("x", 0), I(None, 0)) == ["+I[x, 0, NULL, NULL]", "+I[NULL, 0, NULL, NULL]"]


def test_conditions_before_and_after():
    driven = Driven(join(True, pre_filter=at_least(1, 2), condition=less_than(1, 3)))
    assert driven.send(I("a", 1), I("a", 2), I("a", 5)) == [
        "+I[a, 1, NULL, NULL]", "+I[a, 2, a, 5]", "+I[a, 5, NULL, NULL]",
    ]  # fmt: skip


def test_a_lookup_that_fails_names_the_row():
    with pytest.raises(HeadraceError, match=r"(?s)no such host.*lookup join.*'broken'"):
        Driven(join()).send(I("broken", 1))


def test_with_a_cache_the_results_are_the_same():
    driven = Driven(join(True, cache=PartialCacheOptions(max_rows=1)))
    assert driven.send(I("b", 0), I("b", 1), I("x", 1)) == [
        "+I[b, 0, b, 2]", "+I[b, 1, b, 2]", "+I[x, 1, NULL, NULL]",
    ]  # fmt: skip


class Asked:
    """A lookup that remembers what it was asked, and finds nothing the first times."""

    def __init__(self, misses=0):
        self.asked = []
        self.misses = misses

    def __call__(self, values):
        self.asked.append(values)
        return [] if len(self.asked) <= self.misses else find_city(values)


def cache(lookup, **options):
    clock = [0]
    return PartialCache(lookup, PartialCacheOptions(**options), lambda: clock[0]), clock


def test_a_partial_cache_asks_once_for_each_key_also_for_those_missing():
    asked = Asked()
    cached, _ = cache(asked)
    assert [len(cached(key)) for key in [("a",), ("a",), ("x",), ("x",)]] == [2, 2, 0, 0]
    assert asked.asked == [("a",), ("x",)]
    assert (cached.hits, cached.misses) == (2, 2)


def test_missing_keys_need_not_be_cached():
    asked = Asked()
    cached, _ = cache(asked, cache_missing_key=False)
    cached(("x",)), cached(("x",))
    assert len(asked.asked) == 2


def test_the_least_recently_used_goes_first():
    asked = Asked()
    cached, _ = cache(asked, max_rows=2)
    for key in ["a", "b", "a", "x", "a", "b"]:
        cached((key,))
    assert [key for (key,) in asked.asked] == ["a", "b", "x", "b"]


def test_entries_expire_after_writing_and_after_access():
    asked = Asked()
    cached, clock = cache(asked, expire_after_write_ms=100)
    other = Asked()
    touched, touched_clock = cache(other, expire_after_access_ms=100)
    for now in (0, 60, 120, 180):
        clock[0] = touched_clock[0] = now
        cached(("a",)), touched(("a",))
    assert len(asked.asked) == 2
    assert len(other.asked) == 1


def test_a_lookup_is_tried_again_until_it_finds_something():
    asked = Asked(misses=2)
    assert len(retried(asked, RetryOptions(max_attempts=3, delay_ms=0))(("a",))) == 2
    assert len(asked.asked) == 3
    never = Asked(misses=99)
    assert not retried(never, RetryOptions(max_attempts=3, delay_ms=0))(("a",))
    assert len(never.asked) == 4


def test_keys_may_be_any_expressions():
    operator = LookupJoinOperator(False, 1, [Column(INT, 1), Column(STRING, 0)], pair)
    assert Driven(operator).send(I("a", 1)) == ["+I[a, 1, a1]"]


def pair(values):
    return [(f"{values[1]}{values[0]}",)]


class AskedTogether:
    """A lookup of many keys at a time, which finds nothing the first times."""

    asks_together = True

    def __init__(self, misses=0):
        self.asked = []
        self.misses = misses

    def look_up_all(self, keys):
        self.asked.append(keys)
        return [[] if len(self.asked) <= self.misses else find_city(key) for key in keys]


def test_keys_asked_for_together_are_asked_for_again_together():
    asked = AskedTogether(misses=2)
    fetched = FetchedInOneQuery(asked, RetryOptions(max_attempts=4, delay_ms=0))
    fetched.fetch([("a",), ("x",), ("a",), ("b",)])
    assert [len(fetched((key,))) for key in "axb"] == [2, 0, 1]
    assert asked.asked == [[("a",), ("x",), ("b",)]] * 3 + [[("x",)]] * 2
    assert fetched(("b",)) == (("b", 2),)
    assert len(asked.asked) == 5
