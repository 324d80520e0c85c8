"""What fastavro read by a writer's schema, as values in internal form."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from headrace.core.logical_types import (
    APPROXIMATE,
    BINARIES,
    CHARACTERS,
    INT,
    INTEGERS,
    ArrayType,
    BooleanType,
    DateType,
    DecimalType,
    FloatType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
)
from headrace.core.numbers import single
from headrace.core.table_values import EPOCH, EPOCH_DAY
from headrace.errors import Unsupported
from headrace.formats.messages.avro_schemas import nanos_by_name
from headrace.formats.messages.message_format import BadMessage
from headrace.formats.messages.text_values import fit_decimal, fit_integer, no_value
from headrace.operators.functions.dates import cut

__all__ = ["record_reader"]

Read = Callable[[Any], Any]
_MICROSECOND = datetime.timedelta(microseconds=1)
_UTC = datetime.UTC


def record_reader(row: RowType, schema: Any) -> Callable[[Any], tuple[Any, ...]]:
    """From a record of the schema, in which no type is named before it is described, to values.

    A column that the schema does not have is NULL, or an error where it must not be.
    """
    held = {field["name"]: field["type"] for field in _branch(schema).get("fields", ())}
    readers = []
    for field in row.fields:
        if field.name not in held and not field.type.nullable:
            raise BadMessage(f"column {field.name}: the writer's schema has no such field")
        readers.append((field.name, _nullable(field.type, held.get(field.name))))

    def read(record: Any) -> tuple[Any, ...]:
        if not isinstance(record, dict):
            raise BadMessage(f"{record!r} is no record")
        return tuple([_column(name, part, record.get(name)) for name, part in readers])

    return read


def _column(name: str, read: Read, value: Any) -> Any:
    try:
        return read(value)
    except BadMessage as error:
        raise BadMessage(f"column {name}: {error}") from None


def _branch(schema: Any) -> dict[str, Any]:
    """What a schema says where it is not null; nothing where it can be more than one thing."""
    if isinstance(schema, list):
        others = [each for each in schema if each != "null"]
        schema = others[0] if len(others) == 1 else None
    if isinstance(schema, dict):
        inner = schema["type"]
        return schema if isinstance(inner, str) else _branch(inner)
    return {}


def _nullable(type: LogicalType, schema: Any) -> Read:
    read, nullable = _reader(type, _branch(schema)), type.nullable

    def value(found: Any) -> Any:
        if found is None:
            if nullable:
                return None
            raise no_value(None, type)
        return read(found)

    return value


def _reader(type: LogicalType, schema: dict[str, Any]) -> Read:
    match type:
        case RowType():
            return record_reader(type, schema)
        case ArrayType(element=element):
            part = _nullable(element, schema.get("items"))
            return _of(list, type, lambda found: tuple(map(part, found)))
        case MapType(value=inner):
            return _map(type, _nullable(inner, schema.get("values")))
        case MultisetType():
            return _map(type, _nullable(INT, schema.get("values")))
        case TimestampType() | LocalZonedTimestampType():
            return _moment(type, nanos_by_name(schema.get("logicalType")))
    return _scalar(type)


def _of(kinds: Any, type: LogicalType, convert: Read) -> Read:
    def value(found: Any) -> Any:
        if isinstance(found, kinds):
            return convert(found)
        raise no_value(found, type)

    return value


def _map(type: LogicalType, part: Read) -> Read:
    return _of(dict, type, lambda found: {key: part(item) for key, item in found.items()})


def _scalar(type: LogicalType) -> Read:
    if isinstance(type, INTEGERS):
        fit = fit_integer(type)
        return _of(int, type, lambda found: fit(int(found)))
    if isinstance(type, APPROXIMATE):
        convert: Read = single if isinstance(type, FloatType) else float
        return _of((int, float), type, convert)
    if isinstance(type, CHARACTERS):
        return _of((str, bytes), type, lambda v: v if isinstance(v, str) else v.decode())
    if isinstance(type, BINARIES):
        return _of((str, bytes), type, lambda v: v if isinstance(v, bytes) else v.encode())
    match type:
        case BooleanType():
            return _of(bool, type, lambda found: found)
        case DecimalType():
            fit_number = fit_decimal(type)
            return _of((int, Decimal), type, lambda found: fit_number(Decimal(found)))
        case DateType():
            return _of((int, datetime.date), type, _days)
        case TimeType():
            return _of((int, datetime.time), type, _millis)
    raise Unsupported(f"Avro has no form for {type}", hint="Use a type that it has.")


def _days(found: Any) -> int:
    return found if isinstance(found, int) else found.toordinal() - EPOCH_DAY


def _millis(found: Any) -> int:
    if isinstance(found, int):
        return found
    seconds = (found.hour * 60 + found.minute) * 60 + found.second
    return int(seconds * 1000 + found.microsecond // 1000)


def _moment(type: TimestampType | LocalZonedTimestampType, unit: int | None) -> Read:
    precision = type.precision
    # A number without a logical type counts by the column's own unit.
    own = 1_000_000 if precision <= 3 else 1000 if precision <= 6 else 1

    def moment(found: Any) -> int:
        if isinstance(found, int):
            return cut(found * (unit or own), precision)
        wall = found if found.tzinfo is None else found.astimezone(_UTC).replace(tzinfo=None)
        return cut((wall - EPOCH) // _MICROSECOND * 1000, precision)

    return _of((int, datetime.datetime), type, moment)
