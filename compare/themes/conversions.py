"""Values on their way between Python, pandas, tables and streams, for every type."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from compare.case import Case, Outcome, Session, result_of
from compare.describing import describe
from compare.kinds_of_values import EVERY, Kind
from compare.packing import by_halves

if TYPE_CHECKING:
    from pyflink.table import DataType

_MOMENT = datetime.datetime(2020, 2, 29, 12, 34, 56, 789012)


def cases() -> list[Case]:
    return [
        Case("every type to pandas", _each_kind(_to_pandas), core=True),
        Case("every type to a stream", _each_kind(_to_stream)),
        Case("every type to a stream and back", _each_kind(_to_stream_and_back), core=True),
        *(Case(f"{name} from pandas", _from_pandas(name)) for name in frames()),
        Case("elements", _each_value(_from_elements)),
        Case("elements with a type", _each_value(_with_type)),
        Case("elements as a stream and back", _each_value(_as_stream)),
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


def _each_kind(
    convert: Callable[[Session, Sequence[Kind]], list[Any]],
) -> Callable[[Session], Outcome]:
    """What becomes of a column of each type, with one value and NULL."""

    def run(session: Session) -> Outcome:
        def together(names: Sequence[str]) -> Outcome:
            kinds = [kind for kind in EVERY if kind.sql in names]
            columns = convert(session, kinds)
            return {kind.sql: column for kind, column in zip(kinds, columns, strict=True)}

        return by_halves([kind.sql for kind in EVERY], together)

    return run


def _table_of(tables: Any, kinds: Sequence[Kind]) -> Any:
    names = ", ".join(f"c{number}" for number in range(len(kinds)))
    rows = [
        f"({number}, {', '.join(f'CAST({value} AS {kind.sql})' for kind, value in row)})"
        for number, row in enumerate(
            [[(kind, kind.values[0]) for kind in kinds], [(kind, "NULL") for kind in kinds]]
        )
    ]
    return tables.sql_query(f"SELECT * FROM (VALUES {', '.join(rows)}) AS t (n, {names})")


def _to_pandas(session: Session, kinds: Sequence[Kind]) -> list[Any]:
    frame = _table_of(session.tables(), kinds).to_pandas().sort_values("n")
    columns = [frame[f"c{number}"] for number in range(len(kinds))]
    return [[str(column.dtype), *map(describe, column)] for column in columns]


def _to_stream(session: Session, kinds: Sequence[Kind]) -> list[Any]:
    tables = session.tables()
    with tables.to_data_stream(_table_of(tables, kinds)).execute_and_collect() as records:
        rows = sorted((list(record) for record in records), key=lambda row: row[0])
    return [[describe(row[number + 1]) for row in rows] for number in range(len(kinds))]


def _to_stream_and_back(session: Session, kinds: Sequence[Kind]) -> list[Any]:
    tables = session.tables()
    back = tables.from_data_stream(tables.to_data_stream(_table_of(tables, kinds)))
    shown = back.get_resolved_schema().get_column_data_types()
    texts = ", ".join(f"CAST(c{number} AS STRING)" for number in range(len(kinds)))
    tables.create_temporary_view("back", back)
    with tables.sql_query(f"SELECT n, {texts} FROM back").execute().collect() as found:
        rows = sorted((list(row) for row in found), key=lambda row: row[0])
    return [
        [repr(shown[number + 1]), *(describe(row[number + 1]) for row in rows)]
        for number in range(len(kinds))
    ]


def _each_value(
    convert: Callable[[Any, list[str], list[tuple[Any, ...]]], Any],
) -> Callable[[Session], Outcome]:
    """What becomes of Python's values, a column for each type."""

    def run(session: Session) -> Outcome:
        def together(names: Sequence[str]) -> Outcome:
            values = [python_values()[name] for name in names]
            rows = [tuple(column[at % len(column)] for column in values) for at in range(3)]
            table = convert(session.tables(), list(names), rows)
            kinds = table.get_resolved_schema().get_column_data_types()
            with table.execute().collect() as found:
                columns = zip(*sorted([describe(v) for v in row] for row in found), strict=True)
            triples = zip(names, kinds, columns, strict=True)
            return {name: [repr(kind), *sorted(column)] for name, kind, column in triples}

        return by_halves(list(python_values()), together)

    return run


def _names(names: list[str]) -> list[str]:
    return [f"c{number}" for number in range(len(names))]


def _row_type(names: list[str]) -> Any:
    from pyflink.table import DataTypes

    pairs = zip(_names(names), names, strict=True)
    return DataTypes.ROW([DataTypes.FIELD(column, data_types()[name]) for column, name in pairs])


def _from_elements(tables: Any, names: list[str], rows: list[tuple[Any, ...]]) -> Any:
    return tables.from_elements(rows, _names(names))


def _with_type(tables: Any, names: list[str], rows: list[tuple[Any, ...]]) -> Any:
    return tables.from_elements(rows, _row_type(names))


def _as_stream(tables: Any, names: list[str], rows: list[tuple[Any, ...]]) -> Any:
    return tables.from_data_stream(tables.to_data_stream(_with_type(tables, names, rows)))


def _from_pandas(name: str) -> Callable[[Session], Outcome]:
    def run(session: Session) -> Outcome:
        import pandas as pd

        column = frames()[name]
        series = pd.Series(column["c"], dtype=column.get("dtype"))
        table = session.tables().from_pandas(pd.DataFrame({"c": series}))
        return result_of(session, table.execute())

    return run


def _typed_stream(name: str) -> Callable[[Session], Outcome]:
    def run(session: Session) -> Outcome:
        kind, values = typed_values()[name]
        stream = session.streams().from_collection(values, kind)
        with session.running(), stream.execute_and_collect() as records:
            return {"records": sorted(describe(record) for record in records)}

    return run
