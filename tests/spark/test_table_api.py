"""The Table API on Spark: natively where all input ends, with functions of the user in Arrow."""

from __future__ import annotations

import asyncio
import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

from headrace.common import Instant, Row, RowKind
from headrace.sql.types import parse_type
from headrace.table import (
    AggregateFunction,
    DataTypes,
    EnvironmentSettings,
    ScalarFunction,
    Table,
    TableEnvironment,
)
from headrace.table.expressions import col, lit
from headrace.table.type_mapping import data_type_of
from headrace.table.udf import udaf, udf, udtf


@udf(result_type="BIGINT")
def doubled(number: int) -> int:
    return number * 2


@udf(result_type="BIGINT", func_type="pandas")
def tripled(numbers: Any) -> Any:
    return numbers * 3


@udf(result_type="BIGINT", func_type="arrow")
def plus_ten(numbers: Any) -> Any:
    import pyarrow.compute as pc

    return pc.add(numbers, 10)


@udf(result_type="STRING")
async def marked(text: str) -> str:
    await asyncio.sleep(0.001)
    return f"<{text}>"


class Opened(ScalarFunction):
    def open(self, function_context: Any) -> None:
        self.start = int(function_context.get_job_parameter("start", "0"))

    def eval(self, number: int) -> int:
        return self.start + number


@pytest.fixture(params=["micro-batch", "record"])
def table(request: pytest.FixtureRequest) -> Table:
    """The same rows for Spark's own operators and for key groups."""
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("headrace.table.changes", request.param)
    env.get_config().set("parallelism.default", "2")
    env.get_config().set("pipeline.global-job-parameters", "start:100")
    return env.from_pandas(pd.DataFrame({"i": [1, 2, 3], "s": ["x", "y", "x"]}))


def rows(table: Table) -> list[tuple[Any, ...]]:
    with table.execute().collect() as found:
        return sorted(tuple(row) for row in found if row.get_row_kind() is not RowKind.DELETE)


@pytest.mark.smoke
def test_functions_of_every_style(table: Table) -> None:
    opened = udf(Opened(), result_type="BIGINT")
    made = table.select(
        doubled(col("i")), tripled(col("i")), plus_ten(col("i")), marked(col("s")),
        opened(col("i")), doubled(tripled(col("i")) + 1),
    )  # fmt: skip
    assert rows(made) == [
        (2, 3, 11, "<x>", 101, 8), (4, 6, 12, "<y>", 102, 14), (6, 9, 13, "<x>", 103, 20),
    ]  # fmt: skip


def test_rows_and_tables_of_functions(table: Table) -> None:
    pair = DataTypes.ROW(
        [DataTypes.FIELD("n", DataTypes.BIGINT()), DataTypes.FIELD("t", DataTypes.STRING())]
    )
    made = table.map(udf(lambda row: Row(row.i * 2, row.s * 2), result_type=pair))
    assert rows(made) == [(2, "xx"), (4, "yy"), (6, "xx")]
    repeated = udtf(lambda n: range(n), result_types="BIGINT")
    assert len(rows(table.join_lateral(repeated(col("i")).alias("k")))) == 6


class Largest(AggregateFunction[Any, Any]):
    """The largest of a group's numbers, beyond what it was opened with."""

    def open(self, function_context: Any) -> None:
        self.start = int(function_context.get_job_parameter("start", "0"))

    def create_accumulator(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        accumulator.append(args[0].max())

    def get_value(self, accumulator: Any) -> Any:
        return accumulator[0] + self.start


def test_pandas_aggregates_are_opened(table: Table) -> None:
    largest = udaf(Largest(), result_type="BIGINT", func_type="pandas")
    found = {row[0]: row[1] for row in table.group_by(col("s")).select(
        col("s"), largest(col("i"))).execute().collect()}  # fmt: skip
    assert found == {"x": 103, "y": 102}


def test_values_of_every_type_reach_functions_the_same_way(table: Table) -> None:
    env = table._t_env
    env.get_config().set("table.local-time-zone", "Asia/Tokyo")
    noon = datetime.datetime(2024, 2, 29, 12, 0, 0, 123000)
    given = {
        "TIME(3)": noon.time(), "TIMESTAMP(3)": noon, "TIMESTAMP(9)": noon,
        "TIMESTAMP_LTZ(3)": noon, "DATE": noon.date(), "BYTES": b"x", "FLOAT": 1.5,
    }  # fmt: skip
    fields = [
        DataTypes.FIELD(f"c{at}", data_type_of(parse_type(name))) for at, name in enumerate(given)
    ]
    typed = env.from_elements([tuple(given.values())], DataTypes.ROW(fields))
    names = [field.name for field in fields]
    shown = udf(lambda value: repr(value), result_type="STRING")
    dtype = udf(lambda s: pd.Series([str(s.dtype)]), result_type="STRING", func_type="pandas")
    same = [
        udf(lambda s: s, result_type=field.data_type, func_type="pandas")(col(field.name))
        for field in fields
    ]
    made = typed.select(*map(shown, map(col, names)), *map(dtype, map(col, names)), *same)
    (row,) = made.execute().collect()
    width = len(fields)
    zoned = datetime.datetime(2024, 2, 29, 21, 0, 0, 123000, ZoneInfo("Asia/Tokyo"))
    python = [*given.values()]
    python[3] = zoned
    assert list(row[:width]) == [repr(value) for value in python]
    assert list(row[width : 2 * width]) == [
        "object", "datetime64[ms]", "datetime64[ns]", "datetime64[ms, Asia/Tokyo]", "object",
        "object", "float32",
    ]  # fmt: skip
    assert list(row[2 * width :]) == [*python[:3], Instant(1709208000, 123000000), *python[4:]]
    assert not hasattr(row, "_fields")


@pytest.mark.smoke
def test_aggregates_end_at_the_same_rows(table: Table) -> None:
    median = udaf(lambda v: v.median(), result_type="DOUBLE", func_type="pandas")
    made = table.group_by(col("s")).select(col("s"), col("i").sum.alias("t"), median(col("i")))
    frame = made.to_pandas().sort_values("s").reset_index(drop=True)
    assert frame.values.tolist() == [["x", 4, 2.0], ["y", 2, 2.0]]


@pytest.mark.smoke
def test_a_frame_comes_back(table: Table) -> None:
    frame = table.order_by(col("i").desc).limit(2).to_pandas().sort_values("i")
    assert frame.reset_index(drop=True).equals(pd.DataFrame({"i": [2, 3], "s": ["y", "x"]}))


@pytest.mark.smoke
def test_statements_write(table: Table, capfd: pytest.CaptureFixture[str]) -> None:
    env = table._t_env
    env.execute_sql("CREATE TABLE out_ (i BIGINT) WITH ('connector' = 'print')")
    statements = env.create_statement_set()
    statements.add_insert("out_", table.select(doubled(col("i"))))
    statements.add_insert_sql(f"INSERT INTO out_ SELECT i + 100 FROM {table}")
    statements.execute().wait()
    printed = sorted(line.split("> ")[-1] for line in capfd.readouterr().out.splitlines())
    assert printed == ["+I[101]", "+I[102]", "+I[103]", "+I[2]", "+I[4]", "+I[6]"]


@pytest.mark.smoke
def test_a_failing_function_says_where(table: Table) -> None:
    broken = udf(lambda n: 1 // (n - 2), result_type="BIGINT")
    with pytest.raises(Exception, match="division"):
        table.select(broken(col("i")) + lit(1)).to_pandas()
