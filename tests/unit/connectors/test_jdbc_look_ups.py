"""Look-ups of many keys, and on several connections, without a server."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from headrace.connectors.jdbc import looking_up, session_pool
from headrace.connectors.jdbc.databases import open_database
from headrace.connectors.jdbc.looking_up import JdbcLookup
from headrace.connectors.jdbc.options import JdbcConnectionOptions
from headrace.connectors.jdbc.scanning import TableQuery
from headrace.connectors.jdbc.session_pool import SessionPool
from headrace.core.logical_types import INT, STRING, LogicalType
from headrace.errors import UserFunctionFailed
from headrace.operators.table.awaited_calls import AwaitedCalls

POSTGRES = JdbcConnectionOptions("jdbc:postgresql://h/db", None, "me", "s3cret")


class FakeSession:
    """Stands for a connection; what it was asked is seen by the test."""

    def __init__(self, database: Any, **_: Any):
        self.ended = threading.Event()

    def cut(self) -> None:
        self.ended.set()

    def close(self) -> None:
        self.ended.set()


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(session_pool, "Session", FakeSession)
    return lambda size, timeout_ms=0: SessionPool(open_database(POSTGRES), size, timeout_ms)


def test_parts_run_at_the_same_time_and_answers_keep_their_order(pool: Any) -> None:
    together = threading.Barrier(3)

    def ask(session: Any, part: int) -> int:
        together.wait(60)
        return part * 10

    three = pool(3)
    assert three.map(ask, [1, 2, 3, 4, 5, 6]) == [10, 20, 30, 40, 50, 60]
    three.close()


def test_one_connection_needs_no_thread(pool: Any) -> None:
    asked = []
    pool(1).map(lambda _, part: asked.append((part, threading.current_thread())), [1, 2])
    assert asked == [(1, threading.current_thread()), (2, threading.current_thread())]


def test_what_fails_in_a_thread_fails_here(pool: Any) -> None:
    def ask(session: Any, part: int) -> int:
        raise ConnectionError(f"no {part}")

    two = pool(2)
    with pytest.raises(ConnectionError, match="no 1"):
        two.map(ask, [1, 2])
    two.close()


def test_what_takes_too_long_is_cut_off(pool: Any) -> None:
    two = pool(2, 10)
    with pytest.raises(UserFunctionFailed, match=r"a look-up took longer than 0\.01 seconds"):
        two.map(lambda session, _: session.ended.wait(60), [1])
    assert two.is_cut
    two.close()


def lookup(type: LogicalType, keys: tuple[int, ...] = (0,)) -> JdbcLookup:
    query = TableQuery("t", ("id", "name"), (type, STRING))
    return JdbcLookup(POSTGRES, query, keys, 3)


def asked_by(found: JdbcLookup, keys: list[Any]) -> list[tuple[str, list[Any]]]:
    asked: list[tuple[str, list[Any]]] = []

    def fetch(session: Any, text: str, values: Any) -> list[Any]:
        asked.append((text, list(values)))
        return []

    found.open()
    found._fetch = fetch  # type: ignore[method-assign]
    assert found.look_up_all(keys) == [[] for _ in keys]
    found.close()
    return asked


def test_whole_numbers_are_listed_in_few_lengths() -> None:
    text = 'SELECT "id", "name" FROM "t" WHERE ("id" IN (%s, %s, %s, %s))'
    assert asked_by(lookup(INT), [(1,), (2,), (1,), (3,)]) == [(text, [1, 2, 3, 3])]


def test_of_texts_the_database_says_which_are_equal() -> None:
    first = 'SELECT 0, "id", "name" FROM "t" WHERE ("id" = %s)'
    both = f"{first} UNION ALL {first.replace('0', '1')}"
    assert asked_by(lookup(STRING), [("a",), ("b",), ("a",)]) == [(both, ["a", "b"])]


def test_several_connections_share_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking_up, "_MOST_SESSIONS", 4)
    found = lookup(STRING).at_the_same_time(AwaitedCalls(concurrent=100))
    assert (found.sessions, found.timeout_ms) == (4, 180_000)
    asked = asked_by(found, [(each,) for each in "abcdefg"])
    assert sorted(values for _, values in asked) == [["a", "b"], ["c", "d"], ["e", "f"], ["g"]]
    assert lookup(STRING).sessions == 1
