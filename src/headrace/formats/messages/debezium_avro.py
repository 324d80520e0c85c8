"""debezium-avro-confluent: Debezium's events as Avro records, with a schema registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.core.logical_types import STRING, Field, RowType
from headrace.core.table_connector import INSERT, RETRACT, UPDATE_AFTER, ChangelogMode
from headrace.errors import InvalidArgument
from headrace.formats.messages.avro_formats import ConfluentMessages, record_of, record_writer
from headrace.formats.messages.avro_schemas import avro_schema
from headrace.formats.messages.change_formats import debezium_changes
from headrace.formats.messages.message_format import BadMessage, Change, Decode

__all__ = ["DebeziumAvroMessages"]

_SIDES = ("before", "after", "op")


def _event(row: RowType) -> RowType:
    """The part of an event that matters: others, such as source and ts_ms, are passed over."""
    side = row.with_nullable(True)
    types = (side, side, STRING)
    return RowType(tuple(map(Field, _SIDES, types)))


@dataclass(frozen=True)
class DebeziumAvroMessages(ConfluentMessages):
    """Records of a row before and after a change, and what was done."""

    name: str = "debezium-avro-confluent"
    changelog: ChangelogMode = RETRACT

    def own_schema(self, row: RowType) -> Any:
        # A union with null, in which the event itself is: as Flink has it.
        return avro_schema(_event(row), legacy=self.legacy)

    def record_decoder(self, schema: Any, row: RowType) -> Decode:
        read = record_of(schema, _event(row))

        def decode(data: bytes) -> list[Change]:
            event = dict(zip(_SIDES, read(data)[1:], strict=True))
            return [(kind, *values) for kind, values in debezium_changes(event, _told)]

        return decode

    def decoder(self, row: RowType, metadata: tuple[str, ...] = ()) -> Decode:
        decode = super().decoder(row, metadata)
        # An empty one is a tombstone, for the sake of compaction.
        return lambda message: decode(message) if message else []

    def record_encoder(self, schema: Any, row: RowType) -> Callable[[Change, bytes], bytes]:
        self._check(schema)
        write = record_writer(schema, _event(row), self.name)

        def encode(change: Change, head: bytes) -> bytes:
            values = change[1:]
            if change[0] in (INSERT, UPDATE_AFTER):
                return write((INSERT, None, values, "c"), head)
            return write((INSERT, values, None, "d"), head)

        return encode

    def _check(self, schema: Any) -> None:
        branches = schema if isinstance(schema, list) else [schema]
        names = [
            field.get("name")
            for branch in branches
            if isinstance(branch, dict)
            for field in branch.get("fields", ())
        ]
        if missing := [name for name in _SIDES if name not in names]:
            raise InvalidArgument(
                f"the schema of '{self.name}.schema' has no field {', '.join(missing)}",
                hint="It is a record of before, after and op, in which before and after are the "
                "table's rows or null.",
            )


def _told(values: Any) -> tuple[Any, ...]:
    if values is None:
        raise BadMessage('its "after" is null')
    return tuple(values)
