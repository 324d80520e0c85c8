"""Values of expressions that are the same for every row."""

from __future__ import annotations

from typing import Any

from headrace.core.expressions import Expression, Literal, is_constant
from headrace.errors import InvalidQuery


def constant_of(expression: Expression, what: str, at: object | None = None) -> Any:
    """The value, in internal form, of something that must be a constant."""
    if isinstance(expression, Literal):
        return expression.value
    if not is_constant(expression):
        raise InvalidQuery(
            f"{what} must be a constant", origin=at,
            hint="write a literal, or an expression of literals",
        )  # fmt: skip
    return evaluated(expression)


def evaluated(expression: Expression) -> Any:
    """The value of a constant expression."""
    from headrace.operators.table.compiled import compiled_value

    return compiled_value(expression)((0,))
