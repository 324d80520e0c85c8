"""Functions of the user are opened before the first call and closed after the last."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from headrace.common import Row, Types
from headrace.table import (
    AggregateFunction,
    AsyncScalarFunction,
    DataTypes,
    FunctionContext,
    ScalarFunction,
    Schema,
    TableAggregateFunction,
    TableEnvironment,
    TableFunction,
)
from headrace.table.expressions import col, lit, row_interval
from headrace.table.udf import udaf, udf, udtaf, udtf
from headrace.table.window import Slide, Tumble
from tests.unit.table.in_process import changes_of, stream_environment

LIVES: dict[str, list[str]] = {}
BIGINT = DataTypes.BIGINT()


class Life:
    """Notes when it is opened, called and closed."""

    def open(self, function_context: FunctionContext) -> None:
        assert function_context.get_number_of_parallel_subtasks() == 1
        self.name = type(self).__name__
        LIVES.setdefault(self.name, []).append("open")

    def called(self) -> None:
        if LIVES[self.name][-1] != "called":
            LIVES[self.name].append("called")

    def close(self) -> None:
        LIVES[self.name].append("close")


class Plain(Life, ScalarFunction):
    def eval(self, number: Any) -> Any:
        self.called()
        return number


class Awaited(Life, AsyncScalarFunction):
    async def eval(self, number: Any) -> Any:
        self.called()
        return number


class Repeated(Life, TableFunction):
    def eval(self, number: Any) -> Any:
        self.called()
        yield from [number] * 2


class Total(Life, AggregateFunction):
    """A sum: of values one by one, or of a pandas Series."""

    def create_accumulator(self) -> Any:
        return Row(0)

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        self.called()
        accumulator[0] += args[0].sum() if hasattr(args[0], "sum") else args[0]

    def retract(self, accumulator: Any, *args: Any) -> None:
        accumulator[0] -= args[0]

    def merge(self, accumulator: Any, accumulators: Any) -> None:
        for other in accumulators:
            accumulator[0] += other[0]

    def get_value(self, accumulator: Any) -> Any:
        return accumulator[0]


class Rows(Life, TableAggregateFunction):
    def create_accumulator(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        self.called()
        accumulator.append(args[0])

    def emit_value(self, accumulator: Any) -> Any:
        yield from (Row(each) for each in accumulator)


PLAIN = udf(Plain(), result_type=BIGINT)
PANDAS = udf(Plain(), result_type=BIGINT, func_type="pandas")
ARROW = udf(Plain(), result_type=BIGINT, func_type="arrow")
AWAITED = udf(Awaited(), result_type=BIGINT)
TOTAL = udaf(Total(), result_type=BIGINT, accumulator_type=DataTypes.ROW([]))
PANDAS_TOTAL = udaf(Total(), result_type=BIGINT, func_type="pandas")
REPEATED = udtf(Repeated(), result_types=[BIGINT])
ROWS = udtaf(Rows(), result_type=DataTypes.ROW([DataTypes.FIELD("r", BIGINT)]))


SCHEMA = (
    Schema.new_builder()
    .column("k", "BIGINT")
    .column("v", "BIGINT")
    .column("ts", "TIMESTAMP(3)")
    .column_by_expression("p", "PROCTIME()")
    .watermark("ts", "ts")
    .primary_key("k")
    .build()
)


@pytest.fixture
def env() -> TableEnvironment:
    LIVES.clear()
    made = stream_environment()
    start = datetime.datetime(2024, 1, 1)
    rows = [(1, 10, start), (2, 30, start), (1, 20, start + datetime.timedelta(seconds=3))]
    types = [Types.LONG(), Types.LONG(), Types.SQL_TIMESTAMP()]
    stream = made._env.from_collection(rows, Types.ROW_NAMED(["k", "v", "ts"], types))
    made.create_temporary_view("t", made.from_data_stream(stream, SCHEMA))
    functions = {
        "plain_f": PLAIN, "pandas_f": PANDAS, "arrow_f": ARROW, "awaited_f": AWAITED,
        "total": TOTAL, "pandas_total": PANDAS_TOTAL, "repeated": REPEATED,
    }  # fmt: skip
    for name, function in functions.items():
        made.create_temporary_system_function(name, function)
    return made


SCALARS = ("plain_f", "pandas_f", "arrow_f", "awaited_f")
SCALAR_PLACES = (
    "SELECT {f}(v) FROM t",
    "SELECT v FROM t WHERE {f}(v) > 0",
    "SELECT {f}(k), SUM({f}(v)) FILTER (WHERE {f}(v) > 0) FROM t GROUP BY {f}(k)",
    "SELECT a.v FROM t a JOIN t b ON {f}(a.k) = {f}(b.v) - 9",
    "SELECT a.v FROM t a LEFT JOIN t b ON a.k = b.k AND {f}(a.v + b.v) > 0",
    (
        "SELECT a.v FROM t a JOIN t b ON {f}(a.k) = b.k AND {f}(a.v + b.v) > 0 "
        "AND a.ts BETWEEN b.ts AND b.ts + INTERVAL '5' SECOND"
    ),
    "SELECT v FROM t WHERE {f}(k) IN (SELECT {f}(k) FROM t)",
    "SELECT SUM({f}(v)) OVER (PARTITION BY {f}(k) ORDER BY ts) FROM t",
    (
        "SELECT {f}(k), MAX({f}(v)) FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '2' SECOND) "
        "GROUP BY {f}(k), window_start, window_end"
    ),
    "SELECT x FROM t, LATERAL TABLE(repeated({f}(v))) AS r(x) WHERE {f}(x) > 0",
    "SELECT v FROM t ORDER BY {f}(v) LIMIT 2",
    (
        "SELECT * FROM (SELECT v, ROW_NUMBER() OVER (PARTITION BY {f}(k) ORDER BY {f}(v)) n "
        "FROM t) WHERE n = 1"
    ),
    "SELECT DISTINCT {f}(k) FROM t UNION ALL SELECT {f}(v) FROM t",
    "SELECT a.v FROM t a JOIN t FOR SYSTEM_TIME AS OF a.ts AS b ON {f}(a.k) = b.k",
)
AGGREGATES = ("total", "pandas_total")
AGGREGATE_PLACES = (
    "SELECT k, {f}(v) FROM t GROUP BY k",
    "SELECT {f}(v) FROM t",
    "SELECT k, {f}(DISTINCT v) FILTER (WHERE v > 0) FROM t GROUP BY k",
    "SELECT {f}(v) FROM t GROUP BY TUMBLE(ts, INTERVAL '2' SECOND)",
    "SELECT {f}(v) FROM t GROUP BY HOP(ts, INTERVAL '1' SECOND, INTERVAL '2' SECOND)",
    "SELECT {f}(v) FROM t GROUP BY SESSION(ts, INTERVAL '5' SECOND)",
    (
        "SELECT {f}(v) FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '2' SECOND) "
        "GROUP BY window_start, window_end"
    ),
    (
        "SELECT {f}(v) FROM HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '2' SECOND) "
        "GROUP BY window_start, window_end"
    ),
    (
        "SELECT {f}(v) FROM CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' SECOND, "
        "INTERVAL '2' SECOND) GROUP BY window_start, window_end"
    ),
    (
        "SELECT {f}(v) FROM SESSION(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND) "
        "GROUP BY window_start, window_end"
    ),
    "SELECT {f}(v) OVER (PARTITION BY k ORDER BY ts) FROM t",
    (
        "SELECT {f}(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) "
        "FROM t"
    ),
    (
        "SELECT {f}(v) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN INTERVAL '1' SECOND "
        "PRECEDING AND CURRENT ROW) FROM t"
    ),
    "SELECT {f}(v) OVER (PARTITION BY k ORDER BY p) FROM t",
)


def lived() -> None:
    """Each was opened as often as closed; none was called before, or afterwards."""
    assert LIVES
    for name, steps in LIVES.items():
        assert steps[0] == "open", name
        assert "called" in steps, (name, steps)
        assert steps[-1] == "close", (name, steps)
        assert steps.count("open") == steps.count("close"), (name, steps)


@pytest.mark.parametrize("function", SCALARS)
@pytest.mark.parametrize("query", SCALAR_PLACES)
def test_scalar_functions_are_opened_and_closed(
    env: TableEnvironment, function: str, query: str
) -> None:
    assert changes_of(env.sql_query(query.format(f=function)))
    lived()


@pytest.mark.parametrize("function", AGGREGATES)
@pytest.mark.parametrize("query", AGGREGATE_PLACES)
def test_aggregate_functions_are_opened_and_closed(
    env: TableEnvironment, function: str, query: str
) -> None:
    assert changes_of(env.sql_query(query.format(f=function)))
    lived()


def test_table_functions_and_table_aggregates_are_opened_and_closed(env: TableEnvironment) -> None:
    table = env.from_path("t")
    for made in (
        table.join_lateral(REPEATED(col("v")).alias("x")),
        table.left_outer_join_lateral(REPEATED(col("v")).alias("x")),
        table.select(col("v")).flat_map(REPEATED(col("v"))),
        table.group_by(col("k")).flat_aggregate(ROWS(col("v")).alias("r")).select(col("r")),
        table.select(col("v")).map(PLAIN(col("v"))),
        table.select(col("v")).map(PANDAS(col("v"))),
        table.group_by(col("k")).aggregate(TOTAL(col("v")).alias("r")).select(col("r")),
        table.window(Tumble.over(lit(2).seconds).on(col("ts")).alias("w"))
        .group_by(col("w"))
        .select(PANDAS_TOTAL(col("v"))),
        table.window(Slide.over(row_interval(2)).every(row_interval(1)).on(col("p")).alias("w"))
        .group_by(col("w"), col("k"))
        .select(TOTAL(col("v"))),
    ):
        LIVES.clear()
        assert changes_of(made)
        lived()
