"""Casts as Spark SQL, where Spark's ANSI casts mean the same or can be made to."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType
from headrace.sql.functions.spark_arithmetic import cut
from headrace.sql.functions.type_rules import can_cast_implicitly

Kinds = tuple[type[LogicalType], ...]

_SAME: tuple[tuple[Kinds, Kinds], ...] = (
    (lt.INTEGERS, (lt.DoubleType, lt.FloatType)),
    ((lt.FloatType, lt.DecimalType), (lt.DoubleType,)),
    ((lt.DateType,), (lt.TimestampType,)),
    ((lt.TimestampType,), (lt.DateType,)),
    (lt.INTEGERS, (lt.BooleanType,)),
    ((lt.BooleanType,), lt.INTEGERS),
)
"""Sources and targets whose casts mean the same."""


def type_name(type: LogicalType) -> str | None:
    """The Spark type with the same values."""
    if isinstance(type, lt.TimestampType):
        return "TIMESTAMP_NTZ"
    if isinstance(type, lt.VarCharType) and type.length == lt.STRING_LENGTH:
        return "STRING"
    plain = (lt.BooleanType, *lt.NUMERIC, lt.DateType)
    return type.name() if isinstance(type, plain) else None


def written(texts: Sequence[str], types: Sequence[LogicalType], result: LogicalType) -> str | None:
    """CAST(… AS result)."""
    source, name, text = types[0], type_name(result), texts[0]
    if name is None:
        return _of_length(text, source, result)
    if name == "STRING":
        return _as_text(text, source)
    if isinstance(result, lt.INTEGERS) and isinstance(source, lt.INTEGERS):
        if can_cast_implicitly(source, result):
            return f"CAST({text} AS {name})"
        return cut(f"CAST({text} AS BIGINT)", result)
    if isinstance(result, lt.DecimalType) and isinstance(source, (*lt.INTEGERS, lt.DecimalType)):
        return f"try_cast({text} AS {name})"
    same = any(isinstance(source, one) and isinstance(result, other) for one, other in _SAME)
    return f"CAST({text} AS {name})" if same else None


def _of_length(text: str, source: LogicalType, result: LogicalType) -> str | None:
    """Text and bytes cut, and filled up if the length is fixed; rpad() does both."""
    if isinstance(source, lt.CHARACTERS) and isinstance(result, lt.CharType):
        return f"rpad({text}, {result.length}, ' ')"
    if isinstance(source, lt.BINARIES) and isinstance(result, lt.BinaryType):
        return f"rpad({text}, {result.length}, X'00')"
    for family in (lt.CHARACTERS, lt.BINARIES):
        if isinstance(source, family) and isinstance(result, family):
            return f"substring({text}, 1, {result.length})"
    return None


def _as_text(text: str, source: LogicalType) -> str | None:
    if isinstance(source, lt.BooleanType):
        return f"upper(CAST({text} AS STRING))"
    if isinstance(source, lt.TimestampType):
        fraction = "." + "S" * source.precision if source.precision else ""
        return f"date_format({text}, 'yyyy-MM-dd HH:mm:ss{fraction}')"
    same = (*lt.NUMERIC, *lt.CHARACTERS, lt.DateType)
    return f"CAST({text} AS STRING)" if isinstance(source, same) else None


def renamed(texts: Sequence[str], types: Sequence[LogicalType], result: LogicalType) -> str | None:
    """What is the same value in Python may still be of another Spark type."""
    source, text = types[0], texts[0]
    if isinstance(source, (*lt.CHARACTERS, *lt.BINARIES)) or type(source) is type(result):
        return text
    name = type_name(result)
    return None if name is None else f"CAST({text} AS {name})"
