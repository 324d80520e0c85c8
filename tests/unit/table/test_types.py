"""Types of columns as programs write them, and what other notations of types become."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from headrace.common import Row, RowKind, Types
from headrace.core import logical_types as lt
from headrace.core.stream_types import logical_type_of_stream, stream_row_type
from headrace.core.temporal_types import LocalTimeTypeInfo
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.sql.types import parse_type
from headrace.table.table_schema import TableSchema
from headrace.table.type_mapping import (
    data_type_of,
    logical_type_of,
)
from headrace.table.types import (
    DataTypes,
    RowField,
    RowType,
    create_arrow_schema,
    from_arrow_type,
    to_arrow_type,
)

WRITTEN = {
    "BOOLEAN": DataTypes.BOOLEAN(),
    "TINYINT": DataTypes.TINYINT(),
    "SMALLINT": DataTypes.SMALLINT(),
    "INT": DataTypes.INT(),
    "BIGINT NOT NULL": DataTypes.BIGINT(False),
    "FLOAT": DataTypes.FLOAT(),
    "DOUBLE": DataTypes.DOUBLE(),
    "CHAR(3)": DataTypes.CHAR(3),
    "VARCHAR(3)": DataTypes.VARCHAR(3),
    "STRING": DataTypes.STRING(),
    "BINARY(3)": DataTypes.BINARY(3),
    "VARBINARY(3)": DataTypes.VARBINARY(3),
    "BYTES": DataTypes.BYTES(),
    "DECIMAL(10, 2)": DataTypes.DECIMAL(10, 2),
    "DATE": DataTypes.DATE(),
    "TIME(3)": DataTypes.TIME(3),
    "TIMESTAMP(6)": DataTypes.TIMESTAMP(),
    "TIMESTAMP_LTZ(3)": DataTypes.TIMESTAMP_LTZ(3),
    "ARRAY<INT NOT NULL>": DataTypes.ARRAY(DataTypes.INT().not_null()),
    "MAP<STRING, INT>": DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()),
    "MULTISET<INT>": DataTypes.MULTISET(DataTypes.INT()),
    "ROW<`a` INT, `b` STRING 'why'>": DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.STRING(), "why")]
    ),
    "INTERVAL DAY(2) TO SECOND(6)": DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND()),
    "INTERVAL YEAR(2) TO MONTH": DataTypes.INTERVAL(DataTypes.YEAR(), DataTypes.MONTH()),
    "INTERVAL MONTH": DataTypes.INTERVAL(DataTypes.MONTH()),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_types_are_those_of_sql(text: str) -> None:
    declared = WRITTEN[text]
    assert str(declared.logical()) == text
    assert data_type_of(declared.logical()) == declared
    assert data_type_of(parse_type(text)) == declared
    assert logical_type_of(text) == logical_type_of(declared)


def test_types_compare_and_change() -> None:
    assert DataTypes.INT() == DataTypes.INT()
    assert DataTypes.INT() != DataTypes.INT().not_null()
    assert DataTypes.INT().not_null().nullable() == DataTypes.INT()
    assert repr(DataTypes.DECIMAL(10, 2)) == "DecimalType(10, 2, true)"
    assert DataTypes.BIGINT().type_name() == "BIGINT"
    row = RowType([RowField("a", DataTypes.INT())]).add("b", DataTypes.STRING())
    assert row.field_names() == ["a", "b"]
    assert row["b"].data_type == DataTypes.STRING()
    assert len(row) == 2
    assert DataTypes.ROW([DataTypes.INT()]).field_names() == ["f0"]


def test_values_as_sql_has_them_and_back() -> None:
    assert DataTypes.DATE().to_sql_type(datetime.date(1970, 1, 2)) == 1
    assert DataTypes.DATE().from_sql_type(1) == datetime.date(1970, 1, 2)
    assert DataTypes.DATE().need_conversion()
    assert not DataTypes.INT().need_conversion()
    assert DataTypes.ARRAY(DataTypes.DATE()).to_sql_type([datetime.date(1970, 1, 2)]) == [1]
    length = datetime.timedelta(days=-1, seconds=2, microseconds=3)
    interval = DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND())
    assert interval.to_sql_type(length) == -86_397_999_997
    assert interval.from_sql_type(-86_397_999_997) == length
    assert interval.to_sql_type(None) is None
    time = datetime.time(1, 2, 3, 4)
    assert DataTypes.TIME(6).from_sql_type(DataTypes.TIME(6).to_sql_type(time)) == time
    noon = datetime.datetime(2024, 2, 29, 12, 0, 0, 5)
    for kind in (DataTypes.TIMESTAMP(6), DataTypes.TIMESTAMP_LTZ(6)):
        assert kind.from_sql_type(kind.to_sql_type(noon)) == noon
    aware = noon.replace(tzinfo=datetime.UTC)
    assert DataTypes.TIMESTAMP(6).to_sql_type(aware) == 1_709_208_000_000_005
    row = DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("d", DataTypes.DATE())]
    )
    day = datetime.date(1970, 1, 2)
    for given in (Row(1, day), (1, day), {"a": 1, "d": day}, Row(d=day, a=1)):
        assert row.to_sql_type(given) == (0, 1, 1)
    assert row.to_sql_type(Row.of_kind(RowKind.DELETE, 1, day)) == (3, 1, 1)
    assert row.from_sql_type((1, 1)) == Row(a=1, d=day)


def test_types_are_written_as_pyflink_writes_them() -> None:
    row = DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.STRING(), "text")]
    )
    assert repr(row[0:1]) == "RowType(RowField(a, IntType(true), ...))"
    assert row[0:1] == DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())])
    assert repr(row["b"]) == "RowField(b, VarCharType(2147483647, true), text)"
    assert str(row["a"]) == "RowField(a, INT)"
    with pytest.raises(TypeMismatch, match="by name or number"):
        row[1.5]  # type: ignore[call-overload]
    assert repr(DataTypes.INTERVAL(DataTypes.YEAR())) == "YearMonthIntervalType(true)"
    assert repr(DataTypes.INTERVAL(DataTypes.SECOND(3)).not_null()) == "DayTimeIntervalType(false)"
    assert repr(DataTypes.LIST_VIEW(DataTypes.INT())) == "ListViewType(IntType(true))"
    assert repr(DataTypes.MAP_VIEW(DataTypes.INT(), DataTypes.INT())) == (
        "MapViewType(IntType(true), IntType(true))"
    )


def test_the_row_of_a_table_schema_is_never_null() -> None:
    schema = TableSchema(["a"], [DataTypes.INT()])
    row = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())], False)
    assert schema.to_row_data_type() == row


def test_what_is_no_type() -> None:
    with pytest.raises(InvalidArgument, match="DECIMAL has 1 to 38 digits"):
        DataTypes.DECIMAL(50, 2)
    with pytest.raises(InvalidArgument, match="0 to 9 digits"):
        DataTypes.TIMESTAMP(12)
    with pytest.raises(InvalidArgument, match="length lies between"):
        DataTypes.CHAR(0)
    with pytest.raises(TypeMismatch, match="a type is needed"):
        DataTypes.ARRAY("INT")  # type: ignore[arg-type]
    with pytest.raises(TypeMismatch, match=r"made with DataTypes\.FIELD"):
        DataTypes.ROW(["a"])
    with pytest.raises(InvalidArgument, match="no INTERVAL DAY TO YEAR"):
        DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.YEAR())


@pytest.mark.parametrize(
    ("info", "text"),
    [
        (Types.STRING(), "STRING"), (Types.LONG(), "BIGINT"), (Types.FLOAT(), "FLOAT"),
        (Types.INSTANT(), "TIMESTAMP_LTZ(9)"), (Types.SQL_TIMESTAMP(), "TIMESTAMP(9)"),
        (Types.SQL_DATE(), "DATE"), (Types.SQL_TIME(), "TIME(0)"),
        (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME), "TIMESTAMP(9)"),
        (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE), "DATE"),
        (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME), "TIME(0)"),
        (Types.BIG_DEC(), "DECIMAL(38, 18)"), (Types.PICKLED_BYTE_ARRAY(), "RAW('[B', '...')"),
        (Types.LIST(Types.INT()), "ARRAY<INT>"), (Types.PRIMITIVE_ARRAY(Types.BYTE()), "BYTES"),
        (Types.PRIMITIVE_ARRAY(Types.INT()), "ARRAY<INT NOT NULL>"),
        (Types.MAP(Types.STRING(), Types.INT()), "MAP<STRING, INT>"),
        (Types.TUPLE([Types.INT(), Types.STRING()]), "ROW<`f0` INT, `f1` STRING>"),
        (Types.ROW_NAMED(["a"], [Types.BOOLEAN()]), "ROW<`a` BOOLEAN>"),
    ],
)  # fmt: skip
def test_types_of_streams(info: Types, text: str) -> None:
    assert str(logical_type_of_stream(info)) == text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    ["DATE", "TIME(0)", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(3)", "CHAR(3)",
     "VARCHAR(5)", "BINARY(2)", "DECIMAL(10, 2)", "DECIMAL(5, 0)", "INT NOT NULL", "ARRAY<CHAR(2)>",
     "MAP<STRING, TIMESTAMP(3)>", "MULTISET<INT>", "ROW<`a` DECIMAL(4, 1), `b` DATE>",
     "INTERVAL DAY TO SECOND(3)", "INTERVAL YEAR TO MONTH"],
)  # fmt: skip
def test_a_column_keeps_its_type_through_a_stream_and_back(text: str) -> None:
    fields = (lt.Field("c", parse_type(text)),)
    assert logical_type_of_stream(stream_row_type(fields)) == lt.RowType(fields)


def test_types_of_arrow_and_streams_of_tables() -> None:
    assert from_arrow_type(pa.int64()) == DataTypes.BIGINT()
    assert from_arrow_type(pa.list_(pa.string()), False) == DataTypes.ARRAY(
        DataTypes.STRING(), False
    )
    assert from_arrow_type(pa.timestamp("ms")) == DataTypes.TIMESTAMP(3)
    assert from_arrow_type(pa.struct([("a", pa.int32())])).logical() == parse_type("ROW<a INT>")
    assert to_arrow_type(DataTypes.INT()) == pa.int32()
    assert create_arrow_schema(["a"], [DataTypes.INT()]).names == ["a"]
    row = stream_row_type((lt.Field("a", lt.BIGINT), lt.Field("b", lt.STRING.not_null())))
    assert row == Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()])
