"""Tables of Spark's catalogs, of its session and of a database behind JDBC, in queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import SourceUnavailable, Unsupported
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.table_environment import TableEnvironment


@pytest.fixture
def tables() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def rows(tables: TableEnvironment, query: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in tables.execute_sql(query).collect())


def test_the_session_s_catalog(tables: TableEnvironment) -> None:
    tables.execute_sql("CREATE CATALOG warehouse WITH ('type' = 'spark')")
    tables.execute_sql("CREATE DATABASE warehouse.shop")
    try:
        tables.execute_sql(
            "CREATE TABLE warehouse.shop.orders (id BIGINT, customer STRING, placed TIMESTAMP(3)) "
            "WITH ('using' = 'parquet')"
        )
        tables.execute_sql(
            "INSERT INTO warehouse.shop.orders VALUES "
            "(1, 'ann', TIMESTAMP '2024-05-01 10:00:00'), (2, 'bob', CAST(NULL AS TIMESTAMP(3)))"
        ).wait()
        tables.execute_sql("USE CATALOG warehouse")
        tables.execute_sql("USE shop")
        assert rows(tables, "SHOW TABLES") == [("orders",)]
        assert rows(tables, "SELECT customer, COUNT(placed) FROM orders GROUP BY customer") == [
            ("ann", 1),
            ("bob", 0),
        ]
        described = rows(tables, "DESCRIBE orders")
        assert [(row[0], row[1]) for row in described] == [
            ("customer", "STRING"),
            ("id", "BIGINT"),
            ("placed", "TIMESTAMP(6)"),
        ]
    finally:
        tables.execute_sql("USE CATALOG default_catalog")
        tables.execute_sql("DROP DATABASE warehouse.shop CASCADE")


def test_a_database_behind_jdbc(tables: TableEnvironment, tmp_path: Path) -> None:
    url = f"jdbc:derby:{tmp_path / 'derby'};create=true"
    tables.execute_sql(f"CREATE CATALOG db WITH ('type' = 'jdbc', 'base-url' = '{url}')")
    tables.execute_sql("CREATE TABLE db.APP.people (id INT, name STRING)")
    tables.execute_sql("INSERT INTO db.APP.people VALUES (1, 'ann'), (2, 'bob')").wait()
    assert rows(tables, "SELECT name FROM db.APP.people WHERE id > 1") == [("bob",)]


def test_what_spark_s_catalogs_cannot_keep(tables: TableEnvironment) -> None:
    tables.execute_sql("CREATE CATALOG warehouse WITH ('type' = 'spark')")
    with pytest.raises(Unsupported, match="cannot be kept"):
        tables.execute_sql(
            "CREATE TABLE warehouse.`default`.t (a INT) WITH ('connector' = 'print')"
        )


def test_a_catalog_that_is_not_there(tables: TableEnvironment) -> None:
    tables.execute_sql("CREATE CATALOG c WITH ('type' = 'spark', 'name' = 'nowhere')")
    with pytest.raises(SourceUnavailable, match="nowhere"):
        tables.execute_sql("SHOW DATABASES IN c")


def test_overwriting_files(tables: TableEnvironment, tmp_path: Path) -> None:
    options = f"'connector' = 'filesystem', 'path' = '{tmp_path / 'out'}', 'format' = 'parquet'"
    tables.execute_sql(f"CREATE TABLE numbers (a INT) WITH ({options})")
    tables.execute_sql("INSERT INTO numbers VALUES (1), (2)").wait()
    tables.execute_sql("INSERT OVERWRITE numbers VALUES (3)").wait()
    assert rows(tables, "SELECT * FROM numbers") == [(3,)]


def test_overwriting_what_cannot_be_overwritten(tables: TableEnvironment) -> None:
    tables.execute_sql("CREATE TABLE lines (a INT) WITH ('connector' = 'print')")
    with pytest.raises(Unsupported, match="cannot remove rows"):
        tables.execute_sql("INSERT OVERWRITE lines VALUES (3)")
