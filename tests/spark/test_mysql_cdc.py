"""Tables of MariaDB that are followed while they change, by SQL."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from headrace.errors import HeadraceError, InvalidArgument, Unsupported
from headrace.table import TableEnvironment
from tests.servers.mariadb import MariaDB
from tests.servers.mariadb import mariadb as shared  # noqa: F401
from tests.spark.cdc_following import MODES, ORDERS, follow_a_join, make_tables
from tests.spark.cdc_jobs import followed

CONNECTOR = "mysql-cdc"


@pytest.fixture
def mariadb(shared: MariaDB) -> Iterator[MariaDB]:  # noqa: F811
    """The server, with a table of orders and one of names; nothing is left of them."""
    shared.run(
        "CREATE TABLE orders (id INT PRIMARY KEY, name VARCHAR(9), price DECIMAL(10, 2))",
        "INSERT INTO orders SELECT seq, CONCAT('n', seq % 3), seq FROM seq_1_to_30",
        "CREATE TABLE names (name VARCHAR(9) PRIMARY KEY, label TEXT)",
        "INSERT INTO names VALUES ('n0', 'zero'), ('n1', 'one')",
    )
    yield shared
    shared.run("DROP TABLE orders, names")


@pytest.mark.parametrize("mode", MODES)
def test_a_join_and_an_aggregation_follow_two_tables(
    mode: str, monkeypatch: pytest.MonkeyPatch, mariadb: MariaDB
) -> None:
    monkeypatch.setenv("HEADRACE_STREAM_MODE", mode)
    follow_a_join(CONNECTOR, mariadb)


KINDS = (
    "id BIGINT, b BOOLEAN, d DECIMAL(12, 3), t STRING, y BYTES, dated DATE, moment TIME(0),"
    " at_ TIMESTAMP(6), tz TIMESTAMP_LTZ(3), tab STRING METADATA FROM 'table_name' VIRTUAL,"
    " db STRING METADATA FROM 'database_name' VIRTUAL,"
    " kind STRING METADATA FROM 'row_kind' VIRTUAL,"
    " op TIMESTAMP_LTZ(3) METADATA FROM 'op_ts' VIRTUAL, PRIMARY KEY (id) NOT ENFORCED"
)
OF_EACH_KIND = (
    "true, 12.5, 'ü😀', X'00ff', '2024-02-29', '23:59:58', '2024-02-29 12:00:00.123456', "
    "'2024-02-29 12:00:00.5'"
)


def test_types_and_metadata_through_sql(mariadb: MariaDB) -> None:
    environment = make_tables()
    mariadb.run(
        "CREATE TABLE kinds (id BIGINT PRIMARY KEY, b BOOLEAN, d DECIMAL(12, 3), t TEXT, "
        "y VARBINARY(9), dated DATE, moment TIME, at_ DATETIME(6), tz TIMESTAMP(3) NULL)",
        "SET time_zone = '+02:00'",
        f"INSERT INTO kinds VALUES (1, {OF_EACH_KIND})",
    )
    environment.execute_sql(followed(CONNECTOR, mariadb.port, "kinds", KINDS))
    found: dict[int, Any] = {}
    with environment.execute_sql("SELECT * FROM kinds").collect() as changes:
        for each in changes:
            found[each[0]] = tuple(each)
            if len(found) == 1:
                mariadb.run(
                    "SET time_zone = '+02:00'",
                    f"INSERT INTO kinds VALUES (2, {OF_EACH_KIND})",
                    "INSERT INTO kinds (id) VALUES (3)",
                )
            if len(found) == 3:
                break
    mariadb.run("DROP TABLE kinds")
    assert found[1][1:-1] == found[2][1:-1]
    assert found[2][1:8] == (
        True,
        Decimal("12.500"),
        "ü😀",
        b"\x00\xff",
        datetime.date(2024, 2, 29),
        datetime.time(23, 59, 58),
        datetime.datetime(2024, 2, 29, 12, 0, 0, 123456),
    )
    assert found[2][9:12] == ("kinds", "test", "+I")
    assert found[3][1:9] == (None,) * 8
    assert found[1][-1] != found[2][-1]


def read_first(tables: TableEnvironment) -> None:
    with tables.execute_sql("SELECT * FROM orders").collect() as changes:
        next(changes)


def test_what_is_wrong_is_said_before_anything_is_read(mariadb: MariaDB) -> None:
    environment = make_tables()
    columns = "id INT, x INT, PRIMARY KEY (id) NOT ENFORCED"
    environment.execute_sql(followed(CONNECTOR, mariadb.port, "orders", columns))
    with pytest.raises(HeadraceError, match="has no column 'x'") as wrong:
        read_first(environment)
    assert "hint:" in str(wrong.value)
    assert "s3cret" not in str(wrong.value)


@pytest.mark.parametrize(
    ("columns", "options", "kind", "message"),
    [
        ("id INT", {}, InvalidArgument, "needs a primary key"),
        (ORDERS, {"server__id": "5-"}, InvalidArgument, "range of numbers"),
        (ORDERS, {"server__time__zone": "Mars/One"}, InvalidArgument, "is no time zone"),
        (ORDERS, {"scan_startup_mode": "snapshot"}, Unsupported, "snapshot"),
        (ORDERS, {"scan_startup_mode": "specific-offset"}, InvalidArgument, "binlog.000003"),
        (ORDERS, {"scan_startup_mode": "timestamp"}, InvalidArgument, "timestamp-millis"),
        (ORDERS, {"scan_startup_specific-offset_gtid-set": "0-1-2"}, Unsupported, "gtid-set"),
        (ORDERS, {"slot_name": "x"}, InvalidArgument, "has no option 'slot.name'"),
    ],
)
def test_options_are_checked(
    columns: str, options: dict[str, str], kind: type[HeadraceError], message: str
) -> None:
    environment = make_tables()
    environment.execute_sql(followed(CONNECTOR, 1, "orders", columns, **options))
    with pytest.raises(kind, match=message):
        environment.execute_sql("SELECT * FROM orders")
