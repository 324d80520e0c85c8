"""OVER: every kind of frame, in every order, by every type of column."""

from __future__ import annotations

from compare.case import Case, Rows, Setting, query
from compare.expression_cases import expressions

_NUMBERS = (
    *("1, 10, 1", "1, 20, 2", "1, 5, 2", "1, 7, 4", "1, 1, 8", "2, 3, 1"),
    "2, CAST(NULL AS INT), 3",
)
_IDS = "id, k, v, o"
_ORDERS = {
    "TINYINT": "CAST(o AS TINYINT)",
    "SMALLINT": "CAST(o AS SMALLINT)",
    "INT": "o",
    "BIGINT": "CAST(o AS BIGINT)",
    "FLOAT": "CAST(o AS FLOAT)",
    "DOUBLE": "CAST(o AS DOUBLE)",
    "DECIMAL": "CAST(o AS DECIMAL(10, 2))",
}
_DAYS = {
    "DATE": "CAST(TIMESTAMPADD(DAY, o, TIMESTAMP '2020-02-27 00:00:00') AS DATE)",
    "TIMESTAMP": "TIMESTAMPADD(DAY, o, TIMESTAMP '2020-02-27 00:00:00')",
}
_BOUNDS = (
    ("UNBOUNDED PRECEDING", "CURRENT ROW"),
    ("UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING"),
    ("UNBOUNDED PRECEDING", "{} PRECEDING"),
    ("UNBOUNDED PRECEDING", "{} FOLLOWING"),
    ("{} PRECEDING", "CURRENT ROW"),
    ("{} PRECEDING", "{} FOLLOWING"),
    ("{} PRECEDING", "UNBOUNDED FOLLOWING"),
    ("CURRENT ROW", "CURRENT ROW"),
    ("CURRENT ROW", "{} FOLLOWING"),
    ("CURRENT ROW", "UNBOUNDED FOLLOWING"),
    ("{} FOLLOWING", "UNBOUNDED FOLLOWING"),
)
_WORDS = ("", "ROWS CURRENT ROW", "ROWS 1 PRECEDING", "ROWS UNBOUNDED PRECEDING")
_RANKS = (
    "ROW_NUMBER()",
    "RANK()",
    "DENSE_RANK()",
    "PERCENT_RANK()",
    "CUME_DIST()",
    "NTILE(2)",
    "LAG(v)",
    "LAG(v, 2, 0)",
    "LEAD(v)",
    "LEAD(v, 2, -1)",
)
_FRAMED = (
    "COUNT(*)",
    "COUNT(v)",
    "SUM(v)",
    "AVG(v)",
    "MIN(v)",
    "MAX(v)",
    "FIRST_VALUE(v)",
    "LAST_VALUE(v)",
    "STDDEV_POP(v)",
    "VAR_SAMP(v)",
    "COUNT(DISTINCT v)",
    "SUM(DISTINCT v)",
)
_EVENTS = Rows(
    "events",
    "id INT, k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE",
    (
        "11,a,1,2020-01-01 00:00:00",
        "12,a,2,2020-01-01 00:00:01",
        "13,a,4,2020-01-01 00:00:01",
        "14,b,8,2020-01-01 00:00:02",
        "15,a,16,2020-01-01 00:00:03",
        "16,a,NULL,2020-01-01 00:00:10",
    ),
)
_TIMED = (
    "RANGE UNBOUNDED PRECEDING",
    "RANGE BETWEEN INTERVAL '1' SECOND PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN INTERVAL '0' SECOND PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN INTERVAL '1' DAY PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN CURRENT ROW AND CURRENT ROW",
    "ROWS UNBOUNDED PRECEDING",
    "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN 0 PRECEDING AND CURRENT ROW",
    "ROWS CURRENT ROW",
    "",
    "RANGE BETWEEN CURRENT ROW AND INTERVAL '1' SECOND FOLLOWING",
    "ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING",
    "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
)


def cases() -> list[Case]:
    return [
        *(_ordered(name, order, "1") for name, order in _ORDERS.items()),
        *(_ordered(name, order, "INTERVAL '1' DAY") for name, order in _DAYS.items()),
        _by_text(),
        *_functions(),
        *_in_a_stream(),
    ]


def _source(order: str) -> str:
    numbered = [f"({number}, {row})" for number, row in enumerate(_NUMBERS, 11)]
    inner = f"(VALUES {', '.join(numbered)}) AS numbered ({_IDS})"
    return f"(SELECT id, k, v, {order} AS o FROM {inner}) AS t"


def _frames(step: str) -> list[str]:
    ranges = [f"RANGE BETWEEN {a} AND {b}".replace("{}", step) for a, b in _BOUNDS]
    rows = [f"ROWS BETWEEN {a} AND {b}".replace("{}", "1") for a, b in _BOUNDS]
    return [*ranges, *rows, *_WORDS]


def _ordered(name: str, order: str, step: str) -> Case:
    sums = [
        f"SUM(v) OVER (PARTITION BY k ORDER BY o{way}{_rest(frame)} {frame})".replace(" )", ")")
        for way in ("", " DESC")
        for frame in _frames(step)
    ]
    setting = Setting().in_batch_mode()
    return expressions(f"ordered by {name}", sums, source=_source(order), by="id", setting=setting)


def _rest(frame: str) -> str:
    """What makes the order of rows whole, where rows are counted."""
    return ", id" if frame.startswith("ROWS") else ""


def _by_text() -> Case:
    order = "CAST(o AS STRING)"
    frames = ("", "ROWS 1 PRECEDING", "RANGE UNBOUNDED PRECEDING", "RANGE 1 PRECEDING")
    sums = [f"SUM(v) OVER (PARTITION BY k ORDER BY o{_rest(frame)} {frame})" for frame in frames]
    sums += ["SUM(v) OVER (PARTITION BY k)", "SUM(v) OVER ()", "SUM(v) OVER (ORDER BY id)"]
    setting = Setting().in_batch_mode()
    return expressions("ordered by STRING", sums, source=_source(order), by="id", setting=setting)


def _functions() -> list[Case]:
    batch = Setting().in_batch_mode()
    ranks = [f"{rank} OVER (PARTITION BY k ORDER BY o, id)" for rank in _RANKS]
    frame = "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING"
    framed = [f"{call} OVER (PARTITION BY k ORDER BY o, id {frame})" for call in _FRAMED]
    whole = [f"{call} OVER (PARTITION BY k)" for call in _FRAMED]
    source = _source("o")
    return [
        expressions("ranks", ranks, source=source, by="id", setting=batch, core=True),
        expressions("functions", framed, source=source, by="id", setting=batch, core=True),
        expressions("of a partition", whole, source=source, by="id", setting=batch),
    ]


def _in_a_stream() -> list[Case]:
    found = []
    for frame in _TIMED:
        select = (
            "SELECT id, SUM(v) OVER w AS s, COUNT(*) OVER w AS n, MIN(v) OVER w AS m FROM events"
            f" WINDOW w AS (PARTITION BY k ORDER BY ts {frame})"
        )
        modes = (Setting((_EVENTS,)), Setting((_EVENTS,)).in_batch_mode())
        found += [query(f"{frame or 'no frame'}, {mode.mode}", select, mode) for mode in modes]
    return [*found, _late()]


def _late() -> Case:
    """In Flink a watermark follows each row whose time is ahead of the one before."""
    columns = _EVENTS.columns.replace("ts - INTERVAL '1' MINUTE", "ts")
    select = "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY ts) AS s FROM events"
    return query("a late row", select, Setting((Rows("events", columns, _EVENTS.lines),)))
