"""The queries of the savepoint in `v2/`, by name: every operator over tables that has state.

Their texts must stay as they are: uids follow from them.
"""

from __future__ import annotations

from typing import Any

from headrace.table import (
    AggregateFunction,
    DataTypes,
    ListView,
    MapView,
    StreamTableEnvironment,
    Table,
    TableAggregateFunction,
)
from headrace.table.expressions import col, row_interval
from headrace.table.udf import udaf, udtaf
from headrace.table.window import Slide, Tumble

_TEN = "INTERVAL '10' SECOND"
_ORDERS = f"TABLE orders, DESCRIPTOR(ts), {_TEN}"
_WINDOW = "window_start AS s, window_end AS e"
_BY_WINDOW = "GROUP BY window_start, window_end"

AGGREGATES = {
    "grouped": "SELECT k, COUNT(*) c, SUM(v) s, AVG(v) a, MAX(v) m FROM orders GROUP BY k",
    "retracting": """SELECT n / 3 g, COUNT(*) c, SUM(v) s, MIN(v) low, MAX(k) high,
        COUNT(DISTINCT v) d FROM accounts GROUP BY n / 3""",
    "filtered": """SELECT k, COUNT(DISTINCT v) d, SUM(v) FILTER (WHERE n > 2) s,
        COUNT(DISTINCT n) FILTER (WHERE v > 10) f FROM orders GROUP BY k""",
    "nested": "SELECT c, COUNT(*) FROM (SELECT k, COUNT(*) c FROM orders GROUP BY k) GROUP BY c",
    "ungrouped": "SELECT COUNT(*), SUM(v), LISTAGG(k), COLLECT(n) FROM orders",
    "collected": """SELECT k, LISTAGG(CAST(v AS STRING)), FIRST_VALUE(v), LAST_VALUE(v),
        STDDEV_POP(v), ARRAY_AGG(n), JSON_ARRAYAGG(n) FROM orders GROUP BY k""",
    "grouping sets": "SELECT k, n / 4 g, SUM(v) FROM orders GROUP BY CUBE (k, n / 4)",
    "distinct": "SELECT DISTINCT k FROM orders",
}  # fmt: skip
WINDOWS = {
    "tumble": f"SELECT k, {_WINDOW}, SUM(v) FROM TABLE(TUMBLE({_ORDERS})) {_BY_WINDOW}, k",
    "hop": f"""SELECT k, {_WINDOW}, SUM(v), COUNT(DISTINCT n) FROM TABLE(HOP(TABLE orders,
        DESCRIPTOR(ts), INTERVAL '5' SECOND, {_TEN})) {_BY_WINDOW}, k""",
    "cumulate": f"""SELECT k, {_WINDOW}, SUM(v) FROM TABLE(CUMULATE(TABLE orders, DESCRIPTOR(ts),
        INTERVAL '5' SECOND, INTERVAL '20' SECOND)) {_BY_WINDOW}, k""",
    "session": f"""SELECT k, {_WINDOW}, SUM(v) FROM TABLE(SESSION(TABLE orders PARTITION BY k,
        DESCRIPTOR(ts), {_TEN})) {_BY_WINDOW}, k""",
    "session rows": f"""SELECT k, n, window_start, window_end FROM TABLE(SESSION(TABLE orders
        PARTITION BY k, DESCRIPTOR(ts), {_TEN}))""",
    "window of windows": f"""SELECT window_start, window_end, MAX(t) FROM
        (SELECT k, window_start, window_end, SUM(v) t FROM TABLE(TUMBLE({_ORDERS}))
        {_BY_WINDOW}, k) {_BY_WINDOW}""",
    "attached windows": f"""SELECT window_start, window_end, SUM(e) FROM (SELECT k, e, window_start,
        window_end FROM TABLE(TUMBLE({_ORDERS})) CROSS JOIN UNNEST(ARRAY[n, 2]) AS u (e))
        GROUP BY window_start, window_end""",
    "group window": f"""SELECT n / 3, TUMBLE_END(ts, {_TEN}), COUNT(*), SUM(v) FROM accounts
        GROUP BY n / 3, TUMBLE(ts, {_TEN})""",
    "window rank": f"""SELECT k, v, r FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY
        window_start, window_end ORDER BY v DESC) r FROM TABLE(TUMBLE({_ORDERS}))) WHERE r < 3""",
    "window first": f"""SELECT k, v FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY
        window_start, window_end, k ORDER BY ts) r FROM TABLE(TUMBLE({_ORDERS}))) WHERE r = 1""",
    "window join": f"""SELECT o.k, o.n, p.n, o.window_start FROM
        (SELECT * FROM TABLE(TUMBLE({_ORDERS}))) o LEFT JOIN (SELECT * FROM TABLE(TUMBLE(
        TABLE payments, DESCRIPTOR(ts), {_TEN}))) p ON o.k = p.k
        AND o.window_start = p.window_start AND o.window_end = p.window_end""",
    "window semi join": f"""SELECT k, n FROM (SELECT * FROM TABLE(TUMBLE({_ORDERS}))) o
        WHERE NOT EXISTS (SELECT 1 FROM (SELECT * FROM TABLE(TUMBLE(TABLE payments,
        DESCRIPTOR(ts), {_TEN}))) p WHERE o.k = p.k AND o.window_start = p.window_start
        AND o.window_end = p.window_end)""",
}  # fmt: skip
JOINS = {
    "inner join": "SELECT o.k, o.n, p.n FROM orders o JOIN payments p ON o.k = p.k",
    "left join": "SELECT o.k, o.n, a.v FROM orders o LEFT JOIN accounts a ON o.k = a.k",
    "full join": "SELECT a.k, b.k, b.v FROM accounts a FULL JOIN prices b ON a.k = b.k",
    "semi join": "SELECT k, n FROM orders WHERE k IN (SELECT k FROM accounts WHERE v > 12)",
    "anti join": """SELECT k, n FROM accounts a WHERE NOT EXISTS
        (SELECT 1 FROM payments p WHERE p.k = a.k)""",
    "interval join": """SELECT o.k, o.n, p.n FROM orders o FULL JOIN payments p ON o.k = p.k
        AND p.ts BETWEEN o.ts - INTERVAL '2' SECOND AND o.ts + INTERVAL '9' SECOND""",
    "temporal join": """SELECT o.k, o.n, p.v FROM orders o LEFT JOIN
        prices FOR SYSTEM_TIME AS OF o.ts AS p ON o.k = p.k""",
}  # fmt: skip
RANKS = {
    "top": """SELECT k, v, r FROM (SELECT k, v, ROW_NUMBER() OVER
        (PARTITION BY k ORDER BY v DESC) r FROM orders) WHERE r <= 2""",
    "top of changes": """SELECT k, v FROM (SELECT k, v, ROW_NUMBER() OVER
        (PARTITION BY n / 3 ORDER BY v) r FROM accounts) WHERE r <= 1""",
    "top of updates": """SELECT k, s FROM (SELECT k, s, ROW_NUMBER() OVER (ORDER BY s DESC) r
        FROM (SELECT k, SUM(v) s FROM orders GROUP BY k)) WHERE r <= 2""",
    "top by a column": """SELECT k, v FROM (SELECT k, v, n, ROW_NUMBER() OVER
        (PARTITION BY n ORDER BY v) r FROM orders) WHERE r <= n""",
    "highest": "SELECT k, v FROM accounts ORDER BY v DESC LIMIT 2",
    "first row": """SELECT k, n FROM (SELECT k, n, ROW_NUMBER() OVER
        (PARTITION BY k ORDER BY ts) r FROM orders) WHERE r = 1""",
    "last row": """SELECT k, n FROM (SELECT k, n, ROW_NUMBER() OVER
        (PARTITION BY k ORDER BY ts DESC) r FROM orders) WHERE r = 1""",
    "last by the clock": """SELECT k, n FROM (SELECT k, n, ROW_NUMBER() OVER
        (PARTITION BY k ORDER BY pt DESC) r FROM orders) WHERE r = 1""",
    "limit": "SELECT k, n FROM orders LIMIT 9",
    "sorted": "SELECT k, n FROM orders ORDER BY ts, v",
}  # fmt: skip
FRAMES = {
    "all rows": """SELECT k, n, SUM(v) OVER (PARTITION BY k ORDER BY ts
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM orders""",
    "two rows": """SELECT k, n, SUM(v) OVER (PARTITION BY k ORDER BY ts
        ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM orders""",
    "all of a range": """SELECT k, n, COUNT(*) OVER (PARTITION BY k ORDER BY ts
        RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM orders""",
    "ten seconds": f"""SELECT k, n, MAX(v) OVER (PARTITION BY k ORDER BY ts
        RANGE BETWEEN {_TEN} PRECEDING AND CURRENT ROW) FROM orders""",
    "rows by the clock": """SELECT k, n, SUM(v) OVER (PARTITION BY k ORDER BY pt
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM orders""",
    "two rows by the clock": """SELECT k, n, AVG(v) OVER (PARTITION BY k ORDER BY pt
        ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM orders""",
    "by a number": "SELECT k, n, SUM(v) OVER (PARTITION BY n / 3 ORDER BY n) FROM accounts",
}  # fmt: skip
SETS = {
    "union": "SELECT k FROM orders UNION SELECT k FROM accounts",
    "intersect": "SELECT k FROM orders INTERSECT SELECT k FROM accounts",
    "except": "SELECT k FROM accounts EXCEPT ALL SELECT k FROM payments",
    "normalised": "SELECT k, v, COUNT(*) OVER (ORDER BY k) FROM prices",
}
PATTERNS = {
    "match": """SELECT * FROM orders MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
        MEASURES A.n AS a, LAST(B.n) AS b, SUM(B.v) AS s ONE ROW PER MATCH
        AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+ C)
        DEFINE B AS B.n > 2 AND B.v < 60, C AS C.v >= 60) AS m""",
    "standard match": """SELECT * FROM orders MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts
        MEASURES FIRST(n) AS a, LAST(n) AS b, CLASSIFIER() AS c ONE ROW PER MATCH
        AFTER MATCH SKIP PAST LAST ROW PATTERN (A (B | C)+ D)
        DEFINE B AS B.v > 25, C AS C.v < 25, D AS D.v >= 60) AS m""",
}
QUERIES = {**AGGREGATES, **WINDOWS, **JOINS, **RANKS, **FRAMES, **SETS, **PATTERNS}


