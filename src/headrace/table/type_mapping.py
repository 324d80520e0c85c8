"""Other notations of types, and values whose type is not declared, to types of columns."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from headrace.core import logical_types as lt
from headrace.core.types import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    InstantTypeInfo,
    ListTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    SqlTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from headrace.errors import Unsupported
from headrace.origin import calling_origin
from headrace.sql.types import parse_type
from headrace.table import data_types as dt
from headrace.table.interval_types import DayTimeIntervalType, YearMonthIntervalType

_ATOMIC: dict[type[lt.LogicalType], Callable[[bool], dt.DataType]] = {
    lt.BooleanType: dt.BooleanType,
    lt.TinyIntType: dt.TinyIntType,
    lt.SmallIntType: dt.SmallIntType,
    lt.IntType: dt.IntType,
    lt.BigIntType: dt.BigIntType,
    lt.FloatType: dt.FloatType,
    lt.DoubleType: dt.DoubleType,
    lt.DateType: dt.DateType,
    lt.NullType: lambda _: dt.NullType(),
    lt.RawType: dt.RawType,
}


def logical_type_of(given: dt.DataType | str | lt.LogicalType) -> lt.LogicalType:
    """The type that a DataType or its text stands for."""
    if isinstance(given, lt.LogicalType):
        return given
    return parse_type(given) if isinstance(given, str) else dt.checked_type(given).logical()


def data_type_of(type: lt.LogicalType) -> dt.DataType:
    """The DataType of a logical type."""
    null = type.nullable
    made = _ATOMIC.get(type.__class__)
    if made is not None:
        return made(null)
    match type:
        case lt.CharType(length=length):
            return dt.CharType(length, null)
        case lt.VarCharType(length=length):
            return dt.VarCharType(length, null)
        case lt.BinaryType(length=length):
            return dt.BinaryType(length, null)
        case lt.VarBinaryType(length=length):
            return dt.VarBinaryType(length, null)
        case lt.DecimalType(precision=precision, scale=scale):
            return dt.DecimalType(precision, scale, null)
        case lt.TimeType(precision=precision):
            return dt.TimeType(precision, null)
        case lt.TimestampType(precision=precision):
            return dt.TimestampType(precision, null)
        case lt.LocalZonedTimestampType(precision=precision):
            return dt.LocalZonedTimestampType(precision, null)
        case lt.ZonedTimestampType(precision=precision):
            return dt.ZonedTimestampType(precision, null)
    return _composite_data_type(type)


def _composite_data_type(type: lt.LogicalType) -> dt.DataType:
    null = type.nullable
    match type:
        case lt.ArrayType(element=element):
            return dt.ArrayType(data_type_of(element), null)
        case lt.MultisetType(element=element):
            return dt.MultisetType(data_type_of(element), null)
        case lt.MapType(key=key, value=value):
            return dt.MapType(data_type_of(key), data_type_of(value), null)
        case lt.RowType(fields=fields):
            named = [dt.RowField(f.name, data_type_of(f.type), f.description) for f in fields]
            return dt.RowType(named, null)
        case lt.YearMonthIntervalType() | lt.DayTimeIntervalType():
            return _interval(type)
    return dt.LogicalDataType(type)


def _interval(
    type: lt.YearMonthIntervalType | lt.DayTimeIntervalType,
) -> YearMonthIntervalType | DayTimeIntervalType:
    units = [unit.partition("(") for unit in type.resolution.split(" TO ")]
    name = "_TO_".join(unit for unit, _, _ in units)
    sizes = {unit: int(rest.rstrip(")")) for unit, _, rest in units if rest}
    if isinstance(type, lt.YearMonthIntervalType):
        months = YearMonthIntervalType.YearMonthResolution[name]
        return YearMonthIntervalType(months, sizes.get("YEAR", 2), type.nullable)
    times = DayTimeIntervalType.DayTimeResolution[name]
    return DayTimeIntervalType(times, sizes.get("DAY", 2), sizes.get("SECOND", 6), type.nullable)


_BASIC: dict[BasicType, lt.LogicalType] = {
    BasicType.STRING: lt.STRING,
    BasicType.BYTE: lt.TINYINT,
    BasicType.BOOLEAN: lt.BOOLEAN,
    BasicType.SHORT: lt.SMALLINT,
    BasicType.INT: lt.INT,
    BasicType.LONG: lt.BIGINT,
    BasicType.FLOAT: lt.FLOAT,
    BasicType.DOUBLE: lt.DOUBLE,
    BasicType.CHAR: lt.CharType(1),
    BasicType.BIG_INT: lt.DecimalType(38, 0),
    BasicType.BIG_DEC: lt.DecimalType(38, 18),
}


def logical_type_of_stream(info: TypeInformation) -> lt.LogicalType:
    """The column type of a DataStream's type; what has none is RAW."""
    match info:
        case InstantTypeInfo():
            return lt.LocalZonedTimestampType(9)
        case BasicTypeInfo():
            return _BASIC.get(info.basic_type, lt.RawType())
        case PickledBytesTypeInfo():
            return lt.RawType()
        case DateTypeInfo():
            return lt.DATE
        case TimeTypeInfo():
            return lt.TimeType(0)
        case TimestampTypeInfo():
            return lt.TimestampType(9)
        case SqlTimeTypeInfo() | LocalTimeTypeInfo():
            return _temporal(info)
        case RowTypeInfo():
            names, types = info.get_field_names(), info.get_field_types()
            pairs = zip(names, types, strict=True)
            return lt.RowType(tuple(lt.Field(n, logical_type_of_stream(t)) for n, t in pairs))
        case TupleTypeInfo():
            return lt.RowType.of(*(logical_type_of_stream(t) for t in info.get_field_types()))
        case MapTypeInfo():
            return lt.MapType(
                logical_type_of_stream(info.key_type_info),
                logical_type_of_stream(info.value_type_info),
            )
        case ListTypeInfo():
            return lt.ArrayType(logical_type_of_stream(info.elem_type))
        case PrimitiveArrayTypeInfo() | BasicArrayTypeInfo() | ObjectArrayTypeInfo():
            return _array(info)
    return lt.RawType()


