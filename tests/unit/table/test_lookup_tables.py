"""Connectors of one's own whose tables are looked up."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from headrace.connectors.tables import register_connector
from headrace.core.logical_types import RowType
from headrace.core.source import Boundedness, SplitSpec
from headrace.core.table_connector import CatalogTable, TableConnector, TableSource
from headrace.errors import HeadraceError, InvalidArgument, InvalidQuery
from headrace.operators.table.full_cache import FullCacheOptions, PeriodicReload
from headrace.operators.table.lookup_cache import PartialCacheOptions
from headrace.table import Table, TableEnvironment
from headrace.testing import ScriptedSource
from tests.unit.table.in_process import changes_of, table_environment

ASKED: list[int] = []
HOURLY = FullCacheOptions(PeriodicReload(3_600_000))


async def awaited(key: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    await asyncio.sleep(0.001 if key[0] < 9 else 60)
    return plain(key)


def plain(key: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    ASKED.append(key[0])
    return [(key[0], f"user {key[0]}", key[0] % 2 == 0)]


@dataclass(frozen=True)
class Users(TableSource):
    way: str
    cache: Any = None

    def lookup(self, keys: tuple[int, ...]) -> Any:
        return awaited if self.way == "async" else plain


@dataclass(frozen=True)
class InMemory(Users):
    """It may not be asked for a key: all of its rows are loaded."""

    cache: Any = HOURLY

    def reader(self) -> Any:
        rows = [(0, key, f"user {key}", key % 2 == 0) for key in range(4)]
        return SplitSpec(_Bounded([rows]))


class _Bounded(ScriptedSource):
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED


@dataclass(frozen=True)
class UsersConnector(TableConnector):
    identifier: str = "looked-up-users"

    def source(self, table: CatalogTable, row: RowType, options: Mapping[str, str]) -> TableSource:
        cache = PartialCacheOptions() if "cached" in options else None
        if options["way"] == "memory":
            return InMemory("plain")
        return Users(options["way"], cache)


def environment(way: str, cached: str = "") -> TableEnvironment:
    register_connector(UsersConnector())
    ASKED.clear()
    env = table_environment()
    env.execute_sql(
        f"CREATE TABLE users (id INT, name STRING, even BOOLEAN) "
        f"WITH ('connector' = 'looked-up-users', 'way' = '{way}'{cached})"
    )
    return env


def joined(env: TableEnvironment, *ids: int, hint: str = "") -> Table:
    values = ", ".join(f"({each})" for each in ids)
    env.execute_sql(
        "CREATE TEMPORARY VIEW clicks AS "
        f"SELECT *, PROCTIME() AS p FROM (VALUES {values}) AS t (id)"
    )
    return env.sql_query(
        f"SELECT {hint} c.id, u.name FROM clicks AS c "
        "LEFT JOIN users FOR SYSTEM_TIME AS OF c.p AS u ON c.id = u.id AND u.even"
    )


@pytest.mark.parametrize("way", ["plain", "async"])
def test_plain_and_awaited_lookups_are_the_same(way: str) -> None:
    assert changes_of(joined(environment(way), 1, 2, 1)) == [
        "+I[1, null]", "+I[2, user 2]", "+I[1, null]",
    ]  # fmt: skip
    expected = [1, 2, 1] if way == "plain" else [1, 2]
    assert expected == ASKED


@pytest.mark.parametrize("way", ["plain", "async"])
def test_a_source_may_have_a_cache(way: str) -> None:
    assert len(changes_of(joined(environment(way, ", 'cached' = 'yes'"), 2, 2, 2))) == 3
    assert ASKED == [2]


def test_a_table_in_memory_is_asked_nothing_and_not_again() -> None:
    retry = "/*+ LOOKUP('table'='u', 'retry-predicate'='lookup_miss', "
    retry += "'retry-strategy'='fixed_delay', 'fixed-delay'='1 h', 'max-attempts'='3') */"
    assert changes_of(joined(environment("memory"), 1, 2, 9, hint=retry)) == [
        "+I[1, null]", "+I[2, user 2]", "+I[9, null]",
    ]  # fmt: skip
    assert ASKED == []


def test_a_hint_gives_look_ups_their_time() -> None:
    hint = "/*+ LOOKUP('table'='u', 'async'='true', 'timeout'='20 ms', 'capacity'='2') */"
    with pytest.raises(HeadraceError, match=r"took longer than 0\.02 seconds"):
        changes_of(joined(environment("async"), 9, hint=hint))


def test_a_hint_that_makes_no_sense_is_refused() -> None:
    hint = "/*+ LOOKUP('table'='u', 'async'='true', 'capacity'='none') */"
    with pytest.raises(InvalidQuery, match="'capacity' is a whole number above 0, not 'none'"):
        joined(environment("async"), 1, hint=hint)


def test_a_hint_has_no_effect_on_a_table_that_cannot_do_it() -> None:
    hint = "/*+ LOOKUP('table'='u', 'async'='true', 'output-mode'='allow_unordered') */"
    assert changes_of(joined(environment("plain"), 2, hint=hint)) == ["+I[2, user 2]"]


def test_a_lookup_has_its_time() -> None:
    env = environment("async")
    env.get_config().set("table.exec.async-lookup.timeout", "20 ms")
    with pytest.raises(HeadraceError, match=r"took longer than 0\.02 seconds"):
        changes_of(joined(env, 9))


def test_options_of_awaited_calls() -> None:
    env = table_environment()
    settings = env._execution.settings
    scalar, lookup = "table.exec.async-scalar.", "table.exec.async-lookup."
    assert settings.awaited_lookups.concurrent == 100
    for key, value in {
        f"{scalar}buffer-capacity": "4", f"{scalar}timeout": "1 min", f"{scalar}max-attempts": "7",
        f"{scalar}retry-delay": "2 s", f"{lookup}buffer-capacity": "8",
    }.items():  # fmt: skip
        env.get_config().set(key, value)
    made = settings.awaited_calls
    assert (made.concurrent, made.timeout_ms, made.retries, made.delay_ms) == (4, 60_000, 7, 2000)
    assert settings.awaited_lookups.concurrent == 8
    env.get_config().set(f"{scalar}max-concurrent-operations", "5")
    env.get_config().set(f"{scalar}retry-strategy", "NO_RETRY")
    assert (settings.awaited_calls.concurrent, settings.awaited_calls.retries) == (5, 0)


@pytest.mark.parametrize(
    ("option", "value"), [("max-attempts", "often"), ("retry-strategy", "EXPONENTIAL"),
                          ("timeout", "soon"), ("buffer-capacity", "0")],
)  # fmt: skip
def test_options_that_make_no_sense(option: str, value: str) -> None:
    env = table_environment()
    env.get_config().set(f"table.exec.async-scalar.{option}", value)
    with pytest.raises(InvalidArgument, match=option):
        changes_of(env.sql_query("SELECT 1"))
