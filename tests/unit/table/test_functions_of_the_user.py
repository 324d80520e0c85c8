"""Functions of the user: every kind and every style really runs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from headrace.common import Row
from headrace.core.expressions import UserFunction
from headrace.core.table_columns import arrow_type, to_arrow
from headrace.errors import HeadraceError, InvalidArgument, InvalidQuery, TypeMismatch
from headrace.operators.table.batched_calls import column_call
from headrace.table import (
    AggregateFunction,
    AsyncScalarFunction,
    DataTypes,
    FunctionContext,
    ListView,
    MapView,
    ScalarFunction,
    Table,
    TableAggregateFunction,
    TableFunction,
)
from headrace.table.expressions import call, col
from headrace.table.type_mapping import logical_type_of
from headrace.table.udf import udaf, udf, udtaf, udtf
from tests.unit.table.in_process import changes_of, table_environment

PAIR = DataTypes.ROW(
    [DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.STRING())]
)


@pytest.fixture
def table() -> Table:
    return table_environment().from_elements([(1, "x"), (2, "yy"), (3, None)], ["i", "s"])


@udf(result_type=DataTypes.BIGINT())
def doubled(number: int) -> int:
    return number * 2


@udf(result_type="BIGINT", func_type="pandas")
def tripled(numbers: Any) -> Any:
    return numbers * 3


@udf(result_type="BIGINT", func_type="arrow")
def plus_ten(numbers: Any) -> Any:
    import pyarrow.compute as pc

    return pc.add(numbers, 10)


@udf(result_type=DataTypes.STRING())
async def marked(text: str | None) -> str:
    await asyncio.sleep(0.001)
    return f"<{text}>"


def test_every_style_of_scalar_function(table: Table) -> None:
    made = table.select(doubled(col("i")), tripled(col("i")), plus_ten(col("i")), marked(col("s")))
    assert changes_of(made) == [
        "+I[2, 3, 11, <x>]",
        "+I[4, 6, 12, <yy>]",
        "+I[6, 9, 13, <null>]".replace("null", "None"),
    ]


def test_styles_nest_and_filter(table: Table) -> None:
    nested = table.select(doubled(tripled(plus_ten(doubled(col("i"))) + 1)))
    assert changes_of(nested) == ["+I[78]", "+I[90]", "+I[102]"]
    kept = table.where((tripled(col("i")) > 3) & (marked(col("s")) == "<yy>")).select(col("i"))
    assert changes_of(kept) == ["+I[2]"]
    grouped = table.group_by(tripled(col("i")).alias("k")).select(col("k"), plus_ten(col("i")).sum)
    assert changes_of(grouped) == ["+I[3, 11]", "+I[6, 12]", "+I[9, 13]"]


def test_functions_by_name_in_sql(table: Table) -> None:
    env = table._t_env
    env.create_temporary_function("doubled", doubled)
    env.create_temporary_system_function("tripled", tripled)
    assert changes_of(env.sql_query(f"SELECT doubled(i), TRIPLED(i) FROM {table}")) == [
        "+I[2, 3]", "+I[4, 6]", "+I[6, 9]",
    ]  # fmt: skip
    assert changes_of(table.select(call("doubled", col("i"))).limit(1)) == ["+I[2]"]
    assert env.drop_temporary_function("doubled")
    assert not env.drop_temporary_function("doubled")


class Counting(ScalarFunction):
    """Says what it was opened with."""

    def open(self, function_context: FunctionContext) -> None:
        self.start = int(function_context.get_job_parameter("start", "100"))
        self.group = function_context.get_metric_group().counter("calls")

    def eval(self, number: int) -> int:
        self.group.inc()
        return self.start + number

    def is_deterministic(self) -> bool:
        return False


def test_open_before_the_first_call(table: Table) -> None:
    counting = udf(Counting(), result_type=DataTypes.BIGINT())
    assert counting.user_function().deterministic is False
    assert changes_of(table.select(counting(col("i")))) == ["+I[101]", "+I[102]", "+I[103]"]
    table._t_env._env.get_config().set_global_job_parameters({"start": "5"})
    assert changes_of(table.select(counting(col("i")))) == ["+I[6]", "+I[7]", "+I[8]"]


class Lookup(AsyncScalarFunction):
    def open(self, function_context: FunctionContext) -> None:
        self.running = self.most = 0

    async def eval(self, number: int) -> int:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.001)
        self.running -= 1
        return self.most


def test_asynchronous_calls_overlap() -> None:
    env = table_environment()
    table = env.from_elements([(number,) for number in range(30)], ["i"])
    found = changes_of(table.select(udf(Lookup(), result_type="INT")(col("i"))))
    assert found[-1] == "+I[10]"


def test_a_failing_call_is_made_again() -> None:
    tries: list[int] = []

    @udf(result_type="INT")
    async def flaky(number: int) -> int:
        tries.append(number)
        if len(tries) < 3:
            raise ConnectionError("not yet")
        return number

    table = table_environment().from_elements([(7,)], ["i"])
    made = table.select(flaky(col("i")))
    assert changes_of(made) == ["+I[7]"]


def test_map_takes_rows(table: Table) -> None:
    @udf(result_type=PAIR)
    def general(given: Row) -> Row:
        return Row(given.i * 2, given.s)

    @udf(result_type=PAIR, func_type="pandas")
    def pandas(frame: Any) -> Any:
        return frame.assign(i=frame.i * 3)

    @udf(result_type=DataTypes.BIGINT())
    def single(given: Row) -> int:
        return given[0]

    assert changes_of(table.map(general)) == ["+I[2, x]", "+I[4, yy]", "+I[6, null]"]
    assert list(table.map(general).relation.names) == ["a", "b"]
    assert changes_of(table.map(pandas)) == ["+I[3, x]", "+I[6, yy]", "+I[9, null]"]
    assert list(table.map(single).relation.names) == ["f0"]
    assert list(table.map(general(col("i"))).alias("p", "q").relation.names) == ["p", "q"]


class Split(TableFunction):
    def eval(self, text: str | None, by: str) -> Any:
        for part in (text or "").split(by):
            if part:
                yield part, len(part)


def test_table_functions(table: Table) -> None:
    split = udtf(Split(), result_types=[DataTypes.STRING(), DataTypes.INT()])
    assert changes_of(table.join_lateral(split(col("s"), "y").alias("p", "n"))) == [
        "+I[1, x, x, 1]"
    ]
    left = table.left_outer_join_lateral(split(col("s"), "q").alias("p", "n"))
    assert changes_of(left)[-1] == "+I[3, null, null, null]"
    assert changes_of(table.flat_map(split(col("s"), "q"))) == ["+I[x, 1]", "+I[yy, 2]"]
    table._t_env.create_temporary_function("split_", split)
    sql = f"SELECT i, p FROM {table}, LATERAL TABLE(split_(s, 'q')) AS t(p, n)"
    assert changes_of(table._t_env.sql_query(sql)) == ["+I[1, x]", "+I[2, yy]"]

    @udtf(result_types=DataTypes.INT())
    def upto(given: Row) -> Any:
        return range(given.i)

    assert len(changes_of(table.flat_map(upto))) == 6
    with pytest.raises(InvalidQuery, match="both sides have columns called i"):
        table.join_lateral(split(col("s"), "y").alias("i", "n"))
    with pytest.raises(InvalidQuery, match="2 columns, 1 names"):
        table.join_lateral(split(col("s"), "y").alias("p"))


class Mean(AggregateFunction[float, list[int]]):
    def create_accumulator(self) -> list[int]:
        return [0, 0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] += args[0]
        accumulator[1] += 1

    def retract(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] -= args[0]
        accumulator[1] -= 1

    def get_value(self, accumulator: list[int]) -> float:
        return accumulator[0] / accumulator[1] if accumulator[1] else 0.0

    def get_result_type(self) -> DataTypes:
        return DataTypes.DOUBLE()  # type: ignore[return-value]

    def get_accumulator_type(self) -> DataTypes:
        return DataTypes.ARRAY(DataTypes.BIGINT())  # type: ignore[return-value]


class Seen(AggregateFunction[int, Any]):
    """Keeps views, as PyFlink's programs do."""

    def create_accumulator(self) -> Any:
        return Row(ListView(), MapView())

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        accumulator[0].add(args[0])
        accumulator[1][args[0]] = True

    def get_value(self, accumulator: Any) -> int:
        return len(accumulator[0].get()) * 100 + len(list(accumulator[1].keys()))


