"""Rows of a table by the values of some columns, for lookup joins."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from headrace.connectors.jdbc.databases import open_database
from headrace.connectors.jdbc.options import JdbcConnectionOptions
from headrace.connectors.jdbc.scanning import TableQuery
from headrace.connectors.jdbc.session_pool import SessionPool
from headrace.connectors.jdbc.sessions import Session
from headrace.connectors.jdbc.statements import parse_statement
from headrace.connectors.jdbc.table_values import Converts, inward, outward
from headrace.core import logical_types as lt
from headrace.operators.table.awaited_calls import AwaitedCalls
from headrace.operators.table.hashable_rows import lookup_form, selector

_LISTED, _UNITED = 256, 64
"""How many keys one query asks for, in a list or as queries that are united."""
_MOST_SESSIONS = 8
"""Of one task: a database has few hundred for all."""
Row = tuple[Any, ...]
Answer = list[tuple[int, Row]]
"""Rows, each with the number of the key that it was found by."""


class JdbcLookup:
    """Asks the database for the rows of many keys together; `at_the_same_time` on several
    connections, for a database that takes its time."""

    asks_together = True

    def __init__(
        self,
        connection: JdbcConnectionOptions,
        query: TableQuery,
        keys: tuple[int, ...],
        max_retries: int,
    ):
        self.connection = connection
        self.query = query
        self.keys = keys
        self.max_retries = max_retries
        self.sessions = 1
        self.timeout_ms = 0
        # Of other types a database may call equal what is not: texts without regard to case.
        types = [query.types[at] for at in keys]
        self._is_listed = all(isinstance(type, lt.INTEGERS) for type in types)

    def at_the_same_time(self, calls: AwaitedCalls) -> JdbcLookup:
        """The same, asynchronous."""
        changed = copy.copy(self)
        changed.sessions = min(calls.concurrent, _MOST_SESSIONS)
        changed.timeout_ms = calls.timeout_ms
        return changed

    def open(self) -> None:
        self._database = database = open_database(self.connection)
        self._pool = SessionPool(database, self.sessions, self.timeout_ms)
        self._inward: Converts = inward(self.query.types)
        types = [self.query.types[at] for at in self.keys]
        self._outward: Converts = outward(types, database.address.kind)
        self._key_of = selector(self.keys)
        names = [database.quote(self.query.columns[at]) for at in self.keys]
        self._one_key = " AND ".join(f"{name} = ?" for name in names)
        self._of_keys = names[0] if len(names) == 1 else f"({', '.join(names)})"
        self._mark = "?" if len(names) == 1 else f"({', '.join('?' for _ in names)})"
        self._texts: dict[int, str] = {}

    def close(self) -> None:
        if hasattr(self, "_pool"):
            self._pool.close()

    def __call__(self, key: Row) -> list[Row]:
        return self.look_up_all([key])[0]

    def look_up_all(self, keys: Sequence[Row]) -> list[list[Row]]:
        """The rows of each of the keys."""
        found: dict[Row, list[Row]] = {lookup_form(key): [] for key in keys}
        distinct = list(found)
        most = _LISTED if self._is_listed else _UNITED
        size = min(most, max(1, -(-len(distinct) // self.sessions)))
        parts = [distinct[start : start + size] for start in range(0, len(distinct), size)]
        answers = self._pool.map(self._ask_listed if self._is_listed else self._ask_united, parts)
        for part, answer in zip(parts, answers, strict=True):
            for number, row in answer:
                found[part[number]].append(row)
        return [found[lookup_form(key)] for key in keys]

    def _ask_listed(self, session: Session, keys: list[Row]) -> Answer:
        """SELECT … WHERE key IN (…), of which each row tells its key."""
        size = 1 << (len(keys) - 1).bit_length()  # few statements for the database to plan
        if size not in self._texts:
            marks = ", ".join([self._mark] * size)
            text = self.query.text(self._database, f"{self._of_keys} IN ({marks})")
            self._texts[size] = self._statement(text)
        padded = [*keys, *(keys[-1:] * (size - len(keys)))]
        values = [*self.query.values, *(value for key in padded for value in key)]
        numbers = {key: number for number, key in enumerate(keys)}
        rows = map(self._inward, self._fetch(session, self._texts[size], values))
        return [(numbers[self._key_of(row)], row) for row in rows]

    def _ask_united(self, session: Session, keys: list[Row]) -> Answer:
        """SELECT 0, … WHERE key = ? UNION ALL SELECT 1, …: which are equal the database says."""
        size = len(keys)
        if size not in self._texts:
            one = self.query.text(self._database, self._one_key).removeprefix("SELECT ")
            selects = [f"SELECT {number}, {one}" for number in range(size)]
            self._texts[size] = self._statement(" UNION ALL ".join(selects))
        values = [value for key in keys for value in (*self.query.values, *self._outward(key))]
        rows = self._fetch(session, self._texts[size], values)
        return [(row[0], self._inward(row[1:])) for row in rows]

    def _statement(self, text: str) -> str:
        return parse_statement(text, self._database.address.kind).text

    def _fetch(self, session: Session, text: str, values: Sequence[Any]) -> list[Row]:
        def run(connection: Any) -> list[Row]:
            with connection.cursor() as cursor:
                cursor.execute(text, values)
                rows: list[Row] = cursor.fetchall()
            return rows

        return session.attempt(
            run, "cannot look up rows in", self.max_retries, lambda: not self._pool.is_cut
        )
