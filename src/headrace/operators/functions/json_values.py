"""Values as JSON: what JSON_STRING, JSON_OBJECT, JSON_ARRAY and their aggregates write."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType
from headrace.errors import InvalidQuery
from headrace.operators.functions import json_text
from headrace.operators.functions.dates import timestamp_text
from headrace.operators.functions.json_text import Fragment, InvalidJson, written
from headrace.operators.functions.numbers import double_text
from headrace.operators.functions.text_forms import writer

JSON = lt.RawType("json")
"""The type of a text that is JSON already, where JSON is put together."""

Convert = Callable[[Any], Any]


def convertible(type: LogicalType) -> bool:
    """Whether values of the type can be written as JSON."""
    if isinstance(type, lt.INTERVALS):
        return False
    if isinstance(type, lt.MapType):
        return isinstance(type.key, lt.CHARACTERS) and convertible(type.value)
    if isinstance(type, lt.MultisetType):
        return isinstance(type.element, lt.CHARACTERS)
    if isinstance(type, lt.ArrayType):
        return convertible(type.element)
    return all(map(convertible, type.types)) if isinstance(type, lt.RowType) else True


def to_json(type: LogicalType) -> Convert:
    """Makes what `json_text.written` writes of a value of this type."""
    inner = _plain(type)
    return lambda value: None if value is None else inner(value)


def _plain(type: LogicalType) -> Convert:
    if type.with_nullable(True) == JSON:
        return Fragment
    if isinstance(type, lt.APPROXIMATE):
        return lambda value: (
            Decimal(double_text(value)) if math.isfinite(value) else double_text(value)
        )
    if isinstance(type, (lt.BooleanType, *lt.CHARACTERS, *lt.NUMERIC, lt.NullType)):
        return _unchanged
    if isinstance(type, lt.BINARIES):
        return lambda data: base64.b64encode(data).decode("ascii")
    if isinstance(type, lt.TIMESTAMPS):
        zone = "" if isinstance(type, lt.TimestampType) else "Z"
        return lambda nanos: _iso_text(nanos) + zone
    if isinstance(type, lt.VariantType):
        return lambda variant: Fragment(written(variant.content))
    return _nested(type)


def _iso_text(nanos: int) -> str:
    """With as many digits behind the point as there are."""
    return timestamp_text(nanos, 9).replace(" ", "T").rstrip("0").removesuffix(".")


def _nested(type: LogicalType) -> Convert:
    if isinstance(type, lt.ArrayType):
        element = to_json(type.element)
        return lambda array: [element(value) for value in array]
    if isinstance(type, lt.MapType):
        value_of = to_json(type.value)
        return lambda pairs: {str(key): value_of(value) for key, value in pairs.items()}
    if isinstance(type, lt.MultisetType):
        return lambda counts: {str(key): count for key, count in counts.items()}
    if isinstance(type, lt.RowType):
        fields = [(field.name, to_json(field.type)) for field in type.fields]
        return lambda row: {
            name: convert(value) for (name, convert), value in zip(fields, row, strict=True)
        }
    return writer(type)


def _unchanged(value: Any) -> Any:
    return value


def json_string(types: Sequence[LogicalType], _result: LogicalType) -> Convert:
    convert = to_json(types[0])
    return lambda value: written(convert(value))


def json_fragment(text: str) -> str | None:
    """JSON(text): checked and written without blanks; NULL if there is nothing in it."""
    if not text.strip():
        return None
    try:
        return written(json_text.parsed(text))
    except InvalidJson as error:
        raise InvalidQuery(f"JSON(…) was given a text that is no JSON: {error}") from None


def json_object(types: Sequence[LogicalType], _result: LogicalType) -> Callable[..., str]:
    """Of keys and values in turn, then NULL or ABSENT: what NULL values become."""
    converts = [to_json(type) for type in types[1:-1:2]]

    def call(*arguments: Any) -> str:
        *pairs, on_null = arguments
        values = {
            key: convert(value)
            for key, value, convert in zip(pairs[::2], pairs[1::2], converts, strict=True)
        }
        if on_null == "ABSENT":
            values = {key: value for key, value in values.items() if value is not None}
        return written(values)

    return call


def json_array(types: Sequence[LogicalType], _result: LogicalType) -> Callable[..., str]:
    """Of values, then NULL or ABSENT: what NULL values become."""
    converts = [to_json(type) for type in types[:-1]]

    def call(*arguments: Any) -> str:
        *items, on_null = arguments
        values = [convert(item) for item, convert in zip(items, converts, strict=True)]
        if on_null == "ABSENT":
            values = [value for value in values if value is not None]
        return written(values)

    return call
