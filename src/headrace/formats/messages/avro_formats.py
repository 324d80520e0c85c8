"""avro: bare records by the table's schema, and object container files; avro-confluent."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, BinaryIO

from headrace.core.bulk_writing import BulkWriter
from headrace.core.logical_types import RowType
from headrace.core.table_connector import INSERT
from headrace.errors import InvalidArgument
from headrace.formats.messages.avro_schemas import avro_schema, outward
from headrace.formats.messages.avro_values import record_reader
from headrace.formats.messages.message_format import (
    BadMessage,
    Change,
    Decode,
    Encode,
    MessageFormat,
    check_insert,
    missing_package,
)
from headrace.formats.messages.schema_registry import RegistryAccess, SchemaRegistry

__all__ = [
    "AvroMessages",
    "ConfluentMessages",
    "fastavro_module",
    "record_of",
    "record_writer",
]

_MAGIC = b"\x00"
_HEAD_BYTES = 5


def fastavro_module() -> ModuleType:
    try:
        import fastavro
    except ImportError:
        raise missing_package("fastavro", "avro") from None
    return fastavro


def record_schema(row: RowType, legacy: bool) -> Any:
    return avro_schema(row.not_null(), legacy=legacy)


def record_of(schema: Any, row: RowType) -> Callable[[bytes], Change]:
    """Reads a bare record that was written by the schema."""
    avro = fastavro_module()
    parsed = avro.parse_schema(schema)
    read = record_reader(row, avro.schema.expand_schema(schema))

    def decode(data: bytes) -> Change:
        file = io.BytesIO(data)
        try:
            record = avro.schemaless_reader(file, parsed, None)
        except Exception as error:  # fastavro raises whatever the bytes lead it into
            raise BadMessage(f"it is no record of the schema ({_said(error)})") from None
        if file.tell() != len(data):
            left = len(data) - file.tell()
            raise BadMessage(f"it is no record of the schema ({left} bytes are left over)")
        return (INSERT, *read(record))

    return decode


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def record_writer(schema: Any, row: RowType, name: str) -> Callable[[Change, bytes], bytes]:
    avro = fastavro_module()
    parsed, shape = avro.parse_schema(schema), outward(row)
    assert shape is not None

    def encode(change: Change, head: bytes) -> bytes:
        check_insert(name, change)
        file = io.BytesIO(head)
        file.seek(len(head))
        avro.schemaless_writer(file, parsed, shape(change[1:]))
        return file.getvalue()

    return encode


@dataclass(frozen=True)
class AvroMessages(MessageFormat):
    """Avro records. A bare one has no schema with it: it must be the table's own."""

    name: str = "avro"
    codec: str = "snappy"
    legacy: bool = True
    as_json: bool = False

    def decoder(self, row: RowType, metadata: tuple[str, ...] = ()) -> Decode:
        schema = record_schema(row, self.legacy)
        if self.as_json:
            return self._json_decoder(schema, row)
        decode = record_of(schema, row)
        return lambda message: [decode(message)]

    def encoder(self, row: RowType) -> Encode:
        schema = record_schema(row, self.legacy)
        if self.as_json:
            return self._json_encoder(schema, row)
        encode = record_writer(schema, row, self.name)
        return lambda change: encode(change, b"")

    def _json_decoder(self, schema: Any, row: RowType) -> Decode:
        avro = fastavro_module()
        read = record_reader(row, avro.schema.expand_schema(schema))

        def decode(message: bytes) -> list[Change]:
            try:
                records = list(avro.json_reader(io.StringIO(message.decode()), schema))
            except Exception as error:  # fastavro raises whatever the text leads it into
                raise BadMessage(f"it is no record of the schema ({_said(error)})") from None
            return [(INSERT, *read(record)) for record in records]

        return decode

    def _json_encoder(self, schema: Any, row: RowType) -> Encode:
        avro, shape = fastavro_module(), outward(row)
        assert shape is not None

        def encode(change: Change) -> bytes:
            check_insert(self.name, change)
            file = io.StringIO()
            avro.json_writer(file, schema, [shape(change[1:])])
            return file.getvalue().encode()

        return encode

    def file_reader(self, row: RowType) -> Callable[[BinaryIO], Iterator[Change]]:
        """Reads the records of a container file, which has its writer's schema."""
        avro = fastavro_module()

        def read(file: BinaryIO) -> Iterator[Change]:
            try:
                records = avro.reader(file)
                convert = record_reader(row, avro.schema.expand_schema(records.writer_schema))
                for record in records:
                    yield (INSERT, *convert(record))
            except BadMessage:
                raise
            except Exception as error:  # fastavro raises whatever the bytes lead it into
                raise BadMessage(f"it is no whole Avro file ({_said(error)})") from None

        return read

    def file_writer(self, row: RowType, out: BinaryIO) -> BulkWriter[Change]:
        """Writes a container file of rows without kinds."""
        return ContainerWriter(out, record_schema(row, self.legacy), self.codec, outward(row))


