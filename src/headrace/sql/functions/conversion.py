"""CAST and TRY_CAST as expressions, and the rules of implicit casts."""

from __future__ import annotations

from headrace.core import logical_types as lt
from headrace.core.expressions import Call, Expression, Literal, ScalarFunction
from headrace.core.logical_types import LogicalType
from headrace.errors import InvalidQuery
from headrace.operators.functions import casting
from headrace.sql.functions import spark_casts
from headrace.sql.functions.construction import field_of, row_of
from headrace.sql.functions.type_rules import (
    can_cast_explicitly,
    can_cast_implicitly,
    common_type,
    comparison_type,
    needs_no_cast,
)

__all__ = [
    "can_cast_explicitly",
    "can_cast_implicitly",
    "cast",
    "common_type",
    "comparison_type",
    "count_interval",
    "field_of",
    "needs_no_cast",
    "row_of",
]


CAST = ScalarFunction(name="CAST", meaning=casting.caster, by_type=True, spark=spark_casts.written)
TRY_CAST = ScalarFunction(name="TRY_CAST", meaning=casting.safe_caster, by_type=True)
_RENAME = ScalarFunction(
    name="CAST",
    meaning=casting.unchanged,
    inline="{0}",
    spark=spark_casts.renamed,
)
_WIDEN = ScalarFunction(name="CAST", meaning=float, inline="float({0})", spark=spark_casts.written)


def cast(
    expression: Expression,
    type: LogicalType,
    safe: bool = False,
    origin: object | None = None,
) -> Expression:
    """The expression as that type: itself if it has it; with `safe`, NULL for what fails."""
    source = expression.type
    if source.with_nullable(True) == type.with_nullable(True):
        return expression
    if isinstance(expression, Literal) and expression.value is None:
        return Literal(type.with_nullable(True), None)
    if not can_cast_explicitly(source, type):
        raise InvalidQuery(
            f"a value of type {source} cannot be cast to {type}",
            origin=origin,
            hint="Cast it to STRING first, or use the function that makes such values.",
        )
    result = type.with_nullable(source.nullable or safe)
    return Call(result, _function(source, type, safe), (expression,))


def count_interval(expression: Expression, type: LogicalType) -> Expression | None:
    """An interval as a column of numbers gets it from INSERT: its months or whole seconds."""
    source = expression.type
    if isinstance(source, lt.INTERVALS) and isinstance(type, (*lt.INTEGERS, lt.DecimalType)):
        return Call(type.with_nullable(source.nullable), CAST, (expression,))
    return None


def _function(source: LogicalType, target: LogicalType, safe: bool) -> ScalarFunction:
    if needs_no_cast(source, target) or _widens(source, target):
        return _RENAME
    if isinstance(source, lt.INTEGERS) and isinstance(target, lt.DoubleType):
        return _WIDEN
    return TRY_CAST if safe else CAST


def _widens(source: LogicalType, target: LogicalType) -> bool:
    """Whether the internal form stays the same, as from INT to BIGINT."""
    if isinstance(target, lt.INTEGERS):
        return can_cast_implicitly(source, target)
    if isinstance(target, lt.DoubleType):
        return isinstance(source, lt.FloatType)
    same = isinstance(source, lt.TIMESTAMPS) and type(source) is type(target)
    return same and source.precision <= target.precision  # type: ignore[attr-defined]
