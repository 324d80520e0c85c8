"""Functions of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.expressions import Expression, is_constant
from headrace.core.logical_types import BIGINT, BYTES, DOUBLE, INT, STRING, LogicalType
from headrace.operators.functions import numeric
from headrace.sql.constants import evaluated
from headrace.sql.functions.conversion import cast
from headrace.sql.functions.parameters import BINARY, INTEGER, NUMBER, TEXT
from headrace.sql.functions.row import FunctionRow, example, of, signature, type_of
from headrace.sql.functions.spark_arithmetic import absolute
from headrace.sql.functions.type_rules import MAX_PRECISION


def _as_doubles(arguments: Sequence[Expression]) -> Sequence[Expression]:
    return [cast(argument, DOUBLE.with_nullable(argument.type.nullable)) for argument in arguments]


def _real(
    name: str,
    doc: str,
    meaning: Callable[..., float],
    given: Any,
    gives: float,
    *,
    spark: str | None = None,
    arguments: int = 1,
) -> FunctionRow:
    """A function of doubles; all numbers become doubles first."""
    values = given if isinstance(given, tuple) else (given,)
    return FunctionRow(
        names=(name,),
        doc=doc,
        signatures=(signature(*[NUMBER] * arguments, prepare=_as_doubles),),
        result=DOUBLE,
        meaning=meaning,
        spark=spark,
        examples=(example(*values, gives=gives),),
    )


def _whole_type(arguments: Sequence[Expression]) -> LogicalType:
    """FLOOR and CEIL of a decimal have no digits after the point."""
    type = arguments[0].type
    return lt.DecimalType(type.precision, 0) if isinstance(type, lt.DecimalType) else type


def _rounded_type(arguments: Sequence[Expression]) -> LogicalType:
    type = arguments[0].type
    if not isinstance(type, lt.DecimalType):
        return type
    digits: int | None = 0
    if len(arguments) > 1:
        digits = evaluated(arguments[1]) if is_constant(arguments[1]) else None
    if digits is None or digits >= type.scale:
        return type
    if digits < 0:
        return lt.DecimalType(min(MAX_PRECISION, 1 + type.precision - type.scale), 0)
    return lt.DecimalType(1 + type.precision - type.scale + digits, digits)


def _spark_for(template: str, *kinds: type[LogicalType]) -> Callable[..., str | None]:
    def form(
        texts: Sequence[str], types: Sequence[LogicalType], _result: LogicalType
    ) -> str | None:
        return template.format(*texts) if isinstance(types[0], kinds) else None

    return form


_RADIANS = 57.29577951308232

FUNCTIONS = (
    FunctionRow(
        names=("ABS",),
        doc="The number without its sign.",
        signatures=(signature(NUMBER, result=type_of(0)),),
        meaning=numeric.absolute,
        by_type=True,
        spark=absolute,
        examples=(example(-5, gives=5), example(-5.5, gives=5.5)),
    ),
    FunctionRow(
        names=("SIGN",),
        doc="1, 0 or -1.",
        signatures=(signature(NUMBER, result=type_of(0)),),
        meaning=numeric.sign,
        by_type=True,
        examples=(example(-3, gives=-1), example(2.5, gives=1.0)),
    ),
    FunctionRow(
        names=("CEIL", "CEILING"),
        doc="The least whole number that is not less.",
        signatures=(signature(NUMBER, result=_whole_type),),
        meaning=numeric.ceil,
        by_type=True,
        examples=(example(1.5, gives=2.0), example(-1.5, gives=-1.0), example(3, gives=3)),
    ),
    FunctionRow(
        names=("FLOOR",),
        doc="The greatest whole number that is not greater.",
        signatures=(signature(NUMBER, result=_whole_type),),
        meaning=numeric.floor,
        by_type=True,
        examples=(example(1.5, gives=1.0), example(-1.5, gives=-2.0)),
    ),
    FunctionRow(
        names=("ROUND",),
        doc="Rounded half up to so many digits after the point.",
        signatures=(signature(NUMBER, optional=(INT,), result=_rounded_type),),
        meaning=numeric.round_half_up,
        by_type=True,
        examples=(example(1.255, 2, gives=1.26), example(1250, -2, gives=1300)),
    ),
    FunctionRow(
        names=("TRUNCATE",),
        doc="Cut off after so many digits after the point.",
        signatures=(signature(NUMBER, optional=(INT,), result=_rounded_type),),
        meaning=numeric.truncate,
        by_type=True,
        examples=(example(42.345, 2, gives=42.34), example(42, -1, gives=40)),
    ),
    _real(
        "POWER", "The first to the power of the second.", numeric.power, (2, 3), 8.0, arguments=2
    ),
    _real("SQRT", "The square root.", numeric.real(math.sqrt), 16, 4.0, spark="sqrt({0})"),
    _real("LN", "The natural logarithm.", numeric.logarithm, 1, 0.0),
    _real("LOG10", "The logarithm to base 10.", numeric.logarithm10, 1000, 3.0),
    _real("LOG2", "The logarithm to base 2.", numeric.logarithm2, 8, 3.0),
    FunctionRow(
        names=("LOG",),
        doc="The natural logarithm, or with two arguments that of the second to the first's base.",
        signatures=(signature(NUMBER, optional=(NUMBER,), prepare=_as_doubles),),
        result=DOUBLE,
        meaning=numeric.log,
        examples=(example(1, gives=0.0), example(2, 8, gives=3.0)),
    ),
    _real("EXP", "e to the power of the number.", numeric.real(math.exp), 0, 1.0),
    _real("SIN", "The sine of an angle in radians.", numeric.real(math.sin), 0, 0.0),
    _real("SINH", "The hyperbolic sine.", numeric.real(math.sinh), 0, 0.0),
    _real("COS", "The cosine of an angle in radians.", numeric.real(math.cos), 0, 1.0),
    _real("COSH", "The hyperbolic cosine.", numeric.real(math.cosh), 0, 1.0),
    _real("TAN", "The tangent of an angle in radians.", numeric.real(math.tan), 0, 0.0),
    _real("TANH", "The hyperbolic tangent.", numeric.real(math.tanh), 0, 0.0),
    _real("COT", "The cotangent of an angle in radians.", numeric.cotangent, 1, 1 / math.tan(1)),
    _real("ASIN", "The angle of a sine.", numeric.real(math.asin), 0, 0.0),
    _real("ACOS", "The angle of a cosine.", numeric.real(math.acos), 1, 0.0),
    _real("ATAN", "The angle of a tangent.", numeric.real(math.atan), 0, 0.0),
    _real("ATAN2", "The angle of a point (y, x).", math.atan2, (0, 1), 0.0, arguments=2),
    _real("DEGREES", "Radians as degrees.", math.degrees, 1, _RADIANS, spark="degrees({0})"),
    _real("RADIANS", "Degrees as radians.", math.radians, 180, math.pi, spark="radians({0})"),
    FunctionRow(
        names=("PI",),
        doc="The number π.",
        signatures=(signature(),),
        result=DOUBLE,
        meaning=lambda: math.pi,
        inline="3.141592653589793",
        spark="pi()",
        examples=(example(gives=math.pi),),
    ),
    FunctionRow(
        names=("E",),
        doc="The number e.",
        signatures=(signature(),),
        result=DOUBLE,
        meaning=lambda: math.e,
        inline="2.718281828459045",
        spark="e()",
        examples=(example(gives=math.e),),
    ),
    FunctionRow(
        names=("RAND",),
        doc="A number from 0 to 1, by a seed if one is given.",
        signatures=(signature(optional=(INT,)),),
        result=DOUBLE,
        meaning=numeric.rand,
        by_type=True,
        deterministic=False,
        examples=(example(10, gives=0.7304302967434272),),
    ),
    FunctionRow(
        names=("RAND_INTEGER",),
        doc="A whole number from 0 to below the last argument, by a seed if two are given.",
        signatures=(signature(INT, optional=(INT,)),),
        result=INT,
        meaning=numeric.rand_integer,
        by_type=True,
        deterministic=False,
        examples=(example(5, 10, gives=7),),
    ),
    FunctionRow(
        names=("UUID",),
        doc="A random UUID as text.",
        signatures=(signature(),),
        result=lt.CharType(36),
        meaning=numeric.uuid,
        deterministic=False,
    ),
    FunctionRow(
        names=("BIN",),
        doc="A whole number in binary digits.",
        signatures=(signature(BIGINT),),
        result=STRING,
        meaning=numeric.binary,
        spark="bin({0})",
        examples=(example(12, gives="1100"),),
    ),
    FunctionRow(
        names=("HEX",),
        doc="A whole number, text or bytes in hexadecimal digits.",
        signatures=(signature(INTEGER), signature(TEXT), signature(BINARY)),
        result=STRING,
        meaning=numeric.hexadecimal,
        spark="hex({0})",
        examples=(example(255, gives="FF"), example("hello", gives="68656C6C6F")),
    ),
    FunctionRow(
        names=("UNHEX",),
        doc="The bytes of hexadecimal digits; NULL for anything else.",
        signatures=(signature(TEXT),),
        result=BYTES,
        nullable=True,
        meaning=numeric.from_hexadecimal,
        examples=(example("466C", gives=b"Fl"), example(of("xyz", STRING), gives=None)),
    ),
)