class Seen(AggregateFunction):
    """Numbers in a ListView and a MapView."""

    def create_accumulator(self) -> list[Any]:
        return [ListView(), MapView(), 0]

    def accumulate(self, accumulator: list[Any], value: int, name: str) -> None:
        accumulator[0].add(value)
        before = accumulator[1].get(name) if accumulator[1].contains(name) else 0
        accumulator[1].put(name, before + value)
        accumulator[2] += 1

    def get_value(self, accumulator: list[Any]) -> str:
        names = sorted(accumulator[1].items())
        return f"{list(accumulator[0].get())} {names} {accumulator[2]}"

    def get_result_type(self) -> Any:
        return DataTypes.STRING()

    def get_accumulator_type(self) -> Any:
        listed = DataTypes.LIST_VIEW(DataTypes.BIGINT())
        mapped = DataTypes.MAP_VIEW(DataTypes.STRING(), DataTypes.BIGINT())
        fields = zip("lmc", (listed, mapped, DataTypes.BIGINT()), strict=True)
        return DataTypes.ROW([DataTypes.FIELD(name, kind) for name, kind in fields])


class Two(TableAggregateFunction):
    """The two largest numbers."""

    def create_accumulator(self) -> list[Any]:
        return [None, None]

    def accumulate(self, accumulator: list[Any], value: int) -> None:
        kept = sorted([each for each in (*accumulator, value) if each is not None], reverse=True)
        accumulator[:] = [*kept, None][:2]

    def emit_value(self, accumulator: list[Any]) -> Any:
        yield from (each for each in accumulator if each is not None)

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.BIGINT())

    def get_result_type(self) -> Any:
        return DataTypes.ROW([DataTypes.FIELD("v", DataTypes.BIGINT())])


def tables(env: StreamTableEnvironment) -> dict[str, Table]:
    """Every query, and what the Table API alone can say."""
    orders = env.from_path("orders")
    seen, two = udaf(Seen()), udtaf(Two())
    counted = Slide.over(row_interval(3)).every(row_interval(2)).on(col("pt")).alias("w")
    summed = col("v").sum.alias("s")
    return {
        **{name: env.sql_query(text) for name, text in QUERIES.items()},
        "views": orders.group_by(col("k")).select(col("k"), seen(col("v"), col("k"))),
        "two": orders.group_by(col("k")).flat_aggregate(two(col("v")).alias("w")).select(
            col("k"), col("w")),
        "sliding count": orders.window(counted).group_by(col("w"), col("k"))
        .select(col("k"), summed),
        "tumbling count": orders.window(Tumble.over(row_interval(2)).on(col("pt")).alias("w"))
        .group_by(col("w"), col("k")).select(col("k"), summed),
    }  # fmt: skip
