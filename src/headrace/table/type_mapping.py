"""Other notations of types, and values whose type is not declared, to types of columns."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from headrace.core import logical_types as lt
from headrace.errors import TypeMismatch
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
    """The column type of an Arrow column; of a timestamp with a zone, that of its time in UTC."""
    for fits, logical in _ARROW:
        if fits(type):
            return logical
    if pa.types.is_decimal(type):
        return lt.DecimalType(type.precision, type.scale)
    if pa.types.is_time(type):
        return lt.TimeType(_DIGITS[type.unit])
    if pa.types.is_timestamp(type):
        return lt.TimestampType(_DIGITS[type.unit])
    if pa.types.is_map(type):
        return lt.MapType(
            logical_type_of_arrow(type.key_type), logical_type_of_arrow(type.item_type)
        )
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return lt.ArrayType(logical_type_of_arrow(type.value_type))
    if pa.types.is_struct(type):
        return lt.RowType(tuple(lt.Field(f.name, logical_type_of_arrow(f.type)) for f in type))
    raise TypeMismatch(
        f"a column of Arrow's type {type} cannot be had", origin=calling_origin(),
        hint="Convert it first; for a DataFrame: frame.astype({'column': 'str'}).",
    )  # fmt: skip


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
