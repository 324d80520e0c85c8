"""Types as values: equality, names, plain forms, and declarations that make no sense."""

import datetime
import pickle

import pytest

from headrace.core.rows import Row, RowKind
from headrace.core.time import Instant
from headrace.core.types import (
    BasicTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    RowTypeInfo,
    TypeInformation,
    Types,
)
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported

EVERY_TYPE = [
    (Types.STRING(), "String"),
    (Types.BYTE(), "Byte"),
    (Types.BOOLEAN(), "Boolean"),
    (Types.SHORT(), "Short"),
    (Types.INT(), "Integer"),
    (Types.LONG(), "Long"),
    (Types.FLOAT(), "Float"),
    (Types.DOUBLE(), "Double"),
    (Types.CHAR(), "Char"),
    (Types.BIG_INT(), "BigInteger"),
    (Types.BIG_DEC(), "BigDecimal"),
    (Types.INSTANT(), "Instant"),
    (Types.SQL_DATE(), "DateTypeInfo"),
    (Types.SQL_TIME(), "TimeTypeInfo"),
    (Types.SQL_TIMESTAMP(), "TimestampTypeInfo"),
    (Types.PICKLED_BYTE_ARRAY(), "PickledByteArrayTypeInfo"),
    (Types.ROW([Types.INT()]), "RowTypeInfo(Integer)"),
    (Types.ROW_NAMED(["a"], [Types.INT()]), "RowTypeInfo(a: Integer)"),
    (Types.TUPLE([Types.INT(), Types.STRING()]), "TupleTypeInfo(Integer, String)"),
    (Types.PRIMITIVE_ARRAY(Types.INT()), "PrimitiveArrayTypeInfo<Integer>"),
    (Types.BASIC_ARRAY(Types.STRING()), "BasicArrayTypeInfo<String>"),
    (Types.OBJECT_ARRAY(Types.SQL_DATE()), "ObjectArrayTypeInfo<DateTypeInfo>"),
    (Types.MAP(Types.STRING(), Types.LONG()), "MapTypeInfo<String, Long>"),
    (Types.LIST(Types.LONG()), "ListTypeInfo<Long>"),
    (ExternalTypeInfo(Types.INT()), "ExternalTypeInfo<Integer>"),
    (
        LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE),
        "LocalTimeTypeInfo<LOCAL_DATE>",
    ),
]


@pytest.mark.parametrize(("type_info", "text"), EVERY_TYPE)
def test_a_type_is_a_value(type_info: TypeInformation, text: str) -> None:
    copy = pickle.loads(pickle.dumps(type_info))
    assert copy == type_info
    assert hash(copy) == hash(type_info)
    assert repr(type_info) == str(type_info) == text
    with pytest.raises(Unsupported):
        type_info.get_java_type_info()


def test_different_types_are_not_equal() -> None:
    types = [type_info for type_info, _ in EVERY_TYPE]
    # Flink compares row types by their field types alone.
    assert len(set(types)) == len(types) - 1
    assert Types.ROW([Types.INT()]) == Types.ROW_NAMED(["a"], [Types.INT()])
    assert not Types.ROW([Types.INT()]).schema_equals(Types.ROW_NAMED(["a"], [Types.INT()]))
    assert Types.ROW([Types.INT()]).schema_equals(Types.ROW_NAMED(["f0"], [Types.INT()]))
    assert Types.INT() != "Integer"


def test_types_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Types.INT().basic_type = None  # type: ignore[misc, assignment]


def test_row_type_knows_its_fields() -> None:
    named = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    assert named.get_field_names() == ["a", "b"]
    assert named.get_field_types() == [Types.INT(), Types.STRING()]
    assert named.get_field_index("b") == 1
    unnamed = Types.ROW([Types.INT(), Types.STRING()])
    assert unnamed.get_field_names() == ["f0", "f1"]
    assert unnamed.get_field_index("f1") == -1
    with pytest.raises(InvalidArgument, match="no field 'c'"):
        named.get_field_index("c")


def test_a_declaration_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(TypeMismatch, match="field 1 of ROW is <class 'int'>"):
        Types.ROW([Types.INT(), int])  # type: ignore[list-item]
    with pytest.raises(TypeMismatch, match="mind the brackets"):
        Types.TUPLE([Types.INT])  # type: ignore[list-item]
    with pytest.raises(TypeMismatch, match="takes a list of types"):
        Types.TUPLE(Types.INT())  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="1 field names for 2 field types"):
        Types.ROW_NAMED(["a"], [Types.INT(), Types.INT()])
    with pytest.raises(InvalidArgument, match="names a field twice"):
        RowTypeInfo([Types.INT(), Types.INT()], ["a", "a"])
    with pytest.raises(TypeMismatch, match="PRIMITIVE_ARRAY cannot hold String"):
        Types.PRIMITIVE_ARRAY(Types.STRING())
    with pytest.raises(TypeMismatch, match="BASIC_ARRAY cannot hold"):
        Types.BASIC_ARRAY(Types.TUPLE([Types.INT()]))
    with pytest.raises(TypeMismatch, match="element type of LIST"):
        Types.LIST("int")  # type: ignore[arg-type]
    with pytest.raises(TypeMismatch, match="value type of MAP"):
        Types.MAP(Types.INT(), None)  # type: ignore[arg-type]


def test_plain_forms_of_dates_and_times() -> None:
    date, moment = datetime.date(1970, 1, 11), datetime.datetime(2020, 5, 6, 7, 8, 9, 10)
    assert Types.SQL_DATE().to_internal_type(date) == 10
    assert Types.SQL_DATE().from_internal_type(10) == date
    clock = datetime.time(1, 2, 3, 4)
    assert Types.SQL_TIME().from_internal_type(Types.SQL_TIME().to_internal_type(clock)) == clock
    stamp = Types.SQL_TIMESTAMP()
    assert stamp.from_internal_type(stamp.to_internal_type(moment)) == moment
    zoned = datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC)
    assert stamp.to_internal_type(zoned) == 1_000_000
    assert Types.INSTANT().to_internal_type(Instant(1, 0)) == 1_000_000
    assert Types.INSTANT().from_internal_type(1_000_000) == Instant(1, 0)
    for type_info in (Types.SQL_DATE(), Types.SQL_TIME(), stamp, Types.INSTANT()):
        assert type_info.need_conversion()
        assert type_info.to_internal_type(None) is None
        assert type_info.from_internal_type(None) is None


def test_plain_forms_of_rows_and_tuples() -> None:
    row = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.SQL_DATE()])
    day = datetime.date(1970, 1, 2)
    assert row.need_conversion()
    assert row.to_internal_type(Row(b=day, a=5)) == (0, 5, 1)
    assert row.to_internal_type(Row.of_kind(RowKind.DELETE, 5, day)) == (3, 5, 1)
    assert row.to_internal_type({"a": 5}) == (0, 5, None)
    assert row.to_internal_type(None) is None
    assert row.from_internal_type(iter([5, 1])) == (5, day)
    assert row.from_internal_type((5, 1)) == (5, 1)
    pair = Types.TUPLE([Types.INT(), Types.SQL_DATE()])
    assert pair.to_internal_type([5, day]) == (5, 1)
    assert pair.from_internal_type(iter([5, 1])) == (5, day)
    with pytest.raises(TypeMismatch):
        pair.to_internal_type("ab")
    assert not BasicTypeInfo.INT_TYPE_INFO().need_conversion()
