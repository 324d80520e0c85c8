"""Python functions of every kind: what reaches them, and what becomes of what they return."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from compare.case import Case, Outcome, Session, result_of
from compare.describing import describe
from compare.kinds_of_values import EVERY, Kind
from compare.packing import by_halves

if TYPE_CHECKING:
    from pyflink.table import StreamTableEnvironment

_NUMBERS = "(VALUES (1, 'a', 10), (2, 'a', 20), (3, 'b', 5)) AS t (id, k, v)"


def cases() -> list[Case]:
    return [
        Case("arguments of every type", _arguments, core=True),
        *(Case(f"returned as {name}", _returned(name)) for name in _returns()),
        Case("series of every type", _series),
        Case("a table function", _table_function),
        Case("an aggregate function", _aggregate, core=True),
        Case("a retracting aggregate function", _retracting),
        Case("an aggregate function without retract", _not_retracting),
        Case("a pandas aggregate function", _pandas_aggregate),
        Case("a table aggregate function", _table_aggregate),
        Case("rows mapped", _mapped),
        Case("rows flat-mapped", _flat_mapped),
        Case("a function that fails", _failing),
        Case("a wrong number of arguments", _wrong_count),
        Case("a function of a method", _method),
        Case("a function that is not deterministic", _constant),
    ]


def _tell(value: Any) -> str:
    return describe(value)


def _tell_series(series: Any) -> Any:
    import pandas as pd

    return pd.Series([f"{series.dtype} {describe(value)}" for value in series])


def _arguments(session: Session) -> Outcome:
    from pyflink.table import DataTypes
    from pyflink.table.udf import udf

    tables = session.tables()
    tables.create_temporary_function("tell", udf(_tell, result_type=DataTypes.STRING()))
    return _told(session, tables)


def _series(session: Session) -> Outcome:
    from pyflink.table import DataTypes
    from pyflink.table.udf import udf

    tables = session.tables()
    function = udf(_tell_series, result_type=DataTypes.STRING(), func_type="pandas")
    tables.create_temporary_function("tell", function)
    return _told(session, tables)


def _told(session: Session, tables: StreamTableEnvironment) -> Outcome:
    """One query for all types; where that fails, one for each half of them."""
    kinds = {kind.sql: kind for kind in EVERY}
    return by_halves(list(kinds), lambda names: _ask(session, tables, [kinds[n] for n in names]))


def _ask(session: Session, tables: StreamTableEnvironment, kinds: Iterable[Kind]) -> Outcome:
    kinds = list(kinds)
    columns, calls = [], []
    for number, kind in enumerate(kinds):
        value = f"CAST({kind.values[0]} AS {kind.sql})"
        # What a planner knows reaches a function another way: a constant is no column.
        columns.append(f"CASE WHEN RAND() < 2 THEN {value} END AS c{number}")
        columns.append(f"CASE WHEN RAND() > 2 THEN {value} END AS n{number}")
        calls += [f"tell(c{number})", f"tell(n{number})"]
    rows = f"(SELECT {', '.join(columns)} FROM (VALUES (1)) AS t (n))"
    result = tables.execute_sql(f"SELECT {', '.join(calls)} FROM {rows}")
    with session.running(), result.collect() as rows:
        told = list(next(iter(rows)))
    return {kind.sql: told[2 * n : 2 * n + 2] for n, kind in enumerate(kinds)}


def _returns() -> dict[str, tuple[str, Any]]:
    """A declared type, and what a function returns for it."""
    return {
        "int for BIGINT": ("BIGINT", 1),
        "too large for TINYINT": ("TINYINT", 300),
        "too large for INT": ("INT", 2**40),
        "text for INT": ("INT", "a"),
        "float for INT": ("INT", 1.5),
        "int for DOUBLE": ("DOUBLE", 1),
        "int for STRING": ("STRING", 1),
        "bool for INT": ("INT", True),
        "int for BOOLEAN": ("BOOLEAN", 1),
        "None": ("INT", None),
        "float for FLOAT": ("FLOAT", 1.1),
        "Decimal": ("DECIMAL(10, 2)", Decimal("1.555")),
        "wide Decimal": ("DECIMAL(5, 2)", Decimal("12345.6")),
        "int for DECIMAL": ("DECIMAL(10, 2)", 1),
        "text for CHAR": ("CHAR(3)", "abcde"),
        "short text for CHAR": ("CHAR(3)", "a"),
        "text for VARCHAR": ("VARCHAR(3)", "abcde"),
        "bytes": ("BYTES", b"ab"),
        "str for BYTES": ("BYTES", "ab"),
        "date": ("DATE", datetime.date(2020, 2, 29)),
        "datetime for DATE": ("DATE", datetime.datetime(2020, 2, 29, 1)),
        "time": ("TIME", datetime.time(1, 2, 3, 4000)),
        "datetime": ("TIMESTAMP(3)", datetime.datetime(2020, 2, 29, 1, 2, 3, 456789)),
        "datetime for TIMESTAMP_LTZ": ("TIMESTAMP_LTZ(3)", datetime.datetime(2020, 2, 29, 1)),
        "list": ("ARRAY<INT>", [1, None]),
        "tuple for ARRAY": ("ARRAY<INT>", (1, 2)),
        "dict": ("MAP<STRING, INT>", {"a": 1}),
        "tuple for ROW": ("ROW<a INT, b STRING>", (1, "x")),
        "list for ROW": ("ROW<a INT, b STRING>", [1, "x"]),
        "short tuple for ROW": ("ROW<a INT, b STRING>", (1,)),
        "dict for ROW": ("ROW<a INT, b STRING>", {"a": 1, "b": "x"}),
    }


class _Answer:
    """A function that gives one value; it must travel to the workers."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, _value: Any) -> Any:
        return _returns()[self._name][1]


