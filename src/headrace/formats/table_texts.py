"""Values in internal form as Flink's csv and json formats write them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from headrace.core.logical_types import (
    BINARIES,
    NUMERIC,
    ArrayType,
    BooleanType,
    DateType,
    DecimalType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
)
from headrace.core.table_values import text_of

Text = Callable[[Any], Any]


def _seconds_too(text: str) -> str:
    """A clock text always with seconds."""
    return text + ":00" if len(text.rpartition("T")[2]) == len("00:00") else text


def _moment(type: LogicalType) -> Callable[[Any], str]:
    return lambda value: _seconds_too(text_of(value, type)).replace("T", " ")


def csv_text(type: LogicalType, delimiter: str = ";") -> Callable[[Any], str]:
    """How a value that is not NULL stands in a field of CSV."""
    match type:
        case TimestampType() | LocalZonedTimestampType() | TimeType():
            return _moment(type)
        case ArrayType(element=element):
            part = csv_text(element, delimiter)
            return lambda values: delimiter.join("" if v is None else part(v) for v in values)
        case RowType(fields=fields):
            parts = [csv_text(field.type, delimiter) for field in fields]
            return lambda values: delimiter.join(
                "" if v is None else part(v) for part, v in zip(parts, values, strict=True)
            )
        case BooleanType() | DateType() | DecimalType():
            return lambda value: text_of(value, type)
    if isinstance(type, NUMERIC):
        return lambda value: text_of(value, type)
    if isinstance(type, BINARIES):
        return lambda value: base64.b64encode(value).decode()
    return str


def json_value(type: LogicalType) -> Text:
    """What a value that is not NULL is in JSON."""
    match type:
        case TimestampType() | LocalZonedTimestampType() | TimeType():
            return _moment(type)
        case DateType():
            return lambda value: text_of(value, type)
        case DecimalType():
            return float
        case ArrayType(element=element):
            part = json_value(element)
            return lambda values: [None if v is None else part(v) for v in values]
        case MapType(key=key, value=inner):
            name, part = csv_text(key), json_value(inner)
            return lambda pairs: {name(k): None if v is None else part(v) for k, v in pairs.items()}
        case MultisetType(element=element):
            name = csv_text(element)
            return lambda pairs: {name(k): v for k, v in pairs.items()}
        case RowType(fields=fields):
            parts = [(field.name, json_value(field.type)) for field in fields]
            return lambda values: {
                label: None if v is None else part(v)
                for (label, part), v in zip(parts, values, strict=True)
            }
    if isinstance(type, BINARIES):
        return lambda value: base64.b64encode(value).decode()
    return lambda value: value
