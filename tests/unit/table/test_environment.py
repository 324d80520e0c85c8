"""Table environments: rows of the program, tables, views, functions, statements."""

from __future__ import annotations

import datetime
import sys
from decimal import Decimal

import pytest

from headrace.common import Configuration, Row
from headrace.errors import HeadraceError, InvalidArgument, InvalidQuery, TypeMismatch, Unsupported
from headrace.table import (
    DataTypes,
    EnvironmentSettings,
    ExplainDetail,
    FormatDescriptor,
    Module,
    Schema,
    SqlDialect,
    StreamTableEnvironment,
    TableDescriptor,
    TableEnvironment,
)
from headrace.table.catalog import CatalogDescriptor
from headrace.table.expressions import col, row
from headrace.table.table_config import TableConfig
from tests.unit.table.in_process import changes_of, printed_by, table_environment


@pytest.fixture
def env() -> TableEnvironment:
    return table_environment()


def schema_of(table: object) -> str:
    return " ".join(str(table.get_resolved_schema()).split())  # type: ignore[attr-defined]


# Rows of the program.


def test_types_are_inferred(env: TableEnvironment) -> None:
    values = (1, 1.5, "a", True, b"x", Decimal("1.5"), datetime.date(2020, 1, 1),
              datetime.time(1, 2), datetime.datetime(2020, 1, 1), [1, 2], {"k": 1.0},
              Row(a=1))  # fmt: skip
    table = env.from_elements([values])
    assert schema_of(table) == (
        "( `_1` BIGINT, `_2` DOUBLE, `_3` STRING, `_4` BOOLEAN, `_5` BYTES, `_6` DECIMAL(38, 18), "
        "`_7` DATE, `_8` TIME(0), `_9` TIMESTAMP_LTZ(6), `_10` ARRAY<BIGINT>, "
        "`_11` MAP<STRING NOT NULL, DOUBLE>, `_12` ROW<`a` BIGINT> )"
    )
    assert changes_of(table.select(col("_1"), col("_10"), col("_11"), col("_12"))) == [
        "+I[1, [1, 2], {k=1.0}, +I[1]]"
    ]


def test_elements_of_all_shapes(env: TableEnvironment) -> None:
    assert changes_of(env.from_elements([{"b": 1, "a": None}, {"a": "x", "b": 2}])) == [
        "+I[null, 1]", "+I[x, 2]",
    ]  # fmt: skip
    assert changes_of(env.from_elements([Row(a=1, b=2)])) == ["+I[1, 2]"]
    assert changes_of(env.from_elements([1, 2], DataTypes.INT())) == ["+I[1]", "+I[2]"]
    assert changes_of(env.from_elements([row(1, "abc"), row(2, "de")])) == [
        "+I[1, abc]",
        "+I[2, de]",
    ]
    declared = DataTypes.ROW(
        [DataTypes.FIELD("x", DataTypes.BIGINT()), DataTypes.FIELD("y", DataTypes.STRING())]
    )
    assert (
        schema_of(env.from_elements([row(1, "abc")], declared))
        == "( `x` BIGINT NOT NULL, `y` STRING NOT NULL )"
    )
    assert changes_of(env.from_elements([], declared)) == []


def test_elements_are_verified(env: TableEnvironment) -> None:
    small = DataTypes.ROW(
        [
            DataTypes.FIELD("x", DataTypes.TINYINT()),
            DataTypes.FIELD("y", DataTypes.STRING().not_null()),
        ]
    )
    with pytest.raises(TypeMismatch, match="element 1: column x is TINYINT, which cannot hold 300"):
        env.from_elements([(1, "a"), (300, "b")], small)
    with pytest.raises(TypeMismatch, match="column x is TINYINT, but the value is 'q'"):
        env.from_elements([("q", "a")], small)
    with pytest.raises(TypeMismatch, match="column y is None"):
        env.from_elements([(1, None)], small)
    with pytest.raises(TypeMismatch, match="2 columns, but 1 values"):
        env.from_elements([(1,)], small)
    with pytest.raises(InvalidArgument, match="inferred of no elements"):
        env.from_elements([])
    with pytest.raises(InvalidArgument, match="None in all elements"):
        env.from_elements([(None,)])
    with pytest.raises(TypeMismatch, match="BIGINT in one element and STRING"):
        env.from_elements([(1,), ("a",)])


