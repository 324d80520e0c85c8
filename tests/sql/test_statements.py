"""Statements as data."""

from __future__ import annotations

import pytest

from headrace.core.table_connector import WatermarkText
from headrace.errors import InvalidQuery
from headrace.sql import statements as st
from headrace.sql import unresolved as un
from headrace.sql.parse_statements import parse_script, parse_statement
from headrace.sql.position import Position


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("SELECT 1", st.Query),
        ("(SELECT 1) UNION (SELECT 2) ORDER BY 1", st.Query),
        ("WITH a AS (SELECT 1) SELECT * FROM a", st.Query),
        ("VALUES (1, 'a'), (2, 'b')", st.Query),
        ("TABLE t", st.Query),
        ("CREATE TABLE t LIKE u", st.CreateTable),
        ("CREATE TABLE t AS SELECT 1", st.CreateTableAs),
        ("REPLACE TABLE t WITH ('a'='b') AS SELECT 1", st.CreateTableAs),
        ("CREATE OR REPLACE TABLE t AS SELECT 1", st.CreateTableAs),
        ("CREATE TEMPORARY VIEW IF NOT EXISTS v (a) COMMENT 'x' AS SELECT 1", st.CreateView),
        ("CREATE TEMPORARY SYSTEM FUNCTION f AS 'a.b' LANGUAGE PYTHON", st.CreateFunction),
        ("CREATE CATALOG c WITH ('type'='generic_in_memory')", st.CreateCatalog),
        ("CREATE DATABASE IF NOT EXISTS c.d COMMENT 'x' WITH ('a'='b')", st.CreateDatabase),
        ("CREATE MODEL m WITH ('a'='b')", st.UnsupportedStatement),
        ("CREATE MATERIALIZED TABLE m AS SELECT 1", st.UnsupportedStatement),
        ("CREATE TEMPORARY CONNECTION c WITH ('a'='b')", st.UnsupportedStatement),
        ("ALTER MODEL m SET ('a'='b')", st.UnsupportedStatement),
        ("DROP MATERIALIZED TABLE m", st.UnsupportedStatement),
        ("ADD JAR '/a.jar'", st.UnsupportedStatement),
        ("ALTER VIEW v RENAME TO w", st.AlterView),
        ("ALTER FUNCTION f AS 'a.b' LANGUAGE PYTHON", st.AlterFunction),
        ("ALTER CATALOG c COMMENT 'x'", st.AlterCatalog),
        ("ALTER DATABASE d SET ('a'='b')", st.AlterDatabase),
        ("DROP DATABASE IF EXISTS d CASCADE", st.Drop),
        ("USE CATALOG c", st.UseCatalog),
        ("USE c.d", st.UseDatabase),
        ("USE MODULES a, b", st.UseModules),
        ("LOAD MODULE m WITH ('a'='b')", st.LoadModule),
        ("UNLOAD MODULE m", st.UnloadModule),
        ("RESET", st.ResetOption),
        ("SHOW CREATE VIEW v", st.ShowCreate),
        ("DESC EXTENDED a.b.c", st.Describe),
        ("EXECUTE INSERT INTO t SELECT 1", st.Insert),
        ("UPDATE t SET a = 1 WHERE b", st.Update),
        ("DELETE FROM t WHERE a = 1", st.Delete),
        ("TRUNCATE TABLE t", st.Truncate),
        ("EXPLAIN PLAN FOR SELECT 1", st.Explain),
        ("COMPILE PLAN '/a' IF NOT EXISTS FOR INSERT INTO t SELECT 1", st.CompilePlan),
        ("EXECUTE PLAN '/a'", st.ExecutePlan),
        ("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS", st.Analyze),
        ("CALL c.d.p(1, name => 'x')", st.Call),
        ("STOP JOB 'j' WITH SAVEPOINT WITH DRAIN", st.StopJob),
        ("SHOW JOBS", st.Show),
        ("DESCRIBE JOB 'j'", st.Describe),
        ("BEGIN STATEMENT SET;", st.BeginStatementSet),
        ("END;", st.EndStatementSet),
    ],
)
def test_kinds(text: str, kind: type[st.Statement]) -> None:
    found = parse_statement(text)
    assert type(found) is kind
    assert found.text == text.rstrip(";")


