"""From values to bytes and back, for connectors."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from io import BytesIO
from typing import Any, Generic, TypeVar

from headrace.core.printing import java_text
from headrace.core.rows import Row
from headrace.core.types import PickledBytesTypeInfo, TypeInformation, Types
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.origin import calling_origin

__all__ = [
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
    "TypeSerializer",
    "VoidNamespaceSerializer",
]

T = TypeVar("T")


class SerializationSchema(ABC):
    """Turns a value into the bytes a connector writes."""

    @abstractmethod
    def serialize(self, value: Any) -> bytes:
        """The bytes of a value."""


class DeserializationSchema(ABC):
    """Turns the bytes a connector read into a value."""

    @abstractmethod
    def deserialize(self, message: bytes) -> Any:
        """The value of the bytes."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """The type of the values."""


class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    """Text in one character set."""

    def __init__(self, charset: str = "UTF-8") -> None:
        self._charset = _known_charset(charset)

    def serialize(self, value: str) -> bytes:
        if not isinstance(value, str):
            raise TypeMismatch(
                f"SimpleStringSchema writes strings, not {value!r} of type {type(value).__name__}",
                hint="Map the stream to Types.STRING() before the sink.",
            )
        return value.encode(self._charset)

    def deserialize(self, message: bytes) -> str:
        # Java puts a mark in place of what it cannot decode; a broken message is no failure.
        return message.decode(self._charset, errors="replace")

    def get_produced_type(self) -> TypeInformation:
        return Types.STRING()


class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Bytes as they are."""

    def serialize(self, value: bytes) -> bytes:
        return _as_bytes(value, "ByteArraySchema writes bytes")

    def deserialize(self, message: bytes) -> bytes:
        return message

    def get_produced_type(self) -> TypeInformation:
        return Types.PRIMITIVE_ARRAY(Types.BYTE())


class RowFieldExtractorSchema(SerializationSchema):
    """One field of a row, which must hold bytes."""

    def __init__(self, field_index: int) -> None:
        if field_index < 0:
            raise InvalidArgument(
                f"a field index cannot be negative, but is {field_index}", origin=calling_origin()
            )
        self._field_index = field_index

    def serialize(self, value: Row) -> bytes:
        if self._field_index >= len(value):
            raise InvalidArgument(f"{value!r} has no field number {self._field_index}")
        what = f"field {self._field_index} must hold bytes"
        return _as_bytes(value[self._field_index], what)


class Encoder:
    """Writes the records of a row-format file sink, one to a line.

    Subclass it and override `encode` for a format of your own.
    """

    def __init__(self, charset_name: str = "UTF-8") -> None:
        self.charset_name = _known_charset(charset_name)

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        return Encoder(charset_name)

    def encode(self, value: Any, type_info: TypeInformation | None = None) -> str:
        """The line of a record, without its end: the Java form of a declared type, else str()."""
        if type_info is None or isinstance(type_info, PickledBytesTypeInfo):
            return str(value)
        return java_text(value, type_info)


class TypeSerializer(ABC, Generic[T]):
    """Writes values of one type to a stream of bytes and reads them back."""

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Write a value."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Read a value."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class VoidNamespaceSerializer(TypeSerializer[bytes]):
    """For where there is nothing to tell apart: writes nothing."""

    def serialize(self, element: bytes, stream: BytesIO) -> None:
        return

    def deserialize(self, stream: BytesIO) -> bytes:
        return b""


def _known_charset(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise InvalidArgument(
            f"unknown character set {name!r}",
            origin=calling_origin(),
            hint="UTF-8 is the usual one.",
        ) from None


def _as_bytes(value: Any, what: str) -> bytes:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeMismatch(f"{what}, not {value!r} of type {type(value).__name__}")
