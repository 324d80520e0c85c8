"""Result types of functions of texts."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.expressions import Expression
from headrace.core.logical_types import (
    BINARIES,
    CHARACTERS,
    STRING,
    STRING_LENGTH,
    BinaryType,
    CharType,
    LogicalType,
    VarBinaryType,
    VarCharType,
)
from headrace.sql.functions.row import Result


def varying(position: int) -> Result:
    """The argument's type with a length that varies: VARCHAR(3) for CHAR(3)."""

    def result(arguments: Sequence[Expression]) -> LogicalType:
        type = arguments[position].type
        return VarCharType(type.length) if isinstance(type, CharType) else type

    return result


def joined(arguments: Sequence[Expression]) -> LogicalType | None:
    """Of texts written one after the other: fixed lengths add up to a fixed length."""
    types = [argument.type for argument in arguments]
    if all(isinstance(type, BinaryType) for type in types):
        return BinaryType(_length(types))
    if all(isinstance(type, BINARIES) for type in types):
        return VarBinaryType(_length(types))
    if all(isinstance(type, CharType) for type in types):
        return CharType(_length(types))
    return VarCharType(_length(types)) if all(isinstance(t, CHARACTERS) for t in types) else None


def joined_varying(arguments: Sequence[Expression]) -> LogicalType | None:
    """The same of the first two, never of fixed length."""
    type = joined(arguments[:2])
    return VarCharType(type.length) if isinstance(type, CharType | VarCharType) else STRING


def _length(types: Sequence[LogicalType]) -> int:
    return min(sum(getattr(type, "length", STRING_LENGTH) for type in types), STRING_LENGTH)