class ContainerWriter(BulkWriter[Any]):
    """An object container file; `shape` makes a record of an element."""

    def __init__(
        self, out: BinaryIO, schema: Any, codec: str, shape: Callable[[Any], Any] | None
    ) -> None:
        avro = fastavro_module()
        try:
            self._writer = avro.write.Writer(out, avro.parse_schema(schema), codec=codec)
        except ValueError as error:
            raise InvalidArgument(f"'avro.codec' = '{codec}': {error}") from None
        self._shape = shape

    def add_element(self, element: Any) -> None:
        self._writer.write(element if self._shape is None else self._shape(element))

    def flush(self) -> None:
        self._writer.flush()

    def finish(self) -> None:
        self._writer.flush()


@dataclass(frozen=True)
class ConfluentMessages(MessageFormat):
    """Avro records that begin with the number of their schema in a registry."""

    access: RegistryAccess
    name: str = "avro-confluent"
    subject: str | None = None
    schema: str | None = None
    """The schema to write by, if not the one that Flink derives from the table."""
    legacy: bool = True

    def decoder(self, row: RowType, metadata: tuple[str, ...] = ()) -> Decode:
        registry = SchemaRegistry(self.access)
        known: dict[int, Decode] = {}

        def decode(message: bytes) -> list[Change]:
            if len(message) < _HEAD_BYTES or message[:1] != _MAGIC:
                raise BadMessage("it does not begin with the number of a schema")
            number = int.from_bytes(message[1:_HEAD_BYTES])
            read = known.get(number)
            if read is None:
                read = known[number] = self.record_decoder(registry.schema(number), row)
            return read(message[_HEAD_BYTES:])

        return decode

    def encoder(self, row: RowType) -> Encode:
        if self.subject is None:
            raise InvalidArgument(
                f"a table of format '{self.name}' that is written needs a subject",
                hint=f"Add '{self.name}.subject' = '…' to WITH (…).",
            )

        schema = self.own_schema(row) if self.schema is None else json.loads(self.schema)
        encode = self.record_encoder(schema, row)
        registry, subject, heads = SchemaRegistry(self.access), self.subject, list[bytes]()

        def message(change: Change) -> bytes:
            if not heads:  # asked for with the first row: a table may be there before its registry
                heads.append(_MAGIC + registry.register(subject, schema).to_bytes(4))
            return encode(change, heads[0])

        return message

    def own_schema(self, row: RowType) -> Any:
        """What Flink derives from the table."""
        return record_schema(row, self.legacy)

    def record_decoder(self, schema: Any, row: RowType) -> Decode:
        """Reads what follows the number of that schema."""
        read = record_of(schema, row)
        return lambda data: [read(data)]

    def record_encoder(self, schema: Any, row: RowType) -> Callable[[Change, bytes], bytes]:
        """Writes a record by the schema, after some bytes."""
        return record_writer(schema, row, self.name)
