"""Values on their way between Python, pandas, tables and streams, for every type."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from compare.case import Case, Outcome, Session, result_of
from compare.describing import describe, describe_row
from compare.kinds_of_values import EVERY, Kind

if TYPE_CHECKING:
    from pyflink.table import DataType

_MOMENT = datetime.datetime(2020, 2, 29, 12, 34, 56, 789012)


def cases() -> list[Case]:
    values = python_values()
    return [
        *(Case(f"{kind.sql} collected", _collected(kind)) for kind in EVERY),
        *(Case(f"{kind.sql} to pandas", _to_pandas(kind), core=True) for kind in EVERY),
        *(Case(f"{kind.sql} to a stream", _to_stream(kind)) for kind in EVERY),
        *(Case(f"{name} from pandas", _from_pandas(name)) for name in frames()),
        *(Case(f"{name} from elements", _from_elements(name)) for name in values),
        *(Case(f"{name} with a type", _with_type(name)) for name in values),
        *(Case(f"{name} as a stream", _as_stream(name)) for name in values),
        *(Case(f"stream of {name}", _typed_stream(name)) for name in typed_values()),
    ]


def python_values() -> dict[str, list[Any]]:
    """Values of each type that can be inferred, and the absence of one."""
    return {
        "bool": [True, None],
        "int": [1, -(2**31), None],
        "long": [2**40],
        "float": [1.5, float("inf"), None],
        "nan": [float("nan")],
        "str": ["ü漢", "", None],
        "bytes": [b"a\x00", None],
        "bytearray": [bytearray(b"a")],
        "Decimal": [Decimal("1.50"), Decimal("-12345678901234567890.5")],
        "date": [datetime.date(2020, 2, 29), datetime.date(1, 1, 1)],
        "time": [datetime.time(12, 34, 56, 789000), datetime.time(0)],
        "datetime": [_MOMENT, datetime.datetime(1969, 12, 31)],
        "timedelta": [datetime.timedelta(days=1, seconds=2)],
        "list": [[1, None, 3], []],
        "nested list": [[[1], [2, 3]]],
        "dict": [{"a": 1, "b": None}],
        "tuple": [(1, "a")],
        "only None": [None],
    }


def data_types() -> dict[str, DataType]:
    """The types that go with the values."""
    from pyflink.table import DataTypes

    row = [DataTypes.FIELD("x", DataTypes.INT()), DataTypes.FIELD("y", DataTypes.STRING())]
    return {
        "bool": DataTypes.BOOLEAN(),
        "int": DataTypes.INT(),
        "long": DataTypes.BIGINT(),
        "float": DataTypes.DOUBLE(),
        "nan": DataTypes.FLOAT(),
        "str": DataTypes.STRING(),
        "bytes": DataTypes.BYTES(),
        "bytearray": DataTypes.BYTES(),
        "Decimal": DataTypes.DECIMAL(38, 18),
        "date": DataTypes.DATE(),
        "time": DataTypes.TIME(),
        "datetime": DataTypes.TIMESTAMP(6),
        "timedelta": DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND(3)),
        "list": DataTypes.ARRAY(DataTypes.INT()),
        "nested list": DataTypes.ARRAY(DataTypes.ARRAY(DataTypes.BIGINT())),
        "dict": DataTypes.MAP(DataTypes.STRING(), DataTypes.BIGINT()),
        "tuple": DataTypes.ROW(row),
        "only None": DataTypes.SMALLINT(),
    }


def typed_values() -> dict[str, tuple[Any, list[Any]]]:
    """What a stream may declare, with values of it."""
    from pyflink.common import Row, Types
    from pyflink.common.time import Instant

    named = Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.STRING()])
    return {
        "BOOLEAN": (Types.BOOLEAN(), [True, False]),
        "BYTE": (Types.BYTE(), [1, -128]),
        "SHORT": (Types.SHORT(), [300]),
        "INT": (Types.INT(), [1, 2**31 - 1]),
        "LONG": (Types.LONG(), [2**40]),
        "FLOAT": (Types.FLOAT(), [1.1]),
        "DOUBLE": (Types.DOUBLE(), [1.1]),
        "STRING": (Types.STRING(), ["ü漢", ""]),
        "CHAR": (Types.CHAR(), ["a"]),
        "BIG_INT": (Types.BIG_INT(), [2**70]),
        "BIG_DEC": (Types.BIG_DEC(), [Decimal("1.50")]),
        "SQL_DATE": (Types.SQL_DATE(), [datetime.date(2020, 2, 29)]),
        "SQL_TIME": (Types.SQL_TIME(), [datetime.time(1, 2, 3)]),
        "SQL_TIMESTAMP": (Types.SQL_TIMESTAMP(), [_MOMENT]),
        "INSTANT": (Types.INSTANT(), [Instant.of_epoch_milli(1500)]),
        "LIST": (Types.LIST(Types.INT()), [[1, 2], []]),
        "MAP": (Types.MAP(Types.STRING(), Types.INT()), [{"a": 1}]),
        "PRIMITIVE_ARRAY": (Types.PRIMITIVE_ARRAY(Types.INT()), [[1, 2]]),
        "BASIC_ARRAY": (Types.BASIC_ARRAY(Types.STRING()), [["a", "b"]]),
        "OBJECT_ARRAY": (Types.OBJECT_ARRAY(Types.STRING()), [["a"]]),
        "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), [b"ab"]),
        "TUPLE": (Types.TUPLE([Types.INT(), Types.STRING()]), [(1, "a")]),
        "ROW": (Types.ROW([Types.INT(), Types.STRING()]), [Row(1, "a")]),
        "ROW_NAMED": (named, [Row(x=1, y="a")]),
        "PICKLED": (Types.PICKLED_BYTE_ARRAY(), [{"any": {1, 2}}]),
        "nothing said": (None, [(1, "a"), [1], {"k": 1}, None, 1.5]),
    }


def frames() -> dict[str, dict[str, Any]]:
    """Columns of pandas frames: values, or values with a dtype."""
    return {
        "bool": {"c": [True, False]},
        "int64": {"c": [1, 2**40]},
        "int8": {"c": [1, 2], "dtype": "int8"},
        "int16": {"c": [1, 2], "dtype": "int16"},
        "int32": {"c": [1, 2], "dtype": "int32"},
        "Int64": {"c": [1, None], "dtype": "Int64"},
        "float32": {"c": [1.5, None], "dtype": "float32"},
        "float64": {"c": [1.5, float("nan")]},
        "texts": {"c": ["a", None, "ü"]},
        "string": {"c": ["a", None], "dtype": "string"},
        "bytes": {"c": [b"a", None]},
        "Decimal": {"c": [Decimal("1.50"), None]},
        "date": {"c": [datetime.date(2020, 1, 2), None]},
        "time": {"c": [datetime.time(1, 2, 3), None]},
        "datetime": {"c": [_MOMENT, None]},
        "datetime64[ms]": {"c": [_MOMENT], "dtype": "datetime64[ms]"},
        "zoned": {"c": [_MOMENT], "dtype": "datetime64[ns, UTC]"},
        "timedelta": {"c": [datetime.timedelta(1)]},
        "lists": {"c": [[1, 2], None]},
        "dicts": {"c": [{"a": 1}]},
        "category": {"c": ["a", "b"], "dtype": "category"},
        "uint8": {"c": [1], "dtype": "uint8"},
        "mixed": {"c": [1, "a"]},
        "empty": {"c": []},
    }


def _query(session: Session, kind: Kind) -> Any:
    return session.tables().sql_query(f"SELECT v FROM {kind.source()}")


def _collected(kind: Kind) -> Callable[[Session], Outcome]:
    return lambda session: result_of(session, _query(session, kind).execute())


def _to_pandas(kind: Kind) -> Callable[[Session], Outcome]:
    def run(session: Session) -> Outcome:
        frame = _query(session, kind).to_pandas()
        values = sorted(describe(value) for value in frame["v"])
        return {"dtype": str(frame["v"].dtype), "values": values}

    return run


def _to_stream(kind: Kind) -> Callable[[Session], Outcome]:
    def run(session: Session) -> Outcome:
        tables = session.tables()
        table = tables.sql_query(f"SELECT v FROM {kind.source()}")
        stream = tables.to_data_stream(table)
        with session.running(), stream.execute_and_collect() as rows:
            return {"rows": sorted(describe_row(row) for row in rows)}

    return run


def _from_pandas(name: str) -> Callable[[Session], Outcome]:
    def run(session: Session) -> Outcome:
        import pandas as pd

        column = frames()[name]
        series = pd.Series(column["c"], dtype=column.get("dtype"))
        table = session.tables().from_pandas(pd.DataFrame({"c": series}))
        return result_of(session, table.execute())

    return run


def _from_elements(name: str) -> Callable[[Session], Outcome]:
    def run(session: Session) -> Outcome:
        rows = [(value,) for value in python_values()[name]]
        return result_of(session, session.tables().from_elements(rows, ["c"]).execute())

    return run


def _with_type(name: str) -> Callable[[Session], Outcome]:
    def run(session: Session) -> Outcome:
        from pyflink.table import DataTypes

        rows = [(value,) for value in python_values()[name]]
        schema = DataTypes.ROW([DataTypes.FIELD("c", data_types()[name])])
        return result_of(session, session.tables().from_elements(rows, schema).execute())

    return run


def _as_stream(name: str) -> Callable[[Session], Outcome]:
    """From elements of a type to a stream and back: what the table's types become."""

    def run(session: Session) -> Outcome:
        from pyflink.table import DataTypes

        tables = session.tables()
        rows = [(value,) for value in python_values()[name]]
        schema = DataTypes.ROW([DataTypes.FIELD("c", data_types()[name])])
        stream = tables.to_data_stream(tables.from_elements(rows, schema))
        return result_of(session, tables.from_data_stream(stream).execute())

    return run


def _typed_stream(name: str) -> Callable[[Session], Outcome]:
    def run(session: Session) -> Outcome:
        kind, values = typed_values()[name]
        stream = session.streams().from_collection(values, kind)
        with session.running(), stream.execute_and_collect() as records:
            return {"records": sorted(describe(record) for record in records)}

    return run
