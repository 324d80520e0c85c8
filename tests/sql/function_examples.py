"""The examples of function rows, as expressions."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from headrace.core import logical_types as lt
from headrace.core.expressions import Literal
from headrace.core.logical_types import LogicalType
from headrace.sql import functions
from headrace.sql.functions.row import Typed


def type_of(value: Any) -> LogicalType:
    """The obvious type of a value in internal form."""
    match value:
        case None:
            return lt.NULL
        case bool():
            return lt.BOOLEAN.not_null()
        case int():
            return (lt.INT if -(2**31) <= value < 2**31 else lt.BIGINT).not_null()
        case float():
            return lt.DOUBLE.not_null()
        case Decimal():
            _sign, digits, exponent = value.as_tuple()
            scale = max(-int(exponent), 0)
            return lt.DecimalType(max(len(digits), scale), scale, nullable=False)
        case str():
            return lt.CharType(len(value), nullable=False)
        case bytes():
            return lt.BinaryType(len(value), nullable=False)
        case tuple():
            return lt.ArrayType(type_of(value[0]), nullable=False)
        case dict():
            key, item = next(iter(value.items()))
            return lt.MapType(type_of(key), type_of(item), nullable=False)
    raise TypeError(f"{value!r} has no obvious type: write of(value, type)")


def literal_of(value: Any) -> Literal:
    if isinstance(value, Typed):
        return Literal(value.type, value.value)
    return Literal(type_of(value), value)


def examples(kind: str) -> list[Any]:
    """All examples of rows of a kind: parameters (row, example)."""
    return [
        pytest.param(row, example, id=f"{row.names[0]}-{at}")
        for row in functions.all_rows()
        if row.kind == kind
        for at, example in enumerate(row.examples)
    ]
