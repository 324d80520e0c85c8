"""Joins of every kind: regular, by interval, by window, temporal."""

from __future__ import annotations

from itertools import product

from compare.case import STREAMING, Case, Rows, Setting, query
from compare.packing import queries

_LEFT = Rows("l", "id INT, x STRING", ("1,a", "1,b", "2,c", "NULL,d", "5,e"))
_RIGHT = Rows("r", "id INT, y STRING", ("1,A", "2,B", "2,C", "NULL,D", "7,E"))
_PLAIN = Setting((_LEFT, _RIGHT))
_OUTER = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
_CONDITIONS = (
    "l.id = r.id",
    "l.id = r.id AND l.x <> 'a'",
    "l.id = r.id AND r.y > 'B'",
    "l.id = r.id AND l.x < LOWER(r.y)",
    "l.id IS NOT DISTINCT FROM r.id",
)
_FILTERS = {
    "IN": "id IN (SELECT id FROM r)",
    "NOT IN": "id NOT IN (SELECT id FROM r WHERE id IS NOT NULL)",
    "NOT IN with NULL": "id NOT IN (SELECT id FROM r)",
    "EXISTS": "EXISTS (SELECT 1 FROM r WHERE r.id = l.id)",
    "NOT EXISTS": "NOT EXISTS (SELECT 1 FROM r WHERE r.id = l.id AND r.y <> 'A')",
    "scalar": "id = (SELECT MAX(id) FROM r WHERE id < 7)",
}
_TIMED = "id INT, name STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE"
_A = Rows(
    "a",
    _TIMED,
    (
        "1,a1,2020-01-01 00:00:00",
        "1,a2,2020-01-01 00:00:05",
        "1,a3,2020-01-01 00:00:10",
        "2,a4,2020-01-01 00:00:10",
        "NULL,a5,2020-01-01 00:00:11",
        "1,a6,2020-01-01 00:00:30",
    ),
)
_B = Rows(
    "b",
    _TIMED,
    (
        "1,b1,2020-01-01 00:00:00",
        "1,b2,2020-01-01 00:00:05",
        "1,b3,2020-01-01 00:00:15",
        "2,b4,2020-01-01 00:00:04",
        "3,b5,2020-01-01 00:00:20",
        "NULL,b6,2020-01-01 00:00:11",
    ),
)
_BOTH = Setting((_A, _B))
_SECONDS = "INTERVAL '{}' SECOND"
_INTERVALS = {
    "around": "a.ts BETWEEN b.ts - {5} AND b.ts + {5}",
    "same time": "a.ts BETWEEN b.ts AND b.ts",
    "equal": "a.ts = b.ts",
    "before": "a.ts BETWEEN b.ts - {5} AND b.ts - {1}",
    "after": "a.ts BETWEEN b.ts + {1} AND b.ts + {5}",
    "up to": "a.ts BETWEEN b.ts - {5} AND b.ts",
    "from": "a.ts BETWEEN b.ts AND b.ts + {5}",
    "open": "a.ts > b.ts - {5} AND a.ts < b.ts + {5}",
    "half open": "a.ts >= b.ts - {5} AND a.ts < b.ts",
    "turned": "b.ts BETWEEN a.ts - {5} AND a.ts + {0}",
    "only lower": "a.ts > b.ts - {5}",
    "empty": "a.ts BETWEEN b.ts + {10} AND b.ts + {5}",
    "open and empty": "a.ts > b.ts AND a.ts < b.ts",
    "days": "a.ts BETWEEN b.ts - INTERVAL '1' DAY AND b.ts + INTERVAL '1' HOUR",
}
_WINDOWS = {
    "TUMBLE": "TUMBLE(TABLE {}, DESCRIPTOR(ts), INTERVAL '10' SECOND)",
    "HOP": "HOP(TABLE {}, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)",
    "CUMULATE": "CUMULATE(TABLE {}, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)",
}
_RATES = Rows(
    "rates",
    "cur STRING, rate INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE,"
    " PRIMARY KEY (cur) NOT ENFORCED",
    ("EUR,100,2020-01-01 00:00:00", "EUR,120,2020-01-01 00:00:10", "USD,90,2020-01-01 00:00:05"),
)
_ORDERS = Rows(
    "orders",
    "id INT, cur STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE",
    (
        "1,EUR,2020-01-01 00:00:00",
        "2,EUR,2020-01-01 00:00:09",
        "3,EUR,2020-01-01 00:00:10",
        "4,USD,2020-01-01 00:00:04",
        "5,USD,2020-01-01 00:00:05",
        "6,GBP,2020-01-01 00:00:06",
        "7,NULL,2020-01-01 00:00:06",
    ),
)


