"""Aggregate functions of numbers, and those that need OVER."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core import logical_types as lt
from headrace.core.expressions import ROWS_COUNTED, AggregateFunction, Expression, SparkForm
from headrace.core.logical_types import BIGINT, DOUBLE, ArrayType, DecimalType, LogicalType
from headrace.operators.functions import aggregates, collecting_aggregates, spread_aggregates
from headrace.sql.functions import collecting_aggregates as collecting_rows
from headrace.sql.functions.conversion import can_cast_implicitly, cast
from headrace.sql.functions.parameters import (
    ANY,
    INTEGER,
    NUMBER,
    Parameter,
    exactly,
    kind_of,
    literal,
)
from headrace.sql.functions.row import FunctionRow, Signature, example, of, signature, type_of
from headrace.sql.functions.spark_arithmetic import cut, wrapped, wrapping_sum
from headrace.sql.functions.type_rules import MAX_PRECISION

_MIN_SCALE = 6
_DISTINCT = "DISTINCT "
_COLUMN = of((1, 2, 4), lt.INT)
"""Examples of aggregates have columns, with the values of all rows, and constants."""


def sum_type(arguments: Sequence[Expression]) -> LogicalType:
    """The argument's; of decimals with all digits there are."""
    type = arguments[0].type
    return DecimalType(MAX_PRECISION, type.scale) if isinstance(type, DecimalType) else type


def average_type(arguments: Sequence[Expression]) -> LogicalType:
    """The argument's; of decimals with all digits there are, and at least six of them behind
    the point."""
    type = arguments[0].type
    if not isinstance(type, DecimalType):
        return type
    return DecimalType(MAX_PRECISION, max(_MIN_SCALE, type.scale))


def _sum_in_spark(
    texts: Sequence[str], types: Sequence[LogicalType], result: LogicalType
) -> str | None:
    """Integers that overflow wrap in Flink; Spark stops with an error."""
    if isinstance(types[0], lt.FloatType):
        return None
    if isinstance(result, DecimalType):
        return f"try_sum({_cast(texts[0], result.name())})"
    if isinstance(result, lt.BigIntType):
        if texts[0].startswith(_DISTINCT):
            return wrapped(f"sum({_cast(texts[0], 'DECIMAL(38, 0)')}){ROWS_COUNTED}")
        return wrapping_sum(texts[0])
    if isinstance(result, lt.INTEGERS):
        return cut(f"sum({texts[0]}){ROWS_COUNTED}", result)
    return f"sum({texts[0]})"


def _average_in_spark(
    texts: Sequence[str], types: Sequence[LogicalType], result: LogicalType
) -> str | None:
    """Spark's average is a double, or a decimal of four more digits: Flink's is cut from it."""
    if isinstance(types[0], lt.BigIntType):
        return f"avg({_cast(texts[0], 'DECIMAL(30, 10)')})"
    if isinstance(types[0], DecimalType | lt.FloatType):
        return None
    return f"avg({texts[0]})"


def _cast(text: str, type: str) -> str:
    distinct = text.startswith(_DISTINCT)
    inner = text.removeprefix(_DISTINCT)
    return f"{_DISTINCT if distinct else ''}CAST({inner} AS {type})"


def _of_doubles(name: str) -> SparkForm:
    def write(
        texts: Sequence[str], types: Sequence[LogicalType], _result: LogicalType
    ) -> str | None:
        return f"{name}({texts[0]})" if isinstance(types[0], lt.DoubleType) else None

    return write


def _spread(name: str, also: str | None, doc: str, *, sample: bool, root: bool) -> FunctionRow:
    gives = {(False, False): 1, (True, False): 2, (False, True): 1, (True, True): 1}
    return FunctionRow(
        names=(name, also) if also else (name,),
        doc=doc,
        signatures=(signature(NUMBER),),
        result=average_type,
        nullable=True,
        aggregate=AggregateFunction(
            name=name,
            accumulator=spread_aggregates.variance(sample=sample, root=root),
            spark=_of_doubles(name.lower()),
        ),
        examples=(example(_COLUMN, gives=gives[sample, root]),),
    )