def test_a_script_is_split_by_its_words() -> None:
    found = parse_script("SELECT ';' -- not; here\n; /* nor; here */ SET 'a' = 'b;c';; SELECT `;`")
    assert [type(each) for each in found] == [st.Query, st.SetOption, st.Query]
    assert found[1] == st.SetOption(key="a", value="b;c", text="SET 'a' = 'b;c'")


def test_statement_sets_hold_their_semicolons() -> None:
    inside = "INSERT INTO a SELECT 1; INSERT INTO b SELECT 2;"
    for text in (
        f"EXECUTE STATEMENT SET BEGIN {inside} END; SELECT 1",
        f"BEGIN STATEMENT SET; {inside} END; SELECT 1",
        f"EXPLAIN STATEMENT SET BEGIN {inside} END; SELECT 1",
    ):
        first, last = parse_script(text)
        group = first.statement if isinstance(first, st.Explain) else first
        assert isinstance(group, st.StatementSet)
        paths = [each.path for each in group.inserts if isinstance(each, st.Insert)]
        assert paths == [("a",), ("b",)]
        assert isinstance(last, st.Query)


def test_create_table_has_all_parts() -> None:
    found = parse_statement(
        "CREATE TEMPORARY TABLE IF NOT EXISTS c.d.t (id BIGINT COMMENT 'key', cost AS a * 2,"
        " ts TIMESTAMP(3) METADATA FROM 'time' VIRTUAL, a INT, WATERMARK FOR ts AS ts -"
        " INTERVAL '5' SECOND, CONSTRAINT pk PRIMARY KEY (id) NOT ENFORCED) COMMENT 'x'"
        " DISTRIBUTED BY HASH(id) INTO 4 BUCKETS PARTITIONED BY (a) WITH ('k' = 'it''s')"
        " LIKE u (INCLUDING ALL EXCLUDING OPTIONS)"
    )
    assert isinstance(found, st.CreateTable)
    assert (found.path, found.temporary, found.if_not_exists) == (("c", "d", "t"), True, True)
    columns = [part.column for part in found.parts.columns]
    assert [column.field.name for column in columns] == ["id", "cost", "ts", "a"]
    assert (columns[0].field.description, columns[1].computed) == ("key", "a * 2")
    assert (columns[2].metadata, columns[2].virtual) == ("time", True)
    assert found.parts.watermark == WatermarkText("ts", "ts - INTERVAL '5' SECOND")
    assert (found.parts.primary_key, found.parts.primary_key_name) == (("id",), "pk")
    assert (found.comment, found.distribution) == ("x", "BY HASH(id) INTO 4 BUCKETS")
    assert (found.partition_keys, dict(found.options)) == (("a",), {"k": "it's"})
    assert found.like is not None
    assert found.like.choices == (("INCLUDING", "ALL"), ("EXCLUDING", "OPTIONS"))


def test_insert_has_all_parts() -> None:
    found = parse_statement(
        "INSERT OVERWRITE t /*+ OPTIONS('k'='v') */ PARTITION (p = 'x', q = 2) (a, b)"
        " SELECT 1, 2 ON CONFLICT DO DEDUPLICATE"
    )
    assert isinstance(found, st.Insert)
    assert (found.path, found.overwrite, found.columns) == (("t",), True, ("a", "b"))
    assert found.options == {"k": "v"}
    values = {
        name: value.value for name, value in found.partition.items() if isinstance(value, un.Value)
    }
    assert values == {"p": "x", "q": 2}
    assert found.conflict == "DEDUPLICATE"


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("RENAME TO u", st.RenameTo(("u",))),
        ("RENAME a TO b", st.RenameColumn("a", "b")),
        ("SET ('a'='b')", st.SetOptions({"a": "b"})),
        ("RESET ('a', 'b')", st.ResetOptions(("a", "b"))),
        ("DROP (a, b)", st.DropColumns(("a", "b"))),
        ("DROP PRIMARY KEY", st.DropPart("primary key")),
        ("DROP CONSTRAINT pk", st.DropPart("constraint", "pk")),
        ("DROP WATERMARK", st.DropPart("watermark")),
        ("DROP DISTRIBUTION", st.DropPart("distribution")),
        ("DROP IF EXISTS PARTITION (a='1')", st.DropPartitions(({"a": "1"},), True)),
        (
            "ADD IF NOT EXISTS PARTITION (a=1) WITH ('k'='v')",
            st.AddPartitions((({"a": "1"}, {"k": "v"}),), True),
        ),
        (
            "MODIFY DISTRIBUTION INTO 3 BUCKETS",
            st.ChangeParts(st.TableParts(distribution="INTO 3 BUCKETS"), modify=True),
        ),
    ],
)
def test_alter_table(text: str, action: object) -> None:
    found = parse_statement(f"ALTER TABLE IF EXISTS t {text}")
    assert isinstance(found, st.AlterTable)
    assert (found.path, found.if_exists, found.action) == (("t",), True, action)


