"""Rows to JSON bytes and back, one object at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.coercion import row_parts
from headrace.core.rows import Row, named_row
from headrace.core.serialization import DeserializationSchema, SerializationSchema
from headrace.core.types import RowTypeInfo, TypeInformation
from headrace.errors import TypeMismatch
from headrace.formats.bad_lines import bad_line
from headrace.formats.json_objects import object_reader, object_writer
from headrace.formats.json_schema import row_type_of_json_schema
from headrace.formats.json_values import (
    JsonReading,
    ValueReader,
    object_text,
    parse_json,
    read_field,
    value_reader,
    written_class,
)
from headrace.formats.row_types import require_row_type

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]


class JsonRowDeserializationSchema(DeserializationSchema):
    """Reads a JSON object as a row; names that the row type does not have are passed over."""

    def __init__(self, row_type: RowTypeInfo, reading: JsonReading):
        self._row_type = row_type
        self._reading = reading
        self._read: Callable[[bytes | str], Row] | None = None
        self._look_again: ValueReader | None = None

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        return JsonRowDeserializationSchema.Builder()

    def deserialize(self, message: bytes | str) -> Row | None:
        """The row; None for null, and with errors ignored for what is no JSON object."""
        if self._read is None:
            self._read = self._at_once()
        try:
            return self._read(message)
        except (ValueError, RecursionError):
            return self._by_field(message)

    def _at_once(self) -> Callable[[bytes | str], Row]:
        names, reading = self._row_type.names(), self._reading
        fields = zip(names, self._row_type.field_types, strict=True)
        read = object_reader(
            [read_field(name, kind, reading) for name, kind in fields],
            needs_all=reading.fail_on_missing_field,
        )
        return lambda message: named_row(names, list(read(message)))

    def _by_field(self, message: bytes | str) -> Row | None:
        """Reads what is not as simple, and says what is wrong."""
        if self._look_again is None:
            self._look_again = value_reader(self._row_type, self._reading)
        try:
            row: Row | None = self._look_again(parse_json(message))
        except (ValueError, RecursionError) as error:
            if self._reading.ignore_parse_errors:
                return None
            text = message if isinstance(message, str) else message.decode(errors="replace")
            raise bad_line("JSON", text, str(error)) from None
        return row

    def get_produced_type(self) -> TypeInformation:
        return self._row_type

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_read": None, "_look_again": None}

    class Builder:
        """Settings of the schema."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None
            self._fail_on_missing_field = False
            self._ignore_parse_errors = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            self._type_info = require_row_type(type_info, "JsonRowDeserializationSchema")
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """Takes the row type from a JSON Schema document."""
            self._type_info = row_type_of_json_schema(json_schema)
            return self

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            self._fail_on_missing_field = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """Fields that cannot be read become null, messages that are no object None."""
            self._ignore_parse_errors = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            row_type = require_row_type(self._type_info, "JsonRowDeserializationSchema")
            reading = JsonReading(self._fail_on_missing_field, self._ignore_parse_errors)
            value_reader(row_type, reading)  # a type that JSON cannot hold fails here
            return JsonRowDeserializationSchema(row_type, reading)


class JsonRowSerializationSchema(SerializationSchema):
    """Writes a row as a JSON object."""

    def __init__(self, row_type: RowTypeInfo):
        self._row_type = row_type
        self._names = row_type.names()
        self._write: Callable[[Sequence[Any]], bytes] | None = None

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        return JsonRowSerializationSchema.Builder()

    def serialize(self, value: Any) -> bytes:
        names = self._names
        is_ready = value.__class__ is Row and value._names == names
        values = value._values if is_ready else row_parts(names, value)[1]
        if len(values) != len(names):
            raise TypeMismatch(
                f"the row {value!r} has {len(values)} fields, the JSON schema {len(names)}"
            )
        if self._write is None:
            kind = self._row_type
            self._write = object_writer(
                names,
                [written_class(each) for each in kind.field_types],
                lambda values: object_text(values, kind),
            )
        return self._write(values)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_write": None}

    class Builder:
        """Settings of the schema."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            self._type_info = require_row_type(type_info, "JsonRowSerializationSchema")
            return self

        def build(self) -> JsonRowSerializationSchema:
            return JsonRowSerializationSchema(
                require_row_type(self._type_info, "JsonRowSerializationSchema")
            )
