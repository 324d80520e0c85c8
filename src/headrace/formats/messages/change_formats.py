"""debezium-json, canal-json, maxwell-json and ogg-json."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from headrace.core.logical_types import INT, STRING, Field, LocalZonedTimestampType, MapType
from headrace.formats.messages.change_messages import (
    MILLISECONDS,
    STRING_MAP,
    STRINGS,
    ChangeMessages,
    Metadata,
    Parts,
    Rows,
    delete_row,
    insert_row,
    replace_row,
    restore_row,
    unknown_operation,
)
from headrace.formats.messages.message_format import BadMessage
from headrace.formats.table_texts import JsonForm

__all__ = [
    "CanalMessages",
    "DebeziumMessages",
    "MaxwellMessages",
    "OggMessages",
    "debezium_changes",
]

_MILLI, _SECOND = 1_000_000, 1_000_000_000
_MICROSECONDS = LocalZonedTimestampType(6)
_NO_BEFORE = (
    'its "before" is null: of a table in PostgreSQL, set REPLICA IDENTITY FULL, so that the row '
    "before a change is told"
)


def debezium_changes(body: Mapping[str, Any], row: Rows) -> Parts:
    """What before, after and op of an event say; `row` reads one of the sides."""
    operation = body.get("op")
    match operation:
        case "c" | "r":
            return [insert_row(row(body.get("after")))]
        case "u":
            return replace_row(body.get("before"), body.get("after"), row, _NO_BEFORE)
        case "d":
            if body.get("before") is None:
                raise BadMessage(_NO_BEFORE)
            return [delete_row(row(body["before"]))]
    raise unknown_operation("op", operation, "c, r, u and d")


@dataclass(frozen=True)
class DebeziumMessages(ChangeMessages):
    """What Debezium writes: before, after, op."""

    name: str = "debezium-json"
    ignores_errors: bool = False
    form: JsonForm = field(default_factory=JsonForm)
    with_schema: bool = False
    """Whether messages have their schema beside the payload."""

    known: ClassVar[Mapping[str, Metadata]] = {
        "schema": Metadata(STRING, ("/schema",)),
        "ingestion-timestamp": Metadata(MILLISECONDS, ("ts_ms",), _MILLI),
        "source.timestamp": Metadata(MILLISECONDS, ("source", "ts_ms"), _MILLI),
        "source.database": Metadata(STRING, ("source", "db")),
        "source.schema": Metadata(STRING, ("source", "schema")),
        "source.table": Metadata(STRING, ("source", "table")),
        "source.properties": Metadata(STRING_MAP, ("source",)),
    }

    def body(self, message: dict[str, Any]) -> dict[str, Any]:
        if not self.with_schema:
            return message
        payload = message.get("payload")
        if not isinstance(payload, dict):
            raise BadMessage('it has no "payload": is its schema included?')
        return payload

    def changes(self, body: dict[str, Any], row: Rows, fields: tuple[Field, ...]) -> Parts:
        return debezium_changes(body, row)

    def message(self, row: str, *, added: bool) -> str:
        if added:
            return f'{{"before":null,"after":{row},"op":"c"}}'
        return f'{{"before":{row},"after":null,"op":"d"}}'


@dataclass(frozen=True)
class CanalMessages(ChangeMessages):
    """What Canal writes of MySQL: lists of rows, and of what was changed in them."""

    name: str = "canal-json"
    ignores_errors: bool = False
    form: JsonForm = field(default_factory=JsonForm)
    database: str | None = None
    """A pattern: messages of other databases are passed over."""
    table: str | None = None

    known: ClassVar[Mapping[str, Metadata]] = {
        "database": Metadata(STRING, ("database",)),
        "table": Metadata(STRING, ("table",)),
        "sql-type": Metadata(MapType(STRING, INT), ("sqlType",)),
        "pk-names": Metadata(STRINGS, ("pkNames",)),
        "ingestion-timestamp": Metadata(MILLISECONDS, ("ts",), _MILLI),
        "event-timestamp": Metadata(MILLISECONDS, ("es",), _MILLI),
    }

    def body(self, message: dict[str, Any]) -> dict[str, Any]:
        return message

    def changes(self, body: dict[str, Any], row: Rows, fields: tuple[Field, ...]) -> Parts:
        if not (
            _fits(self.database, body.get("database")) and _fits(self.table, body.get("table"))
        ):
            return []
        operation = body.get("type")
        if operation == "CREATE":
            return []  # a statement of the schema's, not of rows
        rows = _listed(body, "data") if operation in ("INSERT", "UPDATE", "DELETE") else []
        match operation:
            case "INSERT":
                return [insert_row(row(each)) for each in rows]
            case "DELETE":
                return [delete_row(row(each)) for each in rows]
            case "UPDATE":
                before = _listed(body, "old")
                if len(before) != len(rows):
                    raise BadMessage('its "old" has not as many rows as its "data"')
                pairs = zip(before, rows, strict=True)
                return [part for old, new in pairs for part in restore_row(old, new, row, fields)]
        raise unknown_operation("type", operation, "INSERT, UPDATE and DELETE")

    def message(self, row: str, *, added: bool) -> str:
        return f'{{"data":[{row}],"type":"{"INSERT" if added else "DELETE"}"}}'


@dataclass(frozen=True)
class MaxwellMessages(ChangeMessages):
    """What Maxwell writes of MySQL: a row, and what was changed in it."""

    name: str = "maxwell-json"
    ignores_errors: bool = False
    form: JsonForm = field(default_factory=JsonForm)

    known: ClassVar[Mapping[str, Metadata]] = {
        "database": Metadata(STRING, ("database",)),
        "table": Metadata(STRING, ("table",)),
        "primary-key-columns": Metadata(STRINGS, ("primary_key_columns",)),
        "ingestion-timestamp": Metadata(MILLISECONDS, ("ts",), _SECOND),
    }

    def body(self, message: dict[str, Any]) -> dict[str, Any]:
        return message

    def changes(self, body: dict[str, Any], row: Rows, fields: tuple[Field, ...]) -> Parts:
        operation = body.get("type")
        match operation:
            case "insert":
                return [insert_row(row(body.get("data")))]
            case "delete":
                return [delete_row(row(body.get("data")))]
            case "update":
                return restore_row(body.get("old"), body.get("data"), row, fields)
        raise unknown_operation("type", operation, "insert, update and delete")

    def message(self, row: str, *, added: bool) -> str:
        return f'{{"data":{row},"type":"{"insert" if added else "delete"}"}}'


@dataclass(frozen=True)
class OggMessages(ChangeMessages):
    """What Oracle GoldenGate writes: before, after, op_type."""

    name: str = "ogg-json"
    ignores_errors: bool = False
    form: JsonForm = field(default_factory=JsonForm)

    known: ClassVar[Mapping[str, Metadata]] = {
        "table": Metadata(STRING, ("table",)),
        "primary-keys": Metadata(STRINGS, ("primary_keys",)),
        "ingestion-timestamp": Metadata(_MICROSECONDS, ("current_ts",)),
        "event-timestamp": Metadata(_MICROSECONDS, ("op_ts",)),
    }

    def body(self, message: dict[str, Any]) -> dict[str, Any]:
        return message

    def changes(self, body: dict[str, Any], row: Rows, fields: tuple[Field, ...]) -> Parts:
        operation = body.get("op_type")
        match operation:
            case "I":
                return [insert_row(row(body.get("after")))]
            case "U":
                missing = 'its "before" is null: GoldenGate has to log whole rows'
                return replace_row(body.get("before"), body.get("after"), row, missing)
            case "D":
                if body.get("before") is None:
                    raise BadMessage('its "before" is null: GoldenGate has to log whole rows')
                return [delete_row(row(body["before"]))]
            case "T":
                return []  # a table was emptied, which no row says
        raise unknown_operation("op_type", operation, "I, U, D and T")

    def message(self, row: str, *, added: bool) -> str:
        if added:
            return f'{{"before":null,"after":{row},"op_type":"I"}}'
        return f'{{"before":{row},"after":null,"op_type":"D"}}'


def _fits(pattern: str | None, name: Any) -> bool:
    return pattern is None or (isinstance(name, str) and re.fullmatch(pattern, name) is not None)


def _listed(body: dict[str, Any], field: str) -> list[Any]:
    found = body.get(field)
    if not isinstance(found, list):
        raise BadMessage(f'its "{field}" is no list of rows')
    return found
