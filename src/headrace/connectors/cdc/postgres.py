"""PostgreSQL: a publication and a slot; rows by a cursor, changes by logical decoding."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from headrace.connectors.cdc.capture import Capture, CapturedTable, ChangeLog, Row, Transaction
from headrace.connectors.cdc.capture import TableView as View
from headrace.connectors.cdc.pgoutput import PgOutput, Relation, RowChanges
from headrace.connectors.cdc.places import Key, Place
from headrace.connectors.cdc.places import View as SeenView
from headrace.connectors.cdc.postgres_log import ReplicationLog, lsn_number, lsn_text
from headrace.connectors.cdc.postgres_values import IN_ISO, read_text
from headrace.connectors.cdc.row_texts import RowTexts
from headrace.connectors.jdbc.databases import Database, open_database
from headrace.connectors.jdbc.options import JdbcConnectionOptions
from headrace.connectors.jdbc.sessions import Session

_SEEN = "SELECT pg_current_snapshot()::text, pg_current_wal_insert_lsn()::text"
_SLOT = (
    "SELECT plugin, database, confirmed_flush_lsn::text, wal_status FROM pg_replication_slots "
    "WHERE slot_name = %s"
)
_TABLE = (
    "SELECT c.relkind::text, c.relreplident::text, has_table_privilege(c.oid, 'SELECT') "
    "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = %s AND c.relname = %s"
)
_MAY_REPLICATE = "SELECT rolsuper OR rolreplication FROM pg_roles WHERE rolname = current_user"
_WHOLE = 1 << 32


def postgres_url(host: str, port: int, database: str, properties: str = "") -> str:
    """An address whose sessions send texts as they are read here."""
    settings = f"options={quote(IN_ISO)}"
    rest = f"&{properties}" if properties else ""
    return f"jdbc:postgresql://{host}:{port}/{quote(database)}?{settings}{rest}"


class PostgresCapture(Capture):
    """Settings: `slot` and `publication`."""

    def __init__(self, table: CapturedTable):
        super().__init__(table)
        self._slot: str = table.settings["slot"]
        self._publication: str = table.settings["publication"]
        self._texts = RowTexts(table, [read_text(type) for type in table.types])
        self._asking: Session | None = None

    # Beside the driver.

    def prepare(self) -> Place:
        session = Session(self.database, on_connect=_commit_each)
        try:
            return session.attempt(self._prepare, "cannot follow a table of")
        finally:
            session.close()

    def check_going_on(self) -> None:
        session = Session(self.database, on_connect=_commit_each)
        try:
            session.attempt(self._check_slot, "cannot follow a table of")
        finally:
            session.close()

    def _prepare(self, connection: Any) -> Place:
        self._check(connection)
        self._publish(connection)
        if connection.execute(_SLOT, (self._slot,)).fetchone() is None:
            connection.execute(
                "SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (self._slot,)
            )
        log = self._check_slot(connection)
        if self.table.startup == "initial":
            return Place(log, reads_table=True)
        if self.table.startup == "latest-offset":
            mark, until = _seen_now(connection)
            return Place(log, views=(SeenView(mark),), until=until)
        return Place(log)

    def _check(self, connection: Any) -> None:
        level = connection.execute("SHOW wal_level").fetchone()[0]
        if level != "logical":
            raise self.refuse(
                f"cannot be followed: wal_level is {level}",
                "Set wal_level = logical in postgresql.conf, and start the server again.",
            )
        found = connection.execute(_TABLE, (self.table.schema, self.table.name)).fetchone()
        names = [note.name for note in self.database.columns(connection, self.table.path)]
        if found and not found[2]:
            raise self.refuse(
                f"cannot be read by user {self.database.user!r}",
                f"GRANT SELECT ON {self.table.path} TO {self.database.user}.",
            )
        _, key = self.database.primary_key(connection, self.table.path)
        self.check_columns(names if found else (), key)
        kind, identity, _ = found
        if kind != "r":
            raise self.refuse("is no plain table", "Follow each partition; views have no changes.")
        if identity != "f" and not self.table.upsert:
            raise self.refuse(
                "does not tell the rows that are changed: its REPLICA IDENTITY is not FULL",
                f"ALTER TABLE {self.table.path} REPLICA IDENTITY FULL; or set "
                "'changelog-mode' = 'upsert', with which updates have no row before.",
            )
        if not connection.execute(_MAY_REPLICATE).fetchone()[0]:
            raise self.refuse(
                f"cannot be followed by user {self.database.user!r}",
                f"ALTER ROLE {self.database.user} REPLICATION.",
            )

    def _publish(self, connection: Any) -> None:
        found = connection.execute(
            "SELECT schemaname, tablename FROM pg_publication_tables WHERE pubname = %s",
            (self._publication,),
        ).fetchall()
        mine = (self.table.schema, self.table.name)
        if found and mine not in found:
            raise self.refuse(
                f"is not in the publication {self._publication!r}, which is of "
                f"{', '.join('.'.join(each) for each in found)}",
                "Give each table a 'slot.name' of its own.",
            )
        if not found:
            quoted = self.database.quote_table(self.table.path)
            name = self.database.quote(self._publication)
            connection.execute(f"CREATE PUBLICATION {name} FOR TABLE ONLY {quoted}")

    def _check_slot(self, connection: Any) -> int:
        found = connection.execute(_SLOT, (self._slot,)).fetchone()
        if found is None:
            raise self.broken(
                f"had the slot {self._slot!r}, which is gone: changes are lost",
                "Start the job without its checkpoint: it reads the table anew.",
            )
        plugin, database, confirmed, status = found
        if plugin != "pgoutput" or database != self.table.database:
            raise self.refuse(
                f"cannot use the slot {self._slot!r}: it is of {plugin} in database {database}",
                "Choose another 'slot.name'.",
            )
        if status == "lost":
            raise self.broken(
                f"was not followed for too long: what the slot {self._slot!r} needs is removed",
                f"SELECT pg_drop_replication_slot('{self._slot}'), raise max_slot_wal_keep_size, "
                "and start the job without its checkpoint.",
            )
        return lsn_number(confirmed)

    def confirm(self, log: int) -> None:
        with closing(self.database.connect()) as connection:
            connection.autocommit = True
            connection.execute(
                "SELECT pg_replication_slot_advance(slot_name, %s) FROM pg_replication_slots "
                "WHERE slot_name = %s AND confirmed_flush_lsn < %s",
                (lsn_text(log), self._slot, lsn_text(log)),
            )

    # Where it is read.

    def open_view(self, after: Key | None) -> View:
        return _Rows(self, after)

    def open_log(self, log: int) -> ChangeLog:
        session = Session(self.database, on_connect=_commit_each)
        try:
            confirmed = self._check_slot(session.connection())
        finally:
            session.close()
        if confirmed > log:
            raise self.broken(
                f"cannot go on at {lsn_text(log)}: the slot {self._slot!r} is at "
                f"{lsn_text(confirmed)}, and what was before is lost",
                "Does another job use this slot? Start this one without its checkpoint.",
            )
        table = self.table
        changes = RowChanges(
            table.columns, table.key_places, self._texts, self.broken, table.upsert
        )
        replicating = _replicating(self.table.connection)
        connection = replicating.connect("headrace changes")
        try:
            decoder = PgOutput(changes, self._refuse_truncate)
            return ReplicationLog(connection, self._slot, self._publication, log, decoder)
        except BaseException:
            connection.close()
            raise

    def _refuse_truncate(self, relation: Relation) -> None:
        raise self.broken(
            "was truncated, which does not tell the rows that are gone",
            "Use DELETE. To go on now, start the job without its checkpoint: it reads the table "
            "anew.",
        )

    def has_seen(self, mark: Any, transaction: Transaction) -> bool:
        """By the transaction's number, of which a message has the last 32 bits."""
        upto, running = mark
        number = upto + ((transaction.id - upto + _WHOLE // 2) % _WHOLE) - _WHOLE // 2
        return number < upto and number not in running

    def is_upto(self, key: Key, bound: Key) -> bool:
        if self._asking is None:
            self._asking = Session(self.database, on_connect=_commit_each)
        quoted = [self.database.quote(name) for name in self.table.key]
        names = ", ".join(quoted)
        table = self.database.quote_table(self.table.path)
        marks = ", ".join("%s" for _ in key)
        # A union gives the texts the columns' types and order.
        union = f"(SELECT {names} FROM {table} WHERE false UNION ALL SELECT {marks})"
        query = (
            f"SELECT ROW({_with('a', quoted)}) <= ROW({_with('b', quoted)}) "
            f"FROM {union} AS a ({names}), {union} AS b ({names})"
        )
        found = self._asking.attempt(
            lambda connection: connection.execute(query, (*key, *bound)).fetchone(),
            "cannot compare keys in",
        )
        return bool(found[0])

    def texts(self, row: list[str | None]) -> Row:
        return self._texts(row)


class _Rows(View):
    """A cursor in a transaction that sees one moment."""

    def __init__(self, capture: PostgresCapture, after: Key | None):
        self._capture = capture
        table, database = capture.table, capture.database
        self._connection = connection = database.connect("headrace table")
        try:
            connection.autocommit = True
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            self.mark, self.until = _seen_now(connection)
            names = ", ".join(map(database.quote, table.columns))
            key = ", ".join(map(database.quote, table.key))
            query = f"SELECT {names} FROM {database.quote_table(table.path)}"
            if after is not None:
                query += f" WHERE ROW({key}) > ROW({', '.join(map(_literal, after))})"
            connection.execute(f"DECLARE headrace NO SCROLL CURSOR FOR {query} ORDER BY {key}")
        except BaseException:
            connection.close()
            raise

    def fetch(self, count: int) -> list[Row]:
        found = self._connection.execute(f"FETCH {count} FROM headrace").pgresult
        width, texts = range(found.nfields), self._capture.texts
        return [
            texts([_decoded(found.get_value(row, column)) for column in width])
            for row in range(found.ntuples)
        ]

    def close(self) -> None:
        self._connection.close()


def _replicating(options: JdbcConnectionOptions) -> Database:
    return open_database(replace(options, url=f"{options.url}&replication=database"))


def _commit_each(connection: Any) -> None:
    connection.autocommit = True


def _seen_now(connection: Any) -> tuple[Any, int]:
    """Which transactions are seen now, and a place in the log after all of them."""
    seen, until = connection.execute(_SEEN).fetchone()
    _, upto, running = re.fullmatch(r"(\d+):(\d+):([\d,]*)", seen).groups()  # type: ignore[union-attr]
    return [int(upto), [int(each) for each in running.split(",") if each]], lsn_number(until)


def _decoded(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _with(table: str, names: list[str]) -> str:
    return ", ".join(f"{table}.{name}" for name in names)