def test_data_frames(env: TableEnvironment) -> None:
    import pandas as pd

    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    assert changes_of(env.from_pandas(frame)) == ["+I[1, x]", "+I[2, null]"]
    assert schema_of(env.from_pandas(frame, ["p", "q"])) == "( `p` BIGINT, `q` STRING )"
    typed = env.from_pandas(frame, [DataTypes.INT(), DataTypes.STRING()])
    assert schema_of(typed) == "( `a` INT, `b` STRING )"
    with pytest.raises(InvalidArgument, match="has 2 columns"):
        env.from_pandas(frame, ["p"])
    with pytest.raises(TypeMismatch, match="is no DataFrame"):
        env.from_pandas([1])
    with pytest.raises(TypeMismatch, match=r"a cannot be STRING: Expected a string .* got int64"):
        env.from_pandas(frame, [DataTypes.STRING(), DataTypes.INT()])


# Tables, views, statements.


def datagen(rows: int = 3) -> TableDescriptor:
    schema = (
        Schema.new_builder().column("a", DataTypes.BIGINT()).column_by_expression("b", "a + 1")
        .column("ts", "TIMESTAMP(3)").watermark("ts", "ts - INTERVAL '1' SECOND").build()
    )  # fmt: skip
    builder = TableDescriptor.for_connector("datagen").schema(schema)
    builder.option("fields.a.kind", "sequence").option("fields.a.start", 1).option(
        "fields.a.end", rows
    )
    return builder.build()


def test_tables_of_descriptors(env: TableEnvironment) -> None:
    env.create_temporary_table("source", datagen())
    table = env.from_path("source")
    assert schema_of(table) == (
        "( `a` BIGINT, `b` BIGINT AS a + 1, `ts` TIMESTAMP(3) *ROWTIME*, "
        "WATERMARK FOR `ts`: TIMESTAMP(3) AS ts - INTERVAL '1' SECOND )"
    )
    assert sorted(changes_of(table.select(col("a"), col("b")))) == [
        "+I[1, 2]",
        "+I[2, 3]",
        "+I[3, 4]",
    ]
    assert sorted(changes_of(env.from_descriptor(datagen(1)).select(col("a")))) == ["+I[1]"]
    with pytest.raises(InvalidQuery, match="already"):
        env.create_temporary_table("source", datagen())
    env.create_temporary_table("source", datagen(), True)
    assert env.create_table("kept", datagen())
    assert env.list_tables() == sorted(env.list_tables())
    assert {"source", "kept"} <= set(env.list_tables())
    assert "source" in env.list_temporary_tables()
    assert env.drop_temporary_table("source")
    assert not env.drop_temporary_table("source")
    assert env.drop_table("kept")
    with pytest.raises(InvalidQuery, match="kept"):
        env.drop_table("kept", ignore_if_not_exists=False)
    env.create_temporary_table("people", datagen())
    with pytest.raises(InvalidQuery, match="did you mean"):
        env.from_path("peopel")


def test_writing(env: TableEnvironment) -> None:
    table = env.from_elements([(1, "x"), (2, "y")], ["i", "s"])
    sink = TableDescriptor.for_connector("print").schema(
        Schema.new_builder().column("i", "BIGINT").column("s", "STRING").build()
    )
    env.create_temporary_table("out_", sink.build())
    statements = env.create_statement_set()
    statements.add_insert("out_", table.where(col("i") == 1))
    statements.add_insert_sql(f"INSERT INTO out_ SELECT i + 10, s FROM {table} WHERE i = 2")
    statements.add(table.where(col("i") == 2).insert_into(sink.build()))
    statements.attach_as_datastream()
    assert sorted(printed_by(env)) == ["+I[1, x]", "+I[12, y]", "+I[2, y]"]
    with pytest.raises(InvalidQuery, match="holds only INSERT"):
        statements.add_insert_sql("SELECT 1")
    with pytest.raises(InvalidQuery, match="different number of columns"):
        table.select(col("i")).insert_into("out_")
    with pytest.raises(InvalidQuery, match="nothing to insert"):
        env.create_statement_set().execute()


