"""protobuf: its own runtime is the judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.tables.message_formats import message_format
from headrace.connectors.tables.options import Options
from headrace.core.logical_types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    ArrayType,
    Field,
    MapType,
    RowType,
)
from headrace.errors import HeadraceError, InvalidArgument
from headrace.formats.messages.message_format import BadMessage, MessageFormat

_F = descriptor_pb2.FieldDescriptorProto


def _field(message: Any, name: str, kind: int, *, many: bool = False, of: str = "") -> None:
    label = _F.LABEL_REPEATED if many else _F.LABEL_OPTIONAL
    number = len(message.field) + 1
    made = message.field.add(name=name, number=number, type=kind, label=label)
    if of:
        made.type_name = of


def _file() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.enum_type.add(name="Kind").value.add(name="NEW", number=0)
    file.enum_type[0].value.add(name="OLD", number=1)
    part = file.message_type.add(name="Part")
    _field(part, "v1", _F.TYPE_INT64)
    _field(part, "v2", _F.TYPE_INT32)
    order = file.message_type.add(name="Order")
    _field(order, "uid", _F.TYPE_INT64)
    _field(order, "name", _F.TYPE_STRING)
    _field(order, "data", _F.TYPE_BYTES)
    _field(order, "price", _F.TYPE_DOUBLE)
    _field(order, "ratio", _F.TYPE_FLOAT)
    _field(order, "ok", _F.TYPE_BOOL)
    _field(order, "kind", _F.TYPE_ENUM, of=".shop.Kind")
    _field(order, "part", _F.TYPE_MESSAGE, of=".shop.Part")
    _field(order, "parts", _F.TYPE_MESSAGE, many=True, of=".shop.Part")
    _field(order, "tags", _F.TYPE_STRING, many=True)
    entry = order.nested_type.add(name="ByNameEntry")
    _field(entry, "key", _F.TYPE_STRING)
    _field(entry, "value", _F.TYPE_MESSAGE, of=".shop.Part")
    entry.options.map_entry = True
    _field(order, "by_name", _F.TYPE_MESSAGE, many=True, of=".shop.Order.ByNameEntry")
    return file


PART = RowType((Field("v1", BIGINT), Field("v2", INT)))
ROW = RowType(
    (
        Field("uid", BIGINT),
        Field("name", STRING),
        Field("data", BYTES),
        Field("price", DOUBLE),
        Field("ratio", FLOAT),
        Field("ok", BOOLEAN),
        Field("kind", STRING),
        Field("part", PART),
        Field("parts", ArrayType(PART)),
        Field("tags", ArrayType(STRING)),
        Field("by_name", MapType(STRING, PART)),
    )
)
PARTS = st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**31), 2**31 - 1))
TEXT = st.text(st.characters(codec="utf-8"))
VALUES = st.tuples(
    st.integers(-(2**63), 2**63 - 1),
    TEXT,
    st.binary(),
    st.floats(),
    st.floats(width=32),
    st.booleans(),
    st.sampled_from(["NEW", "OLD"]),
    st.none() | PARTS,
    st.none() | st.lists(PARTS, min_size=1).map(tuple),
    st.none() | st.lists(TEXT, min_size=1).map(tuple),
    st.none() | st.dictionaries(TEXT, PARTS, min_size=1),
)


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("protobuf") / "shop.desc"
    path.write_bytes(descriptor_pb2.FileDescriptorSet(file=[_file()]).SerializeToString())
    return path


@pytest.fixture(scope="module")
def order() -> Any:
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_file())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))


def make(path: Path, row: RowType = ROW, **options: str) -> MessageFormat:
    own = {"message-class-name": "shop.Order", "descriptor-set": str(path), **options}
    given_options = {f"protobuf.{key}": value for key, value in own.items()}
    return message_format(Options("test", {"format": "protobuf", **given_options}), row)


@pytest.fixture(scope="module")
def both_ways(described: Path) -> Any:
    made = make(described)
    return made.encoder(ROW), made.decoder(ROW)


@given(values=VALUES)
def test_rows_survive_a_message(both_ways, values):
    encode, decode = both_ways
    [(_, *found)] = decode(encode((0, *values)))
    assert repr(found[:-1]) == repr(list(values[:-1]))
    assert found[-1] == values[-1]  # a map has no order


def test_the_runtime_reads_what_is_written_and_the_other_way_round(described, order):
    made = make(described)
    values = (7, "ü", b"\x00", -0.0, 1.5, True, "OLD", (1, 2), ((3, 4),), ("a",), {"k": (5, 6)})
    read = order.FromString(made.encoder(ROW)((0, *values)))
    assert (read.uid, read.name, read.kind, read.part.v2) == (7, "ü", 1, 2)
    assert read.by_name["k"].v1 == 5
    assert made.decoder(ROW)(read.SerializeToString()) == [(0, *values)]
    assert read.SerializeToString(deterministic=True)[:6] == b"\x08\x07\x12\x02\xc3\xbc"


def test_what_is_not_set_is_a_default_or_null(described, order):
    nothing = (0, "", b"", 0.0, 0.0, False, "NEW", None, None, None, None)
    assert make(described).decoder(ROW)(b"") == [(0, *nothing)]
    filled = make(described, **{"read-default-values": "true"}).decoder(ROW)(b"")
    assert filled == [(0, *nothing[:8], (), (), {})]


def test_null_among_elements_is_written_as_a_default(described, order):
    row = RowType((Field("tags", ArrayType(STRING)), Field("by_name", MapType(STRING, PART))))
    made = make(described, row, **{"write-null-string-literal": "nil"})
    read = order.FromString(made.encoder(row)((0, ("a", None), {None: None})))
    assert list(read.tags) == ["a", "nil"]
    assert list(read.by_name) == ["nil"]


def test_an_enum_can_be_a_number(described):
    row = RowType((Field("kind", INT),))
    made = make(described, row)
    assert made.decoder(row)(made.encoder(row)((0, 1))) == [(0, 1)]
    text = RowType((Field("kind", STRING),))
    with pytest.raises(HeadraceError, match=r"shop\.Kind has no value 'YOUNG'"):
        make(described, text).encoder(text)((0, "YOUNG"))


def test_bad_messages_say_why(described):
    with pytest.raises(BadMessage, match=r"no message shop\.Order"):
        make(described).decoder(ROW)(b"\xff")
    assert make(described, **{"ignore-parse-errors": "true"}).decoder(ROW)(b"\xff") == []


def test_classes_and_columns_that_are_not_there_are_named(described):
    for row, message in (
        (RowType((Field("nam", STRING),)), "has no field 'nam'"),
        (RowType((Field("name", INT),)), "cannot be INT"),
        (RowType((Field("tags", STRING),)), "cannot be STRING"),
    ):
        with pytest.raises(InvalidArgument, match=message):
            make(described, row)
    with pytest.raises(InvalidArgument, match=r"no message 'shop\.Odrer'"):
        make(described, **{"message-class-name": "shop.Odrer"})
    options = {"format": "protobuf", "protobuf.message-class-name": "nowhere_pb2.Order"}
    with pytest.raises(InvalidArgument, match="no class of messages"):
        message_format(Options("test", options), ROW)


def test_a_class_that_protoc_made_is_imported():
    name = "google.protobuf.timestamp_pb2.Timestamp"
    row = RowType((Field("seconds", BIGINT), Field("nanos", INT)))
    options = {"format": "protobuf", "protobuf.message-class-name": name}
    made = message_format(Options("test", options), row)
    assert made.decoder(row)(b"\x08\x01\x10\x02") == [(0, 1, 2)]
