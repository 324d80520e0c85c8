"""What a server of MySQL or MariaDB says of itself, its log and a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.connectors.cdc.mysql_places import FIRST_OFFSET, Place, place_of

_VARIABLES = (
    "log_bin",
    "binlog_format",
    "binlog_row_image",
    "binlog_row_metadata",
    "binlog_row_value_options",
    "binlog_transaction_compression",
)
_COLUMNS = (
    "SELECT column_name, data_type, character_set_name, collation_name, column_key = 'PRI' "
    "FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = %s "
    "ORDER BY ordinal_position"
)
_TABLE = (
    "SELECT table_name, table_type, engine FROM information_schema.tables "
    "WHERE table_schema = DATABASE() AND table_name = %s"
)
_CASCADES = (
    "SELECT constraint_name FROM information_schema.referential_constraints "
    "WHERE constraint_schema = DATABASE() AND table_name = %s "
    "AND NOT (delete_rule IN ('RESTRICT', 'NO ACTION') "
    "AND update_rule IN ('RESTRICT', 'NO ACTION'))"
)


@dataclass(frozen=True)
class ColumnNote:
    name: str
    type: str
    charset: str | None
    collation: str | None
    is_key: bool


@dataclass(frozen=True)
class TableNote:
    name: str
    type: str
    engine: str | None
    cascades: tuple[str, ...]


def rows(connection: Any, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query, tuple(values))
        return list(cursor.fetchall())


def is_mariadb(connection: Any) -> bool:
    return "mariadb" in connection.get_server_info().lower()


def variables(connection: Any) -> dict[str, str]:
    names = ", ".join(f"'{name}'" for name in _VARIABLES)
    found = rows(connection, f"SHOW GLOBAL VARIABLES WHERE variable_name IN ({names})")
    return {name.lower(): value for name, value in found}


def columns_of(connection: Any, table: str) -> list[ColumnNote]:
    found = rows(connection, _COLUMNS, (table,))
    return [
        ColumnNote(name, kind.lower(), charset, collation, bool(is_key))
        for name, kind, charset, collation, is_key in found
    ]


def table_of(connection: Any, table: str) -> TableNote | None:
    found = rows(connection, _TABLE, (table,))
    if not found:
        return None
    cascades = tuple(name for (name,) in rows(connection, _CASCADES, (table,)))
    ((name, kind, engine),) = found
    return TableNote(name, kind, engine, cascades)


def charsets(connection: Any) -> Mapping[int, str]:
    """Names of character sets by the numbers of their collations."""
    names = [
        name
        for (name,) in rows(
            connection,
            "SELECT column_name FROM information_schema.columns WHERE table_schema = "
            "'information_schema' AND table_name = 'COLLATION_CHARACTER_SET_APPLICABILITY'",
        )
    ]
    source = "collation_character_set_applicability" if "ID" in names else "collations"
    query = f"SELECT id, character_set_name FROM information_schema.{source}"
    return {int(number): name for number, name in rows(connection, query) if number is not None}


def log_end(connection: Any) -> tuple[Place, str, str]:
    """The place behind all that is in the log, and of which databases only, or not, it tells."""
    if not is_mariadb(connection) and _version(connection) >= (8, 2):
        found = rows(connection, "SHOW BINARY LOG STATUS")
    else:
        found = rows(connection, "SHOW MASTER STATUS")
    file, offset, only, never, *_ = found[0]
    return place_of(file, offset), only, never


def log_files(connection: Any) -> list[tuple[str, int]]:
    """Their names and sizes, oldest first."""
    return [(name, int(size)) for name, size, *_ in rows(connection, "SHOW BINARY LOGS")]


def first_place(connection: Any) -> Place:
    return place_of(log_files(connection)[0][0], FIRST_OFFSET)


def snapshot_place(connection: Any) -> Place:
    """MariaDB's: the place in the log that belongs to the transaction's snapshot."""
    found = dict(rows(connection, "SHOW STATUS LIKE 'binlog_snapshot_%%'"))
    named = {name.lower(): value for name, value in found.items()}
    return place_of(named["binlog_snapshot_file"], int(named["binlog_snapshot_position"]))


def prepared_names(connection: Any) -> set[Any]:
    return {tuple(row) for row in rows(connection, "XA RECOVER")}


def _version(connection: Any) -> tuple[int, int]:
    major, minor, *_ = connection.get_server_info().split(".")
    return int(major), int(minor)