def cases() -> list[Case]:
    found = []
    for here, timed in ((_PLAIN, _BOTH), (_PLAIN.in_batch_mode(), _BOTH.in_batch_mode())):
        found.append(queries(f"regular, {here.mode}", _regular(), here, final=True))
        found.append(queries(f"filters, {here.mode}", _filters(), here, final=True))
        for kind in _OUTER:
            name = f"{kind} by interval, {here.mode}"
            core = kind == "FULL JOIN" and here.mode == STREAMING
            found.append(queries(name, _interval(kind), timed, final=True, core=core))
            name = f"{kind} by window, {here.mode}"
            found.append(queries(name, _window(kind), timed, final=True))
    return [*found, _temporal(), *_unnested()]


def _regular() -> dict[str, str]:
    text = "SELECT l.id, x, r.id AS rid, y FROM l {} r ON {}"
    pairs = product(_OUTER, _CONDITIONS)
    found = {f"{kind} ON {condition}": text.format(kind, condition) for kind, condition in pairs}
    return {**found, "CROSS JOIN": "SELECT l.id, x, r.id AS rid, y FROM l CROSS JOIN r"}


def _filters() -> dict[str, str]:
    return {name: f"SELECT id, x FROM l WHERE {test}" for name, test in _FILTERS.items()}


def _interval(kind: str) -> dict[str, str]:
    found = {}
    for name, interval in _INTERVALS.items():
        for seconds in (0, 1, 5, 10):
            interval = interval.replace(f"{{{seconds}}}", _SECONDS.format(seconds))
        found[name] = (
            "SELECT a.name AS an, CAST(a.ts AS TIMESTAMP(3)) AS ats, b.name AS bn,"
            f" CAST(b.ts AS TIMESTAMP(3)) AS bts FROM a {kind} b ON a.id = b.id AND {interval}"
        )
    return found


def _window(kind: str) -> dict[str, str]:
    text = (
        "SELECT L.name AS left_name, R.name AS right_name, L.window_start AS starts,"
        " R.window_end AS ends"
        " FROM (SELECT * FROM TABLE({left})) L {kind} (SELECT * FROM TABLE({right})) R"
        " ON L.id = R.id AND L.window_start = R.window_start AND L.window_end = R.window_end"
    )
    return {
        name: text.format(left=window.format("a"), right=window.format("b"), kind=kind)
        for name, window in _WINDOWS.items()
    }


def _temporal() -> Case:
    text = (
        "SELECT id, o.cur, rate, CAST(r.ts AS TIMESTAMP(3)) AS rts FROM orders o {} rates"
        " FOR SYSTEM_TIME AS OF o.ts AS r ON o.cur = r.cur"
    )
    kinds = {kind: text.format(kind) for kind in ("JOIN", "LEFT JOIN", "RIGHT JOIN")}
    return queries("temporal", kinds, Setting((_ORDERS, _RATES)), final=True)


def _unnested() -> list[Case]:
    source = "(VALUES (1, ARRAY[1, 2]), (2, CAST(NULL AS ARRAY<INT>)), (3, ARRAY[5])) AS t (id, xs)"
    kinds = {
        "CROSS JOIN UNNEST": "CROSS JOIN UNNEST(xs) AS u (x)",
        "LEFT JOIN UNNEST": "LEFT JOIN UNNEST(xs) AS u (x) ON TRUE",
        "UNNEST WITH ORDINALITY": "CROSS JOIN UNNEST(xs) WITH ORDINALITY AS u (x, o)",
    }
    found = [query(n, f"SELECT id, u.* FROM {source} {join}") for n, join in kinds.items()]
    maps = "(VALUES (1, MAP['a', 1, 'b', 2])) AS t (id, m)"
    text = f"SELECT id, k, v FROM {maps} CROSS JOIN UNNEST(m) AS u (k, v)"
    return [*found, query("UNNEST of a map", text)]
