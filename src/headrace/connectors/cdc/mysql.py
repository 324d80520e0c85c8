"""MySQL and MariaDB: rows in pages of one snapshot, changes by the binary log."""

from __future__ import annotations

import logging
import random
import re
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from headrace.connectors.cdc import mysql_server
from headrace.connectors.cdc.binlog_events import Query
from headrace.connectors.cdc.binlog_wire import BinlogWire
from headrace.connectors.cdc.capture import (
    Capture,
    CapturedTable,
    Change,
    ChangeLog,
    TableView,
    Transaction,
)
from headrace.connectors.cdc.mysql_checks import check_log, check_privileges, check_table
from headrace.connectors.cdc.mysql_log import BinlogLog
from headrace.connectors.cdc.mysql_places import (
    FIRST_OFFSET,
    file_of,
    place_of,
    place_text,
)
from headrace.connectors.cdc.mysql_places import (
    Place as LogPlace,
)
from headrace.connectors.cdc.mysql_rows import TableRows
from headrace.connectors.cdc.mysql_server import ColumnNote
from headrace.connectors.cdc.mysql_values import row_texts
from headrace.connectors.cdc.mysql_view import NUMBERS, SnapshotView, after, literal
from headrace.connectors.cdc.places import Key, Place
from headrace.connectors.jdbc.sessions import Session

_LOG = logging.getLogger("headrace")
_CHANGES = re.compile(r"(INSERT|UPDATE|DELETE|REPLACE|LOAD|TRUNCATE|DROP|RENAME)\b", re.IGNORECASE)
_ROWS_AS_TEXT = ("INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD")
_DOING = "cannot follow a table of"


def mysql_url(host: str, port: int, database: str, properties: str = "") -> str:
    rest = f"?{properties}" if properties else ""
    return f"jdbc:mysql://{host}:{port}/{quote(database)}{rest}"


