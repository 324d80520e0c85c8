"""Following tables of a database by SQL while they change: what all databases' tests share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from headrace.table import EnvironmentSettings, TableEnvironment
from tests.spark.cdc_jobs import followed
from tests.spark.conftest import wait_until

ORDERS = "id INT, name STRING, price DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED"
NAMES = "name STRING, label STRING, PRIMARY KEY (name) NOT ENFORCED"


MODES = ("micro-batch", "real-time")


def make_tables() -> TableEnvironment:
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.get_config().set("parallelism.default", "1")
    return tables


def forget_what_was_followed(postgres: Any) -> None:
    """Drop all slots and publications. The server may not know yet that a session is gone: until
    then it keeps the copy of a slot that the session had, and a slot that it was moving on."""
    wait_until(lambda: not postgres.rows("SELECT 1 FROM pg_replication_slots WHERE active"))
    for (slot,) in postgres.rows("SELECT slot_name FROM pg_replication_slots"):
        postgres.run(f"SELECT pg_drop_replication_slot('{slot}')")
    for (name,) in postgres.rows("SELECT pubname FROM pg_publication"):
        postgres.run(f"DROP PUBLICATION {name}")


def follow(
    tables: TableEnvironment, query: str, change: Callable[[], None], wanted: Callable[[], Any]
) -> Counter[Any]:
    """What a query's changes leave, once the database says the same; it changes after the first,
    all of it before the second is looked at: so the last change is seen when it is the last."""
    found: Counter[Any] = Counter()
    with tables.execute_sql(query).collect() as changes:
        for number, row in enumerate(changes):
            found[tuple(row)] += 1 if str(row.get_row_kind()) in ("+I", "+U") else -1
            if number == 0:
                change()
            elif +found == Counter(wanted()):
                return +found
    raise AssertionError("the changes have ended")


def follow_a_join(connector: str, server: Any) -> None:
    """Some changes come while the tables are read, some later; keys change, too."""
    tables = make_tables()
    few = {"scan_snapshot_fetch_size": "7"}
    tables.execute_sql(followed(connector, server.port, "orders", ORDERS, **few))
    tables.execute_sql(followed(connector, server.port, "names", NAMES))
    query = (
        "SELECT label, SUM(price), COUNT(*) FROM orders JOIN names ON orders.name = names.name "
        "GROUP BY label"
    )

    def change() -> None:
        for number in range(1, 31, 4):
            server.run(
                f"UPDATE orders SET price = price + 0.25, name = 'n2' WHERE id = {number}",
                f"UPDATE orders SET id = id + 100 WHERE id = {number + 1}",
                f"DELETE FROM orders WHERE id = {number + 2}",
            )
        server.run(
            "BEGIN",
            "INSERT INTO orders VALUES (500, 'n1', 1)",
            "ROLLBACK",
            "INSERT INTO names VALUES ('n2', 'two')",
            "UPDATE names SET label = 'null' WHERE name = 'n0'",
        )

    follow(tables, query, change, lambda: server.rows(query))
