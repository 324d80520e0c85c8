"""A table that is looked up in memory, and loaded again on a schedule."""

from __future__ import annotations

import datetime
import gc
import pickle
import threading
from collections.abc import Iterator
from datetime import UTC
from typing import Any

import pytest

from headrace.core.expressions import Column
from headrace.core.logical_types import STRING
from headrace.errors import HeadraceError, SourceUnavailable
from headrace.operators.table.full_cache import (
    FullCache,
    FullCacheOptions,
    PeriodicReload,
    TimedReload,
    WholeTable,
)
from headrace.operators.table.lookup_join import LookupJoinOperator
from headrace.testing import ScriptedSource
from tests.unit.operators.table.driving import Driven, I
from tests.unit.waiting import wait_until

ROWS = [("a", 1), ("a", 5), ("b", 2), (None, 3)]
NEVER = FullCacheOptions(PeriodicReload(3_600_000))
AT_ONCE = FullCacheOptions(PeriodicReload(1))


LOADS: list[int] = []


def load() -> Iterator[Any]:
    LOADS.append(1)
    yield from ROWS


def test_the_table_is_loaded_once_and_with_the_first_look_up() -> None:
    LOADS.clear()
    join = Driven(LookupJoinOperator(True, 2, [Column(STRING, 0)], FullCache(load, (0,), NEVER)))
    assert LOADS == []
    assert join.send(I("a", 0), I("x", 0), I(None, 0)) == [
        "+I[a, 0, a, 1]", "+I[a, 0, a, 5]", "+I[x, 0, NULL, NULL]", "+I[NULL, 0, NULL, NULL]",
    ]  # fmt: skip
    assert join.send(I("b", 0)) == ["+I[b, 0, b, 2]"]
    assert LOADS == [1]


def test_it_is_loaded_again_in_the_background() -> None:
    numbers = iter(range(1_000_000))
    cache = FullCache(lambda: [("a", next(numbers))], (0,), AT_ONCE)
    cache(("a",))
    wait_until(lambda: cache(("a",))[0][1] > 2, "a third load")
    cache.close()


def test_while_it_is_loaded_the_rows_that_are_there_are_found() -> None:
    loading, go_on, loads = threading.Event(), threading.Event(), []

    def load() -> list[Any]:
        loads.append(1)
        if len(loads) > 1:
            loading.set()
            go_on.wait(120)
        return [("a", len(loads))]

    cache = FullCache(load, (0,), AT_ONCE)
    assert cache(("a",)) == [("a", 1)]
    assert loading.wait(60)
    assert cache(("a",)) == [("a", 1)]
    go_on.set()
    wait_until(lambda: cache(("a",)) != [("a", 1)], "newer rows")
    cache.close()


def test_if_that_fails_the_next_look_up_fails() -> None:
    loads: list[int] = []

    def load() -> list[Any]:
        loads.append(1)
        if len(loads) > 1:
            raise SourceUnavailable("the server is away", hint="Start it.")
        return ROWS

    join = Driven(LookupJoinOperator(True, 2, [Column(STRING, 0)], FullCache(load, (0,), AT_ONCE)))

    with pytest.raises(HeadraceError, match=r"loaded again: the server is away") as raised:
        wait_until(lambda: not join.send(I("b", 0)), "a look-up that fails")
    assert "Start it." in str(raised.value)


def test_one_that_nobody_closes_ends_its_thread() -> None:
    before = set(threading.enumerate())
    cache = FullCache(lambda: ROWS, (0,), AT_ONCE)
    cache(("a",))
    (thread,) = set(threading.enumerate()) - before
    del cache
    gc.collect()
    thread.join(60)
    assert not thread.is_alive()


def test_it_travels_before_it_is_opened() -> None:
    source = ScriptedSource([[(0, "a", 1)], [(0, "b", 2), (0, "a", 3)]])
    cache = pickle.loads(pickle.dumps(FullCache(WholeTable(source), (0,), NEVER)))
    assert cache(("b",)) == [("b", 2)]
    cache.close()


def _ms(text: str) -> int:
    return int(datetime.datetime.fromisoformat(text).timestamp() * 1000)


def test_intervals_count_from_the_end_or_from_the_beginning() -> None:
    assert PeriodicReload(100).next_ms(None, 1000, 1030) == 1130
    assert PeriodicReload(100).next_ms(1000, 1010, 1030) == 1130
    assert PeriodicReload(100, True).next_ms(None, 1000, 1030) == 1100
    assert PeriodicReload(100, True).next_ms(1000, 1010, 1250) == 1100


@pytest.mark.parametrize(
    ("at", "now", "following"),
    [
        ("10:15Z", "2024-03-01T10:14:00Z", "2024-03-01T10:15:00Z"),
        ("10:15Z", "2024-03-01T10:16:00Z", "2024-03-02T10:15:00Z"),
        ("10:15+07:00", "2024-03-01T04:00:00Z", "2024-03-02T03:15:00Z"),
    ],
)
def test_times_of_the_day(at: str, now: str, following: str) -> None:
    schedule = TimedReload(datetime.time.fromisoformat(at), 3)
    first = schedule.next_ms(None, _ms(now), _ms(now) + 5)
    assert datetime.datetime.fromtimestamp(first / 1000, UTC).isoformat() == following.replace(
        "Z", "+00:00"
    )
    assert schedule.next_ms(first, first, first + 5) == first + 3 * 86_400_000


def test_a_time_of_the_day_without_a_zone_is_one_of_this_machine() -> None:
    now = datetime.datetime(2024, 3, 1, 12).astimezone()
    due = TimedReload(datetime.time(13)).next_ms(None, int(now.timestamp() * 1000), 0)
    assert due == int(now.replace(hour=13).timestamp() * 1000)
