"""What functions of the user give, held to the type that was declared for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.logical_types import (
    BigIntType,
    CharType,
    IntType,
    LogicalType,
    SmallIntType,
    TinyIntType,
    VarCharType,
)
from headrace.core.table_values import from_python
from headrace.core.user_code import shown
from headrace.errors import TypeMismatch

_BITS: dict[type[LogicalType], int] = {
    TinyIntType: 8,
    SmallIntType: 16,
    IntType: 32,
    BigIntType: 64,
}
Convert = Callable[[Any], Any]


def result_of(type: LogicalType) -> Convert:
    """From what a function gave to its internal form; what is not of the type is told."""
    bits = _BITS.get(type.__class__)
    if bits is not None:
        convert = _whole_of(bits)
    elif isinstance(type, CharType | VarCharType):
        convert = _text
    else:
        convert = from_python(type) or _same

    def result(value: Any) -> Any:
        if value is None:
            return None
        try:
            return convert(value)
        except Exception as error:
            raise mismatch(value, type) from error

    return result


def mismatch(value: Any, type: LogicalType) -> TypeMismatch:
    return TypeMismatch(
        f"the function gave {shown(value)} of type {value.__class__.__name__}, which is no {type}",
        hint="Let it return what its result type says, or change the result type.",
    )


def _whole_of(bits: int) -> Convert:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def whole(value: Any) -> int:
        if value.__class__ is not int:
            value = value.__int__()  # texts have none; a fraction is cut off, as in Flink
        if low <= value <= high:
            return value  # type: ignore[no-any-return]
        raise OverflowError

    return whole


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise TypeError


def _same(value: Any) -> Any:
    return value
