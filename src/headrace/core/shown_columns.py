"""Columns as functions of columns and DataFrames have them, which is not how Spark holds them.

Times of day are Arrow's times, timestamps have the unit of their digits, and TIMESTAMP_LTZ is the
wall-clock time of a zone that it names.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import Any

import pyarrow as pa

from headrace.core.logical_types import (
    ArrayType,
    Field,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
)
from headrace.core.table_columns import (
    arrow_type,
    from_arrow,
    nested_type,
    outward,
    shape_nested,
    to_arrow,
)

_TIMESTAMPS = (TimestampType, LocalZonedTimestampType)
_NANOS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def unit_of(digits: int) -> str:
    """Arrow's unit for so many digits of a second."""
    if digits == 0:
        return "s"
    return "ms" if digits <= 3 else "us" if digits <= 6 else "ns"


def shown_type(type: LogicalType) -> pa.DataType | None:
    """The Arrow type that a column is shown with."""
    match type:
        case TimeType(precision=digits):
            unit = unit_of(digits)
            return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
        case TimestampType(precision=digits) | LocalZonedTimestampType(precision=digits):
            return pa.timestamp(unit_of(digits))
        case ArrayType() | MapType() | MultisetType() | RowType():
            return nested_type(type, shown_type)
    return arrow_type(type)


def is_held_as_shown(type: LogicalType) -> bool:
    return shown_type(type) == arrow_type(type)


def show_values(values: Sequence[Any], type: LogicalType) -> pa.Array:
    """A column to be shown, of values in internal form."""
    if is_held_as_shown(type):
        return to_arrow(values, type)
    shape = _shape(type)
    shaped = values if shape is None else [None if v is None else shape(v) for v in values]
    return pa.array(shaped, shown_type(type))


def show_column(column: pa.Array, type: LogicalType) -> pa.Array:
    """A column as Spark holds it, to be shown."""
    wanted = shown_type(type)
    if column.type == wanted:
        return column
    if isinstance(type, _TIMESTAMPS) and pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us")).cast(wanted, safe=False)
    return show_values(from_arrow(column, type), type)


def hold_column(column: pa.Array, type: LogicalType) -> pa.Array:
    """A column that was shown, or one like it, as Spark holds it."""
    wanted = arrow_type(type)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if wanted is None or column.type == wanted:
        return column
    if isinstance(type, _TIMESTAMPS) and pa.types.is_timestamp(wanted):
        # Without a zone it is the time in UTC, and so are the numbers of one with a zone.
        whole = column.cast(pa.timestamp("us", column.type.tz), safe=False)
        return whole.cast(pa.int64()).cast(wanted)
    if is_held_as_shown(type):
        return column.cast(wanted)
    return to_arrow(from_arrow(column, type), type)


def show_pandas(column: pa.Array, type: LogicalType, zone: tzinfo) -> Any:
    """A column that is shown, as pandas has it: a Series, or a DataFrame of a row's fields."""
    if isinstance(type, RowType):
        return show_frame(column.flatten(), type.fields, zone)
    series = column.to_pandas()
    return _in_zone(series, zone) if isinstance(type, LocalZonedTimestampType) else series


def show_frame(columns: Sequence[pa.Array], fields: Sequence[Field], zone: tzinfo) -> Any:
    """Columns that are shown as a DataFrame; two may have one name."""
    frame = pa.Table.from_arrays(columns, names=[field.name for field in fields]).to_pandas()
    for at, field in enumerate(fields):
        if isinstance(field.type, LocalZonedTimestampType):
            frame.isetitem(at, _in_zone(frame.iloc[:, at], zone))
    return frame


def _in_zone(series: Any, zone: tzinfo) -> Any:
    return series.dt.tz_localize("UTC").dt.tz_convert(zone)


def _shape(type: LogicalType) -> Any:
    """From a value in internal form to one that Arrow takes for the type that is shown."""
    match type:
        case TimeType(precision=digits):
            nanos = _NANOS[unit_of(digits)]
            return lambda millis: millis * 1_000_000 // nanos
        case TimestampType(precision=digits) | LocalZonedTimestampType(precision=digits):
            nanos = _NANOS[unit_of(digits)]
            return lambda value: value // nanos
        case ArrayType() | MapType() | MultisetType() | RowType():
            return shape_nested(type, _shape)
    return outward(type)
