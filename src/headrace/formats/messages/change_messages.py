"""Changelogs as JSON: what the formats of Debezium, Canal and others have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from headrace.core.logical_types import (
    STRING,
    ArrayType,
    Field,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    RowType,
)
from headrace.core.table_connector import (
    DELETE,
    INSERT,
    RETRACT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
)
from headrace.formats.json_values import compact_json
from headrace.formats.messages.json_values import (
    JsonStrictness,
    field_reader,
    parse_object,
    row_reader,
)
from headrace.formats.messages.message_format import (
    BadMessage,
    Change,
    Decode,
    Encode,
    MessageFormat,
)
from headrace.formats.messages.text_values import read_timestamp
from headrace.formats.table_texts import JsonForm, json_text

__all__ = ["MILLISECONDS", "STRINGS", "STRING_MAP", "ChangeMessages", "Metadata", "Parts", "Rows"]

Rows = Callable[[Any], tuple[Any, ...]]
Parts = list[tuple[int, Any]]
"""Kinds of changes, each with the row's values."""

MILLISECONDS = LocalZonedTimestampType(3)
STRINGS = ArrayType(STRING)
STRING_MAP = MapType(STRING, STRING)
_ADDED = (INSERT, UPDATE_AFTER)


@dataclass(frozen=True)
class Metadata:
    """Where a value stands in a message, and what it is."""

    type: LogicalType
    path: tuple[str, ...]
    unit: int | None = None
    """Of a moment that is a number: how many nanoseconds it counts by."""

    def reader(self) -> Callable[[Any], Any]:
        if self.unit is not None:
            unit = self.unit
            return lambda value: value * unit if isinstance(value, int) else None
        if isinstance(self.type, LocalZonedTimestampType):
            return _moment
        read = field_reader(self.type, JsonStrictness(bad_fields_are_null=True))
        return lambda value: _or_null(read, value)


def _or_null(read: Callable[[Any], Any], value: Any) -> Any:
    """What is no value is NULL: metadata makes no message bad."""
    try:
        return read(value)
    except BadMessage:
        return None


def _moment(text: Any) -> int | None:
    """A moment as GoldenGate writes it: of UTC, with no zone behind it; one with a zone is read."""
    if not isinstance(text, str):
        return None
    for zoned in (False, True):
        try:
            return read_timestamp(text, zoned=zoned)
        except BadMessage:
            continue
    return None


class ChangeMessages(MessageFormat):
    """A message says what was done to rows; subclasses know where it says so."""

    changelog = RETRACT
    known: ClassVar[Mapping[str, Metadata]] = {}
    ignores_errors: bool
    form: JsonForm

    @abstractmethod
    def body(self, message: dict[str, Any]) -> dict[str, Any]:
        """The part of a message that says what changed."""

    @abstractmethod
    def changes(self, body: dict[str, Any], row: Rows, fields: tuple[Field, ...]) -> Parts:
        """The changes it says; raises BadMessage."""

    @abstractmethod
    def message(self, row: str, *, added: bool) -> str:
        """The JSON text that says of a row, in JSON, that it was added or removed."""

    def metadata(self) -> Mapping[str, LogicalType]:
        return {key: each.type for key, each in self.known.items()}

    def decoder(self, row: RowType, metadata: tuple[str, ...] = ()) -> Decode:
        read = row_reader(row.fields, JsonStrictness(bad_fields_are_null=self.ignores_errors))
        wanted = [(self.known[key].path, self.known[key].reader()) for key in metadata]

        def decode(message: bytes) -> list[Change]:
            if not message:
                return []  # a tombstone, for the sake of compaction
            try:
                whole = parse_object(message)
                body = self.body(whole)
                found = self.changes(body, read, row.fields)
                extra = tuple([part(_at(whole, body, path)) for path, part in wanted])
            except BadMessage:
                if self.ignores_errors:
                    return []
                raise
            return [(kind, *values, *extra) for kind, values in found]

        return decode

    def encoder(self, row: RowType) -> Encode:
        text = json_text(row, self.form)
        return lambda change: self.message(text(change[1:]), added=change[0] in _ADDED).encode()


def _at(whole: dict[str, Any], body: dict[str, Any], path: tuple[str, ...]) -> Any:
    """What stands at a path of the body; one that begins with / is of the whole message."""
    found: Any = body
    for step in path:
        if step.startswith("/"):
            found, step = whole, step[1:]
        if not isinstance(found, dict):
            return None
        found = found.get(step)
    return found


def replace_row(before: Any, after: Any, row: Rows, missing: str) -> Parts:
    """An update of which both sides are told; `missing` is said where the first is not."""
    if before is None:
        raise BadMessage(missing)
    return [(UPDATE_BEFORE, row(before)), (UPDATE_AFTER, row(after))]


def restore_row(old: Any, new: Any, row: Rows, fields: tuple[Field, ...]) -> Parts:
    """An update of which only the changed fields are told: others were what they are."""
    after = row(new)
    if not isinstance(old, dict):
        raise BadMessage('its "old" does not say what a row was before')
    changed = row(old)
    before = tuple(
        changed[at] if field.name in old else after[at] for at, field in enumerate(fields)
    )
    return [(UPDATE_BEFORE, before), (UPDATE_AFTER, after)]


def insert_row(values: tuple[Any, ...]) -> tuple[int, Any]:
    return INSERT, values


def delete_row(values: tuple[Any, ...]) -> tuple[int, Any]:
    return DELETE, values


def unknown_operation(field: str, found: Any, known: str) -> BadMessage:
    shown = compact_json(found) if isinstance(found, str | int | None) else "something else"
    return BadMessage(f'its "{field}" is {shown}, not one of {known}')
