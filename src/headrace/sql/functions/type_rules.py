"""Which types Flink casts to which, and the type that several types have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType

MAX_PRECISION = 38
_INTEGER_DIGITS = {lt.TinyIntType: 3, lt.SmallIntType: 5, lt.IntType: 10, lt.BigIntType: 19}
_PREDEFINED = (
    lt.BooleanType, *lt.CHARACTERS, *lt.BINARIES, *lt.NUMERIC, *lt.DATETIMES,
    lt.ZonedTimestampType, *lt.INTERVALS,
)  # fmt: skip
_CONSTRUCTED = (lt.ArrayType, lt.MapType, lt.MultisetType, lt.RowType)

# By target: sources that are cast without being asked, and those CAST accepts besides.
_IMPLICIT: dict[type[LogicalType], tuple[type[LogicalType], ...]] = {
    lt.CharType: (lt.CharType,),
    lt.VarCharType: lt.CHARACTERS,
    lt.BinaryType: (lt.BinaryType,),
    lt.VarBinaryType: lt.BINARIES,
    lt.TinyIntType: (lt.TinyIntType,),
    lt.SmallIntType: lt.INTEGERS[:2],
    lt.IntType: lt.INTEGERS[:3],
    lt.BigIntType: lt.INTEGERS,
    lt.DecimalType: lt.NUMERIC,
    lt.FloatType: (*lt.INTEGERS, lt.FloatType, lt.DecimalType),
    lt.DoubleType: lt.NUMERIC,
    lt.DateType: (lt.DateType, lt.TimestampType),
    lt.TimeType: (lt.TimeType, lt.TimestampType),
    lt.TimestampType: lt.TIMESTAMPS,
    lt.LocalZonedTimestampType: lt.TIMESTAMPS,
}
_TEXT_OF = (*_PREDEFINED, *_CONSTRUCTED, lt.RawType, lt.BitmapType, lt.VariantType)
_TO_NUMBER = (*lt.NUMERIC, *lt.CHARACTERS, lt.BooleanType)
_TO_TIMESTAMP = (*lt.DATETIMES, *lt.CHARACTERS)
_EXPLICIT: dict[type[LogicalType], tuple[type[LogicalType], ...]] = {
    lt.CharType: _TEXT_OF,
    lt.VarCharType: _TEXT_OF,
    lt.BinaryType: (*lt.CHARACTERS, *lt.BINARIES, lt.RawType),
    lt.VarBinaryType: (*lt.CHARACTERS, *lt.BINARIES, lt.RawType),
    lt.BooleanType: (*lt.CHARACTERS, *lt.NUMERIC),
    **dict.fromkeys(lt.NUMERIC, _TO_NUMBER),
    lt.DateType: (*lt.TIMESTAMPS, *lt.CHARACTERS),
    lt.TimeType: (lt.TimeType, *lt.TIMESTAMPS, *lt.CHARACTERS),
    lt.TimestampType: _TO_TIMESTAMP,
    lt.LocalZonedTimestampType: _TO_TIMESTAMP,
    lt.YearMonthIntervalType: (*lt.INTEGERS, lt.DecimalType, lt.YearMonthIntervalType),
    lt.DayTimeIntervalType: (*lt.INTEGERS, lt.DecimalType, lt.DayTimeIntervalType),
}


def can_cast_implicitly(source: LogicalType, target: LogicalType) -> bool:
    """Whether Flink casts without being asked; nullability of the outer types is ignored."""
    return _castable(source, target, explicit=False)


def can_cast_explicitly(source: LogicalType, target: LogicalType) -> bool:
    """Whether CAST(source AS target) means something."""
    return _castable(source, target, explicit=True)


def needs_no_cast(source: LogicalType, target: LogicalType) -> bool:
    """Whether each value of `source` is one of `target` as it stands."""
    if isinstance(target, lt.VarCharType) and isinstance(source, lt.CHARACTERS):
        return source.length <= target.length
    if isinstance(target, lt.VarBinaryType) and isinstance(source, lt.BINARIES):
        return source.length <= target.length
    if type(source) is not type(target):
        return False
    ours, theirs = children(source), children(target)
    if not ours:
        return lt.materialized(source.with_nullable(True)) == lt.materialized(
            target.with_nullable(True)
        )
    return len(ours) == len(theirs) and all(map(needs_no_cast, ours, theirs))


def children(type: LogicalType) -> tuple[LogicalType, ...]:
    if isinstance(type, lt.ArrayType | lt.MultisetType):
        return (type.element,)
    if isinstance(type, lt.MapType):
        return (type.key, type.value)
    return type.types if isinstance(type, lt.RowType) else ()


def _castable(source: LogicalType, target: LogicalType, *, explicit: bool) -> bool:
    if isinstance(source, lt.NullType):
        return True
    if lt.materialized(source.with_nullable(True)) == lt.materialized(target.with_nullable(True)):
        return True
    if isinstance(target, _CONSTRUCTED) and type(source) is type(target):
        ours, theirs = children(source), children(target)
        return len(ours) == len(theirs) and all(
            _castable(one, other, explicit=explicit)
            for one, other in zip(ours, theirs, strict=True)
        )
    if explicit and isinstance(target, lt.INTERVALS) and isinstance(source, lt.NUMERIC):
        # A number can only be a count of one unit.
        return " TO " not in target.resolution and not isinstance(source, lt.APPROXIMATE)
    if isinstance(source, _IMPLICIT.get(type(target), (type(target),))):
        return not isinstance(target, (*_CONSTRUCTED, lt.RawType))
    return explicit and isinstance(source, _EXPLICIT.get(type(target), ()))


def common_type(types: Sequence[LogicalType]) -> LogicalType | None:
    """The least type all of them can be cast to; None if there is none or all are NULL."""
    known = [
        lt.materialized(type.with_nullable(True))
        for type in types
        if not isinstance(type, lt.NullType)
    ]
    if not known:
        return None
    found: LogicalType | None = known[0]
    for type in known[1:]:
        found = None if found is None else _merged(found, type)
    return None if found is None else found.with_nullable(any(type.nullable for type in types))


def _merged(left: LogicalType, right: LogicalType) -> LogicalType | None:
    if left == right:
        return left
    if isinstance(left, lt.NUMERIC) and isinstance(right, lt.NUMERIC):
        return _merged_numbers(left, right)
    for fixed, varying in ((lt.CharType, lt.VarCharType), (lt.BinaryType, lt.VarBinaryType)):
        if isinstance(left, (fixed, varying)) and isinstance(right, (fixed, varying)):
            longest = max(left.length, right.length)
            return varying(longest)
    if isinstance(left, lt.TIMESTAMPS) and isinstance(right, lt.TIMESTAMPS):
        zoned = isinstance(left, lt.LocalZonedTimestampType) or not isinstance(
            right, lt.TimestampType
        )
        kind = lt.LocalZonedTimestampType if zoned else lt.TimestampType
        return kind(max(left.precision, right.precision))
    if isinstance(left, lt.TimeType) and isinstance(right, lt.TimeType):
        return lt.TimeType(max(left.precision, right.precision))
    if type(left) is type(right):
        return _merged_same_kind(left, right)
    if can_cast_implicitly(left, right):
        return right
    return left if can_cast_implicitly(right, left) else None


def _merged_same_kind(left: LogicalType, right: LogicalType) -> LogicalType | None:
    if isinstance(left, lt.YearMonthIntervalType):
        return lt.YearMonthIntervalType()
    if isinstance(left, lt.DayTimeIntervalType):
        return lt.DayTimeIntervalType()
    ours, theirs = children(left), children(right)
    if not ours or len(ours) != len(theirs):
        return None
    merged = [common_type(pair) for pair in zip(ours, theirs, strict=True)]
    if None in merged:
        return None
    parts = [part for part in merged if part is not None]
    if isinstance(left, lt.ArrayType):
        return lt.ArrayType(parts[0])
    if isinstance(left, lt.MultisetType):
        return lt.MultisetType(parts[0])
    if isinstance(left, lt.MapType):
        return lt.MapType(parts[0], parts[1])
    assert isinstance(left, lt.RowType)
    fields = zip(left.fields, parts, strict=True)
    return lt.RowType(tuple(replace(field, type=part) for field, part in fields))


def _merged_numbers(left: LogicalType, right: LogicalType) -> LogicalType:
    pair = (left, right)
    if any(isinstance(type, lt.DoubleType) for type in pair):
        return lt.DOUBLE
    if any(isinstance(type, lt.FloatType) for type in pair):
        return lt.DOUBLE if any(isinstance(type, lt.DecimalType) for type in pair) else lt.FLOAT
    if not any(isinstance(type, lt.DecimalType) for type in pair):
        return max(pair, key=lambda one: lt.INTEGERS.index(one.__class__))
    one, other = as_decimal(left), as_decimal(right)
    whole = min(max(one.precision - one.scale, other.precision - other.scale), MAX_PRECISION)
    scale = min(max(one.scale, other.scale), MAX_PRECISION - whole)
    return lt.DecimalType(whole + scale, scale)


def as_decimal(type: LogicalType) -> lt.DecimalType:
    """The decimal that holds every value of an exact number."""
    if isinstance(type, lt.DecimalType):
        return type
    return lt.DecimalType(_INTEGER_DIGITS[type.__class__], 0, nullable=type.nullable)


_READ_FROM_TEXT = (lt.BooleanType, *lt.NUMERIC, *lt.DATETIMES)


def reads_text(type: LogicalType, other: LogicalType) -> bool:
    """Whether text of the one type is read as the other when they are compared."""
    return isinstance(type, lt.CHARACTERS) and isinstance(other, _READ_FROM_TEXT)


def comparison_type(left: LogicalType, right: LogicalType) -> LogicalType | None:
    """The type two values are compared as: text is read as what it meets, a number as a BIGINT or
    what has room for one."""
    for one, other in ((left, right), (right, left)):
        if reads_text(one, other):
            numeric = isinstance(other, lt.NUMERIC)
            return common_type((other, lt.BIGINT)) if numeric else lt.materialized(other)
        if isinstance(one, lt.DateType | lt.TimeType) and isinstance(other, lt.TIMESTAMPS):
            return None
    return common_type((left, right))
