"""Streams into PostgreSQL and MariaDB."""

from __future__ import annotations

import datetime
import threading
from decimal import Decimal
from typing import Any

import pytest

from headrace.common import Row, Types
from headrace.connectors.jdbc.databases import open_database
from headrace.connectors.jdbc.looking_up import JdbcLookup
from headrace.connectors.jdbc.scanning import JdbcScan, TableQuery
from headrace.connectors.jdbc.sessions import Session
from headrace.core.logical_types import DATE, INT, STRING
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
)
from headrace.errors import HeadraceError, Unsupported, UserFunctionFailed
from headrace.operators.table.awaited_calls import AwaitedCalls
from headrace.operators.table.full_cache import (
    FullCache,
    FullCacheOptions,
    PeriodicReload,
    WholeTable,
)
from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.table.catalog import JdbcCatalog
from tests.servers.mariadb import mariadb  # noqa: F401
from tests.servers.postgres import postgres  # noqa: F401
from tests.spark.conftest import wait_until

pytestmark = pytest.mark.timeout(900)  # the first of them may have to install a server
PAIR = Types.ROW([Types.INT(), Types.STRING()])
UPSERTS = {
    "postgres": "INSERT INTO {} (id, name) VALUES (?, ?) "
    "ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name",
    "mariadb": "INSERT INTO {} (id, name) VALUES (?, ?) "
    "ON DUPLICATE KEY UPDATE name = VALUES(name)",
}


