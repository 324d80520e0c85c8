"""What tables can be asked: columns, rows, groups, joins, windows."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from headrace.common import Row, Types
from headrace.errors import HeadraceError, InvalidQuery, TypeMismatch
from headrace.table import AggregateFunction, DataTypes, Table
from headrace.table.expressions import (
    CURRENT_ROW,
    UNBOUNDED_RANGE,
    col,
    lag,
    lit,
    row,
    row_interval,
)
from headrace.table.udf import udaf
from headrace.table.window import Over, Session, Slide, Tumble
from tests.unit.table.in_process import changes_of, stream_environment, table_environment


@pytest.fixture
def people() -> Table:
    return table_environment().from_elements(
        [(1, "a", 2.0), (2, "b", 3.0), (3, "a", 4.0)], ["id", "name", "v"]
    )


def names(table: Table) -> list[str]:
    return list(table.relation.names)


# Columns.


def test_names_of_columns_without_a_name(people: Table) -> None:
    made = people.select(col("id") + 1, col("name"), col("id").cast(DataTypes.INT()), lit(3))
    assert names(made) == ["_c0", "name", "id-INT", "_c3"]
    grouped = people.group_by(col("name")).select(col("name"), col("v").sum, col("v").max + 1)
    assert names(grouped) == ["name", "EXPR$0", "_c2"]
    assert names(people.select(col("id").sum.cast(DataTypes.INT()))) == ["EXPR$0-INT"]


def test_columns_are_added_replaced_renamed_and_dropped(people: Table) -> None:
    assert names(people.add_columns(col("id") + 1)) == ["id", "name", "v", "_c3"]
    replaced = people.add_or_replace_columns((col("id") * 2).alias("v"), lit(1).alias("w"))
    assert changes_of(replaced.limit(1)) == ["+I[1, a, 2, 1]"]
    assert names(people.rename_columns(col("v").alias("value"))) == ["id", "name", "value"]
    assert names(people.drop_columns(col("v"), col("id"))) == ["name"]
    assert names(people.alias("x", "y")) == ["x", "y", "v"]
    assert changes_of(people.select(people.id, people.v).limit(1)) == ["+I[1, 2.0]"]


def test_rows_become_columns(people: Table) -> None:
    nested = people.select(row(col("id"), col("name")).alias("r"))
    assert names(nested.select(col("r").flatten)) == ["r$f0", "r$f1"]
    assert changes_of(nested.select(col("r").get("f1"), col("r").get(0)).limit(1)) == ["+I[a, 1]"]


def test_a_name_twice_is_an_error(people: Table) -> None:
    with pytest.raises(InvalidQuery, match="ambiguous column name: id"):
        people.select(col("id"), col("id"))
    with pytest.raises(InvalidQuery, match="ambiguous column name: name"):
        people.rename_columns(col("id").alias("name"))
    with pytest.raises(AttributeError, match="no column 'nme'"):
        _ = people.nme
    with pytest.raises(InvalidQuery, match="did you mean name"):
        people.drop_columns(col("nam"))


# Rows.


def test_filter_distinct_order(people: Table) -> None:
    assert changes_of(people.filter(col("v") > 2.5).select(col("id"))) == ["+I[2]", "+I[3]"]
    assert changes_of(people.where(True).select(col("id"))) == ["+I[1]", "+I[2]", "+I[3]"]
    assert changes_of(people.select(col("name")).distinct()) == ["+I[a]", "+I[b]"]
    newest = people.order_by(col("v").desc).fetch(1).select(col("id"))
    assert changes_of(newest) == ["+I[1]", "-U[1]", "+U[2]", "-U[2]", "+U[3]"]
    assert changes_of(people.limit(1, 1).select(col("id"))) == ["+I[2]"]
    with pytest.raises(HeadraceError, match="number of rows"):
        people.limit(-1)
    with pytest.raises(InvalidQuery, match="must be BOOLEAN"):
        people.filter(col("id"))


def test_groups(people: Table) -> None:
    grouped = people.group_by((col("id") % 2).alias("odd"))
    made = grouped.select(col("odd"), col("v").sum.alias("s"), lit(1).count)
    assert changes_of(made) == [
        "+I[1, 2.0, 1]", "+I[0, 3.0, 1]", "-U[1, 2.0, 1]", "+U[1, 6.0, 2]",
    ]  # fmt: skip
    whole = people.select(col("name").count.distinct, col("v").avg)
    assert changes_of(whole)[-1] == "+U[2, 3.0]"
    with pytest.raises(InvalidQuery, match="not being grouped"):
        people.group_by(col("name")).select(col("id"))


def test_one_change_per_key_without_record_mode() -> None:
    env = table_environment("micro-batch")
    table = env.from_elements([("a", 1), ("a", 2)], ["k", "v"])
    made = table.group_by(col("k")).select(col("k"), col("v").sum)
    assert changes_of(made) == ["+I[a, 3]"]


# Several tables.


def test_joins(people: Table) -> None:
    other = people.where(col("id") > 1).select(col("id").alias("i"), col("v").alias("w"))
    assert changes_of(people.join(other, col("id") == col("i")).select(col("id"), col("w"))) == [
        "+I[2, 3.0]", "+I[3, 4.0]",
    ]  # fmt: skip
    left = people.left_outer_join(other, col("id") == col("i")).select(col("id"), col("w"))
    assert "+I[1, null]" in changes_of(left)
    assert left.relation.types[1].nullable
    right = other.right_outer_join(people, col("id") == col("i")).select(col("id"), col("w"))
    assert "+I[1, null]" in changes_of(right)
    full = people.full_outer_join(other, (col("id") == col("i")) & (col("w") > 99))
    assert changes_of(full.select(col("id"), col("i"))).count("+I[1, null]") == 1
    with pytest.raises(InvalidQuery, match="both sides have columns called id"):
        people.join(people, lit(True))


def test_set_operations(people: Table) -> None:
    few = people.where(col("id") == 1)
    assert changes_of(people.minus(few).select(col("id"))) == ["+I[2]", "+I[3]"]
    assert changes_of(people.intersect(few).select(col("id"))) == ["+I[1]"]
    assert len(changes_of(people.union_all(few))) == 4
    assert len(changes_of(people.union(few))) == 3
    assert changes_of(people.where(col("id").in_(few.select(col("id")))).select(col("id"))) == [
        "+I[1]"
    ]
    with pytest.raises(InvalidQuery, match="same number of columns"):
        people.union(few.select(col("id")))
    with pytest.raises(HeadraceError, match="two environments"):
        people.union_all(table_environment().from_elements([(1,)], ["a"]))
    with pytest.raises(TypeMismatch, match="another table is needed"):
        people.join("t")  # type: ignore[arg-type]


# Windows.


class Total(AggregateFunction[Row, list[int]]):
    """The sum of a column of whole rows."""

    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] += args[0].v

    def get_value(self, accumulator: list[int]) -> Row:
        return Row(accumulator[0])


@pytest.fixture
def timed() -> Table:
    env = table_environment()
    rows = [("a", 1, 0), ("b", 2, 1), ("a", 3, 4), ("a", 5, 12)]
    values: list[Any] = [(k, v, datetime(1970, 1, 1, 0, 0, second)) for k, v, second in rows]
    schema = DataTypes.ROW([
        DataTypes.FIELD("k", DataTypes.STRING()), DataTypes.FIELD("v", DataTypes.INT()),
        DataTypes.FIELD("ts", DataTypes.TIMESTAMP(3)),
    ])  # fmt: skip
    from headrace.sql.scans import watermarked

    table = env.from_elements(values, schema)
    return Table(watermarked(table.relation, "ts", "ts"), env)


def test_tumbling_sliding_and_session_windows(timed: Table) -> None:
    tumbling = timed.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w"))
    made = tumbling.group_by(col("k"), col("w")).select(col("k"), col("v").sum, col("w").end)
    assert sorted(changes_of(made)) == [
        "+I[a, 4, 1970-01-01T00:00:10]", "+I[a, 5, 1970-01-01T00:00:20]",
        "+I[b, 2, 1970-01-01T00:00:10]",
    ]  # fmt: skip
    sliding = timed.window(
        Slide.over(lit(10).seconds).every(lit(5).seconds).on(col("ts")).alias("w")
    )
    counts = sliding.group_by(col("w")).select(col("w").start, lit(1).count)
    assert len(changes_of(counts)) == 4
    session = timed.window(Session.with_gap(lit(5).seconds).on(col("ts")).alias("w"))
    made = session.group_by(col("k"), col("w")).select(col("k"), col("v").max, col("w").rowtime)
    assert sorted(changes_of(made))[0] == "+I[a, 3, 1970-01-01T00:00:08.999]"


def test_over_windows(timed: Table) -> None:
    rows = Over.partition_by(col("k")).order_by(col("ts")).preceding(row_interval(1))
    made = timed.over_window(rows.following(CURRENT_ROW).alias("w"))
    assert sorted(changes_of(made.select(col("k"), col("v").sum.over(col("w"))))) == [
        "+I[a, 1]", "+I[a, 4]", "+I[a, 8]", "+I[b, 2]",
    ]  # fmt: skip
    before = timed.over_window(Over.partition_by(col("k")).order_by(col("ts")).alias("w"))
    assert sorted(changes_of(before.select(col("k"), lag(col("v")).over(col("w"))))) == [
        "+I[a, 1]",
        "+I[a, 3]",
        "+I[a, null]",
        "+I[b, null]",
    ]
    unbounded = Over.order_by(col("ts")).preceding(UNBOUNDED_RANGE).alias("w")
    made = timed.over_window(unbounded)
    assert changes_of(made.select(col("v").sum.over(col("w"))))[-1] == "+I[11]"


@pytest.mark.parametrize("order", [col("v"), col("v").desc, col("k")])
def test_an_over_window_by_a_column_that_is_no_time_is_refused_by_select(
    timed: Table, order: Any
) -> None:
    window = Over.partition_by(col("k")).order_by(order)
    for each in (window, window.preceding(row_interval(1)), window.preceding(UNBOUNDED_RANGE)):
        made = timed.over_window(each.alias("w"))
        with pytest.raises(InvalidQuery, match="an over window is ordered by a time attribute"):
            made.select(col("v").sum.over(col("w")))


def test_windows_of_a_number_of_rows() -> None:
    env = stream_environment()
    stream = env._env.from_collection(
        [("a", 1), ("a", 2), ("b", 3), ("a", 4)], Types.TUPLE([Types.STRING(), Types.INT()])
    )
    table = env.from_data_stream(stream, col("k"), col("v"), col("pt").proctime)
    tumbling = table.window(Tumble.over(row_interval(2)).on(col("pt")).alias("w"))
    made = tumbling.group_by(col("k"), col("w")).select(col("k"), col("v").sum)
    assert changes_of(made) == ["+I[a, 3]"]
    sliding = table.window(
        Slide.over(row_interval(2)).every(row_interval(1)).on(col("pt")).alias("w")
    )
    made = sliding.group_by(col("k"), col("w")).select(col("k"), col("v").sum)
    assert changes_of(made) == ["+I[a, 3]", "+I[a, 6]"]


def test_functions_of_rows_over_windows(timed: Table) -> None:
    window = timed.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w"))
    total = udaf(Total(), result_type=DataTypes.ROW([DataTypes.FIELD("s", DataTypes.BIGINT())]))
    made = window.group_by(col("k"), col("w")).aggregate(total.alias("s"))
    assert sorted(changes_of(made.select(col("k"), col("s"), col("w").start.alias("b")))) == [
        "+I[a, 4, 1970-01-01T00:00]",
        "+I[a, 5, 1970-01-01T00:00:10]",
        "+I[b, 2, 1970-01-01T00:00]",
    ]


def test_windows_say_what_is_wrong(timed: Table) -> None:
    window = Tumble.over(lit(10).seconds).on(col("v")).alias("w")
    with pytest.raises(InvalidQuery, match="must be a time attribute"):
        timed.window(window).group_by(col("w")).select(col("w").start)
    good = Tumble.over(lit(10).seconds).on(col("ts")).alias("w")
    with pytest.raises(InvalidQuery, match="must have the window w once"):
        timed.window(good).group_by(col("k"))
    with pytest.raises(TypeMismatch, match="window with an alias"):
        timed.window("w")  # type: ignore[arg-type]
    counted = Tumble.over(row_interval(2)).on(col("ts")).alias("w")
    with pytest.raises(InvalidQuery, match="processing time"):
        timed.window(counted).group_by(col("w")).select(lit(1).count)


# What a table is.


def test_schema_and_text(people: Table, capsys: pytest.CaptureFixture[str]) -> None:
    people.print_schema()
    assert capsys.readouterr().out == "(\n  `id` BIGINT,\n  `name` STRING,\n  `v` DOUBLE\n)\n"
    assert people.get_schema().get_field_names() == ["id", "name", "v"]
    assert str(people) == "UnnamedTable$0" == str(people)


def test_changelogs(people: Table) -> None:
    grouped = people.group_by(col("name")).select(col("name"), col("v").sum.alias("s"))
    rows = grouped.to_changelog()
    assert changes_of(rows)[-2:] == ["+I[UPDATE_BEFORE, a, 2.0]", "+I[UPDATE_AFTER, a, 6.0]"]
    assert changes_of(rows.from_changelog())[-2:] == ["-U[a, 2.0]", "+U[a, 6.0]"]


def test_a_pipeline_knows_its_sink(people: Table) -> None:
    env = people._t_env
    env.execute_sql("CREATE TABLE out_ (id BIGINT) WITH ('connector' = 'blackhole')")
    pipeline = people.select(col("id")).insert_into("out_")
    assert str(pipeline.get_sink_identifier()) == "`default_catalog`.`default_database`.`out_`"
