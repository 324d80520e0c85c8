"""Functions that Spark carries out itself give what they give in Python."""

from __future__ import annotations

import math
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.core.table_columns import from_arrow
from headrace.operators.table.compiled import compiled_value
from headrace.spark.native.expressions import Expressions
from headrace.sql.functions.row import Example, FunctionRow
from tests.sql.function_examples import examples, literal_of

NATIVE = [
    parameters
    for parameters in examples("scalar")
    if parameters.values[0].spark is not None and parameters.values[0].deterministic
]


def alike(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right) or (math.isnan(left) and math.isnan(right))
    return bool(left == right)


@pytest.mark.parametrize(("row", "example"), NATIVE)
def test_spark_agrees(spark: SparkSession, row: FunctionRow, example: Example) -> None:
    call = row.bind([literal_of(argument) for argument in example.arguments])
    expressions = Expressions(spark, {})
    text = expressions.text(call)
    if expressions.in_python:
        pytest.skip("Spark means something else by these arguments")
    column = spark.sql(f"SELECT {text} AS c").toArrow().column("c")
    (got,) = from_arrow(column, call.type)
    assert alike(got, compiled_value(call)((0,)))
