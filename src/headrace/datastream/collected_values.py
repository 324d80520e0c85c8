"""Records as a program collects them: a FLOAT has the digits it was written with, as in tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.numbers import shortest_digits
from headrace.core.rows import Row
from headrace.core.types import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

Change = Callable[[Any], Any]


def collected(type: TypeInformation | None) -> Change | None:
    """What is done to values of a type; None: nothing."""
    match type:
        case BasicTypeInfo(basic_type=BasicType.FLOAT):
            return _or_none(lambda value: float(shortest_digits(value)))
        case ExternalTypeInfo(type_info=inside):
            return collected(inside)
        case RowTypeInfo() | TupleTypeInfo():
            return _fields(type.get_field_types(), rows=isinstance(type, RowTypeInfo))
        case ListTypeInfo(elem_type=element):
            return _elements(element)
        case PrimitiveArrayTypeInfo() | BasicArrayTypeInfo() | ObjectArrayTypeInfo():
            return _elements(type.element_type)
        case MapTypeInfo():
            return _entries(type)
    return None


def _or_none(change: Change) -> Change:
    return lambda value: None if value is None else change(value)


def _same(value: Any) -> Any:
    return value


def _fields(types: Sequence[TypeInformation], *, rows: bool) -> Change | None:
    found = [collected(each) for each in types]
    if not any(found):
        return None
    changes = [each or _same for each in found]

    def values(record: Any) -> list[Any]:
        return [change(value) for change, value in zip(changes, record, strict=True)]

    def row(record: Row) -> Row:
        made = Row.of_kind(record.get_row_kind(), *values(record))
        if hasattr(record, "_fields"):
            made.set_field_names(record._fields)
        return made

    return _or_none(row) if rows else _or_none(lambda record: tuple(values(record)))


def _elements(type: TypeInformation) -> Change | None:
    change = collected(type)
    return None if change is None else _or_none(lambda values: [change(each) for each in values])


def _entries(type: MapTypeInfo) -> Change | None:
    key, value = collected(type.key_type_info), collected(type.value_type_info)
    if key is None and value is None:
        return None
    first, second = key or _same, value or _same
    return _or_none(lambda entries: {first(k): second(v) for k, v in entries.items()})
