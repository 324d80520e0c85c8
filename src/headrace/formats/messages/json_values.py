"""What `json` parsed, as values in internal form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headrace.core.logical_types import (
    APPROXIMATE,
    CHARACTERS,
    INT,
    INTEGERS,
    ArrayType,
    BooleanType,
    DecimalType,
    DoubleType,
    Field,
    FloatType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
)
from headrace.core.numbers import single
from headrace.formats.json_objects import ReadField, whole_number
from headrace.formats.json_values import compact_json, parse_json, plain_json
from headrace.formats.messages.message_format import BadMessage
from headrace.formats.messages.text_values import (
    fit_decimal,
    fit_integer,
    integer_bounds,
    no_value,
    text_reader,
)

__all__ = [
    "JsonStrictness",
    "field_reader",
    "parse_object",
    "parse_objects",
    "read_field",
    "row_reader",
]

ReadValue = Callable[[Any], Any]


@dataclass(frozen=True)
class JsonStrictness:
    """What is an error: every bad value, or none, where it becomes NULL."""

    missing_fields_fail: bool = False
    bad_fields_are_null: bool = False


def parse_object(message: bytes) -> dict[str, Any]:
    """The JSON object that a message is; raises BadMessage."""
    found = _parsed(message)
    if not isinstance(found, dict):
        raise BadMessage("it is no JSON object")
    return found


def parse_objects(message: bytes) -> list[Any]:
    """What should be JSON objects in a message: the one that it is, or those of an array."""
    found = _parsed(message)
    if isinstance(found, list):
        return found
    if not isinstance(found, dict):
        raise BadMessage("it is no JSON object, nor an array of them")
    return [found]


def _parsed(message: bytes) -> Any:
    try:
        return parse_json(message)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"it is no JSON ({error})") from None


def read_field(field: Field, how: JsonStrictness) -> ReadField:
    """How a field is read whose value is as its type wants it."""
    column = field.type
    if isinstance(column, CHARACTERS):
        return ReadField(field.name, str)
    if isinstance(column, BooleanType):
        return ReadField(field.name, bool)
    if isinstance(column, INTEGERS):
        return ReadField(field.name, whole_number(*integer_bounds(column)))
    if isinstance(column, DoubleType):
        return ReadField(field.name, float)
    read = field_reader(column, how)
    return ReadField(field.name, of_json=lambda text: read(parse_json(text)))


def row_reader(
    fields: Sequence[Field], how: JsonStrictness, label: str = "column"
) -> Callable[[Any], tuple[Any, ...]]:
    """From a JSON object to the values of the fields; what it does not have is NULL."""
    columns = [(field.name, field_reader(field.type, how)) for field in fields]

    def row(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, dict):
            raise BadMessage(f"{compact_json(plain_json(value))[:80]} is no JSON object")
        return tuple([_field(value, name, read, how, label) for name, read in columns])

    return row


def _field(value: Any, name: str, read: ReadValue, how: JsonStrictness, label: str) -> Any:
    if how.missing_fields_fail and name not in value:
        raise BadMessage(f"field {name} is missing")
    try:
        return read(value.get(name))
    except BadMessage as error:
        if how.bad_fields_are_null:
            return None
        raise BadMessage(f"{label} {name}: {error}") from None


def field_reader(type: LogicalType, how: JsonStrictness) -> ReadValue:
    """From a parsed value to one of the type; null is NULL."""
    read = _reader(type, how)
    return lambda value: None if value is None else read(value)


def _reader(type: LogicalType, how: JsonStrictness) -> ReadValue:
    match type:
        case RowType(fields=fields):
            return row_reader(fields, how, "field")
        case ArrayType(element=element):
            return _array(type, field_reader(element, how))
        case MapType(key=key, value=value):
            return _map(type, key, field_reader(value, how))
        case MultisetType(element=element):
            return _map(type, element, field_reader(INT, how))
        case BooleanType():
            return _boolean(type)
    if isinstance(type, CHARACTERS):
        return _text
    if isinstance(type, INTEGERS):
        return _integer(type)
    if isinstance(type, (*APPROXIMATE, DecimalType)):
        return _number(type)
    read = text_reader(type)

    def of_text(value: Any) -> Any:
        if isinstance(value, str):
            return read(value)
        raise no_value(plain_json(value), type)

    return of_text


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, Decimal) else compact_json(plain_json(value))


def _boolean(type: LogicalType) -> ReadValue:
    read = text_reader(type)

    def boolean(value: Any) -> Any:
        if isinstance(value, str):
            return read(value)
        if isinstance(value, bool):
            return value
        raise no_value(plain_json(value), type)

    return boolean


def _integer(type: LogicalType) -> ReadValue:
    fit, read = fit_integer(type), text_reader(type)

    def integer(value: Any) -> Any:
        if isinstance(value, str):
            return read(value)
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise no_value(plain_json(value), type)
        if isinstance(value, Decimal) and value.adjusted() > 20:
            raise no_value(str(value), type)
        return fit(int(value))  # a fraction is cut off

    return integer


def _number(type: LogicalType) -> ReadValue:
    read = text_reader(type)
    if isinstance(type, DecimalType):
        fit = fit_decimal(type)
        convert: ReadValue = lambda value: fit(Decimal(value))  # noqa: E731
    elif isinstance(type, FloatType):
        convert = lambda value: single(float(value))  # noqa: E731
    else:
        convert = float

    def number(value: Any) -> Any:
        if isinstance(value, str):
            return read(value)
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            raise no_value(plain_json(value), type)
        return convert(value)

    return number


def _array(type: LogicalType, read: ReadValue) -> ReadValue:
    def array(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise no_value(plain_json(value), type)
        return tuple(map(read, value))

    return array


def _map(type: LogicalType, key: LogicalType, read: ReadValue) -> ReadValue:
    read_key = text_reader(key)

    def entries(value: Any) -> dict[Any, Any]:
        if not isinstance(value, dict):
            raise no_value(plain_json(value), type)
        return {read_key(name): read(item) for name, item in value.items()}

    return entries