def _returned(name: str) -> Callable[[Session], Outcome]:
    def run(session: Session) -> Outcome:
        from pyflink.table.udf import udf

        tables = session.tables()
        kind = _returns()[name][0]
        answer = _Answer(name)
        function = udf(lambda value: answer(value), result_type=kind)
        tables.create_temporary_function("f", function)
        query = "SELECT f(n) AS x FROM (VALUES (1)) AS t (n)"
        return result_of(session, tables.execute_sql(query))

    return run


def _table_function(session: Session) -> Outcome:
    from pyflink.table.udf import udtf

    def split(text: str) -> Any:
        for number, word in enumerate(text.split()):
            yield word, number

    tables = session.tables()
    tables.create_temporary_function("words_of", udtf(split, result_types=["STRING", "INT"]))
    rows = "(VALUES (1, 'a b'), (2, ''), (3, 'c')) AS t (id, s)"
    query = f"SELECT id, w, n FROM {rows} LEFT JOIN LATERAL TABLE(words_of(s)) AS x (w, n) ON TRUE"
    return result_of(session, tables.execute_sql(query))


def _weighted(session: Session, *, retracts: bool) -> Any:
    from pyflink.table import AggregateFunction, DataTypes
    from pyflink.table.udf import udaf

    class Total(AggregateFunction):  # type: ignore[misc]
        def create_accumulator(self) -> Any:
            return [0, 0]

        def accumulate(self, accumulator: Any, value: Any) -> None:
            if value is not None:
                accumulator[0] += value
                accumulator[1] += 1

        def get_value(self, accumulator: Any) -> Any:
            return accumulator[0] * 10 + accumulator[1]

        def get_accumulator_type(self) -> Any:
            return DataTypes.ARRAY(DataTypes.BIGINT())

        def get_result_type(self) -> Any:
            return DataTypes.BIGINT()

    class Retracting(Total):
        def retract(self, accumulator: Any, value: Any) -> None:
            if value is not None:
                accumulator[0] -= value
                accumulator[1] -= 1

    tables = session.tables()
    tables.create_temporary_function("total", udaf(Retracting() if retracts else Total()))
    return tables


def _aggregate(session: Session) -> Outcome:
    tables = _weighted(session, retracts=False)
    query = f"SELECT k, total(CAST(v AS BIGINT)) AS s FROM {_NUMBERS} GROUP BY k"
    return result_of(session, tables.execute_sql(query), final=True)


_OVER_CHANGES = (
    f"SELECT total(s) AS t FROM (SELECT k, SUM(CAST(v AS BIGINT)) AS s FROM {_NUMBERS} GROUP BY k)"
)


