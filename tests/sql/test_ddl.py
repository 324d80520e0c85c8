"""Statements about catalogs change them, and print what Flink prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from sqlglot import exp

from headrace.core.logical_types import BIGINT, STRING, Field
from headrace.errors import HeadraceError, InvalidQuery, Unsupported
from headrace.sql.catalog_manager import CatalogManager
from headrace.sql.ddl import DONE, Printed, Session, is_ddl, run, table_of_query
from headrace.sql.ddl_show import like
from headrace.sql.ddl_text import create_table_text, expression_text
from headrace.sql.parse_statements import parse_script, parse_statement
from headrace.sql.position import Position
from headrace.sql.statements import CreateTableAs

ORDERS = """
CREATE TABLE orders (
  id BIGINT COMMENT 'the id', price DECIMAL(10,2), quantity INT,
  cost AS price*quantity COMMENT 'total', ts TIMESTAMP(3),
  seen TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL, part STRING,
  headers MAP<STRING,BYTES> METADATA, proc AS PROCTIME(),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (id) NOT ENFORCED)
COMMENT 'it''s here' DISTRIBUTED BY HASH(id) INTO 4 BUCKETS PARTITIONED BY (part)
WITH ('rows-per-second'='5', 'connector'='datagen')
"""


def columns_of(tree: exp.Expr, text: str) -> Sequence[Field]:
    return [Field("id", BIGINT.not_null()), Field("name", STRING)]


@pytest.fixture
def session() -> Session:
    found = Session.of(
        CatalogManager(), schema_of=columns_of, builtin_names=lambda: ("ABS", "ARRAY_AGG")
    )
    execute(found, ORDERS)
    return found


def execute(session: Session, text: str) -> Printed:
    printed = None
    for statement in parse_script(text):
        printed = run(session, statement)
    assert printed is not None
    return printed


def rows(session: Session, text: str) -> list[Any]:
    """What a statement prints; of one column only its values."""
    printed = execute(session, text)
    if len(printed.columns) == 1:
        return [row[0] for row in printed.rows]
    return list(printed.rows)


def test_show_create_table_is_the_statement_again(session: Session) -> None:
    (text,) = rows(session, "SHOW CREATE TABLE orders")
    assert text == (
        "CREATE TABLE `default_catalog`.`default_database`.`orders` (\n"
        "  `id` BIGINT NOT NULL COMMENT 'the id',\n"
        "  `price` DECIMAL(10, 2),\n"
        "  `quantity` INT,\n"
        "  `cost` AS `price` * `quantity` COMMENT 'total',\n"
        "  `ts` TIMESTAMP(3),\n"
        "  `seen` TIMESTAMP(3) WITH LOCAL TIME ZONE METADATA FROM 'timestamp' VIRTUAL,\n"
        "  `part` VARCHAR(2147483647),\n"
        "  `headers` MAP<VARCHAR(2147483647), VARBINARY(2147483647)> METADATA,\n"
        "  `proc` AS PROCTIME(),\n"
        "  WATERMARK FOR `ts` AS `ts` - INTERVAL '5' SECOND,\n"
        "  CONSTRAINT `PK_id` PRIMARY KEY (`id`) NOT ENFORCED\n"
        ")\n"
        "COMMENT 'it''s here'\n"
        "DISTRIBUTED BY HASH(`id`) INTO 4 BUCKETS\n"
        "PARTITIONED BY (`part`)\n"
        "WITH (\n"
        "  'connector' = 'datagen',\n"
        "  'rows-per-second' = '5'\n"
        ")\n"
    )
    found = session.manager.table(("orders",))
    execute(session, "DROP TABLE orders")
    execute(session, text)
    again = session.manager.table(("orders",))
    assert create_table_text(again, again.table) == text  # type: ignore[arg-type]
    assert again.table.options == found.table.options


def test_describe(session: Session) -> None:
    printed = execute(session, "DESCRIBE orders")
    titles = ["name", "type", "null", "key", "extras", "watermark", "comment"]
    assert [column.name for column in printed.columns] == titles
    by_name = {row[0]: row[1:] for row in printed.rows}
    assert by_name["id"] == ("BIGINT", False, "PRI(id)", None, None, "the id")
    extras = "AS `price` * `quantity`"
    assert by_name["cost"] == ("DECIMAL(21, 2)", True, None, extras, None, "total")
    mark = "`ts` - INTERVAL '5' SECOND"
    assert by_name["ts"] == ("TIMESTAMP(3) *ROWTIME*", True, None, None, mark, None)
    assert by_name["seen"][3] == "METADATA FROM 'timestamp' VIRTUAL"
    assert by_name["headers"][3] == "METADATA"
    assert by_name["proc"][:2] == ("TIMESTAMP_LTZ(3) *PROCTIME*", False)
    assert rows(session, "DESC orders") == list(printed.rows)
    names = [row[0] for row in rows(session, "SHOW COLUMNS FROM orders LIKE '%i%'")]
    assert names == ["id", "price", "quantity"]


def test_lists(session: Session) -> None:
    execute(session, "CREATE TEMPORARY VIEW v AS SELECT * FROM orders; CREATE TABLE z (a INT)")
    assert rows(session, "SHOW TABLES") == ["orders", "v", "z"]
    assert rows(session, "SHOW VIEWS") == ["v"]
    assert rows(session, "SHOW TABLES LIKE 'o%'") == ["orders"]
    assert rows(session, "SHOW TABLES FROM default_database NOT LIKE 'o%'") == ["v", "z"]
    assert rows(session, "SHOW TABLES ILIKE 'O%'") == ["orders"]
    assert rows(session, "SHOW CATALOGS") == ["default_catalog"]
    assert rows(session, "SHOW CURRENT CATALOG") == ["default_catalog"]
    assert rows(session, "SHOW DATABASES IN default_catalog") == ["default_database"]
    assert rows(session, "SHOW CURRENT DATABASE") == ["default_database"]
    assert rows(session, "SHOW FUNCTIONS") == ["abs", "array_agg"]
    assert rows(session, "SHOW PROCEDURES") == []
    assert rows(session, "SHOW JARS") == []
    titles = [execute(session, f"SHOW {what}").columns[0].name for what in ("TABLES", "VIEWS")]
    assert titles == ["table name", "view name"]


def test_patterns_of_like() -> None:
    assert like("a\\_%")("a_bc")
    assert not like("a\\_%")("axbc")
    assert like("A_", ignore_case=True)("ab")


def test_views(session: Session) -> None:
    execute(session, "CREATE VIEW v (x, y) COMMENT 'c' AS SELECT id, name FROM t WHERE id > 3")
    path = "`default_catalog`.`default_database`.`v`"
    query = "SELECT id, name FROM t WHERE id > 3"
    expected = f"CREATE VIEW {path} (\n  `x`,\n  `y`\n)\nCOMMENT 'c'\nAS {query}\n"
    assert rows(session, "SHOW CREATE VIEW v") == [expected]
    assert [row[:3] for row in rows(session, "DESCRIBE v")] == [
        ("x", "BIGINT", False), ("y", "STRING", True),
    ]  # fmt: skip
    execute(session, "ALTER VIEW v AS SELECT id, name FROM u; ALTER VIEW v RENAME TO w")
    assert rows(session, "SHOW VIEWS") == ["w"]
    assert "`name`" in rows(session, "SHOW CREATE VIEW w")[0]
    execute(session, "DROP VIEW w; DROP VIEW IF EXISTS w; ALTER VIEW IF EXISTS w RENAME TO v")
    for text, message in (
        ("CREATE VIEW v (a) AS SELECT 1", "names 1 columns, its query has 2"),
        ("SHOW CREATE VIEW orders", "orders is a table"),
        ("DROP VIEW orders", "orders is a table"),
        ("ALTER VIEW orders RENAME TO x", "there is no view orders"),
    ):
        with pytest.raises(InvalidQuery, match=message):
            execute(session, text)


def test_databases_and_catalogs(session: Session) -> None:
    execute(session, "CREATE DATABASE d COMMENT 'x' WITH ('k'='v'); ALTER DATABASE d SET ('l'='w')")
    assert rows(session, "DESCRIBE DATABASE EXTENDED d") == [
        ("name", "d"), ("comment", "x"), ("properties", "((k,v), (l,w))"),
    ]  # fmt: skip
    execute(session, "USE d; CREATE TABLE t (a INT); USE default_database")
    assert rows(session, "SHOW TABLES IN d") == ["t"]
    execute(session, "CREATE CATALOG c COMMENT 'y' WITH ('type'='generic_in_memory')")
    options = "WITH (\n  'type' = 'generic_in_memory'\n)\n"
    assert rows(session, "SHOW CREATE CATALOG c") == [f"CREATE CATALOG `c`\nCOMMENT 'y'\n{options}"]
    execute(session, "ALTER CATALOG c SET ('a'='b'); ALTER CATALOG c RESET ('a')")
    assert rows(session, "DESCRIBE CATALOG EXTENDED c")[-1] == ("option:type", "generic_in_memory")
    execute(session, "USE CATALOG c; SHOW TABLES; USE CATALOG default_catalog; DROP CATALOG c")
    execute(session, "DROP CATALOG IF EXISTS c; CREATE DATABASE IF NOT EXISTS d")
    for text, message in (
        ("DROP DATABASE d", "is not empty"),
        ("DROP DATABASE default_database", "is the current one"),
        ("CREATE DATABASE d", "already"),
        ("USE nope", "no database nope"),
        ("USE CATALOG nope", "no catalog nope"),
        ("SHOW TABLES FROM nope", "no database nope"),
    ):
        with pytest.raises(InvalidQuery, match=message):
            execute(session, text)
    execute(session, "DROP DATABASE d CASCADE; DROP DATABASE IF EXISTS d")


def create_text(session: Session, name: str) -> str:
    text: str = rows(session, f"SHOW CREATE TABLE {name}")[0]
    return text


def test_alter_table(session: Session) -> None:
    execute(
        session,
        "CREATE TABLE t (a INT COMMENT 'c', b STRING, c DOUBLE, ts TIMESTAMP(3))"
        " WITH ('connector'='print');"
        "ALTER TABLE t ADD d INT AFTER a;"
        "ALTER TABLE t ADD (e INT FIRST, f AS d * 2, WATERMARK FOR ts AS ts, PRIMARY KEY (c) NOT"
        " ENFORCED);"
        "ALTER TABLE t MODIFY (a BIGINT AFTER b, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND);"
        "ALTER TABLE t RENAME b TO bb;"
        "ALTER TABLE t SET ('x'='y', 'z'='1'); ALTER TABLE t RESET ('z')",
    )
    text = create_text(session, "t")
    assert text.split("\n")[1:10] == [
        "  `e` INT,", "  `d` INT,", "  `bb` VARCHAR(2147483647),", "  `a` BIGINT COMMENT 'c',",
        "  `c` DOUBLE NOT NULL,", "  `ts` TIMESTAMP(3),", "  `f` AS `d` * 2,",
        "  WATERMARK FOR `ts` AS `ts` - INTERVAL '1' SECOND,",
        "  CONSTRAINT `PK_c` PRIMARY KEY (`c`) NOT ENFORCED",
    ]  # fmt: skip
    execute(
        session,
        "ALTER TABLE t DROP (f, d); ALTER TABLE t DROP WATERMARK; ALTER TABLE t DROP CONSTRAINT"
        " PK_c; ALTER TABLE t ADD DISTRIBUTION INTO 3 BUCKETS; ALTER TABLE t RENAME TO u",
    )
    text = create_text(session, "u")
    assert "WATERMARK" not in text
    assert "PRIMARY" not in text
    assert "\nDISTRIBUTED INTO 3 BUCKETS\n" in text
    assert "'x' = 'y'" in text
    execute(session, "ALTER TABLE IF EXISTS nope RENAME TO v")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ALTER TABLE orders ADD id INT", "there is a column id already"),
        ("ALTER TABLE orders MODIFY nope INT", "there is no column nope"),
        ("ALTER TABLE orders ADD x INT AFTER nope", "there is no column nope"),
        ("ALTER TABLE orders DROP price", "the computed column cost uses it"),
        ("ALTER TABLE orders DROP ts", "the watermark uses it"),
        ("ALTER TABLE orders DROP id", "it is in the primary key"),
        ("ALTER TABLE orders DROP part", "it is in the partition"),
        ("ALTER TABLE orders RENAME price TO x", "the computed column cost uses it"),
        ("ALTER TABLE orders RENAME part TO id", "there is a column id already"),
        ("ALTER TABLE orders ADD WATERMARK FOR ts AS ts", "has a watermark already"),
        ("ALTER TABLE orders ADD PRIMARY KEY (part) NOT ENFORCED", "has a primary key already"),
        ("ALTER TABLE orders DROP CONSTRAINT nope", "there is no constraint nope"),
        ("ALTER TABLE orders RESET ('connector')", "cannot be reset"),
        ("ALTER TABLE nope DROP WATERMARK", "there is no table or view nope"),
        ("CREATE TABLE orders (a INT)", "already"),
        ("CREATE TABLE t (a INT, a STRING)", "there is a column a already"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (b) NOT ENFORCED)", "there is no column b"),
        ("CREATE TABLE t (a INT) PARTITIONED BY (b)", "there is no column b"),
        ("CREATE TABLE t (a INT, WATERMARK FOR a AS a)", "has type INT"),
        ("CREATE TABLE t (a TIMESTAMP(6), WATERMARK FOR a AS a)", "precision"),
        ("CREATE TABLE t (a AS 1)", "at least one column"),
        ("CREATE TABLE t (a INT, b AS c + 1)", "c"),
        ("CREATE TABLE t LIKE nope", "there is no table or view nope"),
        ("DROP TABLE nope", "there is no table nope"),
        ("DESCRIBE nope", "there is no table or view nope"),
    ],
)
def test_what_cannot_be_done_says_where_and_why(session: Session, text: str, message: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        execute(session, text)
    shown = f"{caught.value.message} {caught.value.hint}"
    assert message in shown
    assert isinstance(caught.value.origin, Position)


def test_like_does_not_take_over_the_comment_of_the_table(session: Session) -> None:
    execute(
        session,
        "CREATE TABLE told (a INT COMMENT 'of a') COMMENT 'of told' WITH ('connector'='print');"
        "CREATE TABLE alike LIKE told; CREATE TABLE own COMMENT 'of own' LIKE told",
    )
    assert "'of a'" in create_text(session, "alike")
    assert "'of told'" not in create_text(session, "alike")
    assert "COMMENT 'of own'" in create_text(session, "own")


def test_like_takes_over_what_is_asked_for(session: Session) -> None:
    execute(
        session,
        "CREATE TABLE all_of (extra STRING) WITH ('rows-per-second'='9') LIKE orders;"
        "CREATE TABLE few (extra STRING) WITH ('connector'='print') LIKE orders (EXCLUDING ALL);"
        "CREATE TABLE other (extra STRING, cost AS quantity) WITH ('a'='b') LIKE orders ("
        " OVERWRITING GENERATED INCLUDING OPTIONS EXCLUDING CONSTRAINTS EXCLUDING WATERMARKS)",
    )
    everything = create_text(session, "all_of")
    for part in ("`extra`", "WATERMARK", "PRIMARY KEY", "'rows-per-second' = '9'", "PARTITIONED"):
        assert part in everything
    little = create_text(session, "few")
    for part in ("WATERMARK", "PRIMARY KEY", "METADATA", " AS ", "datagen", "PARTITIONED"):
        assert part not in little
    assert "`price` DECIMAL(10, 2)" in little
    other = create_text(session, "other")
    assert "`cost` AS `quantity`" in other
    assert "PRIMARY" not in other
    assert "WATERMARK" not in other
    for text, message in (
        ("CREATE TABLE t (price INT) LIKE orders", "there is a column price already"),
        ("CREATE TABLE t (x INT, PRIMARY KEY (x) NOT ENFORCED) LIKE orders", "CONSTRAINTS"),
        ("CREATE TABLE t (WATERMARK FOR ts AS ts) LIKE orders", "WATERMARKS"),
        ("CREATE TABLE t WITH ('connector'='x') LIKE orders (INCLUDING OPTIONS)", "connector"),
        ("CREATE TABLE t LIKE orders (OVERWRITING PARTITIONS)", "cannot be overwritten"),
    ):
        with pytest.raises(InvalidQuery, match=message):
            execute(session, text)


def test_partitions(session: Session) -> None:
    execute(
        session,
        "ALTER TABLE orders ADD PARTITION (part='b') WITH ('k'='v') PARTITION (part='a');"
        "ALTER TABLE orders ADD IF NOT EXISTS PARTITION (part='a')",
    )
    assert rows(session, "SHOW PARTITIONS orders") == ["part=a", "part=b"]
    assert rows(session, "SHOW PARTITIONS orders PARTITION (part='b')") == ["part=b"]
    execute(session, "ALTER TABLE orders DROP PARTITION (part='a')")
    assert rows(session, "SHOW PARTITIONS orders") == ["part=b"]
    for text, message in (
        ("ALTER TABLE orders ADD PARTITION (part='b')", "already"),
        ("ALTER TABLE orders DROP PARTITION (part='a')", "there is no partition"),
        ("ALTER TABLE orders ADD PARTITION (id='1')", "partitioned by"),
        ("ALTER TABLE orders ADD PARTITION (part='c', id='1')", "partitioned by part, .* part, id"),
        ("ALTER TABLE orders DROP PARTITION (id='1')", "partitioned by"),
        ("SHOW PARTITIONS orders PARTITION (id='1')", "partitioned by"),
    ):
        with pytest.raises(InvalidQuery, match=message):
            execute(session, text)
    execute(session, "ALTER TABLE orders DROP IF EXISTS PARTITION (id='1')")


def test_a_table_without_partition_keys_has_no_partitions(session: Session) -> None:
    execute(session, "CREATE TABLE plain (id INT) WITH ('connector'='blackhole')")
    for text in (
        "ALTER TABLE plain ADD PARTITION (id='1')",
        "ALTER TABLE plain ADD IF NOT EXISTS PARTITION (id='1')",
        "ALTER TABLE plain DROP PARTITION (id='1')",
        "SHOW PARTITIONS plain",
    ):
        with pytest.raises(InvalidQuery, match="the table is not partitioned"):
            execute(session, text)
    for text in (
        "ALTER TABLE missing ADD PARTITION (id='1')",
        "ALTER TABLE missing DROP PARTITION (id='1')",
        "SHOW PARTITIONS missing",
    ):
        with pytest.raises(InvalidQuery, match="missing"):
            execute(session, text)


def test_functions_and_modules(session: Session) -> None:
    execute(
        session,
        "CREATE FUNCTION f AS 'm.f' LANGUAGE PYTHON;"
        "CREATE TEMPORARY SYSTEM FUNCTION g AS 'm.g' LANGUAGE PYTHON;"
        "ALTER FUNCTION f AS 'm.h' LANGUAGE PYTHON",
    )
    assert rows(session, "SHOW USER FUNCTIONS") == ["f", "g"]
    assert ("class name", "m.h") in rows(session, "DESCRIBE FUNCTION f")
    execute(session, "DROP FUNCTION f; DROP TEMPORARY SYSTEM FUNCTION g; DROP FUNCTION IF EXISTS f")
    assert rows(session, "SHOW USER FUNCTIONS") == []
    with pytest.raises(Unsupported, match="functions in Java"):
        execute(session, "CREATE FUNCTION f AS 'a.B'")
    execute(session, "UNLOAD MODULE core")
    assert rows(session, "SHOW FUNCTIONS") == []
    execute(session, "LOAD MODULE core; USE MODULES core")
    assert rows(session, "SHOW FULL MODULES") == [("core", True)]
    with pytest.raises(HeadraceError, match="no module hive"):
        execute(session, "LOAD MODULE hive")


def test_a_table_of_a_query(session: Session) -> None:
    statement = parse_statement(
        "CREATE TABLE t (name, id) PARTITIONED BY (name) WITH ('connector'='print') AS SELECT 1"
    )
    assert isinstance(statement, CreateTableAs)
    fields = columns_of(statement.query, "")
    table = table_of_query(session, statement, fields)
    assert [column.field.name for column in table.schema.columns] == ["name", "id"]
    more = parse_statement(
        "CREATE TABLE t (extra AS id + 1, id INT, PRIMARY KEY (id) NOT ENFORCED) AS SELECT 1"
    )
    assert isinstance(more, CreateTableAs)
    table = table_of_query(session, more, fields)
    types = {column.field.name: str(column.field.type) for column in table.schema.columns}
    assert list(types) == ["extra", "id", "name"]
    assert types["id"] == "INT NOT NULL"


def test_what_is_no_ddl_is_left_alone(session: Session) -> None:
    query = parse_statement("SELECT 1")
    assert run(session, query) is None
    assert not is_ddl(query)
    assert execute(session, "USE default_database") == DONE
    with pytest.raises(Unsupported, match="CREATE MODEL cannot be had"):
        execute(session, "CREATE MODEL m WITH ('a'='b')")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("a+b *  2", "`a` + `b` * 2"),
        ("to_timestamp(x , 'yyyy')", "TO_TIMESTAMP(`x`, 'yyyy')"),
        ("cast(a.b as int)", "CAST(`a`.`b` AS INT)"),
        ("ts - interval '5' second", "`ts` - INTERVAL '5' SECOND"),
        ("arr[1]", "`arr`[1]"),
        ("-a", "-`a`"),
    ],
)
def test_expressions_are_printed_with_quoted_names(text: str, canonical: str) -> None:
    assert expression_text(text) == canonical
