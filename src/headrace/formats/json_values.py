"""JSON values by their type: from what `json` parsed, and to text."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from headrace.core.basic_types import BasicType, BasicTypeInfo
from headrace.core.coercion import row_parts
from headrace.core.printing import java_text
from headrace.core.rows import named_row
from headrace.core.types import (
    ExternalTypeInfo,
    InstantTypeInfo,
    MapTypeInfo,
    PickledBytesTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from headrace.formats.json_objects import ReadField, whole_number
from headrace.formats.text_values import TextReader, Unreadable, element_type, is_bytes, text_reader

__all__ = [
    "JsonReading",
    "ValueReader",
    "json_text",
    "object_text",
    "parse_json",
    "read_field",
    "value_reader",
    "written_class",
]

ValueReader = Callable[[Any], Any]

_BYTE_ORDER_MARK = "\ufeff"
_SIMPLE: dict[BasicType, type] = {
    BasicType.STRING: str,
    BasicType.BOOLEAN: bool,
    BasicType.FLOAT: float,
    BasicType.DOUBLE: float,
}
_NUMBERS = {BasicType.FLOAT, BasicType.DOUBLE, BasicType.BIG_DEC, BasicType.BIG_INT}


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


# Made once: json.loads() and json.dumps() make another for every call that has settings.
_EXACT = json.JSONDecoder(parse_float=Decimal, parse_constant=_no_constant)
_PLAIN = json.JSONDecoder(parse_constant=_no_constant)
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=float)


def parse_json(text: str | bytes, exact: bool = True) -> Any:
    """What JSON says; exact fractions are decimals until a type asks for less.

    Raises ValueError.
    """
    decoder = _EXACT if exact else _PLAIN
    if not isinstance(text, str):
        text = text.decode().removeprefix(_BYTE_ORDER_MARK)
    try:
        value, end = decoder.raw_decode(text)
    except ValueError:
        value, end = None, -1
    # With space around it, or no JSON at all: then it is said what is wrong.
    return value if end == len(text) else decoder.decode(text)


def compact_json(value: Any) -> str:
    return _COMPACT.encode(value)


class JsonReading:
    """How strict reading is."""

    def __init__(self, fail_on_missing_field: bool = False, ignore_parse_errors: bool = False):
        self.fail_on_missing_field = fail_on_missing_field
        self.ignore_parse_errors = ignore_parse_errors

    def fields(self, value: Any, kind: RowTypeInfo, readers: list[ValueReader]) -> list[Any]:
        """The fields of an object, in the order of the row type."""
        if not isinstance(value, dict):
            raise Unreadable(value, "a JSON object")
        fields = []
        for name, read in zip(kind.names(), readers, strict=True):
            if self.fail_on_missing_field and name not in value:
                raise Unreadable(value, f"complete: there is no field {name!r}")
            try:
                fields.append(read(value.get(name)))
            except Unreadable as error:
                if not self.ignore_parse_errors:
                    raise _InField(name, error) from None
                fields.append(None)
        return fields


class _InField(Unreadable):
    def __init__(self, name: str, error: Unreadable):
        ValueError.__init__(self, f"field {name!r}: {error}")


def value_reader(kind: TypeInformation, reading: JsonReading) -> ValueReader:
    """A function from a parsed JSON value to one of the type; null is None for every type."""
    read = _reader(kind, reading)
    return lambda value: None if value is None else read(value)


def _reader(kind: TypeInformation, reading: JsonReading) -> ValueReader:
    if isinstance(kind, PickledBytesTypeInfo):
        return plain_json
    if isinstance(kind, ExternalTypeInfo):
        return _reader(kind.type_info, reading)
    if isinstance(kind, RowTypeInfo):
        return _row_reader(kind, reading)
    if isinstance(kind, TupleTypeInfo):
        return _tuple_reader(kind, reading)
    if isinstance(kind, MapTypeInfo):
        return _map_reader(kind, reading)
    element = element_type(kind)
    if element is not None:
        return _list_reader(element, reading)
    if isinstance(kind, BasicTypeInfo) and not isinstance(kind, InstantTypeInfo):
        return _basic_reader(kind)
    return _texts_only(text_reader(kind))


def plain_json(value: Any) -> Any:
    """The value as Python has it, without decimals."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, list):
        return [plain_json(item) for item in value]
    if isinstance(value, dict):
        return {name: plain_json(item) for name, item in value.items()}
    return value


def read_field(name: str, kind: TypeInformation, reading: JsonReading) -> ReadField:
    """How a field is read whose value is as its type wants it."""
    if isinstance(kind, BasicTypeInfo):
        if (bounds := kind.bounds()) is not None:
            return ReadField(name, whole_number(*bounds))
        if kind.basic_type in _SIMPLE:
            return ReadField(name, _SIMPLE[kind.basic_type])
    read = value_reader(kind, reading)
    return ReadField(name, of_json=lambda text: read(parse_json(text)))


def written_class(kind: TypeInformation) -> type | None:
    """The class of a type's values that JSON shows without a change."""
    if not isinstance(kind, BasicTypeInfo):
        return None
    if kind.bounds() is not None:
        return int
    return None if kind.basic_type in _NUMBERS else _SIMPLE.get(kind.basic_type)