def _comparable(type: LogicalType, _types: Sequence[LogicalType]) -> LogicalType | None:
    unordered = (lt.MapType, lt.MultisetType, lt.RawType, lt.BitmapType, lt.VariantType, ArrayType)
    return None if isinstance(type, unordered) else type


def _rank(name: str, doc: str, result: LogicalType, *signatures: Signature) -> FunctionRow:
    return FunctionRow(
        names=(name,),
        doc=doc,
        signatures=signatures or (signature(),),
        result=result,
        nullable=False,
        aggregate=AggregateFunction(
            name=name,
            accumulator=collecting_aggregates.only_over(name),
            skips_null=False,
            kind="rank",
            ordered=True,
            spark=f"{name.lower()}({{0}})" if signatures else f"{name.lower()}()",
        ),
    )


def _with_default(arguments: Sequence[Expression]) -> Sequence[Expression] | None:
    """The default as a value of the first argument's type."""
    if len(arguments) < 3:
        return arguments
    value, offset, default = arguments
    if not can_cast_implicitly(default.type, value.type):
        return None
    return [value, offset, cast(default, value.type.with_nullable(default.type.nullable))]


def _default_nullable(arguments: Sequence[Expression]) -> bool:
    """As Flink has it: a default that is never NULL stands for a result that is never NULL."""
    return len(arguments) < 3 or arguments[2].type.nullable


def _offset(name: str, doc: str, accumulator: Callable[..., Any], spark: SparkForm) -> FunctionRow:
    return FunctionRow(
        names=(name,),
        doc=doc,
        signatures=(signature(ANY, optional=(INTEGER, ANY), prepare=_with_default),),
        result=type_of(0),
        nullable=_default_nullable,
        aggregate=AggregateFunction(
            name=name,
            accumulator=accumulator,
            skips_null=False,
            kind="offset",
            ordered=True,
            spark=spark,
        ),
    )


def _called(name: str) -> SparkForm:
    def write(texts: Sequence[str], _types: Sequence[LogicalType], _result: LogicalType) -> str:
        return f"{name}({', '.join(texts) or '*'})"

    return write


def _neighbour(name: str) -> SparkForm:
    def write(texts: Sequence[str], _types: Sequence[LogicalType], _result: LogicalType) -> str:
        value = f"{name}({', '.join(texts[:2])}){ROWS_COUNTED}"
        # The default also stands for a NULL that is there.
        return f"coalesce({value}, {texts[2]})" if len(texts) > 2 else value

    return write


def _percentile_type(arguments: Sequence[Expression]) -> LogicalType:
    return ArrayType(DOUBLE) if isinstance(arguments[1].type, ArrayType) else DOUBLE


_ORDERED = Parameter("<COMPARABLE>", _comparable)
_PERCENTAGES = kind_of("<PERCENTAGE> | ARRAY<PERCENTAGE>", ArrayType, *lt.NUMERIC)

