"""Tables of PostgreSQL that are followed while they change, by SQL."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterator
from decimal import Decimal
from itertools import count
from typing import Any

import pytest

from headrace.errors import HeadraceError, InvalidArgument, Unsupported
from headrace.table import TableEnvironment
from tests.servers.postgres import Postgres
from tests.servers.postgres import postgres as shared  # noqa: F401
from tests.spark.cdc_following import (
    MODES,
    ORDERS,
    follow,
    follow_a_join,
    forget_what_was_followed,
    make_tables,
)
from tests.spark.cdc_jobs import followed

CONNECTOR = "postgres-cdc"


@pytest.fixture
def postgres(shared: Postgres) -> Iterator[Postgres]:  # noqa: F811
    """The server, with a table of orders and one of names; nothing is left of them."""
    shared.run(
        "CREATE TABLE orders (id INT PRIMARY KEY, name TEXT, price NUMERIC(10, 2))",
        "ALTER TABLE orders REPLICA IDENTITY FULL",
        "INSERT INTO orders SELECT i, 'n' || i % 3, i FROM generate_series(1, 30) AS i",
        "CREATE TABLE names (name TEXT PRIMARY KEY, label TEXT)",
        "ALTER TABLE names REPLICA IDENTITY FULL",
        "INSERT INTO names VALUES ('n0', 'zero'), ('n1', 'one')",
    )
    yield shared
    shared.run("DROP TABLE orders, names")
    forget_what_was_followed(shared)


@pytest.mark.parametrize("mode", MODES)
def test_a_join_and_an_aggregation_follow_two_tables(
    mode: str, monkeypatch: pytest.MonkeyPatch, postgres: Postgres
) -> None:
    monkeypatch.setenv("HEADRACE_STREAM_MODE", mode)
    follow_a_join(CONNECTOR, postgres)


KINDS = (
    "id BIGINT, b BOOLEAN, s SMALLINT, f FLOAT, d DOUBLE, n DECIMAL(12, 3), t STRING, c CHAR(3),"
    " y BYTES, dated DATE, moment TIME(0), at_ TIMESTAMP(6), tz TIMESTAMP_LTZ(6), j STRING,"
    " u STRING, tab STRING METADATA FROM 'table_name' VIRTUAL,"
    " sch STRING METADATA FROM 'schema_name' VIRTUAL,"
    " db STRING METADATA FROM 'database_name' VIRTUAL,"
    " op TIMESTAMP_LTZ(3) METADATA FROM 'op_ts' VIRTUAL, PRIMARY KEY (id) NOT ENFORCED"
)
OF_EACH_KIND = (
    "true, -3, 1.5, 0.1, 12.5, 'ü''\"', 'abc', '\\x00ff', '2024-02-29', '23:59:58', "
    "'2024-02-29 12:00:00.123456', '2024-02-29 12:00:00+02', '{\"a\": [1]}', "
    "'6f1d8c52-7f0c-4a4b-9b6e-0d8a3c1f2e4b'"
)


def test_types_and_metadata(postgres: Postgres) -> None:
    tables = make_tables()
    postgres.run(
        "CREATE TABLE kinds (id BIGINT PRIMARY KEY, b BOOLEAN, s SMALLINT, f REAL, d FLOAT8, "
        "n NUMERIC(12, 3), t TEXT, c CHAR(3), y BYTEA, dated DATE, moment TIME, at_ TIMESTAMP, "
        "tz TIMESTAMPTZ, j JSON, u UUID)",
        "ALTER TABLE kinds REPLICA IDENTITY FULL",
        f"INSERT INTO kinds VALUES (1, {OF_EACH_KIND})",
    )
    tables.execute_sql(followed(CONNECTOR, postgres.port, "kinds", KINDS))
    found: dict[int, Any] = {}
    with tables.execute_sql("SELECT * FROM kinds").collect() as changes:
        for each in changes:
            found[each[0]] = tuple(each)
            if len(found) == 1:
                postgres.run(
                    f"INSERT INTO kinds VALUES (2, {OF_EACH_KIND})", "INSERT INTO kinds VALUES (3)"
                )
            if len(found) == 3:
                break
    postgres.run("DROP TABLE kinds")
    assert found[1][1:-1] == found[2][1:-1]
    assert found[2][1:9] == (True, -3, 1.5, 0.1, Decimal("12.500"), "ü'\"", "abc", b"\x00\xff")
    assert found[2][9:12] == (
        datetime.date(2024, 2, 29),
        datetime.time(23, 59, 58),
        datetime.datetime(2024, 2, 29, 12, 0, 0, 123456),
    )
    assert found[2][13:18] == (
        '{"a": [1]}',
        "6f1d8c52-7f0c-4a4b-9b6e-0d8a3c1f2e4b",
        "kinds",
        "public",
        "test",
    )
    assert found[3][1:15] == (None,) * 14
    assert found[1][-1] != found[2][-1]


def test_only_what_is_new_is_read_from_the_latest_offset(postgres: Postgres) -> None:
    """Also of a slot that has older changes; rows come all the time, for nobody knows from where
    the job sees when its begin is."""
    postgres.run(
        "CREATE PUBLICATION orders FOR TABLE orders",
        "SELECT pg_create_logical_replication_slot('orders', 'pgoutput')",
        "UPDATE orders SET price = 99 WHERE id = 1",
        "INSERT INTO orders VALUES (100, 'before', 1)",
    )
    tables, ended = make_tables(), threading.Event()
    latest = {"scan_startup_mode": "latest-offset"}
    tables.execute_sql(followed(CONNECTOR, postgres.port, "orders", ORDERS, **latest))

    def write() -> None:
        for number in count(101):
            if ended.wait(0.02):
                return
            postgres.run(f"INSERT INTO orders VALUES ({number}, 'new', {number})")

    writer, found = threading.Thread(target=write), []
    with tables.execute_sql("SELECT id, price FROM orders").collect() as changes:
        writer.start()
        try:
            for each in changes:
                found.append((str(each.get_row_kind()), *each))
                if len(found) == 1:
                    postgres.run("UPDATE orders SET price = 7 WHERE id = 2")
                if ("+U", 2, Decimal("7.00")) in found:
                    break
        finally:
            ended.set()
            writer.join()
    new = [row for kind, row, _ in found if kind == "+I"]
    assert new == list(range(new[0], new[0] + len(new)))
    assert new[0] > 100
    assert [each for each in found if each[0] != "+I"] == [
        ("-U", 2, Decimal("2.00")),
        ("+U", 2, Decimal("7.00")),
    ]


def truncate_and_read(tables: TableEnvironment, postgres: Postgres) -> None:
    with tables.execute_sql("SELECT id FROM orders").collect() as changes:
        for number, _ in enumerate(changes):
            if number == 0:
                postgres.run("TRUNCATE orders")


def test_upserts_and_what_cannot_be_told(postgres: Postgres) -> None:
    postgres.run("ALTER TABLE orders REPLICA IDENTITY DEFAULT")
    tables = make_tables()
    tables.execute_sql(
        followed(CONNECTOR, postgres.port, "orders", ORDERS, changelog__mode="upsert")
    )
    query = "SELECT name, SUM(price) FROM orders GROUP BY name"

    def change() -> None:
        postgres.run(
            "UPDATE orders SET price = 100 WHERE id = 3",
            "UPDATE orders SET id = 300 WHERE id = 4",
            "DELETE FROM orders WHERE id = 5",
        )

    follow(tables, query, change, lambda: postgres.rows(query))
    with pytest.raises(HeadraceError, match=r"orders of .* was truncated") as truncated:
        truncate_and_read(tables, postgres)
    assert "Use DELETE" in str(truncated.value)


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("id INT, PRIMARY KEY (id) NOT ENFORCED", {"table__name": "nowhere"}, "is not there"),
        ("id INT, x INT, PRIMARY KEY (id) NOT ENFORCED", {}, "has no column 'x'"),
        ("id INT, name STRING, PRIMARY KEY (name) NOT ENFORCED", {}, "the primary key (id)"),
        ("id INT, PRIMARY KEY (id) NOT ENFORCED", {"password": "wrong"}, "authentication failed"),
        ("id INT, PRIMARY KEY (id) NOT ENFORCED", {"database__name": "no"}, "does not exist"),
        ("id INT, PRIMARY KEY (id) NOT ENFORCED", {"username": "weak"}, "cannot be read by user"),
        ("name STRING, PRIMARY KEY (name) NOT ENFORCED", {"table__name": "plain"}, "IDENTITY"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_read(
    postgres: Postgres, columns: str, options: dict[str, str], message: str
) -> None:
    postgres.run(
        "CREATE TABLE IF NOT EXISTS plain (name TEXT PRIMARY KEY)",
        "DO $$ BEGIN CREATE ROLE weak LOGIN PASSWORD 's3cret water'; "
        "EXCEPTION WHEN duplicate_object THEN NULL; END $$",
    )
    tables = make_tables()
    tables.execute_sql(followed(CONNECTOR, postgres.port, "orders", columns, **options))
    with (
        pytest.raises(HeadraceError) as wrong,
        tables.execute_sql("SELECT * FROM orders").collect() as changes,
    ):
        next(changes)
    assert message in str(wrong.value)
    assert "hint:" in str(wrong.value)
    assert "s3cret" not in str(wrong.value)
    assert not postgres.rows("SELECT 1 FROM pg_replication_slots")


@pytest.mark.parametrize(
    ("columns", "options", "kind", "message"),
    [
        ("id INT", {}, InvalidArgument, "needs a primary key"),
        (ORDERS, {"slot_name": ""}, InvalidArgument, "needs the option 'slot.name'"),
        (ORDERS, {"slot_name": "A-b"}, InvalidArgument, "cannot be the name of a slot"),
        (ORDERS, {"decoding_plugin_name": "wal2json"}, Unsupported, "wal2json"),
        (ORDERS, {"scan_startup_mode": "snapshot"}, Unsupported, "snapshot"),
        (ORDERS, {"slotname": "x"}, InvalidArgument, "has no option 'slotname'"),
        ("id INT, a ARRAY<INT>, PRIMARY KEY (id) NOT ENFORCED", {}, Unsupported, "ARRAY"),
    ],
)
def test_options_are_checked(
    columns: str, options: dict[str, str], kind: type[HeadraceError], message: str
) -> None:
    tables = make_tables()
    tables.execute_sql(followed(CONNECTOR, 1, "orders", columns, **options))
    with pytest.raises(kind, match=message):
        tables.execute_sql("SELECT * FROM orders")
