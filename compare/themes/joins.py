"""Joins of every kind: regular, by interval, by window, temporal."""

from __future__ import annotations

from itertools import product

from compare.case import Case, Rows, Setting, query

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
    return [
        *_regular(_PLAIN),
        *_regular(_PLAIN.in_batch_mode()),
        *_interval(_BOTH),
        *_interval(_BOTH.in_batch_mode()),
        *_window(),
        *_temporal(),
        *_unnested(),
    ]


def _regular(setting: Setting) -> list[Case]:
    found = []
    for kind, condition in product(_OUTER, _CONDITIONS):
        text = f"SELECT l.id, x, r.id AS rid, y FROM l {kind} r ON {condition}"
        name = f"{kind} ON {condition}, {setting.mode}"
        found.append(query(name, text, setting, final=True))
    for name, condition in _FILTERS.items():
        text = f"SELECT id, x FROM l WHERE {condition}"
        found.append(query(f"{name}, {setting.mode}", text, setting, final=True))
    text = "SELECT x, y FROM l CROSS JOIN r"
    return [*found, query(f"CROSS JOIN, {setting.mode}", text, setting, final=True)]


def _interval(setting: Setting) -> list[Case]:
    found = []
    for (name, interval), kind in product(_INTERVALS.items(), _OUTER):
        for seconds in (0, 1, 5, 10):
            interval = interval.replace(f"{{{seconds}}}", _SECONDS.format(seconds))
        text = (
            f"SELECT a.name AS an, a.ts AS ats, b.name AS bn, b.ts AS bts FROM a {kind} b"
            f" ON a.id = b.id AND {interval}"
        )
        title = f"{kind} with {name} interval, {setting.mode}"
        found.append(query(title, text, setting, final=True))
    return found


def _window() -> list[Case]:
    found = []
    for (name, window), kind in product(_WINDOWS.items(), _OUTER):
        text = (
            "SELECT L.name AS ln, R.name AS rn, L.window_start AS ls, R.window_end AS re"
            f" FROM (SELECT * FROM TABLE({window.format('a')})) L"
            f" {kind} (SELECT * FROM TABLE({window.format('b')})) R"
            " ON L.id = R.id AND L.window_start = R.window_start AND L.window_end = R.window_end"
        )
        modes = (_BOTH, _BOTH.in_batch_mode())
        found += [query(f"{name} {kind}, {mode.mode}", text, mode, final=True) for mode in modes]
    return found


def _temporal() -> list[Case]:
    text = (
        "SELECT id, o.cur, rate, r.ts AS rts FROM orders o {} rates"
        " FOR SYSTEM_TIME AS OF o.ts AS r ON o.cur = r.cur"
    )
    setting = Setting((_ORDERS, _RATES))
    return [
        query(f"temporal {kind}", text.format(kind), setting, final=True)
        for kind in ("JOIN", "LEFT JOIN", "RIGHT JOIN")
    ]


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