FUNCTIONS: tuple[FunctionRow, ...] = (
    FunctionRow(
        names=("COUNT",),
        doc="The number of rows, or of those where no argument is NULL.",
        signatures=(signature(), signature(ANY, rest=(ANY,))),
        result=BIGINT,
        nullable=False,
        aggregate=AggregateFunction(
            name="COUNT", accumulator=aggregates.count, spark=_called("count")
        ),
        examples=(example(_COLUMN, gives=3),),
    ),
    FunctionRow(
        names=("SUM",),
        doc="The sum; NULL of no rows.",
        signatures=(signature(NUMBER),),
        result=sum_type,
        nullable=True,
        aggregate=AggregateFunction(name="SUM", accumulator=aggregates.sum_of, spark=_sum_in_spark),
        examples=(example(_COLUMN, gives=7),),
    ),
    FunctionRow(
        names=("SUM0", "$SUM0"),
        doc="The sum; 0 of no rows.",
        signatures=(signature(NUMBER),),
        result=sum_type,
        nullable=False,
        aggregate=AggregateFunction(name="SUM0", accumulator=aggregates.sum0),
        examples=(example(_COLUMN, gives=7), example(of((), lt.INT), gives=0)),
    ),
    FunctionRow(
        names=("AVG",),
        doc="The average; of integers it is one too, cut towards zero.",
        signatures=(signature(NUMBER),),
        result=average_type,
        nullable=True,
        aggregate=AggregateFunction(
            name="AVG", accumulator=aggregates.average, spark=_average_in_spark
        ),
        examples=(example(_COLUMN, gives=2),),
    ),
    FunctionRow(
        names=("MIN",),
        doc="The smallest value.",
        signatures=(signature(_ORDERED),),
        result=type_of(0),
        nullable=True,
        aggregate=AggregateFunction(name="MIN", accumulator=aggregates.minimum, spark="min({0})"),
        examples=(example(_COLUMN, gives=1),),
    ),
    FunctionRow(
        names=("MAX",),
        doc="The largest value.",
        signatures=(signature(_ORDERED),),
        result=type_of(0),
        nullable=True,
        aggregate=AggregateFunction(name="MAX", accumulator=aggregates.maximum, spark="max({0})"),
        examples=(example(_COLUMN, gives=4),),
    ),
    _spread("STDDEV_POP", None, "The standard deviation of all values.", sample=False, root=True),
    _spread("STDDEV_SAMP", "STDDEV", "The standard deviation of a sample.", sample=True, root=True),
    _spread("VAR_POP", None, "The variance of all values.", sample=False, root=False),
    _spread("VAR_SAMP", "VARIANCE", "The variance of a sample.", sample=True, root=False),
    FunctionRow(
        names=("PERCENTILE",),
        doc="The exact percentile, or several; values may count several times.",
        signatures=(signature(NUMBER, _PERCENTAGES, optional=(INTEGER,)),),
        result=_percentile_type,
        nullable=True,
        aggregate=AggregateFunction(name="PERCENTILE", accumulator=spread_aggregates.percentile),
        examples=(example(_COLUMN, 0.5, gives=2.0),),
    ),
    FunctionRow(
        names=("APPROX_COUNT_DISTINCT",),
        doc="About how many different values there are.",
        signatures=(signature(ANY),),
        result=BIGINT,
        nullable=False,
        aggregate=AggregateFunction(
            name="APPROX_COUNT_DISTINCT",
            accumulator=collecting_aggregates.count_distinct,
            spark="approx_count_distinct({0})",
        ),
        examples=(example(_COLUMN, gives=3),),
    ),
    _rank("ROW_NUMBER", "The number of a row in its partition, from 1.", BIGINT),
    _rank("RANK", "As ROW_NUMBER, but equal rows have the rank of the first of them.", BIGINT),
    _rank("DENSE_RANK", "As RANK, without gaps.", BIGINT),
    _rank("CUME_DIST", "The share of rows that come no later.", DOUBLE),
    _rank("PERCENT_RANK", "The rank as a share, from 0 to 1.", DOUBLE),
    _rank(
        "NTILE",
        "Which of n parts of about equal size a row belongs to.",
        BIGINT,
        signature(literal(exactly(lt.INT))),
    ),
    _offset(
        "LAG",
        "The value of a row before, or a default.",
        collecting_aggregates.lag,
        _neighbour("lag"),
    ),
    _offset(
        "LEAD",
        "The value of a row behind, or a default.",
        collecting_aggregates.only_over("LEAD"),
        _neighbour("lead"),
    ),
    *collecting_rows.FUNCTIONS,
)
