"""The rows of a table of MySQL or MariaDB as they were at one place of the log."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from headrace.connectors.cdc import mysql_server
from headrace.connectors.cdc.capture import CapturedTable, Row, TableView
from headrace.connectors.cdc.mysql_places import Place
from headrace.connectors.cdc.mysql_server import ColumnNote
from headrace.connectors.cdc.mysql_values import select_expression
from headrace.connectors.cdc.places import Key
from headrace.connectors.jdbc.databases import Database
from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType

NUMBERS = ("tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "year")
TEXTS = ("char", "varchar", "tinytext", "text", "mediumtext", "longtext")
BYTES = ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob")
MOMENTS = {"date": "DATE", "datetime": "DATETIME(6)", "timestamp": "DATETIME(6)"}
_PLAIN = re.compile(r"[-+.:\d ]+")
_PREPARED_IS_IDLE_S, _LOOK_AGAIN_S = 1.0, 0.02
_LOCK_WAIT_S = 10
_BEGIN = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"


def literal(text: str, note: ColumnNote, type: LogicalType) -> str:
    """A value of a key as SQL has it, which compares as those of its column."""
    if note.type in TEXTS:
        given = f"CONVERT(X'{text.encode().hex()}' USING utf8mb4)"
        return f"CONVERT({given} USING {note.charset}) COLLATE {note.collation}"
    if note.type in BYTES:
        is_hex = isinstance(type, (lt.BinaryType, lt.VarBinaryType))
        digits = text[2:] if is_hex else text.encode().hex()  # after \\x
        return f"X'{digits}'"
    assert _PLAIN.fullmatch(text), text
    kind = MOMENTS.get(note.type)
    return text if kind is None else f"CAST('{text}' AS {kind})"


def after(left: Sequence[str], right: Sequence[str], *, or_equal: bool = False) -> str:
    """A condition: values come after others, in the order of a key."""
    first, *rest = zip(left, right, strict=True)
    name, bound = first
    if not rest:
        return f"{name} {'>=' if or_equal else '>'} {bound}"
    inner = after(left[1:], right[1:], or_equal=or_equal)
    # So that the key's index is used.
    return f"({name} >= {bound} AND ({name} > {bound} OR {inner}))"


class SnapshotView(TableView):
    """Pages of the table, read in one transaction. Each is a query of its own: none is kept open
    while rows are not taken."""

    def __init__(
        self,
        database: Database,
        table: CapturedTable,
        notes: Sequence[ColumnNote],
        start: Key | None,
        xa_between: Callable[[Place, Place], bool],
        convert: Callable[[Sequence[Any]], Row],
        json_key: Callable[[Row], Key],
    ):
        self._table, self._database = table, database
        self._notes = {note.name: note for note in notes}
        self._after, self._convert, self._json_key = start, convert, json_key
        self._connection = connection = database.connect("headrace table")
        try:
            connection.autocommit(True)
            _run(connection, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            if mysql_server.is_mariadb(connection):
                self.mark = _begin_at_a_place(connection, xa_between)
            else:
                self.mark = _begin_under_lock(connection, database, table.name)
            self.until = self.mark
            connection.decoders = {}
        except BaseException:
            self.close()
            raise

    def fetch(self, count: int) -> list[Row]:
        quote = self._database.quote
        names = ", ".join(
            select_expression(quote(name), self._notes[name].type) for name in self._table.columns
        )
        key = [quote(name) for name in self._table.key]
        query = f"SELECT {names} FROM {quote(self._table.name)}"
        if self._after is not None:
            query += f" WHERE {after(key, self._literals(self._after))}"
        query += f" ORDER BY {', '.join(key)} LIMIT {count}"
        with self._connection.cursor() as cursor:
            cursor.execute(query)
            found = [self._convert(row) for row in cursor.fetchall()]
        if found:
            self._after = self._json_key(found[-1])
        return found

    def _literals(self, key: Key) -> list[str]:
        types = [self._table.types[at] for at in self._table.key_places]
        return [
            literal(text, self._notes[name], type)
            for text, name, type in zip(key, self._table.key, types, strict=True)
        ]

    def close(self) -> None:
        self._connection.close()


def _begin_at_a_place(connection: Any, xa_between: Callable[[Place, Place], bool]) -> Place:
    """MariaDB tells the place of the log that belongs to a snapshot; no lock is needed. Only the
    end of a transaction that was prepared is in the log before its rows are seen."""
    seen_at: dict[Any, float] = {}
    while True:
        before, *_ = mysql_server.log_end(connection)
        now = time.monotonic()
        prepared = mysql_server.prepared_names(connection)
        seen_at = {name: seen_at.get(name, now) for name in prepared}
        if all(now - first >= _PREPARED_IS_IDLE_S for first in seen_at.values()):
            _run(connection, _BEGIN)
            mark = mysql_server.snapshot_place(connection)
            if mark <= before or not xa_between(before, mark):
                return mark
            _run(connection, "ROLLBACK")
        time.sleep(_LOOK_AGAIN_S)


def _begin_under_lock(connection: Any, database: Database, table: str) -> Place:
    """MySQL: while the table is locked nothing that changed it is half done; a moment is enough."""
    with closing(database.connect("headrace lock")) as locking:
        lock_table(locking, database, table)
        _run(connection, _BEGIN)
        mark, *_ = mysql_server.log_end(connection)
    return mark


def lock_table(connection: Any, database: Database, table: str) -> None:
    """Until the connection is closed."""
    _run(connection, f"SET SESSION lock_wait_timeout = {_LOCK_WAIT_S}")
    _run(connection, f"LOCK TABLES {database.quote(table)} READ")


def _run(connection: Any, statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
