"""Messages of protobuf's runtime to values in internal form, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.logical_types import (
    APPROXIMATE,
    BINARIES,
    CHARACTERS,
    INTEGERS,
    ArrayType,
    BooleanType,
    FloatType,
    LogicalType,
    MapType,
    RowType,
)
from headrace.core.numbers import single
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.formats.messages.text_values import fit_integer

__all__ = ["message_reader", "message_writer"]

Convert = Callable[[Any], Any]


def _field_of(descriptor: Any, name: str) -> Any:
    found = descriptor.fields_by_name.get(name)
    if found is None:
        known = ", ".join(each.name for each in descriptor.fields)
        raise InvalidArgument(
            f"the message {descriptor.full_name} has no field '{name}'",
            hint=f"It has: {known}.",
        )
    return found


def message_reader(row: RowType, descriptor: Any, *, defaults: bool) -> Convert:
    """From a message to a tuple. What is not set is NULL; with `defaults`, or where a message
    cannot tell, it is the field's default."""
    parts = [_field_reader(_field_of(descriptor, f.name), f.type, defaults) for f in row.fields]
    return lambda message: tuple([read(message) for read in parts])


def _field_reader(field: Any, type: LogicalType, defaults: bool) -> Convert:
    name = field.name
    if _is_map(field):
        read = _map_reader(field, type, defaults)
    elif field.is_repeated:
        read = _array_reader(field, type, defaults)
    else:
        read = _value_reader(field, type, defaults)
        if field.message_type is None and (defaults or not field.has_presence):
            return lambda message: read(getattr(message, name))
        return lambda message: read(getattr(message, name)) if message.HasField(name) else None
    if defaults:
        return lambda message: read(getattr(message, name))
    return lambda message: read(found) if (found := getattr(message, name)) else None


def _is_map(field: Any) -> bool:
    inner = field.message_type
    return inner is not None and bool(inner.GetOptions().map_entry)


def _map_reader(field: Any, type: LogicalType, defaults: bool) -> Convert:
    if not isinstance(type, MapType):
        raise _misfit(field, type)
    entry = field.message_type.fields_by_name
    key = _value_reader(entry["key"], type.key, defaults)
    value = _value_reader(entry["value"], type.value, defaults)
    return lambda pairs: {key(name): value(pairs[name]) for name in pairs}


def _array_reader(field: Any, type: LogicalType, defaults: bool) -> Convert:
    if not isinstance(type, ArrayType):
        raise _misfit(field, type)
    part = _value_reader(field, type.element, defaults)
    return lambda items: tuple(map(part, items))


def _value_reader(field: Any, type: LogicalType, defaults: bool) -> Convert:
    _check(field, type)
    if isinstance(type, RowType):
        return message_reader(type, field.message_type, defaults=defaults)
    if field.enum_type is not None and isinstance(type, CHARACTERS):
        names = field.enum_type.values_by_number
        return lambda number: names[number].name if number in names else str(number)
    if isinstance(type, INTEGERS):
        return fit_integer(type)
    return lambda value: value


def _check(field: Any, type: LogicalType) -> None:
    """Refuse a column that cannot hold what the field has."""
    kinds: Any = {
        field.CPPTYPE_STRING: CHARACTERS if field.type == field.TYPE_STRING else BINARIES,
        field.CPPTYPE_BOOL: BooleanType,
        field.CPPTYPE_FLOAT: FloatType,
        field.CPPTYPE_DOUBLE: APPROXIMATE,
        field.CPPTYPE_MESSAGE: RowType,
        field.CPPTYPE_ENUM: (*CHARACTERS, *INTEGERS),
    }.get(field.cpp_type, INTEGERS)
    if not isinstance(type, kinds):
        raise _misfit(field, type)


def _misfit(field: Any, type: LogicalType) -> InvalidArgument:
    return InvalidArgument(
        f"the field {field.full_name} of the message cannot be {type}",
        hint="Declare the column as docs/how-to/table-formats.md says for protobuf.",
    )


def message_writer(row: RowType, descriptor: Any, null_text: str) -> Callable[[Any, Any], None]:
    """Fills a message with a tuple; NULL leaves a field as it is."""
    parts = [_field_writer(_field_of(descriptor, f.name), f.type, null_text) for f in row.fields]

    def fill(message: Any, values: Any) -> None:
        for write, value in zip(parts, values, strict=True):
            if value is not None:
                write(message, value)

    return fill


def _field_writer(field: Any, type: LogicalType, null_text: str) -> Callable[[Any, Any], None]:
    name = field.name
    if _is_map(field):
        return _map_writer(field, type, null_text)
    if field.is_repeated:
        return _array_writer(field, type, null_text)
    _check(field, type)
    if isinstance(type, RowType):
        fill = message_writer(type, field.message_type, null_text)

        def nested(message: Any, value: Any) -> None:
            part = getattr(message, name)
            part.SetInParent()
            fill(part, value)

        return nested
    convert = _scalar(field, type, null_text)
    return lambda message, value: setattr(message, name, convert(value))


def _array_writer(field: Any, type: LogicalType, null_text: str) -> Callable[[Any, Any], None]:
    name = field.name
    if not isinstance(type, ArrayType):
        raise _misfit(field, type)
    _check(field, type.element)
    if isinstance(type.element, RowType):
        fill = message_writer(type.element, field.message_type, null_text)

        def rows(message: Any, values: Any) -> None:
            for value in values:
                part = getattr(message, name).add()
                if value is not None:
                    fill(part, value)

        return rows
    convert = _scalar(field, type.element, null_text)
    return lambda message, values: getattr(message, name).extend(map(convert, values))


def _map_writer(field: Any, type: LogicalType, null_text: str) -> Callable[[Any, Any], None]:
    name, entry = field.name, field.message_type.fields_by_name
    if not isinstance(type, MapType):
        raise _misfit(field, type)
    _check(entry["key"], type.key)
    _check(entry["value"], type.value)
    key = _scalar(entry["key"], type.key, null_text)
    if isinstance(type.value, RowType):
        fill = message_writer(type.value, entry["value"].message_type, null_text)

        def rows(message: Any, pairs: Any) -> None:
            for label, value in pairs.items():
                part = getattr(message, name)[key(label)]
                if value is not None:
                    fill(part, value)

        return rows
    convert = _scalar(entry["value"], type.value, null_text)

    def values(message: Any, pairs: Any) -> None:
        held = getattr(message, name)
        for label, value in pairs.items():
            held[key(label)] = convert(value)

    return values


def _scalar(field: Any, type: LogicalType, null_text: str) -> Convert:
    """A value as the runtime takes it; NULL inside of lists is the default, or a text for it."""
    nothing = null_text if isinstance(type, CHARACTERS) else field.default_value
    if field.enum_type is not None:
        numbers = field.enum_type.values_by_name
        nothing = field.enum_type.values[0].number

        def number(value: Any) -> Any:
            if value is None or isinstance(value, int):
                return nothing if value is None else value
            if value not in numbers:
                raise TypeMismatch(f"{field.enum_type.full_name} has no value '{value}'")
            return numbers[value].number

        return number
    if isinstance(type, FloatType):
        return lambda value: nothing if value is None else single(value)
    return lambda value: nothing if value is None else value
