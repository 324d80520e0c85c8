"""Arrow columns to values in internal form, and back.

A column that Spark cannot hold as Flink means it travels as something it can: TIME as the
milliseconds, TIMESTAMP of more than six digits as the nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.core.logical_types import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    NullType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
)
from headrace.core.numbers import rescaled

MICROSECOND_DIGITS = 6
_EARLIEST, _LATEST = -(2**63) // 1000, (2**63 - 1) // 1000
_PLAIN: tuple[tuple[type[LogicalType], pa.DataType], ...] = (
    (BooleanType, pa.bool_()),
    (TinyIntType, pa.int8()),
    (SmallIntType, pa.int16()),
    (IntType, pa.int32()),
    (BigIntType, pa.int64()),
    (FloatType, pa.float32()),
    (DoubleType, pa.float64()),
    (CharType, pa.string()),
    (VarCharType, pa.string()),
    (BinaryType, pa.binary()),
    (VarBinaryType, pa.binary()),
    (TimeType, pa.int32()),
    (YearMonthIntervalType, pa.int32()),
    (NullType, pa.null()),
)


def arrow_type(type: LogicalType) -> pa.DataType | None:
    """How Spark holds a column of the type; None if it cannot."""
    for kind, arrow in _PLAIN:
        if isinstance(type, kind):
            return arrow
    match type:
        case DecimalType(precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case DateType():
            return pa.date32()
        case TimestampType(precision=digits) | LocalZonedTimestampType(precision=digits):
            if digits > MICROSECOND_DIGITS:
                return pa.int64()
            zone = "UTC" if isinstance(type, LocalZonedTimestampType) else None
            return pa.timestamp("us", zone)
        case DayTimeIntervalType():
            return pa.duration("us")
    return nested_type(type, arrow_type)


def nested_type(
    type: LogicalType, part_type: Callable[[LogicalType], pa.DataType | None]
) -> pa.DataType | None:
    """The Arrow type of what has parts, whose types `part_type` gives; None: it has none."""
    match type:
        case ArrayType(element=element):
            inner = part_type(element)
            return None if inner is None else pa.list_(inner)
        case MapType(key=key, value=value):
            return _map_type(part_type(key), part_type(value))
        case MultisetType(element=element):
            return _map_type(part_type(element), pa.int32())
        case RowType(fields=fields):
            parts = [(field.name, part_type(field.type)) for field in fields]
            if any(part is None for _, part in parts):
                return None
            return pa.struct([pa.field(name, part) for name, part in parts])
    return None


def _map_type(key: pa.DataType | None, value: pa.DataType | None) -> pa.DataType | None:
    return None if key is None or value is None else pa.map_(key, value)


def from_arrow(column: pa.Array | pa.ChunkedArray, type: LogicalType) -> list[Any]:
    """The column's values in internal form."""
    if isinstance(column, pa.ChunkedArray):
        return [value for chunk in column.chunks for value in from_arrow(chunk, type)]
    match type:
        case TimestampType() | LocalZonedTimestampType():
            return _nanoseconds(column)
        case DateType():
            return _listed(column.cast(pa.int32()))
        case TimeType() if pa.types.is_time(column.type):
            return _listed(column.cast(pa.time32("ms"), safe=False).cast(pa.int32()))
        case DayTimeIntervalType():
            return _scaled(column.cast(pa.duration("us")).cast(pa.int64()), lambda us: us // 1000)
        case ArrayType(element=element):
            return _lists(column, element)
        case MapType(key=key, value=value):
            return _maps(column, key, value)
        case MultisetType(element=element):
            return _maps(column, element, IntType())
        case RowType(fields=fields):
            return _rows(column, [field.type for field in fields])
    return _listed(column)


def _listed(column: pa.Array) -> list[Any]:
    values: list[Any] = column.to_pylist()
    return values


def _scaled(column: pa.Array, by: Callable[[int], int]) -> list[Any]:
    return [None if value is None else by(value) for value in column.to_pylist()]


def _nanoseconds(column: pa.Array) -> list[Any]:
    if pa.types.is_integer(column.type):
        return _listed(column)
    if column.type.unit == "ns":
        return _listed(column.cast(pa.int64()))
    values = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    if not len(values):
        return []
    bounds = pc.min_max(values).as_py()
    if bounds["min"] is not None and bounds["min"] > _EARLIEST and bounds["max"] < _LATEST:
        return _listed(pc.multiply(values, 1000))
    return _scaled(values, lambda us: us * 1000)


def _lists(column: pa.ListArray, element: LogicalType) -> list[Any]:
    values = from_arrow(column.values, element)
    offsets = column.offsets.to_pylist()
    valid = column.is_valid().to_pylist()
    return [
        tuple(values[offsets[index] : offsets[index + 1]]) if there else None
        for index, there in enumerate(valid)
    ]


def _maps(column: pa.MapArray, key: LogicalType, value: LogicalType) -> list[Any]:
    keys, values = from_arrow(column.keys, key), from_arrow(column.items, value)
    offsets = column.offsets.to_pylist()
    valid = column.is_valid().to_pylist()
    return [
        dict(zip(keys[start:end], values[start:end], strict=True)) if there else None
        for there, start, end in zip(valid, offsets, offsets[1:], strict=False)
    ]


def _rows(column: pa.StructArray, types: Sequence[LogicalType]) -> list[Any]:
    parts = [from_arrow(column.field(index), type) for index, type in enumerate(types)]
    rows = list(zip(*parts, strict=True)) if parts else [()] * len(column)
    if column.null_count:
        valid = column.is_valid().to_pylist()
        return [row if there else None for row, there in zip(rows, valid, strict=True)]
    return rows


def to_arrow(values: Sequence[Any], type: LogicalType) -> pa.Array:
    """A column of values in internal form."""
    arrow = arrow_type(type)
    assert arrow is not None, f"Spark has no column of type {type}"
    shape = outward(type)
    if shape is not None:
        values = [None if value is None else shape(value) for value in values]
    if isinstance(type, TimestampType | LocalZonedTimestampType | DayTimeIntervalType | DateType):
        whole = pa.array(values, pa.int32() if isinstance(type, DateType) else pa.int64())
        return whole if arrow == whole.type else whole.cast(arrow)
    return pa.array(values, arrow)


def outward(type: LogicalType) -> Callable[[Any], Any] | None:
    """From a value that is not NULL to one that Arrow takes; None: it takes them as they are."""
    match type:
        case TimestampType(precision=digits) | LocalZonedTimestampType(precision=digits):
            return None if digits > MICROSECOND_DIGITS else lambda ns: ns // 1000
        case DayTimeIntervalType():
            return lambda ms: ms * 1000
        case DecimalType(scale=scale):
            return lambda number: rescaled(number, scale)
    return shape_nested(type, outward)


def shape_nested(
    type: LogicalType, shape_part: Callable[[LogicalType], Callable[[Any], Any] | None]
) -> Callable[[Any], Any] | None:
    """What Arrow takes for a value with parts, each shaped as `shape_part` says."""
    match type:
        case ArrayType(element=element):
            return _each(shape_part(element))
        case MapType(key=key, value=value):
            return _pairs(shape_part(key), shape_part(value))
        case MultisetType(element=element):
            return _pairs(shape_part(element), None)
        case RowType(fields=fields):
            return _fields([(field.name, shape_part(field.type)) for field in fields])
    return None


def _shaped(shape: Callable[[Any], Any] | None, value: Any) -> Any:
    return value if shape is None or value is None else shape(value)


def _each(shape: Callable[[Any], Any] | None) -> Callable[[Iterable[Any]], list[Any]]:
    return lambda values: [_shaped(shape, value) for value in values]


def _pairs(
    key: Callable[[Any], Any] | None, value: Callable[[Any], Any] | None
) -> Callable[[dict[Any, Any]], list[tuple[Any, Any]]]:
    return lambda pairs: [(_shaped(key, k), _shaped(value, v)) for k, v in pairs.items()]


def _fields(
    shapes: list[tuple[str, Callable[[Any], Any] | None]],
) -> Callable[[tuple[Any, ...]], list[tuple[str, Any]]]:
    # Pairs, not a dictionary: a row may have two fields of one name.
    return lambda row: [
        (name, _shaped(shape, value)) for (name, shape), value in zip(shapes, row, strict=True)
    ]