def test_aggregate_functions(table: Table) -> None:
    mean = udaf(Mean())
    assert changes_of(table.select(mean(col("i"))))[-1] == "+U[2.0]"
    again = table.group_by(col("s")).select(col("s"), col("i").sum.alias("t"))
    assert changes_of(again.select(mean(col("t"))))[-1] == "+U[2.0]"
    twice = table.union_all(table)
    seen = udaf(Seen(), result_type=DataTypes.INT(), accumulator_type=DataTypes.ROW([]))
    assert changes_of(twice.select(seen(col("i"))))[-1] == "+U[603]"
    table._t_env.create_temporary_function("mean_", Mean())
    assert changes_of(table._t_env.sql_query(f"SELECT mean_(i) FROM {table}"))[-1] == "+U[2.0]"


def test_pandas_aggregates_see_whole_groups(table: Table) -> None:
    @udaf(result_type=DataTypes.DOUBLE(), func_type="pandas")
    def median(values: Any) -> Any:
        return values.median()

    assert changes_of(table.select(median(col("i"))))[-1] == "+U[2.0]"


class Largest(TableAggregateFunction[Row, list[int]]):
    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator.append(args[0] if isinstance(args[0], int) else args[0].i)
        accumulator.sort(reverse=True)
        del accumulator[2:]

    def emit_value(self, accumulator: list[int]) -> Any:
        for place, value in enumerate(accumulator):
            yield Row(value, place)


