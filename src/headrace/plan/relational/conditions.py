"""Conditions taken apart and put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from headrace.core import logical_types as lt
from headrace.core.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    Outer,
    ScalarFunction,
    UserCall,
    columns_of,
    rewritten,
)
from headrace.operators.functions import comparison

AND = ScalarFunction(
    name="AND", meaning=comparison.conjunction, strict=False, spark="({0} AND {1})"
)


def is_call(expression: Expression, *names: str) -> bool:
    return isinstance(expression, Call) and expression.function.name in names


def conjuncts(condition: Expression | None) -> list[Expression]:
    """The parts of a condition that all must hold."""
    if condition is None:
        return []
    if isinstance(condition, Call) and condition.function.name == "AND":
        return [part for argument in condition.arguments for part in conjuncts(argument)]
    return [condition]


def all_of(conditions: Iterable[Expression]) -> Expression | None:
    """The conditions joined by AND; None if there are none."""
    listed = list(dict.fromkeys(each for each in conditions if not is_true(each)))
    return reduce(_and, listed) if listed else None


def _and(left: Expression, right: Expression) -> Expression:
    nullable = left.type.nullable or right.type.nullable
    return Call(lt.BOOLEAN.with_nullable(nullable), AND, (left, right))


def is_true(expression: Expression) -> bool:
    return isinstance(expression, Literal) and expression.value is True


def substituted(expression: Expression, values: Sequence[Expression]) -> Expression:
    """The expression with each column replaced by the expression at its position."""

    def value(part: Expression) -> Expression:
        return values[part.index] if isinstance(part, Column) else part

    return rewritten(expression, value)


def is_repeatable(expression: Expression) -> bool:
    """Whether it may be computed at another place, or twice, without anyone noticing."""
    return not any(
        isinstance(part, UserCall | Outer)
        or (isinstance(part, Call) and not part.function.deterministic)
        for part in expression.walk()
    )


def rejects_null(condition: Expression, columns: frozenset[int]) -> bool:
    """Whether a condition cannot be true where all these columns are NULL."""
    if isinstance(condition, Column):
        return condition.index in columns
    if not isinstance(condition, Call):
        return False
    name = condition.function.name
    if name == "AND":
        return any(rejects_null(part, columns) for part in condition.arguments)
    if name == "OR":
        return all(rejects_null(part, columns) for part in condition.arguments)
    if name in ("IS_NOT_NULL", "IS_TRUE", "IS_FALSE"):
        return _is_null_with(condition.arguments[0], columns)
    return _is_null_with(condition, columns)


def _is_null_with(expression: Expression, columns: frozenset[int]) -> bool:
    """Whether an expression is NULL where all these columns are."""
    if isinstance(expression, Column):
        return expression.index in columns
    if not isinstance(expression, Call) or not expression.function.strict:
        return False
    return any(_is_null_with(part, columns) for part in expression.arguments)


def reads_only(expression: Expression, columns: range | frozenset[int]) -> bool:
    return all(index in columns for index in columns_of(expression))
