"""Tables that a database has, with Flink's names for their types."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.connectors.jdbc.addresses import MYSQL
from headrace.connectors.jdbc.databases import ColumnNote, Database
from headrace.core import logical_types as lt
from headrace.core.logical_types import Field, LogicalType
from headrace.errors import Unsupported

_MOST_DIGITS = 38
_POSTGRESQL: dict[str, LogicalType] = {
    "bool": lt.BOOLEAN,
    "int2": lt.SMALLINT,
    "int4": lt.INT,
    "int8": lt.BIGINT,
    "float4": lt.FLOAT,
    "float8": lt.DOUBLE,
    "text": lt.STRING,
    "json": lt.STRING,
    "jsonb": lt.STRING,
    "uuid": lt.STRING,
    "name": lt.STRING,
    "bytea": lt.BYTES,
    "date": lt.DATE,
}
_MYSQL: dict[str, LogicalType] = {
    "bit1": lt.BOOLEAN,
    "tinyint": lt.TINYINT,
    "smallint": lt.SMALLINT,
    "mediumint": lt.INT,
    "int": lt.INT,
    "year": lt.INT,
    "bigint": lt.BIGINT,
    "float": lt.FLOAT,
    "double": lt.DOUBLE,
    "date": lt.DATE,
    **dict.fromkeys(("tinytext", "text", "mediumtext", "longtext", "json", "enum"), lt.STRING),
    **dict.fromkeys(("tinyblob", "blob", "mediumblob", "longblob"), lt.BYTES),
    **dict.fromkeys(("binary", "varbinary"), lt.BYTES),
}
_WIDER: dict[LogicalType, LogicalType] = {
    lt.TINYINT: lt.SMALLINT,
    lt.SMALLINT: lt.INT,
    lt.INT: lt.BIGINT,
    lt.BIGINT: lt.DecimalType(20, 0),
}
"""For numbers without a sign, which need one bit more."""


@dataclass(frozen=True)
class TableNote:
    """A table as it is in a database."""

    fields: tuple[Field, ...]
    key_name: str | None
    key: tuple[str, ...]


def describe(database: Database, connection: object, table: str) -> TableNote | None:
    """A table's columns and key; None if there is no such table."""
    notes = database.columns(connection, table)
    if not notes:
        return None
    name, key = database.primary_key(connection, table)
    fields = tuple(Field(note.name, _type(note, database, table)) for note in notes)
    return TableNote(fields, name, tuple(key))


def _type(note: ColumnNote, database: Database, table: str) -> LogicalType:
    of_mysql = database.address.kind == MYSQL
    found = _of_mysql(note) if of_mysql else _of_postgresql(note)
    if found is None:
        raise Unsupported(
            f"column {note.name!r} of table {table} has {database.label}'s type {note.type}, for "
            "which there is no type here",
            hint="Make a view in the database that casts it, or declare the table with CREATE "
            "TABLE and leave the column out.",
        )
    return found.with_nullable(note.nullable)


def _of_postgresql(note: ColumnNote) -> LogicalType | None:
    kind, fraction = note.type, 6 if note.fraction is None else note.fraction
    if kind.startswith("_"):
        part = ColumnNote(note.name, kind[1:], True, note.length, note.precision, note.scale)
        element = _of_postgresql(part)
        return None if element is None else lt.ArrayType(element)
    match kind:
        case "numeric":
            return _decimal(note)
        case "varchar":
            return lt.VarCharType(note.length or lt.STRING_LENGTH)
        case "bpchar":
            return lt.CharType(note.length or 1)
        case "timestamp":
            return lt.TimestampType(fraction)
        case "timestamptz":
            return lt.LocalZonedTimestampType(fraction)
        case "time":
            return lt.TimeType(min(fraction, 3))
    return _POSTGRESQL.get(kind)


def _of_mysql(note: ColumnNote) -> LogicalType | None:
    fraction = note.fraction or 0
    match note.type:
        case "decimal":
            return _decimal(note)
        case "varchar":
            return lt.VarCharType(note.length or lt.STRING_LENGTH)
        case "char":
            return lt.CharType(note.length or 1)
        case "datetime" | "timestamp":
            return lt.TimestampType(fraction)
        case "time":
            return lt.TimeType(min(fraction, 3))
    found = _MYSQL.get(note.type)
    return _WIDER.get(found, found) if note.unsigned and found is not None else found


def _decimal(note: ColumnNote) -> LogicalType | None:
    if note.precision is None:  # PostgreSQL's NUMERIC without digits
        return lt.DecimalType(_MOST_DIGITS, 18)
    if note.precision > _MOST_DIGITS:
        return None
    return lt.DecimalType(note.precision, note.scale or 0)
