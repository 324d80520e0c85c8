"""Rows of a table by the values of some columns, for lookup joins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.connectors.jdbc.databases import open_database
from headrace.connectors.jdbc.options import JdbcConnectionOptions
from headrace.connectors.jdbc.scanning import TableQuery
from headrace.connectors.jdbc.sessions import Session
from headrace.connectors.jdbc.statements import parse_statement
from headrace.connectors.jdbc.table_values import Converts, inward, outward
from headrace.core import logical_types as lt

_AT_ONCE = 256
"""How many keys one query asks for."""
Row = tuple[Any, ...]


class JdbcLookup:
    """Asks the database for the rows of a key, or of many keys together."""

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
        types = [query.types[at] for at in keys]
        # Of other types a database may call equal what is not: texts without regard to case.
        self.asks_together = all(isinstance(type, lt.INTEGERS) for type in types)

    def open(self) -> None:
        self._database = database = open_database(self.connection)
        self._session = Session(database)
        self._inward: Converts = inward(self.query.types)
        types = [self.query.types[at] for at in self.keys]
        self._outward: Converts = outward(types, database.address.kind)
        names = [database.quote(self.query.columns[at]) for at in self.keys]
        self._one = self._statement(" AND ".join(f"{name} = ?" for name in names))
        self._of_keys = names[0] if len(names) == 1 else f"({', '.join(names)})"
        self._mark = "?" if len(names) == 1 else f"({', '.join('?' for _ in names)})"
        self._many: dict[int, str] = {}

    def _statement(self, condition: str) -> str:
        text = self.query.text(self._database, condition)
        return parse_statement(text, self._database.address.kind).text

    def close(self) -> None:
        if hasattr(self, "_session"):
            self._session.close()

    def __call__(self, key: Row) -> list[Row]:
        return self._rows(self._one, self._outward(key))

    def look_up_all(self, keys: Sequence[Row]) -> list[list[Row]]:
        """The rows of each of the keys."""
        if not self.asks_together:
            return [self(key) for key in keys]
        found: dict[Row, list[Row]] = {key: [] for key in keys}
        distinct = list(found)
        for start in range(0, len(distinct), _AT_ONCE):
            for row in self._ask(distinct[start : start + _AT_ONCE]):
                found[tuple(row[at] for at in self.keys)].append(row)
        return [found[key] for key in keys]

    def _ask(self, keys: list[Row]) -> list[Row]:
        size = 1 << (len(keys) - 1).bit_length()
        if size not in self._many:  # few sizes, so that the database has few statements to plan
            marks = ", ".join([self._mark] * size)
            self._many[size] = self._statement(f"{self._of_keys} IN ({marks})")
        padded = [*keys, *(keys[-1:] * (size - len(keys)))]
        return self._rows(self._many[size], [value for key in padded for value in key])

    def _rows(self, text: str, values: Sequence[Any]) -> list[Row]:
        def run(connection: Any) -> list[Row]:
            with connection.cursor() as cursor:
                cursor.execute(text, [*self.query.values, *values])
                rows = cursor.fetchall()
            connection.rollback()  # the next look-up sees what others have committed by then
            return [self._inward(row) for row in rows]

        return self._session.attempt(run, "cannot look up rows in", self.max_retries)
