"""Joins by window and temporal joins at their edges: NULL, nothing, deletes, late rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from compare.case import Case, Outcome, Rows, Session, Setting, final_rows
from compare.describing import describe_row
from compare.packing import queries

if TYPE_CHECKING:
    from pyflink.datastream import StreamExecutionEnvironment
    from pyflink.table import StreamTableEnvironment

_DAY = "2020-01-01 00:00:"
_TIMED = "id INT, name STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE"
_A = Rows(
    "a",
    _TIMED,
    (
        f"1,a1,{_DAY}00",
        f"1,a2,{_DAY}09.999",
        f"1,a3,{_DAY}10",
        f"1,a3,{_DAY}10",
        f"NULL,a5,{_DAY}10",
        f"2,a6,{_DAY}20",
        f"4,a7,{_DAY}35",
    ),
)
_B = Rows(
    "b",
    _TIMED,
    (
        f"1,b1,{_DAY}09.999",
        f"1,b2,{_DAY}10",
        f"NULL,b3,{_DAY}10",
        f"2,b4,{_DAY}19.999",
        f"2,b5,{_DAY}20",
        f"2,b5,{_DAY}20",
        f"3,b6,{_DAY}35",
    ),
)
_NONE = Rows("empty_side", _TIMED, ())
_ABSENT_TIME = Rows("absent", _TIMED, (f"1,n1,{_DAY}00", "1,n2,NULL", f"1,n3,{_DAY}09"))
_SIDES = Setting((_A, _B, _NONE))
_KINDS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
_TEN = "DESCRIPTOR(ts), INTERVAL '10' SECOND"
_SHAPES = {
    "TUMBLE": "TUMBLE(TABLE {}, " + _TEN + ")",
    "TUMBLE with offset": "TUMBLE(TABLE {}, " + _TEN + ", INTERVAL '5' SECOND)",
    "HOP": "HOP(TABLE {}, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)",
    "CUMULATE": "CUMULATE(TABLE {}, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)",
    "SESSION": "SESSION(TABLE {} PARTITION BY id, DESCRIPTOR(ts), INTERVAL '5' SECOND)",
}
_SAME_WINDOW = "L.window_start = R.window_start AND L.window_end = R.window_end"
_CONDITIONS = {
    "window only": _SAME_WINDOW,
    "NULL is NULL": f"L.id IS NOT DISTINCT FROM R.id AND {_SAME_WINDOW}",
    "more": f"L.id = R.id AND L.ts <= R.ts AND {_SAME_WINDOW}",
    "only the left": f"L.id = R.id AND L.name <> 'a1' AND {_SAME_WINDOW}",
    "only the right": f"L.id = R.id AND R.name <> 'b2' AND {_SAME_WINDOW}",
    "start only": "L.id = R.id AND L.window_start = R.window_start",
    "crossed": "L.id = R.id AND L.window_start = R.window_end AND L.window_end = R.window_start",
}
_TOLD = (
    "L.name AS a_name, R.name AS b_name, L.window_start AS a_start, L.window_end AS a_end,"
    " R.window_start AS b_start, R.window_end AS b_end"
)
_RATE_COLUMNS = (
    "cur STRING, rate INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE,"
    " PRIMARY KEY (cur) NOT ENFORCED"
)
_RATES = Rows(
    "rates",
    _RATE_COLUMNS,
    (
        f"EUR,100,{_DAY}10",
        f"EUR,130,{_DAY}30",
        f"EUR,120,{_DAY}20",
        f"EUR,121,{_DAY}20",
        f"USD,90,{_DAY}05",
        f"NULL,7,{_DAY}00",
    ),
)
_NO_RATES = Rows("no_rates", _RATE_COLUMNS, ())
_PLAIN_RATES = Rows("plain_rates", _RATE_COLUMNS.partition(", PRIMARY")[0], _RATES.lines)
_ORDERS = Rows(
    "orders",
    "id INT, cur STRING, amount INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE",
    (
        f"1,EUR,100,{_DAY}09.999",
        f"2,EUR,100,{_DAY}10",
        f"3,EUR,125,{_DAY}19.999",
        f"4,EUR,125,{_DAY}20",
        f"5,EUR,125,{_DAY}59",
        f"6,USD,1,{_DAY}04",
        f"7,USD,1,{_DAY}05",
        f"8,NULL,1,{_DAY}06",
        f"9,GBP,1,{_DAY}06",
    ),
)
_NO_ORDERS = Rows("no_orders", _ORDERS.columns, ())
_VERSIONED = (
    "CREATE VIEW versions AS SELECT cur, rate, ts FROM (SELECT *, ROW_NUMBER() OVER"
    " (PARTITION BY cur ORDER BY ts DESC) AS n FROM plain_rates) WHERE n = 1"
)
_MARKET = Setting((_ORDERS, _NO_ORDERS, _RATES, _NO_RATES, _PLAIN_RATES), (_VERSIONED,))


def cases() -> list[Case]:
    found = []
    for shape in _SHAPES:
        texts = {kind: _window(shape, kind) for kind in _KINDS}
        found.append(queries(f"{shape} at its ends", texts, _SIDES, final=True))
    for kind in _KINDS:
        texts = {name: _window("TUMBLE", kind, on) for name, on in _CONDITIONS.items()}
        found.append(queries(f"{kind} ON", texts, _SIDES, final=True))
        texts = {
            f"{left} with {right}": _window("TUMBLE", kind, left=left, right=right)
            for left, right in (
                ("a", "empty_side"),
                ("empty_side", "b"),
                ("empty_side", "empty_side"),
                ("a", "a"),
            )
        }
        found.append(queries(f"{kind} with nothing", texts, _SIDES, final=True))
    found.append(queries("window filters", _window_filters(), _SIDES, final=True))
    found.append(queries("window joins of more", _more_windows(), _SIDES, final=True))
    found.append(queries("windows of no time", _no_time(), Setting((_ABSENT_TIME, _A)), final=True))
    found.append(queries("temporal", _temporal(), _MARKET, final=True))
    found.append(queries("temporal in batch mode", _temporal(), _MARKET.in_batch_mode()))
    found += [Case(f"deletes, {kind}", _with_deletes(kind)) for kind in ("JOIN", "LEFT JOIN")]
    return [*found, *(Case(name, run) for name, run in _LATE.items())]


def _window(
    shape: str,
    kind: str,
    on: str = f"L.id = R.id AND {_SAME_WINDOW}",
    left: str = "a",
    right: str = "b",
) -> str:
    first, second = (_SHAPES[shape].format(table) for table in (left, right))
    return f"SELECT {_TOLD} FROM TABLE({first}) L {kind} TABLE({second}) R ON {on}"


def _window_filters() -> dict[str, str]:
    window = _SHAPES["TUMBLE"]
    left, right = (f"(SELECT * FROM TABLE({window.format(t)}))" for t in ("a", "b"))
    told = f"SELECT L.name AS a_name, L.window_start AS a_start FROM {left} L WHERE "
    exists = f"EXISTS (SELECT * FROM {right} R WHERE L.id = R.id AND {_SAME_WINDOW})"
    same = f"SELECT R.id FROM {right} R WHERE {_SAME_WINDOW}"
    return {
        "EXISTS": told + exists,
        "NOT EXISTS": f"{told}NOT {exists}",
        "IN": f"{told}L.id IN ({same})",
        "NOT IN": f"{told}L.id NOT IN ({same})",
        "NOT IN without NULL": f"{told}L.id NOT IN ({same} AND R.id IS NOT NULL)",
    }


def _more_windows() -> dict[str, str]:
    tumble, hop = _SHAPES["TUMBLE"], _SHAPES["HOP"]
    counted = (
        "(SELECT id, COUNT(*) AS n, window_start, window_end, window_time FROM TABLE({}) GROUP BY"
        " id, window_start, window_end, window_time)"
    )
    told = "SELECT L.id AS id, L.n AS n, R.n AS m, L.window_start AS ws"
    first, second = counted.format(tumble.format("a")), counted.format(tumble.format("b"))
    by = f"L.id = R.id AND {_SAME_WINDOW}"
    found = {
        f"{kind} of aggregates": f"{told} FROM {first} L {kind} {second} R ON {by}"
        for kind in _KINDS
    }
    other = counted.format(hop.format("b"))
    found["of other windows"] = f"{told} FROM {first} L JOIN {other} R ON {by}"
    joined = (
        f"SELECT L.id, L.window_start, L.window_end FROM TABLE({tumble.format('a')}) L"
        f" LEFT JOIN TABLE({tumble.format('b')}) R ON {by}"
    )
    found["aggregated after"] = (
        "SELECT id, COUNT(*) AS n, CAST(1 AS BIGINT) AS m, window_start AS ws"
        f" FROM ({joined}) GROUP BY id, window_start, window_end"
    )
    return found


def _no_time() -> dict[str, str]:
    return {
        "a window of NULL": (
            f"SELECT name, window_start AS ws FROM TABLE({_SHAPES['TUMBLE'].format('absent')})"
        ),
        "counted": (
            "SELECT CAST(COUNT(*) AS STRING) AS name, window_start AS ws"
            f" FROM TABLE({_SHAPES['TUMBLE'].format('absent')}) GROUP BY window_start, window_end"
        ),
        "joined": (
            "SELECT L.name || R.name AS name, L.window_start AS ws"
            f" FROM TABLE({_SHAPES['TUMBLE'].format('absent')}) L"
            f" JOIN TABLE({_SHAPES['TUMBLE'].format('a')}) R ON L.id = R.id AND {_SAME_WINDOW}"
        ),
    }


def _temporal() -> dict[str, str]:
    text = (
        "SELECT id, o.cur, rate, CAST(r.ts AS TIMESTAMP(3)) AS rts FROM {orders} o {kind} {rates}"
        " FOR SYSTEM_TIME AS OF o.ts AS r ON {on}"
    )
    usual = {"orders": "orders", "kind": "JOIN", "rates": "rates", "on": "o.cur = r.cur"}
    changed = {
        "versions": {},
        "versions, outer": {"kind": "LEFT JOIN"},
        "a view": {"rates": "versions"},
        "a view, outer": {"rates": "versions", "kind": "LEFT JOIN"},
        "RIGHT": {"kind": "RIGHT JOIN"},
        "FULL": {"kind": "FULL JOIN"},
        "no key": {"rates": "plain_rates"},
        "no versions": {"rates": "no_rates"},
        "no versions, outer": {"rates": "no_rates", "kind": "LEFT JOIN"},
        "no orders": {"orders": "no_orders"},
        "no orders, outer": {"orders": "no_orders", "kind": "LEFT JOIN"},
        "more": {"on": "o.cur = r.cur AND o.amount > r.rate"},
        "more, outer": {"on": "o.cur = r.cur AND o.amount > r.rate", "kind": "LEFT JOIN"},
        "only the left": {"on": "o.cur = r.cur AND o.id <> 3", "kind": "LEFT JOIN"},
        "only the right": {"on": "o.cur = r.cur AND r.rate > 100", "kind": "LEFT JOIN"},
        "not by the key": {"on": "o.amount = r.rate"},
        "more than the key": {"on": "o.cur = r.cur AND o.amount = r.rate"},
        "by an expression": {"on": "UPPER(o.cur) = r.cur"},
        "NULL is NULL": {"on": "o.cur IS NOT DISTINCT FROM r.cur", "kind": "LEFT JOIN"},
        "by inequality": {"on": "o.cur > r.cur"},
        "without condition": {"on": "TRUE"},
    }
    found = {name: text.format(**{**usual, **change}) for name, change in changed.items()}
    plain = text.format(**usual)
    found["as of a time"] = plain.replace("AS OF o.ts", "AS OF TIMESTAMP '2020-01-01 00:00:20'")
    found["as of another column"] = plain.replace("AS OF o.ts", "AS OF o.ts + INTERVAL '1' SECOND")
    found["filtered"] = f"{plain} WHERE r.rate < 125 AND o.id > 2"
    return found


def _with_deletes(kind: str) -> Callable[[Session], Outcome]:
    """Versions that are taken back, also twice at one time and again later."""

    def run(session: Session) -> Outcome:
        from pyflink.table import StreamTableEnvironment

        env = session.streams()
        tables = StreamTableEnvironment.create(env)
        _changing_rates(env, tables)
        tables.execute_sql(_ORDERS.create(session))
        return _final(session, tables, kind, "deletable")

    return run


def _changing_rates(env: StreamExecutionEnvironment, tables: StreamTableEnvironment) -> None:
    from pyflink.common import Row, RowKind, Types
    from pyflink.table import Schema

    kinds = {"+I": RowKind.INSERT, "-U": RowKind.UPDATE_BEFORE, "+U": RowKind.UPDATE_AFTER}
    kinds["-D"] = RowKind.DELETE
    changes = [
        ("+I", "EUR", 100, "09"),
        ("-U", "EUR", 100, "15"),
        ("+U", "EUR", 110, "15"),
        ("-D", "EUR", 110, "18"),
        ("+I", "EUR", 140, "20"),
        ("-D", "EUR", 140, "50"),
        ("+I", "USD", 90, "05"),
        ("-D", "USD", 90, "05"),
        ("-D", "GBP", 1, "01"),
    ]
    rows = [Row.of_kind(kinds[k], cur, rate, f"{_DAY}{at}") for k, cur, rate, at in changes]
    stream = env.from_collection(
        rows, Types.ROW_NAMED(["cur", "rate", "at"], [Types.STRING(), Types.INT(), Types.STRING()])
    )
    schema = (
        Schema.new_builder()
        .column("cur", "STRING NOT NULL")
        .column("rate", "INT")
        .column("at", "STRING")
        .column_by_expression("ts", "CAST(`at` AS TIMESTAMP(3))")
        .watermark("ts", "ts - INTERVAL '1' MINUTE")
        .primary_key("cur")
        .build()
    )
    tables.create_temporary_view("deletable", tables.from_changelog_stream(stream, schema))


def _final(session: Session, tables: StreamTableEnvironment, kind: str, rates: str) -> Outcome:
    text = (
        f"SELECT id, o.cur, rate, CAST(r.ts AS TIMESTAMP(3)) AS rts FROM orders o {kind} {rates}"
        " FOR SYSTEM_TIME AS OF o.ts AS r ON o.cur = r.cur"
    )
    return _rows(session, tables, text)


def _rows(session: Session, tables: StreamTableEnvironment, text: str) -> Outcome:
    result = tables.execute_sql(text)
    with session.running(), result.collect() as rows:
        return {"rows": sorted(final_rows(describe_row(row) for row in rows))}


def _steps(
    statement: str, rows: Sequence[tuple[str, int, str, str]], views: Sequence[str]
) -> Callable[[Session], Outcome]:
    """One table of rows that come one by one, each with a watermark; both sides are views of it."""

    def run(session: Session) -> Outcome:
        tables = session.tables()
        tables.get_config().set("pipeline.auto-watermark-interval", "0 ms")
        tables.execute_sql(_one_by_one(rows, 1 if session.is_flink else 1000))
        for view in views:
            tables.execute_sql(view)
        return _rows(session, tables, statement)

    return run


def _one_by_one(rows: Sequence[tuple[str, int, str, str]], in_a_second: int) -> str:
    """A table of numbers from which all columns are computed."""

    def column(values: Sequence[str]) -> str:
        return f"CASE i {' '.join(f'WHEN {i} THEN {v}' for i, v in enumerate(values))} END"

    sides, numbers, names, seconds = zip(*rows, strict=True)
    times = column([f"TIMESTAMP '{_DAY}{second}'" for second in seconds])
    return (
        f"CREATE TABLE both_sides (i INT, side AS {column([repr(side) for side in sides])},"
        f" id AS {column([str(number) for number in numbers])},"
        f" name AS {column([repr(name) for name in names])},"
        f" ts AS CAST({times} AS TIMESTAMP(3)), WATERMARK FOR ts AS ts)"
        f" WITH ('connector' = 'datagen', 'rows-per-second' = '{in_a_second}',"
        " 'fields.i.kind' = 'sequence', 'fields.i.start' = '0',"
        f" 'fields.i.end' = '{len(rows) - 1}')"
    )


_VIEWS = (
    "CREATE TEMPORARY VIEW a AS SELECT id, name, ts FROM both_sides WHERE side = 'L'",
    "CREATE TEMPORARY VIEW b AS SELECT id, name, ts FROM both_sides WHERE side = 'R'",
)
_LATEST = (
    "CREATE TEMPORARY VIEW versions AS SELECT id, name, ts FROM (SELECT *, ROW_NUMBER() OVER"
    " (PARTITION BY id ORDER BY ts DESC) AS n FROM b) WHERE n = 1"
)
_AS_OF = (
    "SELECT a.name AS an, v.name AS vn FROM a {} versions FOR SYSTEM_TIME AS OF a.ts AS v"
    " ON a.id = v.id"
)
_ARRIVING = (
    ("L", 1, "l1", "01"),
    ("R", 1, "r1", "05"),
    ("L", 1, "at the end", "10"),  # the watermark is at the end of the first window
    ("R", 1, "late", "09"),
    ("L", 1, "late too", "03"),
    ("R", 1, "in time", "12"),
    ("L", 2, "alone", "13"),
    ("L", 1, "much later", "31"),
    ("R", 2, "late for alone", "14"),
)
_CHANGING = (
    ("R", 1, "r05", "05"),
    ("L", 1, "before all", "06"),
    ("R", 1, "r10", "10"),
    ("L", 1, "late", "07"),
    ("R", 1, "late version", "08"),
    ("L", 1, "on time", "10"),
    ("L", 1, "later", "12"),
    ("R", 1, "r15", "15"),
    ("L", 1, "much later", "30"),
    ("R", 1, "too late", "20"),
    ("L", 1, "last", "40"),
)
_LATE: dict[str, Callable[[Session], Outcome]] = {
    "late rows of windows": _steps(_window("TUMBLE", "FULL JOIN"), _ARRIVING, _VIEWS),
    "late rows of versions": _steps(_AS_OF.format("LEFT JOIN"), _CHANGING, (*_VIEWS, _LATEST)),
}
