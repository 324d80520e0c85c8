"""CAST and TRY_CAST: for each pair of types the function that converts a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import tzinfo
from decimal import Decimal
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType
from headrace.core.numbers import WIDE, single
from headrace.errors import InvalidArgument, Unsupported
from headrace.operators.functions import dates, numbers
from headrace.operators.functions.session import instant_of, time_zone, wall_of, zone_of
from headrace.operators.functions.text_forms import writer

Convert = Callable[[Any], Any]
BITS = {lt.TinyIntType: 8, lt.SmallIntType: 16, lt.IntType: 32, lt.BigIntType: 64}
_TRUE = frozenset(("t", "true", "y", "yes", "1"))
_FALSE = frozenset(("f", "false", "n", "no", "0"))


_ALWAYS_CAST = (lt.BooleanType, *lt.INTEGERS, lt.DecimalType, *lt.DATETIMES, *lt.INTERVALS)
"""Types all of whose values can be converted to whatever they can be cast to."""


def unchanged(value: Any) -> Any:
    return value


def caster(types: Sequence[LogicalType], result: LogicalType) -> Convert:
    """CAST: a value that cannot be converted is an error."""
    convert = conversion(types[0], result)
    if isinstance(types[0], _ALWAYS_CAST):
        return convert

    def checked(value: Any) -> Any:
        try:
            return convert(value)
        except (ValueError, ArithmeticError) as error:
            raise InvalidArgument(
                f"CAST of {value!r} from {types[0].name()} to {result.name()} failed: {error}",
                hint="TRY_CAST gives NULL for values that cannot be converted.",
            ) from error

    return checked


def safe_caster(types: Sequence[LogicalType], result: LogicalType) -> Convert:
    """TRY_CAST: a value that cannot be converted is NULL."""
    convert = conversion(types[0], result)

    def safe(value: Any) -> Any:
        try:
            return convert(value)
        except (ValueError, ArithmeticError):
            return None

    return safe


def conversion(source: LogicalType, target: LogicalType) -> Convert:
    """Converts values that are not NULL; raises ValueError where there is no such value."""
    for kinds, make in _TARGETS:
        if isinstance(target, kinds):
            found = make(source, target)
            if found is not None:
                return found
    if type(source) is type(target):
        return unchanged
    raise Unsupported(f"CAST from {source} to {target} has no meaning")


def _to_text(source: LogicalType, target: Any) -> Convert:
    write, length = writer(source), target.length
    if isinstance(target, lt.CharType):
        return lambda value: write(value)[:length].ljust(length)
    return write if length == lt.STRING_LENGTH else lambda value: write(value)[:length]


def _to_binary(source: LogicalType, target: Any) -> Convert | None:
    length = target.length
    if not isinstance(source, (*lt.CHARACTERS, *lt.BINARIES)):
        return None
    pad = length if isinstance(target, lt.BinaryType) else 0

    def convert(value: Any) -> bytes:
        data: bytes = value.encode() if isinstance(value, str) else value
        return data[:length].ljust(pad, b"\0")

    return convert


def _to_boolean(source: LogicalType, _target: LogicalType) -> Convert | None:
    if isinstance(source, lt.CHARACTERS):
        return _read_boolean
    return bool if isinstance(source, lt.NUMERIC) else None


def _read_boolean(text: str) -> bool:
    lowered = text.lower()
    if lowered in _TRUE:
        return True
    if lowered in _FALSE:
        return False
    raise ValueError(f"'{text}' is neither true nor false")


def _to_integer(source: LogicalType, target: LogicalType) -> Convert | None:
    bits = BITS[target.__class__]
    if isinstance(source, lt.CHARACTERS):
        return lambda text: numbers.read_integer(text, bits)
    if isinstance(source, lt.APPROXIMATE):
        return lambda value: numbers.narrowed(value, bits)
    if isinstance(source, lt.DecimalType):
        return lambda value: numbers.wrapped(numbers.truncated(value), bits)
    if isinstance(source, lt.BooleanType):
        return int
    if isinstance(source, lt.DayTimeIntervalType):
        return lambda value: numbers.wrapped(_seconds(value), bits)
    return lambda value: numbers.wrapped(value, bits)


def _seconds(milliseconds: int) -> int:
    """Whole ones, as Flink's INSERT counts an interval; no CAST does."""
    return milliseconds // 1000 if milliseconds >= 0 else -(-milliseconds // 1000)


def interval_unit(type: Any) -> int:
    """How many months or milliseconds the leading unit of an interval has."""
    return _UNITS[type.resolution.split("(")[0].split(" ")[0]]


_UNITS = {
    "YEAR": 12, "MONTH": 1,
    "DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000,
}  # fmt: skip


def _to_approximate(source: LogicalType, target: LogicalType) -> Convert | None:
    rounded = single if isinstance(target, lt.FloatType) else float
    if isinstance(source, lt.CHARACTERS):
        return lambda text: rounded(numbers.read_real(text))
    if isinstance(source, (*lt.NUMERIC, lt.BooleanType)):
        return lambda value: rounded(float(value))
    return None


def _to_decimal(source: LogicalType, target: Any) -> Convert | None:
    precision, scale = target.precision, target.scale
    if isinstance(source, lt.CHARACTERS):
        return lambda text: _decimal_of_text(text, precision, scale)
    if isinstance(source, lt.APPROXIMATE):
        return lambda value: numbers.fitted(numbers.decimal_of(value), precision, scale)
    if isinstance(source, lt.DayTimeIntervalType):
        return lambda value: numbers.fitted(Decimal(_seconds(value)), precision, scale)
    return lambda value: numbers.fitted(Decimal(value), precision, scale)


