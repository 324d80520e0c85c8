"""Values as the columns of a file that other tools read: the usual Arrow type for each type.

State is kept in columns that give the very same objects back (`headrace.core.columnar`); here the
reader is someone else, so a FLOAT has 32 bits, a BIG_DEC is a decimal, and a row is its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from headrace.core import logical_types as lt
from headrace.core.coercion import row_parts
from headrace.core.type_information import WrongValue
from headrace.core.types import (
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
    Types,
)
from headrace.errors import TypeMismatch
from headrace.formats.decimals import fit_decimal
from headrace.formats.text_values import element_type
from headrace.origin import calling_origin

__all__ = ["arrow_schema", "arrow_type", "record_batch"]

Shape = Callable[[Any], Any]
"""Brings a value into the form that Arrow takes."""

_TIMES = LocalTimeTypeInfo.TimeType
_SINGLE: dict[TypeInformation, pa.DataType] = {
    Types.STRING(): pa.string(),
    Types.CHAR(): pa.string(),
    Types.BOOLEAN(): pa.bool_(),
    Types.BYTE(): pa.int8(),
    Types.SHORT(): pa.int16(),
    Types.INT(): pa.int32(),
    Types.LONG(): pa.int64(),
    Types.FLOAT(): pa.float32(),
    Types.DOUBLE(): pa.float64(),
    Types.BIG_INT(): pa.decimal128(38, 0),
    Types.BIG_DEC(): pa.decimal128(38, 18),  # as Flink takes a decimal of unknown size
    Types.INSTANT(): pa.timestamp("us", tz="UTC"),
    Types.SQL_DATE(): pa.date32(),
    Types.SQL_TIME(): pa.time32("ms"),
    Types.SQL_TIMESTAMP(): pa.timestamp("us"),
    LocalTimeTypeInfo(_TIMES.LOCAL_DATE): pa.date32(),
    LocalTimeTypeInfo(_TIMES.LOCAL_TIME): pa.time32("ms"),
    LocalTimeTypeInfo(_TIMES.LOCAL_DATE_TIME): pa.timestamp("us"),
    Types.PRIMITIVE_ARRAY(Types.BYTE()): pa.binary(),
}


def arrow_type(kind: TypeInformation, logical: lt.LogicalType | None = None) -> pa.DataType:
    """The Arrow type of the values of a type; `logical` is the column's, if it is declared."""
    if isinstance(logical, lt.DecimalType):
        return pa.decimal128(logical.precision, logical.scale)
    if (single := _SINGLE.get(kind)) is not None:
        return single
    if isinstance(kind, ExternalTypeInfo):
        return arrow_type(kind.type_info)
    if isinstance(kind, RowTypeInfo):
        return pa.struct(_fields(kind))
    if isinstance(kind, TupleTypeInfo):
        parts = enumerate(kind.field_types)
        return pa.struct([pa.field(f"f{place}", arrow_type(part)) for place, part in parts])
    if isinstance(kind, MapTypeInfo):
        key, value = _inner(logical, 2)
        return pa.map_(arrow_type(kind.key_type_info, key), arrow_type(kind.value_type_info, value))
    if (element := element_type(kind)) is not None:
        return pa.list_(arrow_type(element, *_inner(logical, 1)))
    raise TypeMismatch(
        f"values of {kind!r} have no place in a columnar file",
        origin=calling_origin(),
        hint="Declare the type of the stream's records: output_type=Types.ROW_NAMED([...], [...]).",
    )


def _inner(type: lt.LogicalType | None, count: int) -> tuple[lt.LogicalType | None, ...]:
    """The types of the parts, as far as they are declared; a row's are in its stream type."""
    match type:
        case lt.ArrayType(element=element):
            return (element,)
        case lt.MapType(key=key, value=value):
            return (key, value)
    return (None,) * count


def _columns(kind: RowTypeInfo) -> list[tuple[str, TypeInformation, lt.LogicalType | None]]:
    logical = kind.column_types or (None,) * len(kind.field_types)
    return list(zip(kind.names(), kind.field_types, logical, strict=True))


def _fields(kind: RowTypeInfo) -> list[pa.Field]:
    return [pa.field(name, arrow_type(part, logical)) for name, part, logical in _columns(kind)]


def arrow_schema(kind: RowTypeInfo) -> pa.Schema:
    """The columns of rows."""
    return pa.schema(_fields(kind))


def record_batch(rows: list[Any], kind: RowTypeInfo, schema: pa.Schema) -> pa.RecordBatch:
    """Rows as columns."""
    names = kind.names()
    parts = [_parts(names, row) for row in rows]
    columns = []
    for place, (field, (_, part, logical)) in enumerate(zip(schema, _columns(kind), strict=True)):
        shape = _shape(part, logical)
        values = [row[place] for row in parts]
        if shape is not None:
            values = [None if value is None else shape(value) for value in values]
        columns.append(_column(values, field))
    return pa.record_batch(columns, schema=schema)


def _parts(names: tuple[str, ...], row: Any) -> Any:
    try:
        _, values = row_parts(names, row)
    except WrongValue as error:
        raise TypeMismatch(f"{row!r} is no row of {', '.join(names)}") from error
    if len(values) != len(names):
        raise TypeMismatch(f"the row {row!r} has {len(values)} fields, the file {len(names)}")
    return values


def _column(values: list[Any], field: pa.Field) -> pa.Array:
    try:
        return pa.array(values, field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise TypeMismatch(
            f"the column {field.name!r} of type {field.type} cannot take a value: {error}",
            hint="Declare the type that the values have.",
        ) from None


def _shape(kind: TypeInformation, logical: lt.LogicalType | None = None) -> Shape | None:
    if (fit := fit_decimal(logical)) is not None:
        return fit
    if isinstance(kind, ExternalTypeInfo):
        return _shape(kind.type_info)
    if kind == Types.INSTANT():
        return lambda instant: instant.seconds * 1_000_000 + instant.nanos // 1000
    if isinstance(kind, RowTypeInfo):
        shapes = [_shape(part, logical) for _, part, logical in _columns(kind)]
        return _of_parts(shapes, lambda value: _parts(kind.names(), value))
    if isinstance(kind, TupleTypeInfo):
        return _of_parts(list(map(_shape, kind.field_types)), tuple)
    if isinstance(kind, MapTypeInfo):
        key, value = _inner(logical, 2)
        return _of_entries([_shape(kind.key_type_info, key), _shape(kind.value_type_info, value)])
    element = element_type(kind)
    inner = None if element is None else _shape(element, *_inner(logical, 1))
    if inner is None:
        return None
    return lambda items: [None if item is None else inner(item) for item in items]


def _of_parts(shapes: Sequence[Shape | None], split: Shape) -> Shape:
    def parts(value: Any) -> tuple[Any, ...]:
        return tuple(
            item if shape is None or item is None else shape(item)
            for item, shape in zip(split(value), shapes, strict=True)
        )

    return parts


def _of_entries(shapes: Sequence[Shape | None]) -> Shape:
    both = _of_parts(shapes, tuple)
    return lambda entries: [both(entry) for entry in entries.items()]
