"""Expressions of the Table API: columns, constants, and all that can be made of them."""

from __future__ import annotations

from typing import Generic, TypeVar

from headrace.table.expression_aggregates import AggregateExpressions
from headrace.table.expression_calls import call_text
from headrace.table.expression_collections import CollectionExpressions
from headrace.table.expression_json import (
    JsonExistsOnError,
    JsonExpressions,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)
from headrace.table.expression_numbers import NumberExpressions
from headrace.table.expression_strings import StringExpressions
from headrace.table.expression_times import TimeExpressions, TimeIntervalUnit, TimePointUnit

__all__ = [
    "Expression",
    "JsonExistsOnError",
    "JsonOnNull",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
    "TimeIntervalUnit",
    "TimePointUnit",
]

T = TypeVar("T")


class Expression(
    NumberExpressions,
    StringExpressions,
    TimeExpressions,
    CollectionExpressions,
    JsonExpressions,
    AggregateExpressions,
    Generic[T],
):
    """A column, a constant or a function of such.

    >>> from headrace.table.expressions import col
    >>> str((col("price") * 2).alias("double"))
    'TIMES(price, 2) AS double'
    """

    _written: str | None = None
    """The SQL text that call_sql() was given."""

    def __str__(self) -> str:
        return call_text(self._node) if self._written is None else f"[{self._written}]"

    def __repr__(self) -> str:
        return f"<Expression {self}>"