def test_table_aggregates(table: Table) -> None:
    result = DataTypes.ROW(
        [DataTypes.FIELD("v", DataTypes.BIGINT()), DataTypes.FIELD("rank", DataTypes.INT())]
    )
    largest = udtaf(
        Largest(), result_type=result, accumulator_type=DataTypes.ARRAY(DataTypes.BIGINT())
    )
    made = table.flat_aggregate(largest(col("i")).alias("x", "y")).select(col("x"), col("y"))
    assert changes_of(made)[-2:] == ["+I[3, 0]", "+I[2, 1]"]
    grouped = table.group_by(col("s")).flat_aggregate(largest).select(col("s"), col("v"))
    assert changes_of(grouped) == ["+I[x, 1]", "+I[yy, 2]", "+I[null, 3]"]


def test_aggregate_of_rows(table: Table) -> None:
    class Sum(Mean):
        def accumulate(self, accumulator: list[int], *args: Any) -> None:
            super().accumulate(accumulator, args[0].i)

        def get_value(self, accumulator: list[int]) -> Any:
            return Row(accumulator[0], "n")

    summed = udaf(Sum(), result_type=PAIR, accumulator_type=DataTypes.ARRAY(DataTypes.BIGINT()))
    made = table.aggregate(summed.alias("total", "note")).select(col("total"), col("note"))
    assert changes_of(made)[-1] == "+U[6, n]"


def test_what_is_wrong_with_a_function(table: Table) -> None:
    with pytest.raises(TypeMismatch, match="is no function"):
        udf(Counting, result_type="INT")
    with pytest.raises(TypeMismatch, match="must declare its result type"):
        udf(lambda x: x)(col("i"))
    with pytest.raises(InvalidArgument, match="func_type"):
        udf(lambda x: x, result_type="INT", func_type="numpy")
    with pytest.raises(InvalidArgument, match="deterministic"):
        udf(Counting(), result_type="INT", deterministic=True)
    with pytest.raises(TypeMismatch, match="derived from AggregateFunction"):
        udaf(lambda x: x, result_type="INT")
    with pytest.raises(InvalidQuery, match="takes 1 arguments, 2 are given"):
        table.select(udf(lambda x: x, input_types=["INT"], result_type="INT")(col("i"), col("i")))
    with pytest.raises(InvalidQuery, match=r"takes INT, this is STRING|takes BOOLEAN"):
        table.select(udf(lambda x: x, input_types="BOOLEAN", result_type="INT")(col("s")))
    with pytest.raises(TypeMismatch, match="map\\(\\) takes a scalar function"):
        table.map(udtf(Split(), result_types="STRING"))
    with pytest.raises(TypeMismatch, match="must be a function made with udf"):
        table._t_env.create_temporary_function("f", lambda x: x)

    @udf(result_type="BIGINT", func_type="pandas")
    def short(values: Any) -> Any:
        return values[:1]

    with pytest.raises(HeadraceError, match="gave 1 values for 3 rows"):
        changes_of(table.select(short(col("i"))))


