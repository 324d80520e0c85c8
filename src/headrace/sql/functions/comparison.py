"""= <> < <= > >=, BETWEEN, IN, IS NULL, IS DISTINCT FROM."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.expressions import Expression, SparkForm
from headrace.core.logical_types import BOOLEAN, LogicalType
from headrace.operators.functions import comparison
from headrace.sql.functions.conversion import cast
from headrace.sql.functions.parameters import ANY
from headrace.sql.functions.row import FunctionRow, Nullability, example, of, signature
from headrace.sql.functions.type_rules import comparison_type, needs_no_cast, reads_text

_SPARK_COMPARES = (
    lt.BooleanType, *lt.INTEGERS, lt.DoubleType, lt.DecimalType, lt.DateType, *lt.CHARACTERS,
    lt.TimestampType,
)  # fmt: skip
_UNORDERED = (lt.MapType, lt.MultisetType, lt.RawType, lt.BitmapType)


def alike(arguments: Sequence[Expression]) -> Sequence[Expression] | None:
    """Arguments as the type they are compared as."""
    shared: LogicalType = arguments[0].type
    for argument in arguments[1:]:
        found = comparison_type(shared, argument.type)
        if found is None and not _both_null(shared, argument.type):
            return None
        shared = shared if found is None else found
    return [_compared_as(argument, shared) for argument in arguments]


def equal(arguments: Sequence[Expression]) -> Sequence[Expression] | None:
    """Arguments of = and the like. Flink does not read a number from text here, and finds text
    different from every truth value."""
    left, right = (argument.type for argument in arguments)
    if reads_text(left, right) or reads_text(right, left):
        if isinstance(left, lt.NUMERIC) or isinstance(right, lt.NUMERIC):
            return None
        if isinstance(left, lt.BooleanType) or isinstance(right, lt.BooleanType):
            return arguments
    return alike(arguments)


def _both_null(left: LogicalType, right: LogicalType) -> bool:
    return isinstance(left, lt.NullType) and isinstance(right, lt.NullType)


def _compared_as(argument: Expression, shared: LogicalType) -> Expression:
    """Texts and integers of different lengths compare without a cast."""
    numbers = (*lt.INTEGERS, lt.DecimalType)
    if isinstance(argument.type, numbers) and isinstance(shared, numbers):
        return argument
    if isinstance(argument.type, lt.CHARACTERS) and isinstance(shared, lt.CHARACTERS):
        return argument
    if type(argument.type) is type(shared) and isinstance(shared, (*lt.TIMESTAMPS, lt.TimeType)):
        return argument
    if needs_no_cast(argument.type, shared):
        return argument
    return cast(argument, shared.with_nullable(argument.type.nullable))


def _like_the_first(arguments: Sequence[Expression]) -> Sequence[Expression] | None:
    """Of IN: where text meets another type, what is listed becomes the type of what is sought."""
    sought, *others = (argument.type for argument in arguments)
    texts = [isinstance(one, lt.CHARACTERS) for one in others if not isinstance(one, lt.NullType)]
    if any(texts) and not all(texts):
        return None
    listed = [
        cast(one, sought.with_nullable(one.type.nullable))
        if reads_text(sought, one.type) or reads_text(one.type, sought)
        else one
        for one in arguments[1:]
    ]
    return alike([arguments[0], *listed])


def _ordered(arguments: Sequence[Expression]) -> Sequence[Expression] | None:
    fitted = alike(arguments)
    if fitted is None or any(isinstance(one.type, _UNORDERED) for one in fitted):
        return None
    return fitted


def spark_if_same(template: str) -> SparkForm:
    """The template where Spark compares values of these types as Flink does."""

    def form(
        texts: Sequence[str], types: Sequence[LogicalType], _result: LogicalType
    ) -> str | None:
        if all(isinstance(type, _SPARK_COMPARES) for type in types) and not _reads(types):
            return template.format(*texts)
        return None

    return form


def _reads(types: Sequence[LogicalType]) -> bool:
    """Whether Spark would read text as something else."""
    left, right = types[:2]
    return reads_text(left, right) or reads_text(right, left)


_NOT_A_NUMBER = {"=": "{0}", ">": "{0}", ">=": "{0}", "<": "{1}", "<=": "{1}"}
"""To Spark, NaN equals itself and is more than any number; a comparison with it must be false."""


def _spark_comparison(sign: str) -> SparkForm:
    def form(
        texts: Sequence[str], types: Sequence[LogicalType], _result: LogicalType
    ) -> str | None:
        compared = all(isinstance(type, (*_SPARK_COMPARES, lt.FloatType)) for type in types)
        if not compared or _reads(types):
            return None
        plain = f"({texts[0]} {sign} {texts[1]})"
        if not any(isinstance(type, lt.APPROXIMATE) for type in types):
            return plain
        if sign == "<>":
            return f"(NOT ({texts[0]} = {texts[1]} AND NOT isnan({texts[0]})))"
        return f"({plain} AND NOT isnan({_NOT_A_NUMBER[sign].format(*texts)}))"

    return form


def _comparison(
    name: str, sign: str, doc: str, meaning: Callable[[Any, Any], Any], gives: tuple[bool, bool]
) -> FunctionRow:
    inline = {"=": "==", "<>": "!="}.get(sign, sign)
    ordered = sign not in ("=", "<>")
    return FunctionRow(
        names=(name,),
        doc=doc,
        signatures=(signature(ANY, ANY, prepare=_ordered if ordered else equal),),
        result=BOOLEAN,
        meaning=meaning,
        inline=f"{{0}} {inline} {{1}}",
        spark=_spark_comparison(sign),
        examples=(
            example(1, 2, gives=gives[0]),
            example("b", "b", gives=gives[1]),
            example(of(None, lt.INT), 1, gives=None),
        ),
    )


def _test(name: str, doc: str, inline: str, spark: str, gives: tuple[bool, bool]) -> FunctionRow:
    """A test of one value that is never NULL itself."""
    return FunctionRow(
        names=(name,),
        doc=doc,
        signatures=(signature(ANY),),
        result=BOOLEAN,
        nullable=False,
        meaning=eval(f"lambda value: {inline.format('value')}"),
        strict=False,
        inline=inline,
        spark=spark,
        examples=(example(1, gives=gives[0]), example(of(None, lt.INT), gives=gives[1])),
    )


def _many(
    name: str, doc: str, meaning: Callable[..., Any], spark: SparkForm | None, gives: bool
) -> FunctionRow:
    return FunctionRow(
        names=(name,),
        doc=doc,
        signatures=(signature(ANY, ANY, ANY, prepare=_ordered),),
        result=BOOLEAN,
        meaning=meaning,
        strict=False,
        spark=spark,
        examples=(example(2, 1, 3, gives=gives), example(of(None, lt.INT), 1, 3, gives=None)),
    )


def _listed(
    name: str, doc: str, meaning: Callable[..., Any], spark: str, gives: bool
) -> FunctionRow:
    def form(
        texts: Sequence[str], types: Sequence[LogicalType], _result: LogicalType
    ) -> str | None:
        if not all(isinstance(type, _SPARK_COMPARES) for type in types):
            return None
        return f"({texts[0]} {spark} ({', '.join(texts[1:])}))"

    return FunctionRow(
        names=(name,),
        doc=doc,
        signatures=(signature(ANY, ANY, rest=(ANY,), prepare=_like_the_first),),
        result=BOOLEAN,
        meaning=meaning,
        strict=False,
        spark=form,
        examples=(
            example(2, 1, 2, gives=gives),
            example(3, 1, of(None, lt.INT), gives=None),
        ),
    )


def _distinct(name: str, doc: str, sign: str, spark: str, gives: bool) -> FunctionRow:
    nullable: Nullability = False
    return FunctionRow(
        names=(name,),
        doc=doc,
        signatures=(signature(ANY, ANY, prepare=equal),),
        result=BOOLEAN,
        nullable=nullable,
        meaning=operator.ne if sign == "!=" else operator.eq,
        strict=False,
        inline=f"{{0}} {sign} {{1}}",
        spark=spark_if_same(spark),
        examples=(
            example(1, of(None, lt.INT), gives=gives),
            example(of(None, lt.INT), of(None, lt.INT), gives=not gives),
        ),
    )


FUNCTIONS = (
    _comparison("EQUALS", "=", "Whether both are equal.", operator.eq, (False, True)),
    _comparison("NOT_EQUALS", "<>", "Whether they differ.", operator.ne, (True, False)),
    _comparison("LESS_THAN", "<", "Whether the first is less.", operator.lt, (True, False)),
    _comparison(
        "LESS_THAN_OR_EQUAL", "<=", "Whether the first is not more.", operator.le, (True, True)
    ),
    _comparison("GREATER_THAN", ">", "Whether the first is more.", operator.gt, (False, False)),
    _comparison(
        "GREATER_THAN_OR_EQUAL", ">=", "Whether the first is not less.", operator.ge, (False, True)
    ),
    _test("IS_NULL", "Whether it is NULL.", "{0} is None", "({0} IS NULL)", (False, True)),
    _test(
        "IS_NOT_NULL", "Whether it is not NULL.", "{0} is not None", "({0} IS NOT NULL)",
        (True, False),
    ),
    _distinct(
        "IS_DISTINCT_FROM", "Whether they differ; NULL equals NULL.", "!=",
        "(NOT ({0} <=> {1}))", True,
    ),
    _distinct(
        "IS_NOT_DISTINCT_FROM", "Whether they are equal; NULL equals NULL.", "==",
        "({0} <=> {1})", False,
    ),
    _many(
        "BETWEEN", "Whether it lies between two values, both included.", comparison.between,
        spark_if_same("({0} BETWEEN {1} AND {2})"), True,
    ),
    _many(
        "NOT_BETWEEN", "Whether it lies outside.", comparison.not_between,
        spark_if_same("({0} NOT BETWEEN {1} AND {2})"), False,
    ),
    _many(
        "BETWEEN_SYMMETRIC", "BETWEEN with the bounds in either order.",
        comparison.between_symmetric, None, True,
    ),
    _many(
        "NOT_BETWEEN_SYMMETRIC", "Whether it lies outside bounds in either order.",
        comparison.not_between_symmetric, None, False,
    ),
    _listed("IN", "Whether it equals one of the values.", comparison.contained, "IN", True),
    _listed(
        "NOT_IN", "Whether it equals none of the values.", comparison.not_contained, "NOT IN", False
    ),
)  # fmt: skip
