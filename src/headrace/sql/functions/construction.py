"""Rows made of values, and the fields of rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from operator import itemgetter

from headrace.core import logical_types as lt
from headrace.core.expressions import Call, Expression, ScalarFunction
from headrace.core.logical_types import LogicalType
from headrace.errors import InvalidQuery


def _spark_row(
    texts: Sequence[str], _types: Sequence[LogicalType], result: LogicalType
) -> str | None:
    assert isinstance(result, lt.RowType)
    pairs = zip(result.names, texts, strict=True)
    parts = ", ".join(f"{_quoted(name)}, {text}" for name, text in pairs)
    return f"named_struct({parts})"


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _tuple(*values: object) -> tuple[object, ...]:
    return values


ROW = ScalarFunction(name="ROW", meaning=_tuple, strict=False, spark=_spark_row)


def row_of(expressions: Sequence[Expression], names: Sequence[str] | None = None) -> Call:
    """A row of these values; without names its fields are EXPR$0, EXPR$1, …"""
    named = names or [f"EXPR${index}" for index in range(len(expressions))]
    pairs = zip(named, expressions, strict=True)
    fields = tuple(lt.Field(name, expression.type) for name, expression in pairs)
    return Call(lt.RowType(fields, nullable=False), ROW, tuple(expressions))


def field_of(expression: Expression, name: str | int, at: object | None = None) -> Call:
    """The field of a row by its name or position; NULL where the row is."""
    type = expression.type
    if not isinstance(type, lt.RowType):
        raise InvalidQuery(
            f"a value of type {type} has no field {name!r}",
            origin=at,
            hint="Only rows have fields.",
        )
    index = _position(type, name)
    if index is None:
        listed = ", ".join(type.names)
        raise InvalidQuery(
            f"the row has no field {name!r}", origin=at, hint=f"Its fields are {listed}."
        )
    field = type.fields[index]
    nullable = field.type.nullable or type.nullable
    return Call(field.type.with_nullable(nullable), _get(index, field.name), (expression,))


@cache
def _get(index: int, name: str) -> ScalarFunction:
    """One function per field, so that equal accesses are equal expressions."""
    quoted = name.replace("`", "``")
    return ScalarFunction(
        name="GET",
        meaning=itemgetter(index),
        inline=f"{{0}}[{index}]",
        spark=lambda texts, _types, _result: f"{texts[0]}.`{quoted}`",
    )


def _position(type: lt.RowType, name: str | int) -> int | None:
    if isinstance(name, int):
        return name if 0 <= name < len(type.fields) else None
    return type.names.index(name) if name in type.names else None
