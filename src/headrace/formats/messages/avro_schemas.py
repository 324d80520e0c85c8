"""The Avro schema of rows, as Flink derives it, and values as fastavro writes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.logical_types import (
    BINARIES,
    CHARACTERS,
    INT,
    ArrayType,
    BigIntType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    MultisetType,
    NullType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
)
from headrace.core.numbers import rescaled
from headrace.errors import Unsupported

__all__ = ["avro_schema", "nanos_by_name", "outward"]

RECORD = "org.apache.flink.avro.generated.record"
"""The name of the record that Flink gives to every table."""
Convert = Callable[[Any], Any]

_PLAIN: tuple[tuple[type[LogicalType] | tuple[type[LogicalType], ...], str], ...] = (
    (NullType, "null"),
    (BooleanType, "boolean"),
    ((TinyIntType, SmallIntType, IntType), "int"),
    (BigIntType, "long"),
    (FloatType, "float"),
    (DoubleType, "double"),
    (CHARACTERS, "string"),
    (BINARIES, "bytes"),
)
_UNITS = ((3, "millis", 1_000_000), (6, "micros", 1000), (9, "nanos", 1))
_LEGACY_DIGITS = 3


def avro_schema(type: LogicalType, *, legacy: bool = True, name: str = RECORD) -> Any:
    """The schema of a type; what may be NULL is a union with null, which comes first."""
    schema = _schema(type, legacy, name)
    return ["null", schema] if type.nullable and schema != "null" else schema


def _schema(type: LogicalType, legacy: bool, name: str) -> Any:
    for kinds, text in _PLAIN:
        if isinstance(type, kinds):
            return text
    match type:
        case DateType():
            return {"type": "int", "logicalType": "date"}
        case TimeType() if type.precision <= _LEGACY_DIGITS:
            return {"type": "int", "logicalType": "time-millis"}
        case TimestampType() | LocalZonedTimestampType():
            return {"type": "long", "logicalType": _moment(type, legacy)}
        case DecimalType(precision=precision, scale=scale):
            return {
                "type": "bytes",
                "logicalType": "decimal",
                "precision": precision,
                "scale": scale,
            }
        case ArrayType(element=element):
            return {"type": "array", "items": avro_schema(element, legacy=legacy, name=name)}
        case MapType(key=key, value=value):
            return _map(type, key, value, legacy, name)
        case MultisetType(element=element):
            return _map(type, element, INT, legacy, name)
        case RowType(fields=fields):
            return {
                "type": "record",
                "name": name,
                "fields": [_field(each, legacy, name) for each in fields],
            }
    raise Unsupported(f"Avro has no form for {type}", hint="Use a type that it has, or CAST.")


def _moment(type: TimestampType | LocalZonedTimestampType, legacy: bool) -> str:
    zoned = isinstance(type, LocalZonedTimestampType)
    if legacy and (zoned or type.precision > _LEGACY_DIGITS):
        raise Unsupported(
            f"Avro has no form for {type} in Flink's older mapping of timestamps",
            hint="Set 'avro.timestamp_mapping.legacy' = 'false', or declare TIMESTAMP(3).",
        )
    unit = next(unit for digits, unit, _ in _UNITS if type.precision <= digits)
    return f"{'' if legacy or zoned else 'local-'}timestamp-{unit}"


def _map(type: LogicalType, key: LogicalType, value: LogicalType, legacy: bool, name: str) -> Any:
    if not isinstance(key, CHARACTERS):
        raise Unsupported(f"Avro has no form for {type}: the keys of its maps are strings")
    return {"type": "map", "values": avro_schema(value, legacy=legacy, name=name)}


def _field(field: Any, legacy: bool, name: str) -> dict[str, Any]:
    schema = avro_schema(field.type, legacy=legacy, name=f"{name}_{field.name}")
    made = {"name": field.name, "type": schema}
    return made | {"default": None} if field.type.nullable else made


def nanos_by_name(logical: str | None) -> int | None:
    """How many nanoseconds a moment of that logical type counts by."""
    return next((unit for _, name, unit in _UNITS if logical and logical.endswith(name)), None)


def _nanos(type: TimestampType | LocalZonedTimestampType) -> int:
    return next(unit for digits, _, unit in _UNITS if type.precision <= digits)


def outward(type: LogicalType) -> Convert | None:
    """From a value in internal form to what fastavro writes; None: it takes it as it is."""
    match type:
        case TimestampType() | LocalZonedTimestampType():
            unit = _nanos(type)
            return lambda nanos: nanos // unit
        case DecimalType(scale=scale):
            return lambda number: rescaled(number, scale)
        case ArrayType(element=element):
            part = _nullable(outward(element))
            return lambda values: list(map(part, values))
        case MapType(value=value):
            part = _nullable(outward(value))
            return lambda pairs: {key: part(item) for key, item in pairs.items()}
        case RowType(fields=fields):
            parts = [(each.name, _nullable(outward(each.type))) for each in fields]
            return lambda row: {
                name: part(item) for (name, part), item in zip(parts, row, strict=True)
            }
    return None


def _nullable(convert: Convert | None) -> Convert:
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)
