"""Spark's types and headrace's: which stands for which, and how a column takes another shape."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as spark_types
from pyspark.sql.pandas.types import from_arrow_type

from headrace.core.columnar import column_of, type_from_json
from headrace.core.composite_types import (
    BasicArrayTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from headrace.core.schema_text import schema_text
from headrace.core.types import TypeInformation, Types
from headrace.errors import InvalidArgument

__all__ = ["kept_type", "shaped", "type_of"]

PICKLED = Types.PICKLED_BYTE_ARRAY()
BYTES = Types.PRIMITIVE_ARRAY(Types.BYTE())
_KIND = "_kind"
"""The field of a stored row that says what kind of change it is."""

_SINGLE: dict[type[spark_types.DataType], TypeInformation] = {
    spark_types.StringType: Types.STRING(),
    spark_types.BooleanType: Types.BOOLEAN(),
    spark_types.ByteType: Types.BYTE(),
    spark_types.ShortType: Types.SHORT(),
    spark_types.IntegerType: Types.INT(),
    spark_types.LongType: Types.LONG(),
    spark_types.FloatType: Types.FLOAT(),
    spark_types.DoubleType: Types.DOUBLE(),
    spark_types.DecimalType: Types.BIG_DEC(),
    spark_types.DateType: Types.SQL_DATE(),
    spark_types.TimestampNTZType: Types.SQL_TIMESTAMP(),
    spark_types.TimestampType: Types.INSTANT(),
    spark_types.BinaryType: BYTES,
    spark_types.NullType: type_from_json("NOTHING"),
}


def type_of(found: spark_types.DataType, what: str) -> TypeInformation:
    """The type whose Python values a column of Spark's type holds.

    A struct is a Row; one whose fields are called f0, f1, … is a tuple.
    """
    match found:
        case spark_types.StructType():
            fields = [field for field in found.fields if field.name != _KIND]
            parts = [type_of(field.dataType, f"{what}.{field.name}") for field in fields]
            names = [field.name for field in fields]
            if names == [f"f{place}" for place in range(len(names))] and len(fields) == len(found):
                return TupleTypeInfo(parts)
            return RowTypeInfo(parts, names)
        case spark_types.ArrayType():
            return ListTypeInfo(type_of(found.elementType, f"an element of {what}"))
        case spark_types.MapType():
            return MapTypeInfo(
                type_of(found.keyType, f"a key of {what}"),
                type_of(found.valueType, f"a value of {what}"),
            )
    known = _SINGLE.get(type(found))
    if known is None:
        raise InvalidArgument(
            f"{what} is of Spark's type {found.simpleString()}, which no state can hold",
            hint="Cast the column to another type first.",
        )
    return known


def kept_type(wanted: TypeInformation, found: spark_types.DataType, what: str) -> TypeInformation:
    """The type to store: the wanted one; what it leaves open (pickled) is as the column has it."""
    while isinstance(wanted, ExternalTypeInfo):
        wanted = wanted.type_info
    if wanted == PICKLED:
        return PICKLED if isinstance(found, spark_types.BinaryType) else type_of(found, what)
    match wanted, found:
        case (TupleTypeInfo() | RowTypeInfo(), spark_types.StructType()):
            fields = _fields(wanted, found, what)
            kept = [kept_type(part, field.dataType, f"{what}.{field.name}")
                    for part, field in zip(wanted.field_types, fields, strict=True)]  # fmt: skip
            if isinstance(wanted, RowTypeInfo):
                return RowTypeInfo(kept, wanted.field_names)
            return TupleTypeInfo(kept)
        case (ListTypeInfo(), spark_types.ArrayType()):
            return ListTypeInfo(kept_type(wanted.elem_type, found.elementType, what))
        case (MapTypeInfo(), spark_types.MapType()):
            return MapTypeInfo(
                kept_type(wanted.key_type_info, found.keyType, what),
                kept_type(wanted.value_type_info, found.valueType, what),
            )
    parts = spark_types.StructType | spark_types.MapType
    wants_parts = isinstance(wanted, TupleTypeInfo | RowTypeInfo | MapTypeInfo)
    is_array = isinstance(found, spark_types.ArrayType)
    if wants_parts or isinstance(found, parts) or (_element(wanted) is not None) != is_array:
        raise _misfit(wanted, found, what)
    return wanted


def shaped(column: Column, found: spark_types.DataType, wanted: TypeInformation,
           what: str) -> Column:  # fmt: skip
    """The column in the form in which values of a type are stored."""
    match wanted, found:
        case (TupleTypeInfo() | RowTypeInfo(), spark_types.StructType()):
            return _struct(column, found, wanted, what)
        case (MapTypeInfo(), spark_types.MapType()):
            keys = F.transform_keys(
                column, lambda key, _: shaped(key, found.keyType, wanted.key_type_info, what)
            )
            return F.transform_values(
                keys, lambda _, value: shaped(value, found.valueType, wanted.value_type_info, what)
            )
    element = _element(wanted)
    if element is not None and isinstance(found, spark_types.ArrayType):
        return F.transform(column, lambda value: shaped(value, found.elementType, element, what))
    return column.cast(_stored_as(wanted))


def _struct(column: Column, found: spark_types.StructType, wanted: Any, what: str) -> Column:
    fields = _fields(wanted, found, what)
    names = _names(wanted)
    parts = [
        shaped(column[field.name], field.dataType, part, f"{what}.{field.name}").alias(name)
        for field, part, name in zip(fields, wanted.field_types, names, strict=True)
    ]
    if isinstance(wanted, RowTypeInfo) and _KIND in found.names and _KIND not in names:
        parts.append(column[_KIND].alias(_KIND))
    return F.when(column.isNull(), F.lit(None)).otherwise(F.struct(*parts))


def _fields(
    wanted: TypeInformation, found: spark_types.StructType, what: str
) -> list[spark_types.StructField]:
    """The fields of a struct in the order of a type's parts: by name where the type has names."""
    names = _names(wanted)
    if isinstance(wanted, RowTypeInfo) and wanted.field_names is not None:
        if set(names) != set(found.names) - ({_KIND} - set(names)):
            raise _misfit(wanted, found, what)
        return [found[name] for name in names]
    fields = [field for field in found.fields if field.name != _KIND]
    if len(fields) != len(names):
        raise _misfit(wanted, found, what)
    return fields


def _names(wanted: Any) -> list[str]:
    if isinstance(wanted, RowTypeInfo):
        return list(wanted.names())
    return [f"f{place}" for place in range(len(wanted.field_types))]


def _element(wanted: TypeInformation) -> TypeInformation | None:
    match wanted:
        case ListTypeInfo():
            return wanted.elem_type
        case PrimitiveArrayTypeInfo() if wanted == BYTES:
            return None
        case PrimitiveArrayTypeInfo() | BasicArrayTypeInfo() | ObjectArrayTypeInfo():
            return wanted.element_type
    return None


def _stored_as(wanted: TypeInformation) -> spark_types.DataType:
    found: spark_types.DataType = from_arrow_type(
        column_of(wanted).arrow, prefer_timestamp_ntz=True
    )
    return found


def _misfit(wanted: TypeInformation, found: spark_types.DataType, what: str) -> InvalidArgument:
    return InvalidArgument(
        f"{what} has Spark's type {found.simpleString()}, which does not fit the type given: "
        f"{schema_text(wanted)}",
        hint="Give the column the same fields, or another type.",
    )
