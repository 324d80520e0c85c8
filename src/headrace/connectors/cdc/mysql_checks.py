"""What must be so that a table of MySQL or MariaDB can be followed, before anything is read."""

from __future__ import annotations

import logging
import random
from contextlib import closing
from typing import Any

from headrace.connectors.cdc import mysql_server
from headrace.connectors.cdc.binlog_wire import BinlogWire
from headrace.connectors.cdc.capture import Capture
from headrace.connectors.cdc.mysql_places import file_of
from headrace.connectors.cdc.mysql_server import ColumnNote
from headrace.connectors.cdc.mysql_view import BYTES, MOMENTS, NUMBERS, TEXTS, lock_table
from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType
from headrace.errors import Unsupported

_LOG = logging.getLogger("headrace")
_ENGINES = ("InnoDB", "ROCKSDB", "TokuDB")
"""Those with snapshots."""
_MORE_TYPES = ("float", "double", "time", "bit", "json", "enum", "set")
_TYPES = (*NUMBERS, *TEXTS, *BYTES, *MOMENTS, *_MORE_TYPES)
_KEY_TYPES = (*NUMBERS, *TEXTS, *BYTES, *MOMENTS)
_DENIED = (1044, 1045, 1142, 1227)
_RIGHT_SETTINGS = {
    "binlog_format": ("ROW", "Rows are followed, not statements."),
    "binlog_row_image": ("FULL", "Rows come whole so."),
    "binlog_row_metadata": ("FULL", "Columns come with their names so, whatever ALTER TABLE did."),
    "binlog_row_value_options": ("", "JSON comes whole so."),
    "binlog_transaction_compression": ("OFF", "Compressed transactions are not read."),
}


def check_table(capture: Capture, connection: Any) -> None:
    table = capture.table
    found = mysql_server.table_of(connection, table.name)
    columns = mysql_server.columns_of(connection, table.name)
    key = [note.name for note in columns if note.is_key]
    capture.check_columns([note.name for note in columns] if found else (), key)
    assert found is not None
    if found.name != table.name:
        raise capture.refuse(f"is named {found.name!r}", "Write the name as the server has it.")
    if found.type != "BASE TABLE" or found.engine not in _ENGINES:
        kind = found.engine if found.type == "BASE TABLE" else found.type
        raise capture.refuse(
            f"cannot be followed: it is of kind {kind}",
            "Follow a table of InnoDB: others have no snapshot, and views no changes.",
        )
    by_name = {note.name: note for note in columns}
    for name, type in zip(table.columns, table.types, strict=True):
        _check_column(capture, by_name[name], type)
    if found.cascades:
        _LOG.warning(
            "%s: rows that the foreign key %s changes are not in the server's log, and not seen",
            capture.where(),
            ", ".join(map(repr, found.cascades)),
        )


def _check_column(capture: Capture, note: ColumnNote, type: LogicalType) -> None:
    if note.type not in _TYPES:
        raise Unsupported(
            f"column {note.name!r} of {capture.where()} is of type {note.type}, which is not read",
            hint="Leave the column out.",
        )
    of_moments = isinstance(type, lt.LocalZonedTimestampType)
    if of_moments and note.type != "timestamp":
        raise capture.refuse(
            f"has the column {note.name!r} of type {note.type}, which is declared as {type}",
            "Only TIMESTAMP is a moment in time there; declare TIMESTAMP here.",
        )
    if not note.is_key:
        return
    if note.type not in _KEY_TYPES:
        raise Unsupported(
            f"{capture.where()} has column {note.name!r} of type {note.type} in its key, by which "
            "reading cannot go on in the middle of the table",
            hint="Keys are of numbers, texts, bytes, DATE, DATETIME and TIMESTAMP.",
        )
    if note.type == "timestamp" and not of_moments:
        raise capture.refuse(
            f"has column {note.name!r} of type timestamp in its key, which is declared as {type}",
            "Declare it as TIMESTAMP_LTZ: in a time zone an hour may be there twice.",
        )


def check_log(capture: Capture, connection: Any) -> None:
    found = mysql_server.variables(connection)
    if found.get("log_bin") != "ON":
        raise capture.refuse(
            "cannot be followed: the server writes no binary log",
            "Start it with log_bin.",
        )
    if "binlog_row_metadata" not in found:
        raise capture.refuse(
            "cannot be followed: the server's log does not tell columns' names",
            "MariaDB has binlog_row_metadata from 10.5 on, MySQL from 8.0.",
        )
    for name, (wanted, why) in _RIGHT_SETTINGS.items():
        if found.get(name, wanted).upper() != wanted:
            raise capture.refuse(
                f"cannot be followed: {name} is {found[name]}",
                f"SET GLOBAL {name} = '{wanted}', and in the server's configuration. {why}",
            )


def check_privileges(capture: Capture, connection: Any) -> None:
    """By trying what will be done."""
    database, user = capture.database, capture.database.user
    of_mariadb = mysql_server.is_mariadb(connection)
    status = "BINLOG MONITOR" if of_mariadb else "REPLICATION CLIENT"
    needed = f"{status} ON *.*"
    try:
        place, only, never = mysql_server.log_end(connection)
        needed = f"SELECT ON {capture.table.database}.{capture.table.name}"
        names = ", ".join(map(database.quote, capture.table.columns))
        mysql_server.rows(
            connection, f"SELECT {names} FROM {database.quote(capture.table.name)} LIMIT 0"
        )
        needed = "REPLICATION SLAVE ON *.*"
        _try_dump(capture, file_of(place), place[1])
        if not of_mariadb and capture.table.startup == "initial":
            needed = f"LOCK TABLES ON {capture.table.database}.*"
            with closing(database.connect()) as locking:
                lock_table(locking, database, capture.table.name)
    except Exception as error:
        code = error.args[0] if error.args and database.is_driver_error(error) else None
        if code not in _DENIED:
            raise
        raise capture.refuse(
            f"cannot be followed by user {user!r}: {database.trouble(error).text}",
            f"GRANT {needed} TO {user}.",
        ) from None
    listed = only.split(",") if only else None
    mine = capture.table.database
    if (listed and mine not in listed) or mine in never.split(","):
        raise capture.refuse(
            "cannot be followed: the server's log leaves its database out",
            "See binlog_do_db and binlog_ignore_db in the server's configuration.",
        )


def _try_dump(capture: Capture, file: str, offset: int) -> None:
    connection = capture.database.connect("headrace check")
    number = random.SystemRandom().randrange(1 << 30, 1 << 32)
    with closing(BinlogWire(connection, number, file, offset, follow=False)) as wire:
        while not wire.ended:
            for _ in wire.events():
                pass
            wire.wait(1.0)
