"""Aggregates with their types, over inserts and over changes, Top-N, deduplication, sets."""

from __future__ import annotations

from compare.case import Case, Rows, Setting, query
from compare.expression_cases import expressions
from compare.kinds_of_values import BOOLEANS, NUMBERS, TEXTS, TIMES
from compare.packing import queries
from compare.texts import read_texts

_SALES = Rows(
    "sales",
    "k STRING, item STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE",
    (
        "a,x,1,2020-01-01 00:00:00",
        "a,y,5,2020-01-01 00:00:01",
        "b,x,3,2020-01-01 00:00:02",
        "a,x,7,2020-01-01 00:00:03",
        "b,y,NULL,2020-01-01 00:00:04",
        "NULL,x,2,2020-01-01 00:00:05",
        "a,z,5,2020-01-01 00:00:06",
    ),
)
_HERE = Setting((_SALES,))
_IN_ORDER = ("retracted distinct", "retracted first")  # which row comes first, no batch tells
_CORE = ("INT", "DECIMAL(38, 18)", "STRING")
_NONE = "(CAST(NULL AS INT))"
_SIDES = (
    f"(VALUES (1), (1), (2), {_NONE}) AS a (x)",
    f"(VALUES (1), (3), {_NONE}, {_NONE}) AS b (x)",
)
_SETS = ("UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL")
_WINDOWS = {
    "tumble": "TUMBLE(TABLE sales, DESCRIPTOR(ts), INTERVAL '2' SECOND)",
    "tumble with offset": (
        "TUMBLE(TABLE sales, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '1' SECOND)"
    ),
    "hop": "HOP(TABLE sales, DESCRIPTOR(ts), INTERVAL '1' SECOND, INTERVAL '3' SECOND)",
    "cumulate": "CUMULATE(TABLE sales, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '6' SECOND)",
    "session": "SESSION(TABLE sales PARTITION BY k, DESCRIPTOR(ts), INTERVAL '2' SECOND)",
}
_LEGACY = {
    "TUMBLE": "TUMBLE(ts, INTERVAL '2' SECOND)",
    "HOP": "HOP(ts, INTERVAL '1' SECOND, INTERVAL '3' SECOND)",
    "SESSION": "SESSION(ts, INTERVAL '2' SECOND)",
}

_OVER_WINDOWS = {
    "rows": "SELECT k, v, window_start, window_end, CAST(window_time AS TIMESTAMP(3)) AS wt"
    " FROM TABLE({})",
    "sums": "SELECT k, window_start, window_end, SUM(v) AS s, COUNT(*) AS n"
    " FROM TABLE({}) GROUP BY k, window_start, window_end",
    "top": "SELECT k, v, window_end FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY"
    " window_start, window_end ORDER BY v DESC, ts) AS rn FROM TABLE({})) WHERE rn <= 1",
}


def cases() -> list[Case]:
    modes = (_HERE, _HERE.in_batch_mode())
    texts = read_texts("aggregates")
    calls = texts.pop("calls")
    queries = [
        query(f"{name}, {setting.mode}", lines[0], setting)
        for name, lines in texts.items()
        for setting in (modes[:1] if name in _IN_ORDER else modes)
    ]
    return [*_typed(calls), *queries, *_sets(), *_windows()]


def _typed(calls: list[str]) -> list[Case]:
    found = []
    batch = Setting().in_batch_mode()
    for kind in (*BOOLEANS, *NUMBERS, *TEXTS, *TIMES):
        core = kind.sql in _CORE
        name = f"of {kind.sql}"
        found.append(expressions(name, calls, source=kind.source(), setting=batch, core=core))
    return found


def _sets() -> list[Case]:
    left, right = _SIDES
    found = []
    for word in _SETS:
        text = f"SELECT x FROM {left} {word} SELECT x FROM {right}"
        modes = (Setting(), Setting().in_batch_mode())
        found += [query(f"{word}, {mode.mode}", text, mode, final=True) for mode in modes]
    return found


def _windows() -> list[Case]:
    found = []
    for here in (_HERE, _HERE.in_batch_mode()):
        for name, text in _OVER_WINDOWS.items():
            texts = {each: text.format(window) for each, window in _WINDOWS.items()}
            found.append(queries(f"windows: {name}, {here.mode}", texts, here))
        legacy = {
            name: f"SELECT k, {name}_START({group.partition('(')[2]} AS ws, COUNT(*) AS n"
            f" FROM sales GROUP BY k, {group}"
            for name, group in _LEGACY.items()
        }
        found.append(queries(f"windows as groups, {here.mode}", legacy, here))
    return found