def test_views(env: TableEnvironment) -> None:
    table = env.from_elements([(1,), (2,)], ["i"])
    env.create_temporary_view("v", table.where(col("i") > 1))
    assert changes_of(env.sql_query("SELECT i * 2 FROM v")) == ["+I[4]"]
    assert changes_of(env.from_path("v")) == ["+I[2]"]
    assert env.list_views() == ["v"] == env.list_temporary_views()
    assert env.create_view("w", table)
    assert not env.create_view("w", table, ignore_if_exists=True)
    assert env.drop_view("w")
    assert env.drop_temporary_view("v")
    env.create_temporary_view("v", table)
    with pytest.raises(InvalidQuery, match="is a view"):
        table.insert_into("v")
    with pytest.raises(TypeMismatch, match="is no table"):
        env.create_temporary_view("x", 5)


def test_explain(env: TableEnvironment) -> None:
    table = env.from_elements([(1, "x")], ["i", "s"])
    grouped = table.group_by(col("s")).select(col("s"), col("i").sum)
    text = grouped.explain(*ExplainDetail)
    assert "changelogMode=[I,UB,UA]" in text
    assert '"type": "GroupAggregate"' in text
    advised, _, _ = text.partition("== Physical Execution Plan ==")
    assert "== Optimized Physical Plan With Advice ==" in advised
    assert advised.strip().endswith("No available advice...")
    assert "Advice" not in grouped.explain()
    with pytest.raises(TypeMismatch, match="ExplainDetail"):
        table.explain("cost")  # type: ignore[arg-type]
    assert "Values" in env.explain_sql("SELECT 1")


# Catalogs, functions, modules.


def test_catalogs(env: TableEnvironment) -> None:
    assert env.list_catalogs() == ["default_catalog"] == [env.get_current_catalog()]
    assert env.list_databases() == ["default_database"] == [env.get_current_database()]
    options = Configuration()
    options.set_string("type", "generic_in_memory")
    env.create_catalog("mine", CatalogDescriptor.of("mine", options))
    env.use_catalog("mine")
    assert env.get_current_database() == "default"
    env.execute_sql("CREATE DATABASE db")
    env.use_database("db")
    assert env.get_current_database() == "db"
    assert env.get_catalog("none") is None
    with pytest.raises(InvalidQuery, match="no catalog other"):
        env.use_catalog("other")
    with pytest.raises(TypeMismatch, match="is no catalog"):
        env.register_catalog("x", "y")  # type: ignore[arg-type]


def test_functions_and_modules(env: TableEnvironment) -> None:
    assert "ABS" in env.list_functions()
    assert env.list_user_defined_functions() == []
    assert env.list_modules() == ["core"]
    env.unload_module("core")
    assert env.list_full_modules() == []
    env.load_module("core", Module())
    assert [str(each) for each in env.list_full_modules()] == [
        "ModuleEntry{name='core', used=true}"
    ]
    with pytest.raises(InvalidQuery, match="no module hive loaded"):
        env.use_modules("hive")
    with pytest.raises(InvalidQuery, match="core is named more than once"):
        env.use_modules("core", "core")
    assert env.list_modules() == ["core"]
    for refused in (
        lambda: env.create_java_function("f", "a.B"),
        lambda: env.create_java_temporary_function("f", "a.B"),
        lambda: env.create_java_temporary_system_function("f", "a.B"),
    ):
        with pytest.raises(Unsupported):
            refused()
    with pytest.raises(TypeMismatch, match="declared by a ModelDescriptor"):
        env.create_model("m", None)  # type: ignore[arg-type]
    assert env.list_models() == []


def test_completion(env: TableEnvironment) -> None:
    env.create_temporary_view("people", env.from_elements([(1,)], ["i"]))
    text = "SELECT * FROM peo"
    assert "people" in env.get_completion_hints(text, len(text))


# Settings.