class MySqlCapture(Capture):
    """Settings: `server_ids` (a range, or None), `zone`, and `file` and `offset` or `millis` of
    where to begin."""

    def __init__(self, table: CapturedTable):
        super().__init__(table)
        self._zone = ZoneInfo(table.settings["zone"])
        self._notes: list[ColumnNote] | None = None
        self._asking: Session | None = None

    # Beside the driver.

    def prepare(self) -> Place:
        place: Place = self._with_session(self._prepare)
        return place

    def check_going_on(self) -> None:
        self._with_session(self._check)

    def _with_session(self, action: Callable[[Any], Any]) -> Any:
        session = Session(self.database, on_connect=_commit_each)
        try:
            return session.attempt(action, _DOING)
        finally:
            session.close()

    def _check(self, connection: Any) -> None:
        check_table(self, connection)
        check_log(self, connection)
        check_privileges(self, connection)

    def _prepare(self, connection: Any) -> Place:
        self._check(connection)
        end, *_ = mysql_server.log_end(connection)
        settings = self.table.settings
        match self.table.startup:
            case "initial":
                return Place(end, reads_table=True)
            case "earliest-offset":
                return Place(mysql_server.first_place(connection))
            case "specific-offset":
                place = place_of(settings["file"], settings["offset"])
                self.check_place(connection, place)
                return Place(place)
            case "timestamp":
                return Place(self._place_at(connection, settings["millis"]))
        return Place(end)

    def _place_at(self, connection: Any, millis: int) -> LogPlace:
        """Before the first transaction that was committed then or later."""
        starts = [place_of(file, FIRST_OFFSET) for file, _ in mysql_server.log_files(connection)]
        place = next(
            filter(lambda start: self._began_by(start, millis), reversed(starts)), starts[0]
        )
        end, *_ = mysql_server.log_end(connection)
        with closing(self._open(place, follow=False, of_table=False)) as log:
            for transaction in log.read_until(end):
                if transaction.millis >= millis:
                    return place
                place = transaction.end
        return end

    def _began_by(self, start: LogPlace, millis: int) -> bool:
        with closing(self._open(start, follow=False, of_table=False)) as log:
            return log.began_at() * 1000 <= millis

    def check_place(self, connection: Any, place: LogPlace) -> None:
        """Whether the server has what follows a place."""
        files = mysql_server.log_files(connection)
        first = place_of(*files[0])
        if place[0] < first[0] and place[2] == first[2]:
            raise self.broken(
                f"was not followed for too long: the log from {place_text(place)} on is purged, "
                f"and begins with {files[0][0]}",
                "Start the job without its checkpoint: it reads the table anew. A longer "
                "binlog_expire_logs_seconds keeps more of the log.",
            )
        if dict(files).get(file_of(place), -1) < place[1]:
            raise self.broken(
                f"has no place {place_text(place)} in its log, which ends with {files[-1][0]}",
                "Is it another server, or did it lose the end of its log? Start the job without "
                "its checkpoint: it reads the table anew.",
            )

    # Where it is read.

    def open_view(self, after: Key | None) -> TableView:
        by_name = {note.name: note for note in self.column_notes()}
        kinds = [by_name[name].type for name in self.table.columns]
        convert = row_texts(self.table, kinds, self._zone)
        notes = [by_name[name] for name in self.table.columns]
        return SnapshotView(
            self.database, self.table, notes, after, self._ends_xa, convert, self.json_key
        )

    def open_log(self, log: LogPlace) -> ChangeLog:
        self._with_session(lambda connection: self.check_place(connection, log))
        return self._open(log, follow=True, of_table=True, find_prepared=self._find_prepared)

    def _open(
        self,
        start: LogPlace,
        *,
        follow: bool,
        of_table: bool,
        find_prepared: Callable[[str, LogPlace], list[Change]] | None = None,
    ) -> BinlogLog:
        connection = self.database.connect("headrace changes")
        try:
            connection.autocommit(True)
            rows = TableRows(
                self.table if of_table else None,
                self._zone,
                mysql_server.charsets(connection) if of_table else {},
                self.broken,
                of_mariadb=mysql_server.is_mariadb(connection),
            )
            wire = BinlogWire(
                connection, self._server_id(follow), file_of(start), start[1], follow=follow
            )
        except BaseException:
            connection.close()
            raise
        on_statement = self._on_statement if follow else _pass_over
        return BinlogLog(wire, start, rows, on_statement, self.broken, find_prepared)

    def _server_id(self, follow: bool) -> int:
        """No other reader may have the same: the server would end its stream."""
        given = self.table.settings["server_ids"]
        if given is None or not follow:
            return random.SystemRandom().randrange(1 << 30, 1 << 32)
        low, high = given
        return random.SystemRandom().randint(low, high)

    def _ends_xa(self, start: LogPlace, end: LogPlace) -> bool:
        """Whether a transaction that was prepared ended, or one was prepared, between places."""
        with closing(self._open(start, follow=False, of_table=False)) as log:
            for _ in log.read_until(end):
                pass
            return log.saw_xa

    def _find_prepared(self, name: str, before: LogPlace) -> list[Change]:
        """The changes of a prepared transaction, which are somewhere before its end."""
        files = self._with_session(mysql_server.log_files)
        for file, _ in reversed(files):
            start = place_of(file, FIRST_OFFSET)
            if start > before:
                continue
            with closing(self._open(start, follow=False, of_table=False)) as log:
                for _ in log.read_until(min(before, [start[0] + 1, FIRST_OFFSET, start[2]])):
                    pass
            if name in log.prepared_at:
                return self._prepared_changes(name, *log.prepared_at[name])
        raise self.broken(
            f"has a transaction {name} that was committed after it was prepared in a part of the "
            "log that is purged",
            "Start the job without its checkpoint: it reads the table anew.",
        )

    def _prepared_changes(self, name: str, start: LogPlace, end: LogPlace) -> list[Change]:
        """Of this transaction alone: before it the table may have had other columns."""
        with closing(self._open(start, follow=False, of_table=True)) as log:
            for _ in log.read_until(end):
                pass
            return log.prepared[name]

    def _on_statement(self, query: Query) -> None:
        """Texts tell nothing of rows."""
        found = _CHANGES.match(query.text.strip())
        if found is None or self.table.name.lower() not in query.text.lower():
            return
        if found[1].upper() in _ROWS_AS_TEXT and query.database == self.table.database:
            raise self.broken(
                "was perhaps changed by a statement that is in the log as a text: "
                f"{query.text.strip()[:40]}…",
                "SET GLOBAL binlog_format = 'ROW', and see that no session has another; then start "
                "the job without its checkpoint.",
            )
        if found[1].upper() not in _ROWS_AS_TEXT:
            _LOG.warning(
                "%s: a statement took rows away whole, of which no change tells: %s",
                self.where(),
                query.text.strip()[:200],
            )

    def has_seen(self, mark: LogPlace, transaction: Transaction) -> bool:
        return bool(transaction.end <= mark)

    def is_upto(self, key: Key, bound: Key) -> bool:
        notes = {note.name: note for note in self.column_notes()}
        key_notes = [notes[name] for name in self.table.key]
        if all(note.type in NUMBERS for note in key_notes):
            return [Decimal(text) for text in key] <= [Decimal(text) for text in bound]
        types = [self.table.types[at] for at in self.table.key_places]
        left, right = (
            [literal(*each) for each in zip(texts, key_notes, types, strict=True)]
            for texts in (bound, key)
        )
        if self._asking is None:
            self._asking = Session(self.database, on_connect=_commit_each)
        query = f"SELECT {after(left, right, or_equal=True)}"
        (found,) = self._asking.attempt(
            lambda connection: mysql_server.rows(connection, query), "cannot compare keys in"
        )
        return bool(found[0])

    def column_notes(self) -> list[ColumnNote]:
        if self._notes is None:
            self._notes = self._with_session(
                lambda connection: mysql_server.columns_of(connection, self.table.name)
            )
        return self._notes


def _pass_over(query: Query) -> None:
    """Of a log that is searched, and not followed."""


def _commit_each(connection: Any) -> None:
    connection.autocommit(True)
