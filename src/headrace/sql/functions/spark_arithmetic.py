"""Arithmetic as Spark SQL: Spark raises where integers overflow, Flink wraps around.

Narrow integers are computed as BIGINT and cut. BIGINT is tried first and computed as decimals only
where it overflows. Decimals have the same types in both; what does not fit them is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.core import logical_types as lt
from headrace.core.expressions import ROWS_COUNTED
from headrace.core.logical_types import LogicalType
from headrace.sql.functions.type_rules import as_decimal

Form = Callable[[Sequence[str], Sequence[LogicalType], LogicalType], str | None]
_TRIED = {"+": "try_add", "-": "try_subtract", "*": "try_multiply"}
_BITS = {lt.TinyIntType: 8, lt.SmallIntType: 16, lt.IntType: 32}
_EXACT = (*lt.INTEGERS, lt.DecimalType)
_LOW_HALF = "4294967295L"
_LONGEST = 2000
"""Forms that repeat their arguments are not made of longer ones: nested, they would explode."""
_EXACT_DIGITS = 34
"""Of a decimal whose sign Spark changes."""


def cut(text: str, type: LogicalType) -> str:
    """A BIGINT as a narrow integer with the same low bits."""
    shift = 64 - _BITS[type.__class__]
    return f"CAST(shiftright(shiftleft({text}, {shift}), {shift}) AS {type.name()})"


def operation(sign: str) -> Form:
    """+, - or *."""

    def form(texts: Sequence[str], types: Sequence[LogicalType], result: LogicalType) -> str | None:
        if (
            sign != "*"
            and isinstance(types[0], lt.TimestampType)
            and types[1:]
            and isinstance(types[1], lt.DayTimeIntervalType)
        ):
            return f"({texts[0]} {sign} {texts[1]})"
        if not all(isinstance(type, lt.NUMERIC) for type in types):
            return None
        if isinstance(result, lt.APPROXIMATE):
            return f"({texts[0]} {sign} {texts[1]})"
        if isinstance(result, lt.DecimalType):
            return f"{_TRIED[sign]}({', '.join(_decimals(texts, types))})"
        if isinstance(result, lt.BigIntType):
            return _wrapping(sign, [f"CAST({text} AS BIGINT)" for text in texts])
        return cut(f"(CAST({texts[0]} AS BIGINT) {sign} CAST({texts[1]} AS BIGINT))", result)

    return form


def _decimals(texts: Sequence[str], types: Sequence[LogicalType]) -> list[str]:
    """Integers as the decimals Flink takes them for; Spark would look at their digits."""
    return [
        text if isinstance(type, lt.DecimalType) else f"CAST({text} AS {as_decimal(type).name()})"
        for text, type in zip(texts, types, strict=True)
    ]


def _wrapping(sign: str, texts: Sequence[str]) -> str | None:
    left, right = texts
    if len(left) + len(right) > _LONGEST:
        return None
    exact = f"(CAST({left} AS DECIMAL(19, 0)) {sign} CAST({right} AS DECIMAL(19, 0)))"
    return f"coalesce({_TRIED[sign]}({left}, {right}), {wrapped(exact)})"


def wrapped(exact: str) -> str:
    """A whole decimal as the BIGINT with the same low bits."""
    low = f"pmod({exact} + 9223372036854775808BD, 18446744073709551616BD)"
    return f"CAST({low} - 9223372036854775808BD AS BIGINT)"


def wrapping_sum(text: str) -> str:
    """The sum of BIGINTs, by halves of 32 bits, whose sums do not overflow: much quicker than
    with decimals."""
    low = f"sum({text} & {_LOW_HALF}){ROWS_COUNTED}"
    high = f"sum(shiftright({text}, 32)){ROWS_COUNTED}"
    return f"(shiftleft({high} + shiftright({low}, 32), 32) | ({low} & {_LOW_HALF}))"


def divided(texts: Sequence[str], types: Sequence[LogicalType], result: LogicalType) -> str | None:
    left, right = texts
    if not all(isinstance(type, lt.NUMERIC) for type in types):
        return None
    if isinstance(result, lt.DecimalType):
        return f"({' / '.join(_decimals(texts, types))})"
    if isinstance(result, lt.BigIntType):
        if len(left) + len(right) > _LONGEST:
            return None
        # Only the least BIGINT by -1 overflows; what is divided by -1 is its negative.
        return f"if({right} = -1, {_negative(left)}, {left} div {right})"
    if isinstance(result, lt.INTEGERS):
        return cut(f"({left} div {right})", result)
    if not isinstance(result, lt.DoubleType) or len(left) + len(right) > _LONGEST:
        return None
    infinity = f"if(CAST({right} AS STRING) = '-0.0', '-Infinity', 'Infinity')"
    by_zero = f"{left} * CAST({infinity} AS DOUBLE)"
    return f"CASE WHEN {right} = 0 THEN {by_zero} ELSE {left} / {right} END"


def remainder(
    texts: Sequence[str], types: Sequence[LogicalType], result: LogicalType
) -> str | None:
    if not all(isinstance(type, _EXACT) for type in types):
        return None
    if any(isinstance(type, lt.DecimalType) for type in types):
        return f"CAST({' % '.join(_decimals(texts, types))} AS {result.name()})"
    return f"CAST({texts[0]} % {texts[1]} AS {result.name()})"


def changes_sign_exactly(type: LogicalType) -> bool:
    """Whether Spark has the negatives of a type: those of longer decimals it rounds."""
    return isinstance(type, lt.APPROXIMATE) or (
        isinstance(type, lt.DecimalType) and type.precision <= _EXACT_DIGITS
    )


def absolute(
    texts: Sequence[str], types: Sequence[LogicalType], _result: LogicalType
) -> str | None:
    return f"abs({texts[0]})" if changes_sign_exactly(types[0]) else None


def negated(texts: Sequence[str], _types: Sequence[LogicalType], result: LogicalType) -> str | None:
    if changes_sign_exactly(result):
        return f"(- {texts[0]})"
    if isinstance(result, lt.BigIntType):
        return _negative(texts[0])
    return (
        cut(f"(- CAST({texts[0]} AS BIGINT))", result) if isinstance(result, lt.INTEGERS) else None
    )


def _negative(text: str) -> str:
    """Only the least BIGINT has no negative, and wraps around to itself."""
    return f"coalesce(try_subtract(0L, {text}), {text})"
