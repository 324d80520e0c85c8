"""DataStreams as tables and tables as DataStreams, with kinds of changes and event time."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Instant, Row, RowKind, Types, WatermarkStrategy
from headrace.core.watermarks import TimestampAssigner
from headrace.datastream import ProcessFunction, StreamExecutionEnvironment
from headrace.errors import HeadraceError, InvalidArgument, InvalidQuery, TypeMismatch
from headrace.table import ChangelogMode, DataTypes, Schema, StreamTableEnvironment
from headrace.table.expressions import col, lit, source_watermark
from headrace.table.window import Tumble
from tests.unit.table.in_process import changes_of, printed_by, stream_environment

NAMED = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.INT()])


@pytest.fixture
def env() -> StreamTableEnvironment:
    return stream_environment()


def pairs(env: StreamTableEnvironment, *values: Any) -> Any:
    return env._env.from_collection(list(values), type_info=NAMED)


class SecondsOf(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1]) * 1000


def timed(env: StreamTableEnvironment, *values: Any) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondsOf())
    return pairs(env, *values).assign_timestamps_and_watermarks(strategy)


# From streams.


def test_columns_follow_the_streams_type(env: StreamTableEnvironment) -> None:
    rows = env.from_data_stream(pairs(env, Row("a", 1)))
    assert str(rows.get_resolved_schema()) == "(\n  `k` STRING,\n  `v` INT\n)"
    assert changes_of(rows) == ["+I[a, 1]"]
    tuples = env._env.from_collection([("a", 1)], Types.TUPLE([Types.STRING(), Types.LONG()]))
    assert list(env.from_data_stream(tuples).relation.names) == ["f0", "f1"]
    numbers = env.from_data_stream(env._env.from_collection([1, 2], Types.LONG()))
    assert changes_of(numbers.select(col("f0") + 1)) == ["+I[2]", "+I[3]"]
    schema = Schema.new_builder().column("n", DataTypes.BIGINT()).build()
    named = env.from_data_stream(env._env.from_collection([1], Types.LONG()), schema)
    assert list(named.relation.names) == ["n"]


def test_a_table_that_was_a_stream_has_its_types_again(env: StreamTableEnvironment) -> None:
    table = env.sql_query(
        "SELECT CAST('2020-02-29 12:34:56.789' AS TIMESTAMP(3)) AS t,"
        " CAST(1.5 AS DECIMAL(10, 2)) AS d, CAST('abc' AS CHAR(3)) AS c, INTERVAL '1' DAY AS i"
    )
    back = env.from_data_stream(env.to_data_stream(table).filter(lambda row: True))
    assert str(back.get_resolved_schema()) == str(table.get_resolved_schema())
    assert (
        changes_of(back) == changes_of(table) == ["+I[2020-02-29T12:34:56.789, 1.50, abc, PT24H]"]
    )


def test_columns_by_expressions(env: StreamTableEnvironment) -> None:
    chosen = env.from_data_stream(pairs(env, Row("a", 1)), col("v"), col("k").alias("key"))
    assert changes_of(chosen) == ["+I[1, a]"]
    renamed = env.from_data_stream(pairs(env, Row("a", 1)), col("x"), col("y"))
    assert list(renamed.relation.names) == ["x", "y"]
    made = env.from_data_stream(
        timed(env, Row("a", 1)), col("k"), col("ts").rowtime, col("pt").proctime
    )
    shown = str(made.get_resolved_schema())
    assert "`ts` TIMESTAMP_LTZ(3) *ROWTIME*" in shown
    assert "`pt` TIMESTAMP_LTZ(3) NOT NULL *PROCTIME*" in shown


def test_schema_with_computed_columns_and_watermark(env: StreamTableEnvironment) -> None:
    stream = env._env.from_collection(
        [(Instant.of_epoch_milli(1000), "a")], Types.ROW([Types.INSTANT(), Types.STRING()])
    )
    schema = (
        Schema.new_builder().column_by_expression("ts", "CAST(f0 AS TIMESTAMP(3))")
        .column("f1", "STRING").watermark("ts", "ts - INTERVAL '3' SECOND").build()
    )  # fmt: skip
    table = env.from_data_stream(stream, schema)
    assert list(table.relation.names) == ["ts", "f1"]
    assert changes_of(table) == ["+I[1970-01-01T00:00:01, a]"]
    only_added = Schema.new_builder().column_by_expression("big", col("v") * 10).build()
    assert changes_of(env.from_data_stream(pairs(env, Row("a", 2)), only_added)) == ["+I[a, 2, 20]"]


def test_event_time_of_the_stream(env: StreamTableEnvironment) -> None:
    stream = timed(env, Row("a", 1), Row("a", 4), Row("b", 12))
    schema = (
        Schema.new_builder().column_by_metadata("ts", "TIMESTAMP_LTZ(3)", "rowtime")
        .watermark("ts", source_watermark()).build()
    )  # fmt: skip
    table = env.from_data_stream(stream, schema)
    window = table.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w"))
    made = window.group_by(col("w")).select(col("w").start, col("v").sum)
    assert changes_of(made) == ["+I[1970-01-01T00:00, 5]", "+I[1970-01-01T00:00:10, 12]"]


def test_views_of_streams(env: StreamTableEnvironment) -> None:
    env.create_temporary_view("pairs", pairs(env, Row("a", 1), Row("a", 2)))
    assert changes_of(env.sql_query("SELECT k, SUM(v) FROM pairs GROUP BY k")) == [
        "+I[a, 1]", "-U[a, 1]", "+U[a, 3]",
    ]  # fmt: skip
    env.create_temporary_view("renamed", pairs(env, Row("a", 1)), col("x"), col("y"))
    assert changes_of(env.sql_query("SELECT y FROM renamed")) == ["+I[1]"]


def test_changelog_streams(env: StreamTableEnvironment) -> None:
    stream = pairs(
        env, Row.of_kind(RowKind.INSERT, "a", 1), Row.of_kind(RowKind.UPDATE_BEFORE, "a", 1),
        Row.of_kind(RowKind.UPDATE_AFTER, "a", 2), Row.of_kind(RowKind.DELETE, "a", 2),
    )  # fmt: skip
    table = env.from_changelog_stream(stream)
    assert changes_of(table) == ["+I[a, 1]", "-U[a, 1]", "+U[a, 2]", "-D[a, 2]"]
    upserts = pairs(
        env, Row.of_kind(RowKind.INSERT, "a", 1), Row.of_kind(RowKind.UPDATE_AFTER, "a", 2)
    )
    schema = Schema.new_builder().column("k", "STRING").column("v", "INT").primary_key("k").build()
    table = env.from_changelog_stream(upserts, schema, ChangelogMode.upsert())
    assert changes_of(table.select(col("v").sum))[-1].endswith("[2]")
    with pytest.raises(InvalidArgument, match="needs a primary key"):
        env.from_changelog_stream(upserts, None, ChangelogMode.upsert())


def test_a_deletion_by_key_passes_a_projection_of_columns_that_are_not_null(
    env: StreamTableEnvironment,
) -> None:
    upserts = pairs(
        env, Row.of_kind(RowKind.INSERT, "a", 1), Row.of_kind(RowKind.UPDATE_AFTER, "a", 2),
        Row.of_kind(RowKind.INSERT, "b", 5), Row.of_kind(RowKind.DELETE, "a", None),
    )  # fmt: skip
    schema = (
        Schema.new_builder().column("k", "STRING NOT NULL").column("v", "INT NOT NULL")
        .primary_key("k").build()
    )  # fmt: skip
    env.create_temporary_view(
        "ups", env.from_changelog_stream(upserts, schema, ChangelogMode.upsert())
    )
    more = env.sql_query("SELECT k, v + 1 AS w, v > 3 AS big, ABS(v) * 2 AS x FROM ups")
    found = env.to_changelog_stream(more, None, ChangelogMode.upsert())
    found.map(lambda row: f"{row.get_row_kind()}{list(row)}").print()
    assert printed_by(env) == [
        "+I['a', 2, False, 2]", "+U['a', 3, False, 4]", "+I['b', 6, True, 10]",
        "-D['a', None, None, None]",
    ]  # fmt: skip
    assert changes_of(env.sql_query("SELECT v + 1 FROM ups")) == [
        "+I[2]", "-U[2]", "+U[3]", "+I[6]", "-D[3]",
    ]  # fmt: skip


# To streams.


def test_to_data_stream(env: StreamTableEnvironment) -> None:
    table = env.from_elements([(1, "x"), (2, "y")], ["i", "s"])
    env.to_data_stream(table).map(lambda row: f"{row.i}{row['s']}{row[1]}").print()
    assert printed_by(env) == ["1xx", "2yy"]
    with pytest.raises(InvalidQuery, match="without updates"):
        env.to_data_stream(table.group_by(col("s")).select(col("s"), col("i").sum))


def test_records_keep_their_event_time(env: StreamTableEnvironment) -> None:
    schema = (
        Schema.new_builder().column_by_metadata("ts", "TIMESTAMP_LTZ(3)", "rowtime")
        .watermark("ts", "SOURCE_WATERMARK()").build()
    )  # fmt: skip
    table = env.from_data_stream(timed(env, Row("a", 7)), schema)
    from headrace.datastream import ProcessFunction

    class Stamp(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            yield str(ctx.timestamp())

    env.to_data_stream(table.select(col("k"), col("ts"))).process(Stamp()).print()
    assert printed_by(env) == ["7000"]


def test_to_changelog_and_retract_streams(env: StreamTableEnvironment) -> None:
    def grouped() -> Any:
        table = env.from_elements([("a", 1), ("a", 2)], ["k", "v"])
        return table.group_by(col("k")).select(col("k"), col("v").sum.alias("s"))

    env.to_changelog_stream(grouped()).map(lambda row: f"{row.get_row_kind()}{row.s}").print()
    assert printed_by(env) == ["+I1", "-U1", "+U3"]
    types = Types.ROW([Types.STRING(), Types.LONG()])
    env.to_retract_stream(grouped(), types).map(lambda pair: (pair[0], pair[1][1])).print()
    assert printed_by(env) == ["(True, 1)", "(False, 1)", "(True, 3)"]


def test_columns_of_a_changelog_stream_go_by_position(env: StreamTableEnvironment) -> None:
    table = env.from_elements([(1, "x", 2.5)], ["i", "s", "d"])

    def declared(*columns: tuple[str, str]) -> Schema:
        builder = Schema.new_builder()
        for name, type in columns:
            builder.column(name, type)
        return builder.build()

    renamed = declared(("s", "BIGINT"), ("i", "STRING"), ("z", "DOUBLE"))
    env.to_changelog_stream(table, renamed).map(repr).print()
    assert printed_by(env) == ["Row(s=1, i='x', z=2.5)"]
    with pytest.raises(InvalidQuery, match="column i is BIGINT, the schema wants STRING"):
        env.to_changelog_stream(table, declared(("s", "STRING"), ("i", "BIGINT"), ("d", "DOUBLE")))
    with pytest.raises(InvalidQuery, match="the table has 3 columns, the schema has 1"):
        env.to_changelog_stream(table, declared(("s", "STRING")))


def test_metadata_of_a_changelog_stream_is_the_time_of_its_records(
    env: StreamTableEnvironment,
) -> None:
    class Told(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value, ctx.timestamp()

    table = env.sql_query(
        "SELECT 'x' AS s, 1 AS i,"
        " CAST(TIMESTAMP '1970-01-01 00:00:00.042' AS TIMESTAMP_LTZ(3)) AS t"
    )
    builder = Schema.new_builder().column("a", "STRING")
    builder.column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)").column("b", "INT")
    stream = env.to_changelog_stream(table.select(col("s"), col("t"), col("i")), builder.build())
    assert stream.get_type().get_field_names() == ["a", "b"]
    stream.process(Told()).map(repr).print()
    assert printed_by(env) == ["(Row(a='x', b=1), 42)"]
    wrong = Schema.new_builder().column("a", "STRING").column_by_metadata("key", "STRING").build()
    with pytest.raises(InvalidQuery, match="streams have no metadata key, only rowtime"):
        env.to_changelog_stream(env.sql_query("SELECT 'x', 'y'"), wrong)


def test_to_append_stream(env: StreamTableEnvironment) -> None:
    table = env.from_elements([(1, "x")], ["i", "s"])
    env.to_append_stream(table, Types.TUPLE([Types.LONG(), Types.STRING()])).print()
    env.to_append_stream(table.select(col("i")), Types.LONG()).print()
    assert sorted(printed_by(env)) == ["(1,x)", "1"]
    with pytest.raises(InvalidQuery, match="has 2 columns"):
        env.to_append_stream(table, Types.LONG())
    with pytest.raises(InvalidQuery, match="wants BIGINT"):
        env.to_append_stream(table.select(col("s")), Types.LONG())


def test_there_and_back(env: StreamTableEnvironment) -> None:
    table = env.from_elements([(1, "x")], ["i", "s"])
    stream = env.to_data_stream(table).map(lambda row: row[0] + 41, output_type=Types.LONG())
    again = env.from_data_stream(stream, Schema.new_builder().column("f0", "BIGINT").build())
    assert changes_of(again) == ["+I[42]"]


def test_statements_join_the_streams_job(env: StreamTableEnvironment) -> None:
    env.execute_sql("CREATE TABLE out_ (i BIGINT) WITH ('connector' = 'print')")
    table = env.from_elements([(1,)], ["i"])
    env.create_statement_set().add_insert("out_", table).attach_as_datastream()
    env._env.from_collection(["streamed"]).print()
    assert sorted(printed_by(env)) == ["+I[1]", "streamed"]


# What is wrong.


def test_errors(env: StreamTableEnvironment) -> None:
    with pytest.raises(TypeMismatch, match="is no DataStream"):
        env.from_data_stream([1, 2])  # type: ignore[arg-type]
    foreign = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    with pytest.raises(InvalidArgument, match="another StreamExecutionEnvironment"):
        env.from_data_stream(foreign)
    schema = Schema.new_builder().column("q", "INT").build()
    with pytest.raises(InvalidQuery, match="no column q"):
        env.from_data_stream(pairs(env, Row("a", 1)), schema)
    schema = Schema.new_builder().column_by_metadata("m", "INT", "offset").build()
    with pytest.raises(InvalidQuery, match="no metadata offset"):
        env.from_data_stream(pairs(env, Row("a", 1)), schema)
    untimed = env.from_data_stream(pairs(env, Row("a", 1)), col("k"), col("ts").rowtime)
    with pytest.raises(HeadraceError, match="no event time"):
        changes_of(untimed)


def test_a_statement_is_a_job_of_its_own(env: StreamTableEnvironment) -> None:
    """What streams of the program print is left for execute()."""
    env._env.from_collection(["streamed"]).print()
    table = env.from_elements([(1,)], ["i"])
    builder = env._env.builder
    node = env._execution.lower(env._execution.optimized(table.relation))
    alone = builder.take("statement", [node], parallelism=1, max_parallelism=1)
    assert all("Print" not in each.name for each in alone)
    assert printed_by(env) == ["streamed"]


def test_a_stream_as_a_table_shows_what_its_schema_declared(env: StreamTableEnvironment) -> None:
    types = Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.INT()])
    stream = env._env.from_collection([(1, 42)], types)
    added = (
        Schema.new_builder()
        .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
        .column_by_expression("d", "b + 1")
        .watermark("rowtime", "SOURCE_WATERMARK()")
        .build()
    )
    shown = (
        "(\n  `a` BIGINT,\n  `b` INT,\n  `rowtime` TIMESTAMP_LTZ(3) *ROWTIME* METADATA,\n"
        "  `d` INT AS b + 1,\n"
        "  WATERMARK FOR `rowtime`: TIMESTAMP_LTZ(3) AS SOURCE_WATERMARK()\n)"
    )
    assert str(env.from_data_stream(stream, added).get_resolved_schema()) == shown
    env.create_temporary_view("v", stream, added)
    assert str(env.from_path("v").get_resolved_schema()) == shown
    described = [row[1:] for row in env.execute_sql("DESCRIBE v").changes()]
    assert described[2][4:6] == ("METADATA", "SOURCE_WATERMARK()")
    keyed = Schema.new_builder().column("b", "INT").column("a", "BIGINT").primary_key("a").build()
    table = env.from_changelog_stream(stream, keyed)
    assert str(table.get_resolved_schema()) == (
        "(\n  `b` INT,\n  `a` BIGINT NOT NULL,\n"
        "  CONSTRAINT `PK_a` PRIMARY KEY (`a`) NOT ENFORCED\n)"
    )