def test_input_types_are_cast(table: Table) -> None:
    given: list[type] = []

    @udf(input_types=[DataTypes.DOUBLE()], result_type=DataTypes.STRING())
    def kind(value: Any) -> str:
        return type(value).__name__

    assert changes_of(table.select(kind(col("i"))).limit(1)) == ["+I[float]"]
    assert isinstance(kind.user_function(), UserFunction)
    assert given == []


class Held(AggregateFunction[str, Any]):
    """Counts in a view of a map, whose type it declares; words that come to nothing are removed."""

    def create_accumulator(self) -> Any:
        return Row(MapView())

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        counts = accumulator[0]
        counts[args[0]] = (counts.get(args[0]) or 0) + 1
        counts.remove("never there")

    def retract(self, accumulator: Any, *args: Any) -> None:
        counts = accumulator[0]
        counts[args[0]] -= 1
        entries = iter(counts.items())
        for _, count in entries:
            if count == 0:
                entries.remove()

    def get_value(self, accumulator: Any) -> str:
        keys = sorted(accumulator[0])
        assert sorted(accumulator[0].keys()) == keys
        return ",".join(f"{key}{accumulator[0][key]}" for key in keys)

    def get_result_type(self) -> str:
        return "STRING"

    def get_accumulator_type(self) -> Any:
        view = DataTypes.MAP_VIEW(DataTypes.STRING(), DataTypes.BIGINT())
        return DataTypes.ROW([DataTypes.FIELD("counts", view)])


def test_a_declared_view_of_a_map_answers_as_state_does() -> None:
    env = table_environment()
    rows = env.from_elements([(1, "a"), (1, "b"), (2, "b"), (2, "c")], ["k", "v"])
    last = rows.group_by(col("k")).select(col("v").last_value.alias("v"))
    assert changes_of(last.select(udaf(Held())(col("v"))))[-1] == "+U[b1,c1]"
    plain: MapView[str, int] = MapView()
    with pytest.raises(KeyError):
        plain.get("a")
    plain.hold_as_state()
    assert plain.get("a") is None
    with pytest.raises(InvalidArgument, match=r"remove\(\) comes after next\(\)"):
        plain.keys().remove()  # type: ignore[attr-defined]


def test_rows_that_columns_become_have_the_names_of_their_type() -> None:
    """Spark refuses a struct of other names."""

    @udf(result_type="ROW<x INT, y STRING>", func_type="pandas")
    def renamed(frame: Any) -> Any:
        return frame.rename(columns={"a": "p", "b": "q"})

    @udf(result_type="ROW<x INT, y STRING>", func_type="arrow")
    def same(rows: Any) -> Any:
        return rows

    row = logical_type_of("ROW<a BIGINT, b STRING>")
    for function in (renamed, same):
        user = function.user_function()
        call_columns = column_call(user, [row], user.result_type)
        found = call_columns([to_arrow([(1, "u"), (2, None)], row)], 2)
        assert found.type == arrow_type(user.result_type)
        assert found.to_pylist() == [{"x": 1, "y": "u"}, {"x": 2, "y": None}]
    absent = column_call(same.user_function(), [row], same.user_function().result_type)
    assert absent([to_arrow([None, (1, "u")], row)], 2).to_pylist() == [None, {"x": 1, "y": "u"}]
