"""Types of DataStreams as types of columns, and back."""

from __future__ import annotations

from typing import Any

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
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from headrace.errors import TypeMismatch
from headrace.origin import calling_origin

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
_LOCAL: dict[LocalTimeTypeInfo.TimeType, lt.LogicalType] = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: lt.DATE,
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: lt.TimeType(0),
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: lt.TimestampType(9),
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
        case LocalTimeTypeInfo():
            return _LOCAL[info.time_type]
        case RowTypeInfo():
            return lt.RowType(tuple(map(lt.Field, info.names(), _column_types(info))))
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


def _column_types(info: RowTypeInfo) -> list[lt.LogicalType]:
    if info.column_types is not None:
        return [lt.materialized(each) for each in info.column_types]
    return [logical_type_of_stream(each) for each in info.field_types]


def _array(info: TypeInformation) -> lt.LogicalType:
    element = logical_type_of_stream(info.element_type)  # type: ignore[attr-defined]
    if isinstance(info, PrimitiveArrayTypeInfo):
        if isinstance(element, lt.TinyIntType):
            return lt.BYTES
        element = element.not_null()
    return lt.ArrayType(element)


def stream_type_of(type: lt.LogicalType) -> TypeInformation | None:
    """The DataStream type of values as programs see them; None: any object."""
    for basic, logical in _BASIC.items():
        # A decimal without a fraction is a Decimal still, not an int.
        if logical == type.with_nullable(True) and basic is not BasicType.BIG_INT:
            return BasicTypeInfo(basic)
    match type:
        case lt.CharType() | lt.VarCharType():
            return Types.STRING()
        case lt.DecimalType():
            return Types.BIG_DEC()
        case lt.DateType():
            return LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE)
        case lt.TimeType():
            return LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME)
        case lt.TimestampType():
            return LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME)
        case lt.LocalZonedTimestampType():
            return Types.INSTANT()
        case lt.BinaryType() | lt.VarBinaryType():
            return Types.PRIMITIVE_ARRAY(Types.BYTE())
    return _composite(type)


def _composite(type: lt.LogicalType) -> TypeInformation | None:
    match type:
        case lt.ArrayType(element=element):
            part = stream_type_of(element)
            return None if part is None else Types.LIST(part)
        case lt.MapType(key=key, value=value):
            name, part = stream_type_of(key), stream_type_of(value)
            return None if name is None or part is None else Types.MAP(name, part)
        case lt.RowType(fields=fields):
            return stream_row_type(fields)
    return None


def stream_row_type(fields: tuple[lt.Field, ...]) -> TypeInformation:
    """The DataStream type of a table's rows."""
    types = [stream_type_of(field.type) or Types.PICKLED_BYTE_ARRAY() for field in fields]
    names = [field.name for field in fields]
    return RowTypeInfo(types, names, tuple(field.type for field in fields))


def declared_stream_type(given: Any, what: str) -> TypeInformation:
    """The type of a DataStream that a TypeInformation, or a table's DataType, stands for."""
    if isinstance(given, TypeInformation):
        return given
    logical = getattr(given, "logical", None)
    found = stream_type_of(logical()) if callable(logical) else None
    if found is None:
        raise TypeMismatch(
            f"{what} cannot have the type {given!r}",
            origin=calling_origin(),
            hint="Use a type such as DataTypes.INT() or Types.INT().",
        )
    return found
