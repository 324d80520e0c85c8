"""Types of state that holds values of SQL columns, so that a savepoint can be read.

State holds values in internal form: a timestamp is a number there. What has no column of its own,
such as maps and arrays, is pickled.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.logical_types import (
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
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
)
from headrace.core.types import TypeInformation, Types

_TYPES: dict[type[LogicalType], TypeInformation] = {
    BooleanType: Types.BOOLEAN(),
    TinyIntType: Types.BYTE(),
    SmallIntType: Types.SHORT(),
    IntType: Types.INT(),
    BigIntType: Types.LONG(),
    FloatType: Types.DOUBLE(),
    DoubleType: Types.DOUBLE(),
    DecimalType: Types.BIG_DEC(),
    CharType: Types.STRING(),
    VarCharType: Types.STRING(),
    BinaryType: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    VarBinaryType: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    DateType: Types.INT(),
    TimeType: Types.INT(),
    # Nanoseconds of all years up to 9999 do not fit into 64 bits.
    TimestampType: Types.BIG_INT(),
    LocalZonedTimestampType: Types.BIG_INT(),
    YearMonthIntervalType: Types.INT(),
    DayTimeIntervalType: Types.LONG(),
}


def state_type(type: LogicalType) -> TypeInformation:
    """The type of state that holds values of a column.

    >>> state_type(RowType.of(IntType(), VarCharType()))
    TupleTypeInfo(Integer, String)
    """
    if isinstance(type, RowType) and type.fields:
        return Types.TUPLE([state_type(part) for part in type.types])
    return _TYPES.get(type.__class__, Types.PICKLED_BYTE_ARRAY())


SPAN_STATE_TYPE = Types.TUPLE([Types.LONG(), Types.LONG()])
"""Of the start and the end of a window."""


def values_state_type(types: Sequence[LogicalType]) -> TypeInformation:
    """Of a tuple of columns' values."""
    if not types:
        return Types.PICKLED_BYTE_ARRAY()
    return Types.TUPLE([state_type(type) for type in types])


def lookup_state_type(types: Sequence[LogicalType]) -> TypeInformation:
    """Of a tuple of columns' values that is a key of map state, in `lookup_form`.

    With columns that Python may not hash it is an object of a class of its own, and pickled.
    """
    return values_state_type(types if all(map(_is_readable, types)) else ())


def _is_readable(type: LogicalType) -> bool:
    if isinstance(type, RowType):
        return bool(type.fields) and all(map(_is_readable, type.types))
    return type.__class__ in _TYPES


def row_state_type(types: Sequence[LogicalType]) -> TypeInformation:
    """Of a whole row: its kind, then its columns."""
    return Types.TUPLE([Types.BYTE(), *(state_type(type) for type in types)])