def _decimal_of_text(text: str, precision: int, scale: int) -> Decimal:
    found = numbers.fitted(numbers.read_decimal(text), precision, scale)
    if found is None:
        raise ValueError(f"'{text}' has more digits than DECIMAL({precision}, {scale})")
    return found


def _to_date(source: LogicalType, _target: LogicalType) -> Convert | None:
    if isinstance(source, lt.CHARACTERS):
        return dates.read_date
    if isinstance(source, lt.TimestampType):
        return lambda nanos: nanos // dates.DAY_NANOS
    if isinstance(source, lt.LocalZonedTimestampType):
        zone = zone_of(time_zone())
        return lambda nanos: wall_of(nanos, zone) // dates.DAY_NANOS
    return None


def _to_time(source: LogicalType, target: Any) -> Convert | None:
    precision = target.precision
    if isinstance(source, lt.CHARACTERS):
        return lambda text: dates.cut_time(dates.read_time(text), precision)
    if isinstance(source, lt.TimeType):
        return lambda millis: dates.cut_time(millis, precision)
    if isinstance(source, lt.TIMESTAMPS):
        to_wall = _wall(source)
        return lambda nanos: dates.cut_time(
            to_wall(nanos) % dates.DAY_NANOS // dates.MILLI_NANOS, precision
        )
    return None


def _wall(type: LogicalType) -> Callable[[int], int]:
    """From timestamps of this type to nanoseconds of the clock on the wall."""
    if not isinstance(type, lt.LocalZonedTimestampType):
        return unchanged
    zone = zone_of(time_zone())
    return lambda nanos: wall_of(nanos, zone)


def _wall_reader(source: LogicalType) -> Callable[[Any], int] | None:
    if isinstance(source, lt.CHARACTERS):
        return dates.read_timestamp
    if isinstance(source, lt.DateType):
        return lambda days: days * dates.DAY_NANOS
    if isinstance(source, lt.TimeType):
        return lambda millis: millis * dates.MILLI_NANOS
    return _wall(source) if isinstance(source, lt.TIMESTAMPS) else None


def _to_timestamp(source: LogicalType, target: Any) -> Convert | None:
    read, precision = _wall_reader(source), target.precision
    return None if read is None else lambda value: dates.cut(read(value), precision)


def _to_zoned(source: LogicalType, target: Any) -> Convert | None:
    precision = target.precision
    if isinstance(source, lt.LocalZonedTimestampType):
        return lambda nanos: dates.cut(nanos, precision)
    read, zone = _wall_reader(source), zone_of(time_zone())
    return None if read is None else _in_zone(read, zone, precision)


def _in_zone(read: Callable[[Any], int], zone: tzinfo, precision: int) -> Convert:
    return lambda value: instant_of(dates.cut(read(value), precision), zone)


def _to_interval(source: LogicalType, target: LogicalType) -> Convert | None:
    if isinstance(source, (*lt.INTEGERS, lt.DecimalType)):
        unit = interval_unit(target)
        return lambda value: int(WIDE.multiply(value, unit))
    return None


def _part(source: LogicalType, target: LogicalType) -> Convert:
    convert = conversion(source, target)
    return lambda value: None if value is None else convert(value)


def _to_array(source: LogicalType, target: Any) -> Convert | None:
    if not isinstance(source, lt.ArrayType):
        return None
    element = _part(source.element, target.element)
    return lambda array: tuple(map(element, array))


def _to_map(source: LogicalType, target: Any) -> Convert | None:
    if isinstance(source, lt.MapType):
        key, value = _part(source.key, target.key), _part(source.value, target.value)
        return lambda pairs: {key(k): value(v) for k, v in pairs.items()}
    return None


def _to_multiset(source: LogicalType, target: Any) -> Convert | None:
    if isinstance(source, lt.MultisetType):
        element = _part(source.element, target.element)
        return lambda counts: {element(k): count for k, count in counts.items()}
    return None


def _to_row(source: LogicalType, target: Any) -> Convert | None:
    if not isinstance(source, lt.RowType):
        return None
    parts = [_part(one, other) for one, other in zip(source.types, target.types, strict=True)]
    return lambda row: tuple(part(value) for part, value in zip(parts, row, strict=True))


_TARGETS: tuple[
    tuple[tuple[type[LogicalType], ...], Callable[[LogicalType, Any], Convert | None]], ...
] = (
    (lt.CHARACTERS, _to_text),
    (lt.BINARIES, _to_binary),
    ((lt.BooleanType,), _to_boolean),
    (lt.INTEGERS, _to_integer),
    (lt.APPROXIMATE, _to_approximate),
    ((lt.DecimalType,), _to_decimal),
    ((lt.DateType,), _to_date),
    ((lt.TimeType,), _to_time),
    ((lt.TimestampType,), _to_timestamp),
    ((lt.LocalZonedTimestampType,), _to_zoned),
    (lt.INTERVALS, _to_interval),
    ((lt.ArrayType,), _to_array),
    ((lt.MapType,), _to_map),
    ((lt.MultisetType,), _to_multiset),
    ((lt.RowType,), _to_row),
)
