"""Expressions: comparison, logic and numbers."""

from __future__ import annotations

from typing import Any, Self

from headrace.sql import unresolved as un
from headrace.table.expression_base import Derived, ExpressionBase, node_of, said


class NumberExpressions(ExpressionBase):
    """Operators, conditions and functions of numbers."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Self:  # type: ignore[override]
        return self._apply("EQUALS", other)

    def __ne__(self, other: object) -> Self:  # type: ignore[override]
        return self._apply("NOT_EQUALS", other)

    def __lt__(self, other: Any) -> Self:
        return self._apply("LESS_THAN", other)

    def __gt__(self, other: Any) -> Self:
        return self._apply("GREATER_THAN", other)

    def __le__(self, other: Any) -> Self:
        return self._apply("LESS_THAN_OR_EQUAL", other)

    def __ge__(self, other: Any) -> Self:
        return self._apply("GREATER_THAN_OR_EQUAL", other)

    def __and__(self, other: Any) -> Self:
        return self._apply("AND", other)

    def __rand__(self, other: Any) -> Self:
        return self._before("AND", other)

    def __or__(self, other: Any) -> Self:
        return self._apply("OR", other)

    def __ror__(self, other: Any) -> Self:
        return self._before("OR", other)

    def __invert__(self) -> Self:
        return self._apply("IS_NOT_TRUE")

    def __add__(self, other: Any) -> Self:
        return self._apply("PLUS", other)

    def __radd__(self, other: Any) -> Self:
        return self._before("PLUS", other)

    def __sub__(self, other: Any) -> Self:
        return self._apply("MINUS", other)

    def __rsub__(self, other: Any) -> Self:
        return self._before("MINUS", other)

    def __mul__(self, other: Any) -> Self:
        return self._apply("TIMES", other)

    def __rmul__(self, other: Any) -> Self:
        return self._before("TIMES", other)

    def __truediv__(self, other: Any) -> Self:
        return self._apply("DIVIDE", other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._before("DIVIDE", other)

    def __mod__(self, other: Any) -> Self:
        return self._apply("MOD", other)

    def __rmod__(self, other: Any) -> Self:
        return self._before("MOD", other)

    def __pow__(self, other: Any) -> Self:
        return self._apply("POWER", other)

    def __rpow__(self, other: Any) -> Self:
        return self._before("POWER", other)

    def __neg__(self) -> Self:
        return self._apply("NEGATE")

    def __abs__(self) -> Self:
        return self._apply("ABS")

    # Conditions.

    def between(self, lower_bound: Any, upper_bound: Any) -> Self:
        return self._apply("BETWEEN", lower_bound, upper_bound)

    def not_between(self, lower_bound: Any, upper_bound: Any) -> Self:
        return self._apply("NOT_BETWEEN", lower_bound, upper_bound)

    def then(self, if_true: Any, if_false: Any) -> Self:
        """One of two values, by whether this is true."""
        return self._made(un.Case(((self._node, node_of(if_true)),), node_of(if_false)))

    def if_null(self, null_replacement: Any) -> Self:
        return self._apply("IFNULL", null_replacement)

    is_null: Derived[Self] = Derived("IS_NULL", "Whether it is NULL.")
    is_not_null: Derived[Self] = Derived("IS_NOT_NULL", "Whether it is not NULL.")
    is_true: Derived[Self] = Derived("IS_TRUE", "Whether it is true, not false or NULL.")
    is_false: Derived[Self] = Derived("IS_FALSE", "Whether it is false, not true or NULL.")
    is_not_true: Derived[Self] = Derived("IS_NOT_TRUE", "Whether it is false or NULL.")
    is_not_false: Derived[Self] = Derived("IS_NOT_FALSE", "Whether it is true or NULL.")

    # Functions of numbers.

    exp: Derived[Self] = Derived("EXP", "e to the power of it.")
    log10: Derived[Self] = Derived("LOG10", "Its logarithm to the base 10.")
    log2: Derived[Self] = Derived("LOG2", "Its logarithm to the base 2.")
    ln: Derived[Self] = Derived("LN", "Its natural logarithm.")
    cosh: Derived[Self] = Derived("COSH", "Its hyperbolic cosine.")
    sinh: Derived[Self] = Derived("SINH", "Its hyperbolic sine.")
    sin: Derived[Self] = Derived("SIN", "Its sine.")
    cos: Derived[Self] = Derived("COS", "Its cosine.")
    tan: Derived[Self] = Derived("TAN", "Its tangent.")
    cot: Derived[Self] = Derived("COT", "Its cotangent.")
    asin: Derived[Self] = Derived("ASIN", "Its arc sine.")
    acos: Derived[Self] = Derived("ACOS", "Its arc cosine.")
    atan: Derived[Self] = Derived("ATAN", "Its arc tangent.")
    tanh: Derived[Self] = Derived("TANH", "Its hyperbolic tangent.")
    degrees: Derived[Self] = Derived("DEGREES", "An angle in radians as degrees.")
    radians: Derived[Self] = Derived("RADIANS", "An angle in degrees as radians.")
    sqrt: Derived[Self] = Derived("SQRT", "Its square root.")
    abs: Derived[Self] = Derived("ABS", "Its absolute value.")
    sign: Derived[Self] = Derived("SIGN", "-1, 0 or 1.")
    bin: Derived[Self] = Derived("BIN", "A whole number in binary digits.")
    hex: Derived[Self] = Derived("HEX", "A number or text in hexadecimal digits.")
    unhex: Derived[Self] = Derived("UNHEX", "The bytes that hexadecimal digits stand for.")

    def log(self, base: Any = None) -> Self:
        """Its natural logarithm, or that to a base."""
        return self._apply("LOG") if base is None else self._before("LOG", base)

    def round(self, places: Any) -> Self:
        return self._apply("ROUND", places)

    def truncate(self, n: Any = 0) -> Self:
        """Without the decimal places after the first `n`."""
        return self._apply("TRUNCATE", n)

    def percentile(self, percentage: Any, frequency: Any = None) -> Self:
        """The value below which a share of the group's values lies."""
        return self._apply("PERCENTILE", percentage, said(frequency))