@pytest.fixture(params=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def kind_of(server: Any) -> str:
    return type(server).__name__.lower()


def options(server: Any, **changed: str) -> JdbcConnectionOptions:
    return (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        .with_url(changed.get("url", server.url))
        .with_driver_name("any.Driver")
        .with_user_name(server.user)
        .with_password(changed.get("password", server.password))
        .build()
    )


def test_rows_are_upserted(env: StreamExecutionEnvironment, server: Any, mode: str) -> None:
    table = f"upserted_{mode}"
    server.run(f"CREATE TABLE {table} (id INT PRIMARY KEY, name VARCHAR(20))")
    few = JdbcExecutionOptions.builder().with_batch_size(7).with_batch_interval_ms(50).build()
    sql = UPSERTS[kind_of(server)].format(table)
    # A batch has keys twice, which PostgreSQL does not take in one statement.
    rows = env.from_collection([Row(n // 4, f"name {n // 4}") for n in range(200)], PAIR)
    rows.add_sink(JdbcSink.sink(sql, PAIR, options(server), few))
    env.execute("upserts")
    found = server.rows(f"SELECT id, name FROM {table} ORDER BY id")
    assert found == [(n, f"name {n}") for n in range(50)]


@pytest.fixture
def tables() -> TableEnvironment:
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def declared(server: Any, name: str, columns: str, *more: str) -> str:
    given = [
        "'connector' = 'jdbc'",
        f"'url' = '{server.url}'",
        f"'table-name' = '{name}'",
        f"'username' = '{server.user}'",
        f"'password' = '{server.password}'",
        *more,
    ]
    return f"CREATE TABLE {name} ({columns}) WITH ({', '.join(given)})"


def rows_of(tables: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in tables.execute_sql(query).collect())


ALL_TYPES = {
    "postgres": "b BOOLEAN, s SMALLINT, i INTEGER, l BIGINT, f REAL, d DOUBLE PRECISION, "
    "n NUMERIC(10, 2), c VARCHAR(20), y BYTEA, day DATE, t TIME(3), ts TIMESTAMP(6), "
    "ltz TIMESTAMPTZ",
    "mariadb": "b BOOLEAN, s SMALLINT, i INTEGER, l BIGINT, f FLOAT, d DOUBLE, "
    "n DECIMAL(10, 2), c VARCHAR(20), y VARBINARY(20), day DATE, t TIME(3), ts DATETIME(6), "
    "ltz TIMESTAMP(6) NULL",
}
FLINK_TYPES = (
    "id INT, b BOOLEAN, s SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, n DECIMAL(10, 2), "
    "c VARCHAR(20), y BYTES, `day` DATE, t TIME(3), ts TIMESTAMP(6), ltz TIMESTAMP_LTZ(6), "
    "PRIMARY KEY (id) NOT ENFORCED"
)


def test_values_of_all_types_go_there_and_come_back(tables: TableEnvironment, server: Any) -> None:
    server.run(f"CREATE TABLE types_of (id INT PRIMARY KEY, {ALL_TYPES[kind_of(server)]})")
    tables.execute_sql(declared(server, "types_of", FLINK_TYPES))
    tables.execute_sql(
        "INSERT INTO types_of VALUES (1, TRUE, CAST(-2 AS SMALLINT), 3, 4, CAST(1.5 AS FLOAT), "
        "2.25E0, 12.30, 'é?%s', x'00ff', DATE '2024-02-29', TIME '12:34:56', "
        "TIMESTAMP '2024-02-29 12:34:56.123456', TO_TIMESTAMP_LTZ(1709210096123, 3)), "
        "(2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
    ).wait()
    first, second = rows_of(tables, "SELECT * FROM types_of")
    assert second == (2, *[None] * 13)
    assert first[:9] == (1, True, -2, 3, 4, 1.5, 2.25, Decimal("12.30"), "é?%s")
    assert bytes(first[9]) == b"\x00\xff"
    assert first[10:13] == (
        datetime.date(2024, 2, 29),
        datetime.time(12, 34, 56),
        datetime.datetime(2024, 2, 29, 12, 34, 56, 123456),
    )
    query = "SELECT COUNT(*) FROM types_of WHERE ltz = TO_TIMESTAMP_LTZ(1709210096123, 3)"
    assert rows_of(tables, query)[-1] == (1,)


def test_a_table_is_read_in_partitions(tables: TableEnvironment, server: Any) -> None:
    server.run(
        "CREATE TABLE numbered (id INT, name VARCHAR(20))",
        *(f"INSERT INTO numbered VALUES ({n}, 'n{n}')" for n in (-5, 0, 1, 4, 5, 9, 10, 77)),
        "INSERT INTO numbered VALUES (NULL, 'nobody')",
    )
    partitions = ("column' = 'id", "num' = '3", "lower-bound' = '0", "upper-bound' = '9")
    more = [f"'scan.partition.{each}'" for each in partitions]
    more += ["'scan.fetch-size' = '2'", "'scan.auto-commit' = 'false'"]
    tables.execute_sql(declared(server, "numbered", "id INT, name STRING", *more))
    names = [name for (name,) in rows_of(tables, "SELECT name FROM numbered")]
    assert names == ["n-5", "n0", "n1", "n10", "n4", "n5", "n77", "n9", "nobody"]
    found = rows_of(tables, "SELECT id FROM numbered WHERE id >= 5 AND name <> 'n9'")
    assert found == [(5,), (10,), (77,)]


def test_changes_of_a_query_are_upserted(tables: TableEnvironment, server: Any) -> None:
    server.run(
        "CREATE TABLE counts (word VARCHAR(20) PRIMARY KEY, n BIGINT)",
        "INSERT INTO counts VALUES ('to', 100), ('stays', 7)",
    )
    columns = "word STRING, n BIGINT, PRIMARY KEY (word) NOT ENFORCED"
    more = ("'sink.buffer-flush.max-rows' = '2'", "'sink.max-retries' = '1'")
    tables.execute_sql(declared(server, "counts", columns, *more))
    tables.execute_sql(
        "INSERT INTO counts SELECT word, COUNT(*) FROM (VALUES ('to'), ('be'), ('or'), ('not'), "
        "('to'), ('be')) AS t (word) GROUP BY word"
    ).wait()
    found = server.rows("SELECT word, n FROM counts ORDER BY word")
    assert found == [("be", 2), ("not", 1), ("or", 1), ("stays", 7), ("to", 2)]


def test_a_table_is_written_exactly_once(tables: TableEnvironment, server: Any, mode: str) -> None:
    name = f"once_{mode}"
    server.run(f"CREATE TABLE {name} (n INT)")
    more = ("'sink.delivery-guarantee' = 'exactly-once'", "'sink.buffer-flush.max-rows' = '1'")
    tables.execute_sql(declared(server, name, "n INT", *more))
    tables.execute_sql(f"INSERT INTO {name} VALUES (1), (2), (2)").wait()
    assert server.rows(f"SELECT n FROM {name} ORDER BY n") == [(1,), (2,), (2,)]
    assert server.prepared() == []


@pytest.mark.parametrize("key", ["id INT", "id STRING"])
def test_a_table_is_looked_up(tables: TableEnvironment, server: Any, key: str) -> None:
    name, stored = f"people_{key[3:].lower()}", "INT" if key == "id INT" else "VARCHAR(9)"
    server.run(
        f"CREATE TABLE {name} (id {stored}, name VARCHAR(20))",
        f"INSERT INTO {name} VALUES ('1', 'ann'), ('2', 'bob'), ('2', 'bea')",
    )
    cache = ("'lookup.cache' = 'PARTIAL'", "'lookup.partial-cache.max-rows' = '2'")
    tables.execute_sql(declared(server, name, f"{key}, name STRING", *cache))
    values = ", ".join(f"(CAST({n} AS {key[3:]}))" for n in (1, 2, 3, 1, 2))
    tables.execute_sql(
        f"CREATE VIEW asked AS SELECT id, PROCTIME() AS now_ FROM (VALUES {values}) AS v (id)"
    )
    found = rows_of(
        tables,
        "SELECT CAST(a.id AS INT), p.name FROM asked AS a "
        f"LEFT JOIN {name} FOR SYSTEM_TIME AS OF a.now_ AS p ON a.id = p.id",
    )
    one, two = [(1, "ann")], [(2, "bea"), (2, "bob")]
    assert sorted(found, key=str) == sorted([*one, *one, *two, *two, (3, None)], key=str)


def test_many_keys_are_looked_up_as_one_by_one(server: Any) -> None:
    """In lists, as united queries, and on several connections at the same time."""
    server.run(
        "CREATE TABLE known (id INT, name VARCHAR(9), day DATE)",
        *(f"INSERT INTO known VALUES ({n}, 'n{n // 2}', '2024-01-0{n + 1}')" for n in range(7)),
        "INSERT INTO known VALUES (NULL, 'n3', NULL)",
    )
    query = TableQuery("known", ("id", "name", "day"), (INT, STRING, DATE), (), "id < ?", (6,))
    keys: dict[tuple[int, ...], list[tuple[Any, ...]]] = {
        (0,): [(n,) for n in (3, 9, 3, 0)],
        (1,): [(f"n{n}",) for n in range(5)],
        (0, 1): [(2, "n1"), (2, "n0"), (3, "n1")],
        (2,): [(19723,), (19724,), (1,)],
    }
    for at, asked in keys.items():
        one = JdbcLookup(options(server), query, at, 0)
        many = one.at_the_same_time(AwaitedCalls(concurrent=3))
        for lookup in (one, many):
            lookup.open()
        assert [sorted(each) for each in many.look_up_all(asked)] == [
            sorted(one(key)) for key in asked
        ]
        assert sum(map(len, one.look_up_all(asked))) == {(0,): 3, (1,): 6}.get(at, 2)
        for lookup in (one, many):
            lookup.close()


def test_a_scan_may_be_given_up(server: Any) -> None:
    """What is left is not read, nothing stays open, and the table can be dropped."""
    server.run(
        "CREATE TABLE given_up (id INT)",
        f"INSERT INTO given_up VALUES {', '.join(f'({n})' for n in range(5000))}",
    )
    scan = JdbcScan(options(server), TableQuery("given_up", ("id",), (INT,)), fetch_size=10)
    (split,) = scan.create_enumerator().splits()
    for closes_reader in (False, True):
        reader = scan.create_reader()
        rows = iter(reader.read(split, 0, 1))
        assert next(rows)[0] == 0
        if closes_reader:
            reader.close()
        del rows  # a warning would be an error
    server.run("DROP TABLE given_up")


def test_a_table_is_loaded_as_a_whole(server: Any) -> None:
    server.run("CREATE TABLE whole (id INT, name VARCHAR(9))", "INSERT INTO whole VALUES (1, 'a')")
    query = TableQuery("whole", ("name", "id"), (STRING, INT))
    load = WholeTable(JdbcScan(options(server), query))
    cache = FullCache(load, (1,), FullCacheOptions(PeriodicReload(10)))
    assert cache((1,)) == [("a", 1)]
    server.run("UPDATE whole SET name = 'b'")
    wait_until(lambda: cache((1,)) == [("b", 1)])
    cache.close()


def test_look_ups_that_take_too_long_are_cut_off(server: Any) -> None:
    sleep = {"postgres": "pg_sleep(60)::text", "mariadb": "SLEEP(60)"}[kind_of(server)]
    server.run(
        "CREATE TABLE few (id INT)",
        "INSERT INTO few VALUES (1)",
        f"CREATE VIEW slow_few AS SELECT few.id, s.x FROM few, (SELECT {sleep} AS x) AS s",
    )
    lookup = JdbcLookup(
        options(server), TableQuery("slow_few", ("id", "x"), (INT, STRING)), (0,), 3
    )
    hurried = lookup.at_the_same_time(AwaitedCalls(concurrent=2, timeout_ms=200))
    hurried.open()
    with pytest.raises(UserFunctionFailed, match=r"took longer than 0\.2 seconds"):
        hurried((1,))
    hurried.close()


def test_a_catalog_shows_what_the_database_has(tables: TableEnvironment, server: Any) -> None:
    server.run(
        f"CREATE TABLE shown (id INT, part INT, {ALL_TYPES[kind_of(server)]}, "
        "PRIMARY KEY (part, id))"
    )
    base = server.url.removesuffix("test")
    catalog = JdbcCatalog("db", "test", server.user, server.password, base)
    tables.register_catalog("db", catalog)
    assert "test" in catalog.list_databases()
    name = "public.shown" if kind_of(server) == "postgres" else "shown"
    assert name in catalog.list_tables("test")
    tables.execute_sql(
        "INSERT INTO db.test.shown (id, part, c) VALUES (1, 2, 'x'), (1, 2, 'y')"
    ).wait()
    assert rows_of(tables, "SELECT id, part, c FROM db.test.shown") == [(1, 2, "y")]
    described = {row[0]: (row[1], row[3]) for row in rows_of(tables, "DESCRIBE db.test.shown")}
    assert described["id"] == ("INT", "PRI(part, id)")
    assert described["n"][0] == "DECIMAL(10, 2)"
    assert described["c"][0] == "VARCHAR(20)"
    assert described["ts"][0] == "TIMESTAMP(6)"
    ltz = "TIMESTAMP_LTZ(6)" if kind_of(server) == "postgres" else "TIMESTAMP(6)"
    assert described["ltz"][0] == ltz
    with pytest.raises(Unsupported, match="changes none of it"):
        tables.execute_sql("CREATE TABLE db.test.more (id INT)")


def failing(server: Any, sql: str, **changed: str) -> str:
    env = StreamExecutionEnvironment.get_execution_environment()
    rows = env.from_collection([Row(1, "a"), Row(1, "b")], PAIR)
    rows.add_sink(JdbcSink.sink(sql, PAIR, options(server, **changed)))
    with pytest.raises(HeadraceError) as raised:
        env.execute("fails")
    assert server.password not in str(raised.value)
    return str(raised.value)


def test_what_is_said_of_bad_input(server: Any) -> None:
    server.run("CREATE TABLE kept (id INT PRIMARY KEY, name VARCHAR(20))")
    insert = "INSERT INTO kept (id, name) VALUES (?, ?)"
    said = failing(server, insert)
    assert "cannot write to" in said
    assert "uplicate" in said
    assert "ON CONFLICT" in said
    assert failing(server, insert.replace("kept", "nowhere")).count("Create the table") == 1
    assert "Compare the columns" in failing(server, insert.replace("name", "title"))
    said = failing(server, insert, password="wr0ng one")
    assert "cannot connect to" in said
    assert "Check the user's name and password" in said
    assert "wr0ng" not in said
    nowhere = server.url.replace("/test", "/nowhere")
    assert "last part of the address" in failing(server, insert, url=nowhere)


def test_types_that_only_postgresql_has(
    tables: TableEnvironment,
    postgres: Any,  # noqa: F811
) -> None:
    postgres.run(
        "CREATE TABLE special (j JSONB, u UUID, a INT[], t TEXT[])",
        "INSERT INTO special VALUES ('{\"a\": [1, null]}', "
        "'6c1f0b5e-0000-4000-8000-00000000000f', '{1, NULL, 3}', '{x}')",
    )
    base = postgres.url.removesuffix("test")
    catalog = JdbcCatalog("pg", "test", postgres.user, postgres.password, base)
    tables.register_catalog("pg", catalog)
    [(json, uuid, numbers, texts)] = rows_of(tables, "SELECT * FROM pg.test.special")
    assert json == '{"a": [1, null]}'
    assert uuid == "6c1f0b5e-0000-4000-8000-00000000000f"
    assert (list(numbers), list(texts)) == ([1, None, 3], ["x"])


def test_a_server_that_was_away_is_found_again(
    server: Any, caplog: pytest.LogCaptureFixture
) -> None:
    session = Session(open_database(options(server)))

    def ask(connection: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return cursor.fetchone()

    assert session.attempt(ask, "cannot ask") == (1,)
    server.kill()

    def come_back() -> None:
        wait_until(lambda: "is tried again" in caplog.text)
        server.start()

    starting = threading.Thread(target=come_back)
    starting.start()
    assert session.attempt(ask, "cannot ask", retries=1) == (1,)
    starting.join()
    assert "once more (1 of 1)" in caplog.text
    assert "answers again" in caplog.text
    session.close()
