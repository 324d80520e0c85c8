"""What INSERT writes to a column of another type: the casts Flink does by itself, no others."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from headrace.core.logical_types import INTERVALS, NUMERIC, Field, RowType
from headrace.errors import InvalidQuery
from headrace.sql import statements as st
from headrace.sql.parse_statements import parse_statement
from headrace.sql.types import parse_type
from headrace.table import DataTypes, Schema, Table, TableDescriptor
from tests.unit.table.in_process import printed_by, table_environment

ACCEPTED = {
    source: targets.split(" | ")
    for source, _, targets in (
        line.partition(": ")
        for line in (Path(__file__).parent / "sink_types.txt").read_text().splitlines()
        if not line.startswith("#")
    )
}


def is_number_and_interval(source: str, target: str) -> bool:
    """Flink explains such an INSERT, and fails when it runs."""
    return isinstance(parse_type(source), NUMERIC) and isinstance(parse_type(target), INTERVALS)


def test_every_pair_of_types_is_written_or_refused_as_in_flink() -> None:
    env = table_environment()
    places = list(enumerate(ACCEPTED))
    for at, type in places:
        schema = Schema.new_builder().column("c", type).build()
        sink = TableDescriptor.for_connector("blackhole").schema(schema).build()
        env.create_temporary_table(f"s{at}", sink)
    wrong = []
    for source in ACCEPTED:
        table = env._from_rows([], RowType((Field("c", parse_type(source)),)))
        for at, target in places:
            refusal = refusal_of(table, f"s{at}")
            if refusal is not None:
                assert f"s{at}.c is {parse_type(target)}, " in refusal
                assert f"the query gives {parse_type(source)}" in refusal
            wanted = target in ACCEPTED[source]
            if (refusal is None) != wanted and not is_number_and_interval(source, target):
                wrong.append(f"{source} to {target}: {refusal or 'written'}")
    assert wrong == []


def refusal_of(table: Table, sink: str) -> str | None:
    try:
        table.insert_into(sink)
    except InvalidQuery as error:
        return str(error)
    return None


def test_a_refusal_names_the_column_both_types_and_the_cast() -> None:
    env = table_environment()
    env.execute_sql("CREATE TABLE s (k INT, small TINYINT) WITH ('connector'='blackhole')")
    with pytest.raises(InvalidQuery) as caught:
        env.execute_sql("INSERT INTO s SELECT 1, 300 AS v")
    text = str(caught.value)
    assert "default_catalog.default_database.s.small is TINYINT" in text
    assert "the query gives INT" in text
    assert "write CAST(v AS TINYINT) in the query" in text
    with pytest.raises(InvalidQuery, match=r"write CAST\(… AS TINYINT\)"):
        env.execute_sql("INSERT INTO s VALUES (1, 300)")
    env.execute_sql("CREATE TABLE d (d DATE) WITH ('connector'='blackhole')")
    with pytest.raises(InvalidQuery, match="BOOLEAN cannot be cast to DATE"):
        env.execute_sql("INSERT INTO d SELECT TRUE")


def test_every_way_to_insert_refuses_to_narrow() -> None:
    env = table_environment()
    schema = Schema.new_builder().column("k", DataTypes.INT()).column("v", "TINYINT").build()
    sink = TableDescriptor.for_connector("blackhole").schema(schema).build()
    env.create_temporary_table("s", sink)
    env.execute_sql("CREATE TABLE p (k INT, v TINYINT) PARTITIONED BY (v) WITH ('connector'='x')")
    table = env.from_elements([(1, 300)], DataTypes.ROW([
        DataTypes.FIELD("k", DataTypes.INT()), DataTypes.FIELD("v", DataTypes.INT()),
    ]))  # fmt: skip
    env.create_temporary_view("t", table)
    ways = (
        lambda: table.execute_insert("s"),
        lambda: table.execute_insert("s", True),
        lambda: table.execute_insert(sink),
        lambda: table.insert_into("s"),
        lambda: env.create_statement_set().add_insert("s", table),
        lambda: env.create_statement_set().add_insert_sql("INSERT INTO s SELECT * FROM t"),
        lambda: env.execute_sql("INSERT INTO s SELECT * FROM t"),
        lambda: env.execute_sql("INSERT INTO s (v, k) SELECT v, k FROM t"),
        lambda: env.execute_sql("INSERT INTO s (v) SELECT v FROM t"),
        lambda: env.execute_sql("INSERT OVERWRITE s SELECT * FROM t"),
        lambda: env.execute_sql("EXECUTE STATEMENT SET BEGIN INSERT INTO s SELECT * FROM t; END"),
        lambda: env.explain_sql("INSERT INTO s SELECT * FROM t"),
        lambda: env.execute_sql(
            "CREATE TABLE made (v TINYINT) WITH ('connector'='blackhole') AS SELECT v FROM t"
        ),
    )
    for way in ways:
        with pytest.raises(InvalidQuery, match="v is TINYINT, the query gives INT"):
            way()
    assert "made" not in env.list_tables()


@pytest.mark.parametrize(
    ("column", "query", "written"),
    [
        ("CHAR(5)", "VALUES ('abc')", ["abc  "]),
        ("CHAR(3)", "VALUES ('abcdef')", ["abc"]),
        ("CHAR(3)", "SELECT 'ü漢字x'", ["ü漢字"]),
        ("VARCHAR(3)", "VALUES ('abcdef')", ["abc"]),
        ("VARCHAR(5)", "VALUES ('abc')", ["abc"]),
        ("VARCHAR(3)", "VALUES ('abc'), ('abcdefg'), ('a'), ('')", ["abc", "abc", "a", ""]),
        ("STRING", "VALUES ('abc'), ('abcdefg')", ["abc", "abcdefg"]),
        ("VARCHAR(3)", "SELECT CAST(s AS STRING) FROM (VALUES ('abcd')) T(s)", ["abc"]),
        ("CHAR(5)", "SELECT CAST(s AS CHAR(2)) FROM (VALUES ('x')) T(s)", ["x    "]),
        ("BINARY(2)", "VALUES (x'010203')", ["[1, 2]"]),
        ("BINARY(5)", "VALUES (x'010203')", ["[1, 2, 3, 0, 0]"]),
        ("VARBINARY(2)", "VALUES (x'010203')", ["[1, 2]"]),
        ("BYTES", "VALUES (x'010203')", ["[1, 2, 3]"]),
        ("ROW<a CHAR(5)>", "SELECT ROW('abc')", ["+I[abc  ]"]),
        ("ARRAY<CHAR(5)>", "SELECT ARRAY['abc']", ["[abc  ]"]),
        ("ARRAY<VARCHAR(2)>", "SELECT ARRAY['abc']", ["[ab]"]),
        ("MAP<STRING, CHAR(5)>", "SELECT MAP['a', 'abc']", ["{a=abc  }"]),
        ("ROW<a BIGINT>", "SELECT ROW(1)", ["+I[1]"]),
        ("DOUBLE", "SELECT 3", ["3.0"]),
        ("FLOAT", "SELECT 16777217", ["1.6777216E7"]),
        ("DECIMAL(3, 1)", "SELECT 3.55", ["3.6"]),
        ("DECIMAL(3, 1)", "SELECT CAST(3.55 AS DOUBLE)", ["3.6"]),
        ("DECIMAL(3, 1)", "SELECT 1234567", ["null"]),
        ("DATE", "SELECT TIMESTAMP '2020-01-02 03:04:05'", ["2020-01-02"]),
        ("TIME(0)", "SELECT TIMESTAMP '2020-01-02 03:04:05.678'", ["03:04:05"]),
        ("TIME(3)", "SELECT TIMESTAMP '2020-01-02 03:04:05.678'", ["03:04:05.678"]),
        ("TIMESTAMP(0)", "SELECT TIMESTAMP '2020-01-02 03:04:05.678'", ["2020-01-02T03:04:05"]),
        (
            "TIMESTAMP_LTZ(3)",
            "SELECT TIMESTAMP '2020-01-02 03:04:05.678'",
            ["2020-01-02T03:04:05.678Z"],
        ),
    ],
)
def test_values_take_the_form_of_their_column(column: str, query: str, written: list[str]) -> None:
    env = table_environment()
    env.execute_sql(f"CREATE TABLE s (c {column}) WITH ('connector'='print')")
    statement = parse_statement(f"INSERT INTO s {query}")
    assert isinstance(statement, st.Insert)
    execution = env._execution
    execution.lower(execution.optimized(env._session.insert(statement)))
    assert printed_by(env) == [f"+I[{text}]" for text in written]


def test_intervals_are_written_to_numbers_as_months_or_whole_seconds() -> None:
    env = table_environment()
    env.execute_sql(
        "CREATE TABLE s (a INT, b BIGINT, c DECIMAL(10, 2), d INT) WITH ('connector'='print')"
    )
    second = DataTypes.INTERVAL(DataTypes.SECOND(3))
    given = [timedelta(days=1, microseconds=10), timedelta(seconds=-1.999), None]
    rows = env.from_elements(
        [(each, each, each) for each in given],
        DataTypes.ROW([DataTypes.FIELD(name, second) for name in "abc"]),
    )
    env.create_temporary_view("v", rows)
    statement = parse_statement("INSERT INTO s SELECT *, INTERVAL '1-2' YEAR TO MONTH FROM v")
    assert isinstance(statement, st.Insert)
    execution = env._execution
    execution.lower(execution.optimized(env._session.insert(statement)))
    assert printed_by(env) == [
        "+I[86400, 86400, 86400.00, 14]",
        "+I[-1, -1, -1.00, 14]",
        "+I[null, null, null, 14]",
    ]
