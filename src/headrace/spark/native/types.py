"""Columns of a native query: how Spark holds what Flink means."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

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
from headrace.core.table_columns import MICROSECOND_DIGITS

_PLAIN: dict[type[LogicalType], str] = {
    BooleanType: "BOOLEAN", TinyIntType: "TINYINT", SmallIntType: "SMALLINT", IntType: "INT",
    BigIntType: "BIGINT", FloatType: "FLOAT", DoubleType: "DOUBLE", CharType: "STRING",
    VarCharType: "STRING", BinaryType: "BINARY", VarBinaryType: "BINARY", DateType: "DATE",
    TimeType: "INT", YearMonthIntervalType: "INT",
    DayTimeIntervalType: "INTERVAL DAY TO SECOND", NullType: "VOID",
}  # fmt: skip


class NotNative(Exception):
    """Why a query, or a part of it, cannot be left to Spark."""


class NotHeld(NotNative):
    """A value that no column of Spark's can hold, so that none of the query is left to it."""


def spark_type(type: LogicalType) -> str:
    """The type of a column in Spark's words."""
    if type.__class__ in _PLAIN:
        return _PLAIN[type.__class__]
    match type:
        case DecimalType(precision=precision, scale=scale):
            return f"DECIMAL({precision},{scale})"
        case TimestampType() | LocalZonedTimestampType() if type.precision > MICROSECOND_DIGITS:
            return "BIGINT"
        case TimestampType():
            return "TIMESTAMP_NTZ"
        case LocalZonedTimestampType():
            return "TIMESTAMP"
        case ArrayType(element=element):
            return f"ARRAY<{spark_type(element)}>"
        case MapType(key=key, value=value):
            return f"MAP<{spark_type(key)},{spark_type(value)}>"
        case MultisetType(element=element):
            return f"MAP<{spark_type(element)},INT>"
        case RowType(fields=fields):
            inner = ",".join(f"{quoted(field.name)}:{spark_type(field.type)}" for field in fields)
            return f"STRUCT<{inner}>"
    raise NotNative(f"Spark has no type for {type.name()}")


def is_held_as_meant(type: LogicalType) -> bool:
    """Whether Spark's functions see the value as Flink's do; TIME, for one, is a number there,
    and so are months, which Spark does not give as columns."""
    match type:
        case TimeType() | YearMonthIntervalType() | MultisetType():
            return False
        case TimestampType() | LocalZonedTimestampType():
            return type.precision <= MICROSECOND_DIGITS
        case ArrayType(element=element):
            return is_held_as_meant(element)
        case MapType(key=key, value=value):
            return is_held_as_meant(key) and is_held_as_meant(value)
        case RowType(fields=fields):
            return all(is_held_as_meant(field.type) for field in fields)
    try:
        spark_type(type)
    except NotNative:
        return False
    return True


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def literal_text(value: Any, type: LogicalType) -> str:
    """A value in internal form as Spark SQL."""
    if value is None:
        return f"CAST(NULL AS {spark_type(type)})"
    write = _LITERALS.get(type.__class__)
    if write is not None:
        return write(value)
    match type:
        case DecimalType():
            return f"CAST('{value}' AS {spark_type(type)})"
        case TimestampType() | LocalZonedTimestampType() if type.precision > MICROSECOND_DIGITS:
            if not -(2**63) <= value < 2**63:
                raise NotHeld("a TIMESTAMP of nine digits is before 1678 or after 2262")
            return f"{value}L"
        case TimestampType():
            return f"TIMESTAMP_NTZ'{_wall_clock(value)}'"
        case LocalZonedTimestampType():
            return f"timestamp_micros({value // 1000}L)"
        case ArrayType(element=element):
            return f"array({', '.join(literal_text(part, element) for part in value)})"
        case MapType(key=key, value=inner):
            parts = [(literal_text(k, key), literal_text(v, inner)) for k, v in value.items()]
            return f"map({', '.join(text for pair in parts for text in pair)})"
        case RowType(fields=fields):
            parts = [
                (_string(field.name), literal_text(part, field.type))
                for field, part in zip(fields, value, strict=True)
            ]
            return f"named_struct({', '.join(text for pair in parts for text in pair)})"
    raise NotNative(f"Spark has no literal of type {type.name()}")


def _string(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def _double(value: float) -> str:
    return f"{value!r}D" if math.isfinite(value) else f"CAST('{value}' AS DOUBLE)"


def _interval(milliseconds: int) -> str:
    return f"INTERVAL '{Decimal(milliseconds) / 1000:f}' SECOND"


def _wall_clock(nanoseconds: int) -> str:
    epoch = datetime.datetime(1970, 1, 1)
    return str(epoch + datetime.timedelta(microseconds=nanoseconds // 1000))


_LITERALS: dict[type[LogicalType], Callable[[Any], str]] = {
    BooleanType: lambda value: "TRUE" if value else "FALSE",
    TinyIntType: lambda value: f"CAST({value} AS TINYINT)",
    SmallIntType: lambda value: f"CAST({value} AS SMALLINT)",
    IntType: lambda value: f"CAST({value} AS INT)" if value < 0 else str(value),
    BigIntType: lambda value: f"CAST({value} AS BIGINT)",
    FloatType: lambda value: f"CAST({_double(value)} AS FLOAT)",
    DoubleType: _double,
    CharType: _string,
    VarCharType: _string,
    BinaryType: lambda value: f"X'{value.hex()}'",
    VarBinaryType: lambda value: f"X'{value.hex()}'",
    DateType: lambda value: f"date_from_unix_date({value})",
    TimeType: str,
    YearMonthIntervalType: lambda value: f"CAST({value} AS INT)",
    DayTimeIntervalType: _interval,
}
