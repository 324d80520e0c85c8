"""Avro of DataStreams: records are dictionaries, or rows by a schema."""

from __future__ import annotations

import datetime
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from headrace.core import logical_types as lt
from headrace.core.bulk_writing import BulkWriter, BulkWriterFactory
from headrace.core.coercion import row_parts
from headrace.core.rows import Row
from headrace.core.serialization import DeserializationSchema, SerializationSchema
from headrace.core.stream_types import stream_row_type
from headrace.core.table_values import IN_STREAMS, row_maker
from headrace.core.types import PickledBytesTypeInfo, TypeInformation
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported
from headrace.formats.messages.avro_formats import ContainerWriter, fastavro_module
from headrace.formats.messages.avro_values import record_reader
from headrace.formats.messages.message_format import BadMessage, bad_message
from headrace.formats.stream_format import BulkFormat
from headrace.origin import calling_origin

__all__ = [
    "AvroBulkWriters",
    "AvroInputFormat",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "GenericRecordAvroTypeInfo",
]

_UTC = datetime.UTC


class AvroSchema:
    """A schema of Avro's, parsed and checked."""

    def __init__(self, schema: Any):
        avro = fastavro_module()
        try:
            self.parsed = json.loads(schema) if isinstance(schema, str) else schema
            avro.parse_schema(self.parsed)
        except Exception as error:  # fastavro raises whatever the text leads it into
            raise InvalidArgument(
                f"that is no Avro schema: {error}", origin=calling_origin()
            ) from None

    def __str__(self) -> str:
        return json.dumps(self.parsed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and other.parsed == self.parsed

    def __hash__(self) -> int:
        return hash(str(self))

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        return AvroSchema(json_schema)

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        try:
            return AvroSchema(Path(file_path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InvalidArgument(
                f"the Avro schema {file_path} cannot be read: {error.strerror}",
                origin=calling_origin(),
            ) from None


def _required(schema: Any, what: str) -> AvroSchema:
    if isinstance(schema, AvroSchema):
        return schema
    raise TypeMismatch(
        f"{what} needs an AvroSchema, not {schema!r}",
        origin=calling_origin(),
        hint="AvroSchema.parse_string(…) makes one.",
    )


@dataclass(frozen=True, repr=False)
class GenericRecordAvroTypeInfo(PickledBytesTypeInfo):
    """The type of records, which are dictionaries."""

    schema: AvroSchema

    def __repr__(self) -> str:
        return "GenericRecordAvroTypeInfo"


class AvroInputFormat(BulkFormat):
    """Reads object container files; a record is a dictionary of the given schema's fields."""

    def __init__(self, path: str, schema: AvroSchema):
        self.path = path
        self._schema = _required(schema, "AvroInputFormat")

    def get_produced_type(self) -> GenericRecordAvroTypeInfo:
        return GenericRecordAvroTypeInfo(self._schema)

    def produced_type(self) -> TypeInformation:
        return self.get_produced_type()

    def read(self, file: BinaryIO, path: str) -> Iterator[Any]:
        avro = fastavro_module()
        try:
            yield from avro.reader(file, reader_schema=self._schema.parsed)
        except Exception as error:  # fastavro raises whatever the bytes lead it into
            raise TypeMismatch(
                f"{path} is no whole Avro file of that schema: {error}",
                hint="Compare the schema with the file's: `fastavro --schema FILE` shows it.",
            ) from None


class _AvroFiles(BulkWriterFactory[Any]):
    concatenable = False

    def __init__(self, schema: Any):
        self._schema = schema

    def create(self, out: BinaryIO) -> BulkWriter[Any]:
        return ContainerWriter(out, self._schema, "null", None)

    def merge(self, inputs: list[Path], out: BinaryIO) -> None:
        avro, writer = fastavro_module(), self.create(out)
        for path in inputs:
            with path.open("rb") as file:
                for record in avro.reader(file):
                    writer.add_element(record)
        writer.finish()


class AvroBulkWriters:
    """Factories for object container files."""

    @staticmethod
    def for_generic_record(schema: AvroSchema) -> BulkWriterFactory[Any]:
        """For dictionaries of a schema."""
        return _AvroFiles(_required(schema, "AvroBulkWriters").parsed)


def _only_schema(record_class: Any, schema: str | None) -> AvroSchema:
    if record_class is not None or schema is None:
        raise Unsupported(
            "record classes are of Java: an Avro schema is needed",
            origin=calling_origin(),
            hint="Give avro_schema_string='{…}'.",
        )
    made = AvroSchema(schema)
    if not isinstance(made.parsed, dict) or made.parsed.get("type") != "record":
        raise InvalidArgument("the Avro schema must be of a record", origin=calling_origin())
    return made


class AvroRowDeserializationSchema(DeserializationSchema):
    """Reads bare records as rows."""

    def __init__(self, record_class: Any = None, avro_schema_string: str | None = None):
        self._schema = _only_schema(record_class, avro_schema_string).parsed
        self._row = row_type_of_schema(self._schema)
        self._ready: Any = None

    def deserialize(self, message: bytes) -> Any:
        avro = fastavro_module()
        if self._ready is None:
            read = record_reader(self._row, avro.schema.expand_schema(self._schema))
            self._ready = read, row_maker(self._row, IN_STREAMS)
        read, make = self._ready
        try:
            return make(read(avro.schemaless_reader(io.BytesIO(message), self._schema, None)))
        except BadMessage as error:
            raise bad_message("avro", "a message", error, message) from None
        except Exception as error:  # fastavro raises whatever the bytes lead it into
            raise bad_message("avro", "a message", error or type(error), message) from None

    def get_produced_type(self) -> TypeInformation:
        return stream_row_type(self._row.fields)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ready": None}


class AvroRowSerializationSchema(SerializationSchema):
    """Writes rows as bare records."""

    def __init__(self, record_class: Any = None, avro_schema_string: str | None = None):
        self._schema = _only_schema(record_class, avro_schema_string).parsed
        self._row = row_type_of_schema(self._schema)

    def serialize(self, value: Any) -> bytes:
        avro, file = fastavro_module(), io.BytesIO()
        try:
            avro.schemaless_writer(file, self._schema, _record(value, self._row))
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            raise TypeMismatch(f"{value!r} is no record of the Avro schema: {error}") from None
        return file.getvalue()


def _record(value: Any, type: lt.LogicalType) -> Any:
    """A row, or a value in it, as fastavro takes it."""
    if value is None:
        return None
    match type:
        case lt.RowType(names=names, types=types):
            values = _values_of(value, names)
            if len(values) != len(names):
                raise BadMessage(f"it has {len(values)} fields, not {len(names)}")
            parts = zip(names, values, types, strict=True)
            return {name: _record(part, inner) for name, part, inner in parts}
        case lt.ArrayType(element=element):
            return [_record(part, element) for part in value]
        case lt.MapType(value=inner):
            return {key: _record(part, inner) for key, part in value.items()}
        case lt.LocalZonedTimestampType() | lt.TimestampType() if hasattr(value, "tzinfo"):
            # Without a zone a moment is of UTC, not of wherever the program runs.
            return value if value.tzinfo else value.replace(tzinfo=_UTC)
    return value


def _values_of(value: Any, names: tuple[str, ...]) -> Sequence[Any]:
    """The values for a record's fields: by name, or by place where a row has other names."""
    if isinstance(value, Row) and value._names and set(value._names) != set(names):
        return value._values
    return row_parts(names, value)[1]


_PLAIN: dict[str, lt.LogicalType] = {
    "boolean": lt.BOOLEAN,
    "int": lt.INT,
    "long": lt.BIGINT,
    "float": lt.FLOAT,
    "double": lt.DOUBLE,
    "string": lt.STRING,
    "bytes": lt.BYTES,
    "enum": lt.STRING,
    "fixed": lt.BYTES,
    "null": lt.NULL,
}
_LOGICAL: dict[str, lt.LogicalType] = {
    "date": lt.DATE,
    "time-millis": lt.TimeType(3),
    "time-micros": lt.TimeType(6),
    "timestamp-millis": lt.TimestampType(3),
    "timestamp-micros": lt.TimestampType(6),
    "local-timestamp-millis": lt.TimestampType(3),
    "local-timestamp-micros": lt.TimestampType(6),
}


def row_type_of_schema(schema: Any) -> lt.RowType:
    """The columns of a record's fields."""
    found = _type_of(fastavro_module().schema.expand_schema(schema))
    assert isinstance(found, lt.RowType)
    return found


def _type_of(schema: Any) -> lt.LogicalType:
    if isinstance(schema, list):
        others = [each for each in schema if each != "null"]
        if len(others) != 1:
            raise Unsupported(
                f"a union of {', '.join(map(str, others))} is no single type",
                origin=calling_origin(),
                hint="A union with null can be read.",
            )
        return _type_of(others[0])
    if isinstance(schema, str):
        return _PLAIN[schema.rpartition(".")[2]]
    if isinstance(schema["type"], dict | list):
        return _type_of(schema["type"])
    match schema["type"]:
        case "record" | "error":
            fields = (lt.Field(each["name"], _type_of(each["type"])) for each in schema["fields"])
            return lt.RowType(tuple(fields))
        case "array":
            return lt.ArrayType(_type_of(schema["items"]))
        case "map":
            return lt.MapType(lt.STRING, _type_of(schema["values"]))
    if schema.get("logicalType") == "decimal":
        return lt.DecimalType(schema["precision"], schema.get("scale", 0))
    return _LOGICAL.get(schema.get("logicalType", ""), _PLAIN[schema["type"]])
