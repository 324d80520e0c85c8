"""+ - * / % and unary minus with the widths, rounding and overflow of Flink's types."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.logical_types import LogicalType
from headrace.core.numbers import WIDE, single
from headrace.errors import InvalidArgument
from headrace.operators.functions.casting import BITS
from headrace.operators.functions.numbers import fitted, wrapped

Operation = Callable[..., Any]
_USUAL_DIGITS = 28
_QUOTIENTS = Context(prec=38, rounding=ROUND_HALF_UP)


class Inline:
    """A function given as Python text, so that generated code can contain it."""

    def __init__(self, text: str, *names: str):
        self.inline = text
        self._function: Operation = eval(
            f"lambda {', '.join(names)}: {text.format(*names)}", {"wrapped": wrapped}
        )

    def __call__(self, *values: Any) -> Any:
        return self._function(*values)


def _integer_text(operation: str, bits: int) -> str:
    """Wraps around only where it must: the check is quicker than the arithmetic of bits."""
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return f"w_ if {low} <= (w_ := {operation}) <= {high} else wrapped(w_, {bits})"


def _binary(sign: str, exact: Callable[[Any, Any], Decimal]) -> Callable[..., Operation]:
    def choose(_types: Sequence[LogicalType], result: LogicalType) -> Operation:
        text = f"{{0}} {sign} {{1}}"
        if isinstance(result, lt.INTEGERS):
            return Inline(_integer_text(text, BITS[result.__class__]), "a", "b")
        if isinstance(result, lt.DecimalType):
            # So few digits are exact in the context every thread starts with.
            if result.precision > _USUAL_DIGITS:
                return _decimal(exact, result)
            # Decimals have one zero only: 0 times a negative number is 0, not -0.
            return Inline(f"w_ if (w_ := {text}) else abs(w_)" if sign == "*" else text, "a", "b")
        if isinstance(result, lt.FloatType):
            return {"+": _add_single, "-": _subtract_single, "*": _multiply_single}[sign]
        return Inline(text, "a", "b")

    return choose


def _add_single(left: float, right: float) -> float:
    return single(left + right)


def _subtract_single(left: float, right: float) -> float:
    return single(left - right)


def _multiply_single(left: float, right: float) -> float:
    return single(left * right)


def _decimal(exact: Callable[[Any, Any], Decimal], result: lt.DecimalType) -> Operation:
    precision, scale = result.precision, result.scale
    return lambda left, right: fitted(exact(left, right), precision, scale)


plus = _binary("+", WIDE.add)
minus = _binary("-", WIDE.subtract)
times = _binary("*", WIDE.multiply)


def divide(_types: Sequence[LogicalType], result: LogicalType) -> Operation:
    if isinstance(result, lt.INTEGERS):
        bits = BITS[result.__class__]
        return lambda left, right: wrapped(_truncated_quotient(left, right), bits)
    if isinstance(result, lt.DecimalType):
        return _decimal(_exact_quotient, result)
    if isinstance(result, lt.FloatType):
        return lambda left, right: single(real_quotient(left, right))
    return real_quotient


def _no_division() -> InvalidArgument:
    return InvalidArgument(
        "division by zero", hint="Divide by NULLIF(divisor, 0) to have NULL instead."
    )


def _truncated_quotient(left: int, right: int) -> int:
    if right == 0:
        raise _no_division()
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _exact_quotient(left: Any, right: Any) -> Decimal:
    if not right:
        raise _no_division()
    return _QUOTIENTS.divide(left, right)


def real_quotient(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def modulo(_types: Sequence[LogicalType], result: LogicalType) -> Operation:
    """The remainder has the sign of the dividend."""
    if isinstance(result, lt.APPROXIMATE):
        return lambda left, right: math.fmod(left, right) if right else math.nan
    if isinstance(result, lt.DecimalType):
        return _decimal(_exact_remainder, result)
    bits = BITS[result.__class__]
    return lambda left, right: wrapped(int(_remainder(left, right)), bits)


def _remainder(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        return left - _truncated_quotient(left, right) * right
    return _exact_remainder(left, right)


def _exact_remainder(left: Any, right: Any) -> Decimal:
    if not right:
        raise _no_division()
    return WIDE.remainder(left, right)


def negate(_types: Sequence[LogicalType], result: LogicalType) -> Operation:
    if isinstance(result, lt.INTEGERS):
        return Inline(_integer_text("-{0}", BITS[result.__class__]), "a")
    if isinstance(result, lt.DecimalType):
        return WIDE.minus
    return Inline("-{0}", "a")