def _retracting(session: Session) -> Outcome:
    tables = _weighted(session, retracts=True)
    return result_of(session, tables.execute_sql(_OVER_CHANGES), final=True)


def _not_retracting(session: Session) -> Outcome:
    tables = _weighted(session, retracts=False)
    return result_of(session, tables.execute_sql(_OVER_CHANGES), final=True)


def _pandas_aggregate(session: Session) -> Outcome:
    from pyflink.table.udf import udaf

    tables = session.tables("batch")
    mean = udaf(lambda v: v.mean(), result_type="DOUBLE", func_type="pandas")
    tables.create_temporary_function("mean", mean)
    query = f"SELECT k, mean(v) AS m FROM {_NUMBERS} GROUP BY k"
    return result_of(session, tables.execute_sql(query))


def _table_aggregate(session: Session) -> Outcome:
    from pyflink.common import Row
    from pyflink.table import DataTypes, TableAggregateFunction
    from pyflink.table.expressions import call, col
    from pyflink.table.udf import udtaf

    class Largest(TableAggregateFunction):  # type: ignore[misc]
        def create_accumulator(self) -> Any:
            return []

        def accumulate(self, accumulator: Any, value: Any) -> None:
            accumulator.append(value)
            accumulator.sort(reverse=True)
            del accumulator[2:]

        def emit_value(self, accumulator: Any) -> Any:
            for value in accumulator:
                yield Row(value, len(accumulator))

        def get_accumulator_type(self) -> Any:
            return DataTypes.ARRAY(DataTypes.BIGINT())

        def get_result_type(self) -> Any:
            fields = [DataTypes.FIELD(name, DataTypes.BIGINT()) for name in ("x", "n")]
            return DataTypes.ROW(fields)

    tables = session.tables()
    tables.create_temporary_function("largest", udtaf(Largest()))
    rows = tables.from_elements([("a", 1), ("a", 5), ("b", 2), ("a", 3)], ["k", "v"])
    flat = rows.group_by(col("k")).flat_aggregate(call("largest", col("v")).alias("x", "n"))
    return result_of(session, flat.select(col("k"), col("x"), col("n")).execute(), final=True)


def _mapped(session: Session) -> Outcome:
    from pyflink.common import Row
    from pyflink.table.udf import udf

    def twice(row: Any) -> Any:
        return Row(row[0] * 2, row[1] + "!")

    function = udf(twice, result_type="ROW<x BIGINT, y STRING>")
    rows = session.tables().from_elements([(1, "a"), (2, "b")], ["id", "s"])
    return result_of(session, rows.map(function).execute())


def _flat_mapped(session: Session) -> Outcome:
    from pyflink.table.udf import udtf

    def repeat(row: Any) -> Any:
        for number in range(row[0]):
            yield number, row[1]

    function = udtf(repeat, result_types=["BIGINT", "STRING"])
    rows = session.tables().from_elements([(1, "a"), (2, "b")], ["id", "s"])
    return result_of(session, rows.flat_map(function).alias("x", "y").execute())


def _fail(value: Any) -> Any:
    raise ValueError("no")


def _failing(session: Session) -> Outcome:
    return _call(session, _fail, "f(v)")


def _wrong_count(session: Session) -> Outcome:
    return _call(session, lambda a, b: a, "f(v)")


class _Counter:
    def add(self, value: Any) -> Any:
        return value + 1


def _method(session: Session) -> Outcome:
    return _call(session, _Counter().add, "f(v)")


def _call(session: Session, function: Callable[..., Any], call: str) -> Outcome:
    from pyflink.table.udf import udf

    tables = session.tables()
    tables.create_temporary_function("f", udf(function, result_type="INT"))
    return result_of(session, tables.execute_sql(f"SELECT {call} AS x FROM {_NUMBERS}"))


def _constant(session: Session) -> Outcome:
    from pyflink.table.udf import udf

    tables = session.tables()
    function = udf(lambda: 7, result_type="INT", deterministic=False)
    tables.create_temporary_function("f", function)
    return result_of(session, tables.execute_sql(f"SELECT f() + f() AS x FROM {_NUMBERS}"))
