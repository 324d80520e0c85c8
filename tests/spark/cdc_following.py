"""Following tables of a database by SQL while they change: what all databases' tests share."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from headrace.table import EnvironmentSettings, TableEnvironment
from tests.spark.cdc_jobs import followed

ORDERS = "id INT, name STRING, price DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED"
NAMES = "name STRING, label STRING, PRIMARY KEY (name) NOT ENFORCED"


MODES = ("micro-batch", "real-time")


def make_tables() -> TableEnvironment:
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.get_config().set("parallelism.default", "1")
    return tables


def follow(
    tables: TableEnvironment, query: str, change: Callable[[], None], wanted: Callable[[], Any]
) -> Counter[Any]:
    """What a query's changes leave, once the database says the same; it changes after the first."""
    found: Counter[Any] = Counter()
    changer = threading.Thread(target=change)
    with tables.execute_sql(query).collect() as changes:
        for number, row in enumerate(changes):
            if number == 0:
                changer.start()
            found[tuple(row)] += 1 if str(row.get_row_kind()) in ("+I", "+U") else -1
            if not changer.is_alive() and +found == Counter(wanted()):
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