def _temporal(info: TypeInformation) -> lt.LogicalType:
    name = str(info).upper()
    if "TIMESTAMP" in name or "DATETIME" in name:
        return lt.TimestampType(9)
    return lt.DATE if "DATE" in name else lt.TimeType(0)


def _array(info: TypeInformation) -> lt.LogicalType:
    element = logical_type_of_stream(info.element_type)  # type: ignore[attr-defined]
    if isinstance(info, PrimitiveArrayTypeInfo):
        if isinstance(element, lt.TinyIntType):
            return lt.BYTES
        element = element.not_null()
    return lt.ArrayType(element)


_ARROW: tuple[tuple[Callable[[pa.DataType], bool], lt.LogicalType], ...] = (
    (pa.types.is_boolean, lt.BOOLEAN),
    (pa.types.is_int8, lt.TINYINT),
    (pa.types.is_int16, lt.SMALLINT),
    (pa.types.is_int32, lt.INT),
    (pa.types.is_int64, lt.BIGINT),
    (pa.types.is_uint8, lt.SMALLINT),
    (pa.types.is_uint16, lt.INT),
    (pa.types.is_uint32, lt.BIGINT),
    (pa.types.is_float32, lt.FLOAT),
    (pa.types.is_float64, lt.DOUBLE),
    (pa.types.is_string, lt.STRING),
    (pa.types.is_large_string, lt.STRING),
    (pa.types.is_binary, lt.BYTES),
    (pa.types.is_large_binary, lt.BYTES),
    (pa.types.is_date, lt.DATE),
    (pa.types.is_null, lt.STRING),
)
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def logical_type_of_arrow(type: pa.DataType) -> lt.LogicalType:
    """The column type of an Arrow column."""
    for fits, logical in _ARROW:
        if fits(type):
            return logical
    if pa.types.is_decimal(type):
        return lt.DecimalType(type.precision, type.scale)
    if pa.types.is_time(type):
        return lt.TimeType(_DIGITS[type.unit])
    if pa.types.is_timestamp(type):
        digits = _DIGITS[type.unit]
        return lt.TimestampType(digits) if type.tz is None else lt.LocalZonedTimestampType(digits)
    if pa.types.is_map(type):
        return lt.MapType(
            logical_type_of_arrow(type.key_type), logical_type_of_arrow(type.item_type)
        )
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return lt.ArrayType(logical_type_of_arrow(type.value_type))
    if pa.types.is_struct(type):
        return lt.RowType(tuple(lt.Field(f.name, logical_type_of_arrow(f.type)) for f in type))
    raise Unsupported(f"a column of Arrow's type {type} cannot be had", origin=calling_origin())


def from_arrow_type(arrow_type: pa.DataType, nullable: bool = True) -> dt.DataType:
    """The DataType of an Arrow type."""
    return data_type_of(logical_type_of_arrow(arrow_type).with_nullable(nullable))


_INFERRED: dict[type, lt.LogicalType] = {
    bool: lt.BOOLEAN,
    int: lt.BIGINT,
    float: lt.DOUBLE,
    str: lt.STRING,
    bytes: lt.BYTES,
    bytearray: lt.BYTES,
    Decimal: lt.DecimalType(38, 18),
    datetime.date: lt.DATE,
    datetime.datetime: lt.LocalZonedTimestampType(6),
    datetime.time: lt.TimeType(0),
}


def inferred_atom(value: Any) -> lt.LogicalType | None:
    """The type that a plain Python value is given; None if it has parts."""
    return lt.NULL if value is None else _INFERRED.get(value.__class__)


def stream_type_of(type: lt.LogicalType) -> TypeInformation | None:
    """The DataStream type of values as programs see them; None: any object."""
    for basic, logical in _BASIC.items():
        if logical == type.with_nullable(True):
            return BasicTypeInfo(basic)
    match type:
        case lt.CharType() | lt.VarCharType():
            return Types.STRING()
        case lt.DecimalType():
            return Types.BIG_DEC()
        case lt.DateType():
            return Types.SQL_DATE()
        case lt.TimeType():
            return Types.SQL_TIME()
        case lt.TimestampType():
            return Types.SQL_TIMESTAMP()
        case lt.LocalZonedTimestampType():
            return Types.INSTANT()
    return None


def stream_row_type(fields: tuple[lt.Field, ...]) -> TypeInformation:
    """The DataStream type of a table's rows."""
    types = [stream_type_of(field.type) or Types.PICKLED_BYTE_ARRAY() for field in fields]
    return Types.ROW_NAMED([field.name for field in fields], types)
