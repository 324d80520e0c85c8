"""From values to bytes and back."""

from io import BytesIO

import pytest

from headrace.core.rows import Row
from headrace.core.serialization import (
    ByteArraySchema,
    Encoder,
    RowFieldExtractorSchema,
    SimpleStringSchema,
    TypeSerializer,
    VoidNamespaceSerializer,
)
from headrace.core.types import Types
from headrace.errors import InvalidArgument, TypeMismatch


def test_strings() -> None:
    schema = SimpleStringSchema()
    assert schema.deserialize(schema.serialize("grün")) == "grün"
    assert SimpleStringSchema("ISO-8859-1").serialize("grün") == b"gr\xfcn"
    assert schema.deserialize(b"gr\xfcn") == "gr\ufffdn"
    assert schema.get_produced_type() == Types.STRING()
    with pytest.raises(TypeMismatch, match="writes strings, not 5 of type int"):
        schema.serialize(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="unknown character set 'klingon'"):
        SimpleStringSchema("klingon")
    with pytest.raises(InvalidArgument, match="unknown character set"):
        Encoder.simple_string_encoder("klingon")


def test_bytes() -> None:
    schema = ByteArraySchema()
    assert schema.serialize(bytearray(b"ab")) == b"ab"  # type: ignore[arg-type]
    assert schema.deserialize(b"ab") == b"ab"
    assert schema.get_produced_type() == Types.PRIMITIVE_ARRAY(Types.BYTE())
    with pytest.raises(TypeMismatch, match="writes bytes, not 'ab'"):
        schema.serialize("ab")  # type: ignore[arg-type]


def test_a_field_of_a_row() -> None:
    schema = RowFieldExtractorSchema(1)
    assert schema.serialize(Row("key", b"value")) == b"value"
    with pytest.raises(TypeMismatch, match="field 1 must hold bytes, not 5"):
        schema.serialize(Row("key", 5))
    with pytest.raises(InvalidArgument, match="no field number 1"):
        schema.serialize(Row("key"))
    with pytest.raises(InvalidArgument, match="cannot be negative"):
        RowFieldExtractorSchema(-1)


def test_serializers_with_the_same_settings_are_equal() -> None:
    class Fixed(TypeSerializer[int]):
        def __init__(self, width: int) -> None:
            self.width = width

        def serialize(self, element: int, stream: BytesIO) -> None:
            stream.write(element.to_bytes(self.width, "big"))

        def deserialize(self, stream: BytesIO) -> int:
            return int.from_bytes(stream.read(self.width), "big")

    stream = BytesIO()
    Fixed(2).serialize(300, stream)
    assert Fixed(2).deserialize(BytesIO(stream.getvalue())) == 300
    assert Fixed(2) == Fixed(2) != Fixed(3)
    assert hash(Fixed(2)) == hash(Fixed(2))
    nothing = BytesIO()
    VoidNamespaceSerializer().serialize(b"x", nothing)
    assert nothing.getvalue() == VoidNamespaceSerializer().deserialize(nothing) == b""
