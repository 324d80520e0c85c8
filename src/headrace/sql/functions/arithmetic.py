"""+ - * / % and unary minus, for numbers, dates and intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.core import logical_types as lt
from headrace.core.expressions import Expression
from headrace.core.logical_types import LogicalType
from headrace.operators.functions import arithmetic, intervals
from headrace.sql.functions import spark_arithmetic
from headrace.sql.functions.comparison import alike
from headrace.sql.functions.conversion import cast
from headrace.sql.functions.parameters import DATETIME, INTERVAL, NUMBER, kind_of
from headrace.sql.functions.row import FunctionRow, example, of, signature, type_of
from headrace.sql.functions.type_rules import MAX_PRECISION, as_decimal, common_type

EXACT = (*lt.INTEGERS, lt.DecimalType)
_EXACT = kind_of("<EXACT NUMERIC>", *EXACT)


def bounded(precision: int, scale: int) -> lt.DecimalType:
    """Digits after the point give way to those before it, down to 6."""
    if precision <= MAX_PRECISION:
        return lt.DecimalType(precision, scale)
    kept = max(MAX_PRECISION - (precision - scale), min(scale, 6))
    return lt.DecimalType(MAX_PRECISION, kept)


def _sum(one: lt.DecimalType, other: lt.DecimalType) -> lt.DecimalType:
    scale = max(one.scale, other.scale)
    return bounded(max(one.precision - one.scale, other.precision - other.scale) + scale + 1, scale)


def _product(one: lt.DecimalType, other: lt.DecimalType) -> lt.DecimalType:
    return bounded(one.precision + other.precision + 1, one.scale + other.scale)


def quotient(one: lt.DecimalType, other: lt.DecimalType) -> lt.DecimalType:
    scale = max(6, one.scale + other.precision + 1)
    return bounded(one.precision - one.scale + other.scale + scale, scale)


DecimalRule = Callable[[lt.DecimalType, lt.DecimalType], lt.DecimalType]


def _number(rule: DecimalRule) -> Callable[[Sequence[Expression]], LogicalType | None]:
    """The result type: decimals by their own rule, other numbers their common type."""

    def result(arguments: Sequence[Expression]) -> LogicalType | None:
        left, right = (argument.type for argument in arguments)
        pair = (left, right)
        if any(isinstance(type, lt.DecimalType) for type in pair) and all(
            isinstance(type, EXACT) for type in pair
        ):
            return rule(as_decimal(left), as_decimal(right))
        return _common_number(left, right)

    return result


def _common_number(left: LogicalType, right: LogicalType) -> LogicalType | None:
    """Of FLOAT and DOUBLE Flink takes the one on the left."""
    if isinstance(left, lt.APPROXIMATE) and isinstance(right, lt.APPROXIMATE):
        return left
    return common_type((left, right))


def _alike_if_real(arguments: Sequence[Expression]) -> Sequence[Expression]:
    """Numbers that meet a FLOAT or DOUBLE become one; exact ones meet as they are."""
    shared = _common_number(arguments[0].type, arguments[1].type)
    if not isinstance(shared, lt.APPROXIMATE):
        return arguments
    return [cast(argument, shared.with_nullable(argument.type.nullable)) for argument in arguments]


def _remainder_type(arguments: Sequence[Expression]) -> LogicalType | None:
    """That of the divisor, unless one of them has digits after the point."""
    left, right = (argument.type for argument in arguments)
    if not (isinstance(left, EXACT) and isinstance(right, EXACT)):
        return right
    one, other = as_decimal(left), as_decimal(right)
    scale = max(one.scale, other.scale)
    if scale == 0:
        return right
    return bounded(min(one.precision - one.scale, other.precision - other.scale) + scale, scale)


def _moved(arguments: Sequence[Expression]) -> LogicalType | None:
    """A point in time after an interval was added; smaller units turn dates into timestamps."""
    point, interval = arguments[0].type, arguments[1].type
    if isinstance(point, lt.TimeType) and isinstance(interval, lt.YearMonthIntervalType):
        return None
    return lt.materialized(point)


def _swapped(arguments: Sequence[Expression]) -> LogicalType | None:
    return _moved((arguments[1], arguments[0]))


def _intervals(arguments: Sequence[Expression]) -> LogicalType | None:
    left, right = arguments[0].type, arguments[1].type
    return common_type((left, right)) if type(left) is type(right) else None


def _distance(arguments: Sequence[Expression]) -> LogicalType | None:
    one, other = (argument.type for argument in arguments)
    return lt.DayTimeIntervalType("SECOND(3)") if type(one) is type(other) else None


FUNCTIONS = (
    FunctionRow(
        names=("PLUS",),
        doc="The sum; a point in time moved by an interval.",
        signatures=(
            signature(NUMBER, NUMBER, result=_number(_sum), prepare=_alike_if_real),
            signature(DATETIME, INTERVAL, result=_moved),
            signature(INTERVAL, DATETIME, result=_swapped),
            signature(INTERVAL, INTERVAL, result=_intervals),
        ),
        meaning=intervals.plus,
        by_type=True,
        spark=spark_arithmetic.operation("+"),
        examples=(
            example(1, 2, gives=3, type=lt.INT.not_null()),
            example(2147483647, 1, gives=-2147483648),
            example(of(18292, lt.DATE), of(1, lt.YearMonthIntervalType()), gives=18321),
        ),
    ),
    FunctionRow(
        names=("MINUS",),
        doc="The difference; a point in time moved back by an interval.",
        signatures=(
            signature(NUMBER, NUMBER, result=_number(_sum), prepare=_alike_if_real),
            signature(DATETIME, INTERVAL, result=_moved),
            signature(DATETIME, DATETIME, result=_distance, prepare=alike),
            signature(INTERVAL, INTERVAL, result=_intervals),
        ),
        meaning=intervals.minus,
        by_type=True,
        spark=spark_arithmetic.operation("-"),
        examples=(example(1, 2, gives=-1),),
    ),
    FunctionRow(
        names=("TIMES",),
        doc="The product; an interval so many times.",
        signatures=(
            signature(NUMBER, NUMBER, result=_number(_product), prepare=_alike_if_real),
            signature(INTERVAL, _EXACT, result=type_of(0)),
            signature(_EXACT, INTERVAL, result=type_of(1)),
        ),
        meaning=intervals.times,
        by_type=True,
        spark=spark_arithmetic.operation("*"),
        examples=(example(6, 7, gives=42),),
    ),
    FunctionRow(
        names=("DIVIDE",),
        doc="The quotient; that of integers has its fraction cut off.",
        signatures=(
            signature(NUMBER, NUMBER, result=_number(quotient), prepare=_alike_if_real),
            signature(INTERVAL, _EXACT, result=type_of(0)),
        ),
        meaning=intervals.divide,
        by_type=True,
        spark=spark_arithmetic.divided,
        examples=(example(-5, 2, gives=-2), example(5.0, 2, gives=2.5)),
    ),
    FunctionRow(
        names=("MOD",),
        doc="The remainder, with the sign of the dividend.",
        signatures=(signature(NUMBER, NUMBER, result=_remainder_type, prepare=_alike_if_real),),
        meaning=arithmetic.modulo,
        by_type=True,
        spark=spark_arithmetic.remainder,
        examples=(example(-7, 3, gives=-1), example(7, -3, gives=1)),
    ),
    FunctionRow(
        names=("NEGATE",),
        doc="The number or interval with the other sign.",
        signatures=(signature(NUMBER, result=type_of(0)), signature(INTERVAL, result=type_of(0))),
        meaning=arithmetic.negate,
        by_type=True,
        spark=spark_arithmetic.negated,
        examples=(example(5, gives=-5),),
    ),
)