def _basic_reader(kind: BasicTypeInfo) -> ValueReader:
    read = text_reader(kind)
    if kind.basic_type is BasicType.STRING:
        return lambda value: value if isinstance(value, str) else compact_json(plain_json(value))
    if kind.basic_type is BasicType.BOOLEAN:
        return lambda value: value if isinstance(value, bool) else _texts_only(read)(value)
    if kind.basic_type in (BasicType.FLOAT, BasicType.DOUBLE):
        return lambda value: (
            float(value) if type(value) in (int, Decimal) else _number(value, kind, read)
        )
    bounds = kind.bounds()
    if bounds is None:
        return lambda value: _number(value, kind, read)
    lowest, highest = bounds

    def integer(value: Any) -> Any:
        if type(value) is int and lowest <= value <= highest:
            return value
        return _number(value, kind, read)

    return integer


def _number(value: Any, kind: BasicTypeInfo, read: TextReader) -> Any:
    """The careful way: numbers in texts, and fractions that are whole numbers."""
    if isinstance(value, bool) or not isinstance(value, (int, Decimal, str)):
        raise Unreadable(plain_json(value), f"of type {kind.label()}")
    whole = kind.bounds() is not None or kind.basic_type is BasicType.BIG_INT
    if isinstance(value, Decimal) and whole and value == value.to_integral_value():
        value = int(value)
    return read(str(value))


def _texts_only(read: TextReader) -> ValueReader:
    def text(value: Any) -> Any:
        if not isinstance(value, str):
            raise Unreadable(plain_json(value), "a text, as this type needs")
        return read(value)

    return text


def _row_reader(kind: RowTypeInfo, reading: JsonReading) -> ValueReader:
    names = kind.names()
    readers = [value_reader(field, reading) for field in kind.field_types]
    return lambda value: named_row(names, reading.fields(value, kind, readers))


def _tuple_reader(kind: TupleTypeInfo, reading: JsonReading) -> ValueReader:
    readers = [value_reader(field, reading) for field in kind.field_types]

    def to_tuple(value: Any) -> Any:
        if not isinstance(value, list) or len(value) != len(readers):
            raise Unreadable(plain_json(value), f"an array of {len(readers)} values")
        return tuple(read(item) for read, item in zip(readers, value, strict=True))

    return to_tuple


def _map_reader(kind: MapTypeInfo, reading: JsonReading) -> ValueReader:
    read_key = value_reader(kind.key_type_info, reading)
    read = value_reader(kind.value_type_info, reading)

    def to_map(value: Any) -> Any:
        if not isinstance(value, dict):
            raise Unreadable(plain_json(value), "a JSON object")
        return {read_key(name): read(item) for name, item in value.items()}

    return to_map


def _list_reader(element: TypeInformation, reading: JsonReading) -> ValueReader:
    read = value_reader(element, reading)

    def to_list(value: Any) -> Any:
        if not isinstance(value, list):
            raise Unreadable(plain_json(value), "a JSON array")
        return [read(item) for item in value]

    return to_list


def json_text(value: Any, kind: TypeInformation) -> str:
    """The JSON text of a value of the type, as Flink writes it."""
    if value is None:
        return "null"
    if isinstance(kind, RowTypeInfo):
        return object_text(row_parts(kind.names(), value)[1], kind)
    if isinstance(kind, MapTypeInfo):
        entries = kind.value_type_info
        return _object((str(name), json_text(item, entries)) for name, item in value.items())
    if isinstance(kind, TupleTypeInfo):
        parts = zip(value, kind.field_types, strict=True)
        return f"[{','.join(json_text(item, part) for item, part in parts)}]"
    element = element_type(kind)
    if element is not None:
        return f"[{','.join(json_text(item, element) for item in value)}]"
    return _single(value, kind)


def object_text(values: Sequence[Any], kind: RowTypeInfo) -> str:
    """The JSON text of a row with these values."""
    fields = zip(kind.names(), values, kind.field_types, strict=True)
    return _object((name, json_text(item, field)) for name, item, field in fields)


def _object(fields: Any) -> str:
    return f"{{{','.join(f'{compact_json(name)}:{text}' for name, text in fields)}}}"


def _single(value: Any, kind: TypeInformation) -> str:
    if isinstance(kind, ExternalTypeInfo):
        return json_text(value, kind.type_info)
    if isinstance(kind, PickledBytesTypeInfo):
        return compact_json(value)
    if is_bytes(kind):
        return compact_json(base64.b64encode(value).decode("ascii"))
    if isinstance(kind, BasicTypeInfo) and (
        kind.bounds() is not None
        or kind.basic_type in _NUMBERS
        or kind.basic_type is BasicType.BOOLEAN
    ):
        text = java_text(value, kind)
        # JSON has no such numbers; Flink writes their names.
        return compact_json(text) if isinstance(value, float) and not math.isfinite(value) else text
    if isinstance(kind, TimeTypeInfo):
        return compact_json(f"{java_text(value, kind)}Z")
    if isinstance(kind, TimestampTypeInfo):
        fraction = f".{value.microsecond:06d}".rstrip("0") if value.microsecond else ""
        return compact_json(f"{value:%Y-%m-%dT%H:%M:%S}{fraction}Z")
    return compact_json(java_text(value, kind))