def test_config() -> None:
    config = TableConfig.get_default()
    config.set("parallelism.default", 3)
    assert config.get("parallelism.default") == "3"
    assert config.get("none", "x") == "x"
    assert config.to_map()["parallelism.default"] == "3"
    assert config.get_sql_dialect() is SqlDialect.DEFAULT
    config.set_sql_dialect(SqlDialect.DEFAULT)
    with pytest.raises(Unsupported, match="Hive"):
        config.set_sql_dialect(SqlDialect.HIVE)
    config.set_idle_state_retention(datetime.timedelta(hours=1))
    assert config.get_idle_state_retention() == datetime.timedelta(hours=1)
    config.set_local_timezone("Europe/Berlin")
    assert config.get_local_timezone() == "Europe/Berlin"
    assert config.get_python_executable() == sys.executable


def test_the_configuration_reaches_the_job(env: TableEnvironment) -> None:
    fresh = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    fresh.get_config().set("parallelism.default", "3")
    fresh._execution.optimized(fresh.sql_query("SELECT 1").relation)
    assert fresh._env.get_parallelism() == 3
    assert StreamTableEnvironment.create()._env.get_parallelism() >= 1
    with pytest.raises(TypeMismatch, match="EnvironmentSettings"):
        TableEnvironment.create("batch")  # type: ignore[arg-type]


def test_changes_are_flinks_for_programs_of_pyflink(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    assert not ours._session.settings.per_record
    monkeypatch.setitem(sys.modules, "pyflink.table", sys.modules["headrace.table"])
    assert ours._session.settings.per_record
    ours.get_config().set("headrace.table.changes", "micro-batch")
    assert not ours._session.settings.per_record


def test_descriptors() -> None:
    descriptor = (
        TableDescriptor.for_connector("filesystem")
        .schema(Schema.new_builder().column("a", "INT").build())
        .option("path", "/data")
        .format(FormatDescriptor.for_format("csv").option("x", True).build())
        .partitioned_by("a")
        .comment("numbers")
        .build()
    )
    assert descriptor.get_options() == {
        "connector": "filesystem", "path": "/data", "format": "csv", "csv.x": "true",
    }  # fmt: skip
    assert descriptor.get_partition_keys() == ["a"]
    assert descriptor.get_comment() == "numbers"
    assert "PARTITIONED BY (`a`)" in str(descriptor)
    with pytest.raises(HeadraceError, match="has no schema"):
        table_environment().create_table("t", TableDescriptor.for_connector("print").build())


def test_a_sink_without_a_name_has_no_identifier_and_is_not_listed() -> None:
    env = table_environment()
    schema = Schema.new_builder().column("a", DataTypes.INT()).build()
    descriptor = TableDescriptor.for_connector("blackhole").schema(schema).build()
    env.create_temporary_table("named", descriptor)
    table = env.from_elements([(1,)], DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]))
    assert table.insert_into(descriptor).get_sink_identifier() is None
    named = table.insert_into("named").get_sink_identifier()
    assert str(named) == "`default_catalog`.`default_database`.`named`"
    assert env.list_tables() == ["named"]
    assert env.list_temporary_tables() == ["named"]
    assert "*anonymous_blackhole$2*" in table.insert_into(descriptor).explain()


def test_what_is_wrong_with_a_statement_names_the_line_that_ran_it(env: TableEnvironment) -> None:
    env.execute_sql("CREATE TABLE t (a INT) WITH ('connector' = 'filesystem', 'format' = 'csv')")
    inserts = env.create_statement_set()
    for run, column in (
        (lambda: env.execute_sql("SELECT b FROM t"), 8),
        (lambda: env.sql_query("SELECT b FROM t"), 8),
        (lambda: env.explain_sql("SELECT b FROM t"), 8),
        (lambda: inserts.add_insert_sql("INSERT INTO t SELECT 1"), 13),
    ):
        with pytest.raises(HeadraceError) as raised:
            run()
        text = str(raised.value)
        assert f"at line 1, column {column}" in text or "default_database.t: " in text
        assert f"  in {__file__}:" in text
    assert "default_database.t: a table of connector 'filesystem' needs the option 'path'" in text