def test_alter_table_places_columns() -> None:
    found = parse_statement("ALTER TABLE t ADD (a INT FIRST, b AS a AFTER c)")
    assert isinstance(found, st.AlterTable)
    first, second = found.action.parts.columns
    assert (first.first, second.after, second.column.computed) == (True, "c", "a")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SHOW TABLES", ("TABLES", (), None, False, False)),
        ("SHOW TABLES FROM c.d NOT LIKE 'a%'", ("TABLES", ("c", "d"), "a%", True, False)),
        ("SHOW USER FUNCTIONS IN d ILIKE 'a%'", ("USER FUNCTIONS", ("d",), "a%", False, True)),
        ("SHOW CURRENT DATABASE", ("CURRENT DATABASE", (), None, False, False)),
        ("SHOW FULL MODULES", ("FULL MODULES", (), None, False, False)),
    ],
)
def test_show(text: str, expected: tuple[object, ...]) -> None:
    found = parse_statement(text)
    assert isinstance(found, st.Show)
    shown = (found.what, found.path, found.pattern, found.negated, found.ignore_case)
    assert shown == expected


def test_explain_and_set_keep_their_details() -> None:
    explain = parse_statement("EXPLAIN ESTIMATED_COST, CHANGELOG_MODE INSERT INTO t SELECT 1")
    assert isinstance(explain, st.Explain)
    assert explain.details == ("ESTIMATED_COST", "CHANGELOG_MODE")
    assert isinstance(explain.statement, st.Insert)
    assert explain.statement.text == "INSERT INTO t SELECT 1"
    option = parse_statement("SET table.local-time-zone = UTC")
    assert isinstance(option, st.SetOption)
    assert (option.key, option.value) == ("table.local-time-zone", "UTC")


def test_statements_point_at_what_they_are_about() -> None:
    (_, found) = parse_script("SELECT 1;\nDROP TABLE a.b")
    assert found.at is not None
    assert (found.at.line, found.at.column, found.at.length) == (2, 12, 3)


@pytest.mark.parametrize(
    ("text", "column", "part"),
    [
        ("CREATE TABLE t (a INT,)", 23, "expected a column's name"),
        ("CREATE TABLE t (value INT)", 17, "reserved word value"),
        ("CREATE TABLE t (a INT) WITH ('a'='b', 'a'='c')", 39, "there twice"),
        ("CREATE TABLE a.b.c.d (x INT)", 14, "at most three parts"),
        ("CREATE TABEL t (a INT)", 8, "expected one of TABLE"),
        ("DROP TABLE", 11, "expected a table"),
        ("SHOW TABLE", 6, "expected one of"),
        ("INSERT t SELECT 1", 8, "expected INTO or OVERWRITE"),
        ("EXECUTE STATEMENT SET BEGIN SELECT 1; END", 29, "expected INSERT or END"),
    ],
)
def test_bad_statements(text: str, column: int, part: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        parse_script(text)
    assert isinstance(caught.value.origin, Position)
    assert caught.value.origin.column == column
    assert part in caught.value.message


def test_one_statement_is_one() -> None:
    with pytest.raises(InvalidQuery, match="expected one statement, found 2"):
        parse_statement("SELECT 1; SELECT 2")
    with pytest.raises(InvalidQuery, match="found 0"):
        parse_statement(" -- nothing")
