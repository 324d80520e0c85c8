"""Values as programs see them: collected rows, arguments of functions, columns of pandas."""

from __future__ import annotations

import array
import datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest

from headrace.common import Instant, Row, RowKind
from headrace.core.logical_types import RowType
from headrace.core.table_columns import from_arrow, to_arrow
from headrace.errors import HeadraceError, TypeMismatch, Unsupported
from headrace.operators.functions.session import session_time_zone
from headrace.operators.table.user_functions import FunctionContext
from headrace.spark.native.expressions import _body
from headrace.table import DataTypes, ListView, MapView, Schema, Table, UserDefinedType
from headrace.table.data_types import DataType, ZonedTimestampType
from headrace.table.expressions import col
from headrace.table.results import TableResult
from headrace.table.row_frames import data_frame
from headrace.table.udf import udaf, udf
from tests.unit.table.in_process import (
    changes_of,
    printed_by,
    stream_environment,
    table_environment,
)

NOON = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456)
TWO = DataTypes.ROW(
    [DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.DOUBLE())]
)
NESTED = DataTypes.ROW(
    [DataTypes.FIELD("p", DataTypes.INT()), DataTypes.FIELD("q", DataTypes.DATE())]
)
TYPES: dict[str, tuple[Any, Any]] = {
    "TINYINT": (DataTypes.TINYINT(), 1),
    "FLOAT": (DataTypes.FLOAT(), 1.5),
    "DECIMAL": (DataTypes.DECIMAL(38, 18), Decimal("12345678901234567890.5")),
    "STRING": (DataTypes.STRING(), "ü漢"),
    "BYTES": (DataTypes.BYTES(), b"a"),
    "DATE": (DataTypes.DATE(), NOON.date()),
    "TIME(0)": (DataTypes.TIME(), NOON.time().replace(microsecond=0)),
    "TIME(3)": (DataTypes.TIME(3), NOON.time().replace(microsecond=123000)),
    "TIMESTAMP(0)": (DataTypes.TIMESTAMP(0), NOON.replace(microsecond=0)),
    "TIMESTAMP(3)": (DataTypes.TIMESTAMP(3), NOON.replace(microsecond=123000)),
    "TIMESTAMP(6)": (DataTypes.TIMESTAMP(6), NOON),
    "TIMESTAMP(9)": (DataTypes.TIMESTAMP(9), NOON),
    "TIMESTAMP_LTZ(3)": (DataTypes.TIMESTAMP_LTZ(3), NOON.replace(microsecond=123000)),
    "TIMESTAMP_LTZ(9)": (DataTypes.TIMESTAMP_LTZ(9), NOON),
    "ARRAY": (DataTypes.ARRAY(DataTypes.TIMESTAMP(3)), [NOON.replace(microsecond=123000), None]),
    "MAP": (DataTypes.MAP(DataTypes.STRING(), DataTypes.TIME()), {"a": datetime.time(1, 2, 3)}),
    "ROW": (NESTED, Row(1, NOON.date())),
}
DTYPES = {
    "TINYINT": "int8", "FLOAT": "float32", "TIMESTAMP(0)": "datetime64[s]",
    "TIMESTAMP(3)": "datetime64[ms]", "TIMESTAMP(6)": "datetime64[us]",
    "TIMESTAMP(9)": "datetime64[ns]", "TIMESTAMP_LTZ(3)": "datetime64[ms, Asia/Tokyo]",
    "TIMESTAMP_LTZ(9)": "datetime64[ns, Asia/Tokyo]",
}  # fmt: skip


def table_of(name: str, *values: Any) -> Table:
    env = table_environment()
    env.get_config().set("table.local-time-zone", "Asia/Tokyo")
    row = DataTypes.ROW([DataTypes.FIELD("c", TYPES[name][0])])
    return env.from_elements([(value,) for value in values], row)


def as_text(name: str) -> str:
    (text,) = changes_of(table_of(name, TYPES[name][1]))
    return text


def test_collected_rows_have_no_names() -> None:
    env = table_environment()
    query = "SELECT 1 AS i, ROW(2, 'x') AS r, ARRAY[ROW(3)] AS a, MAP['k', ROW(4)] AS m"
    fields = env.sql_query(query).relation.schema
    changes = [(0, 1, (2, "x"), ((3,),), {"k": (4,)}), (3, 1, None, None, None)]
    first, last = TableResult(fields, rows=changes).collect()
    assert first == Row(1, Row(2, "x"), [Row(3)], {"k": Row(4)})
    assert repr(first) == "<Row(1, <Row(2, 'x')>, [<Row(3)>], {'k': <Row(4)>})>"
    assert {first[1]: 1}[Row(2, "x")] == 1
    assert last == Row.of_kind(RowKind.DELETE, 1, None, None, None)
    assert not hasattr(first, "i")


def test_rows_that_functions_are_given_have_names() -> None:
    shown = udf(lambda row: f"{row!r} {row.p}", result_type=DataTypes.STRING())
    made = table_of("ROW", *[TYPES["ROW"][1]]).select(shown(col("c")))
    assert changes_of(made) == ["+I[Row(p=1, q=datetime.date(2024, 2, 29)) 1]"]


@pytest.mark.parametrize("name", TYPES)
def test_every_type_through_functions_and_back(name: str) -> None:
    type, value = TYPES[name]
    table = table_of(name, value, None)
    same = udf(lambda given: given, result_type=type)
    same_columns = udf(lambda given: given, result_type=type, func_type="pandas")
    same_arrays = udf(lambda given: given, result_type=type, func_type="arrow")
    for function in (same, same_columns, same_arrays):
        # A row that is NULL is a row of NULLs in a DataFrame.
        framed = name == "ROW" and function is same_columns
        null = "+I[+I[null, null]]" if framed else "+I[null]"
        assert changes_of(table.select(function(col("c")))) == [as_text(name), null]


@pytest.mark.parametrize("name", TYPES)
def test_every_type_as_a_column_of_pandas(name: str) -> None:
    def described(given: Any) -> pd.Series:
        kind = "DataFrame" if isinstance(given, pd.DataFrame) else str(given.dtype)
        return pd.Series([kind] * len(given))

    shown = udf(described, result_type=DataTypes.STRING(), func_type="pandas")
    wanted = "DataFrame" if name == "ROW" else DTYPES.get(name, "object")
    assert changes_of(table_of(name, TYPES[name][1]).select(shown(col("c")))) == [f"+I[{wanted}]"]


@pytest.mark.parametrize("name", TYPES)
def test_every_type_to_pandas_and_from_pandas(name: str) -> None:
    type, value = TYPES[name]
    table = table_of(name, value)
    internal = [(0, *row) for row in table.relation.source._as_rows()]  # type: ignore[attr-defined]
    frame = data_frame(internal, RowType(table.relation.schema), "Asia/Tokyo")
    assert str(frame.c.dtype) == DTYPES.get(name, "object")
    back = table._t_env.from_pandas(frame, DataTypes.ROW([DataTypes.FIELD("c", type)]))
    assert changes_of(back) == [as_text(name)]


def test_times_of_day_in_a_data_frame_become_a_column() -> None:
    env = table_environment()
    frame = pd.DataFrame({"t": [datetime.time(1, 2, 3), None]})
    assert changes_of(env.from_pandas(frame)) == ["+I[01:02:03]", "+I[null]"]
    typed = DataTypes.ROW([DataTypes.FIELD("t", DataTypes.TIME())])
    assert changes_of(env.from_pandas(frame, typed)) == ["+I[01:02:03]", "+I[null]"]


@pytest.mark.parametrize(
    ("column", "error", "hint"),
    [
        (pd.Series(["a", "b"], dtype="category"), TypeError, "astype"),
        (pd.Series([datetime.timedelta(1)]), TypeError, "astype"),
        (pd.Series([1, "a"]), ValueError, "DataTypes.ROW"),
    ],
)
def test_columns_of_a_data_frame_that_no_type_fits(
    column: Any, error: type[Exception], hint: str
) -> None:
    with pytest.raises(error) as caught:
        table_environment().from_pandas(pd.DataFrame({"c": column}))
    assert isinstance(caught.value, HeadraceError)
    assert hint in str(caught.value.hint)


def test_instants_reach_functions_as_times_in_the_sessions_zone() -> None:
    table = table_of("TIMESTAMP_LTZ(3)", datetime.datetime(2024, 1, 1, 0, 0, 1))
    shown = udf(lambda given: given.isoformat(), result_type=DataTypes.STRING())
    assert changes_of(table.select(shown(col("c")))) == ["+I[2024-01-01T09:00:01+09:00]"]
    given_back: list[Any] = [
        datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(2024, 1, 1),
        Instant.of_epoch_milli(1704067200000),
    ]
    for value in given_back:
        made = udf(lambda _, value=value: value, result_type=DataTypes.TIMESTAMP_LTZ(3))
        assert changes_of(table.select(made(col("c")))) == ["+I[2024-01-01T00:00:00Z]"]


def test_pandas_map_sees_the_fields_of_rows_as_columns() -> None:
    pair = [DataTypes.FIELD("c", DataTypes.INT()), DataTypes.FIELD("d", DataTypes.INT())]
    row = DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.TINYINT()), DataTypes.FIELD("b", DataTypes.ROW(pair))]
    )
    table = table_environment().from_elements([(1, Row(2, 3)), (2, Row(1, 3))], row)
    total = udf(
        lambda x: pd.concat([x.a, x.c + x.d], axis=1),
        result_type=DataTypes.ROW(pair), func_type="pandas",
    )  # fmt: skip
    assert changes_of(table.map(total)) == ["+I[1, 5]", "+I[2, 4]"]
    best = udaf(
        lambda x: (x.a.max(), x.d.sum()), result_type=DataTypes.ROW(pair), func_type="pandas"
    )
    found = table.aggregate(best.alias("x", "y")).select(col("x"), col("y"))
    assert changes_of(found)[-1] == "+U[2, 6]"


def test_views_of_accumulators_are_collections() -> None:
    items: ListView[str] = ListView()
    items.add_all(["a", "b"])
    assert list(items) == ["a", "b"]
    assert ",".join(items) == "a,b"
    same: ListView[str] = ListView()
    same.add("a")
    assert items != same
    same.add("b")
    assert items == same
    counts: MapView[str, int] = MapView()
    counts["a"] = 1
    counts.put_all({"b": 2})
    assert sorted(counts) == ["a", "b"]
    assert dict(counts.items()) == {"a": 1, "b": 2}
    other: MapView[str, int] = MapView()
    other.put_all({"a": 1, "b": 2})
    assert counts == other
    del counts["a"]
    assert counts != other
    assert "a" not in counts


@pytest.mark.parametrize(
    ("code", "type"),
    [("b", "TINYINT"), ("B", "SMALLINT"), ("h", "SMALLINT"), ("H", "INT"), ("i", "INT"),
     ("I", "BIGINT"), ("q", "BIGINT"), ("f", "FLOAT"), ("d", "DOUBLE")],
)  # fmt: skip
def test_arrays_of_machine_numbers_keep_their_size(code: str, type: str) -> None:
    table = table_environment().from_elements([(array.array(code, [1]),)], ["a"])
    assert str(table.relation.types[0]) == f"ARRAY<{type} NOT NULL>"


def test_numbers_that_no_column_holds_are_refused() -> None:
    with pytest.raises(TypeMismatch, match="typecode 'Q'"):
        table_environment().from_elements([(array.array("Q", [1]),)], ["a"])


class PointType(UserDefinedType):
    """Points as arrays of two numbers."""

    @classmethod
    def sql_type(cls) -> DataType:
        return DataTypes.ARRAY(DataTypes.DOUBLE(False))

    @classmethod
    def module(cls) -> str:
        return __name__

    def serialize(self, obj: Any) -> Any:
        return [obj.x, obj.y]

    def deserialize(self, datum: Any) -> Any:
        return Point(*datum)


class Point:
    __UDT__ = PointType()

    def __init__(self, x: float, y: float):
        self.x, self.y = x, y


def test_objects_of_user_defined_types_are_columns() -> None:
    env = table_environment()
    points = [(1, Point(3.0, 4.0)), (2, None)]
    known = env.from_elements(points, ["n", "p"])
    assert str(known.relation.types[1]) == "ARRAY<DOUBLE NOT NULL>"
    row = DataTypes.ROW(
        [DataTypes.FIELD("n", DataTypes.BIGINT()), DataTypes.FIELD("p", PointType())]
    )
    for table in (known, env.from_elements(points, row)):
        assert changes_of(table) == ["+I[1, [3.0, 4.0]]", "+I[2, null]"]
    nested = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.ARRAY(PointType()))])
    made = env.from_elements([([Point(1.0, 2.0), None],)], nested)
    assert changes_of(made) == ["+I[[[1.0, 2.0], null]]"]
    kind = PointType()
    assert kind == PointType()
    assert kind.type_name() == "pointtype"
    assert kind.to_sql_type(Point(1.0, 2.0)) == [1.0, 2.0]
    assert kind.from_sql_type([1.0, 2.0]).y == 2.0
    with pytest.raises(Unsupported, match=r"UserDefinedType has no method sql_type\(\)"):
        UserDefinedType.sql_type()


@pytest.mark.parametrize("name", TYPES)
def test_every_type_to_a_stream_and_back(name: str) -> None:
    type, value = TYPES[name]
    env = stream_environment()
    row = DataTypes.ROW([DataTypes.FIELD("c", type)])
    stream = env.to_data_stream(env.from_elements([(value,), (None,)], row))
    schema = Schema.new_builder().column("c", type).build()
    assert changes_of(env.from_data_stream(stream, schema)) == [as_text(name), "+I[null]"]
    seen = stream.map(lambda given: repr(given.c))
    seen.print()
    shown = {
        "DECIMAL": Decimal("12345678901234567890.500000000000000000"),
        "TIMESTAMP_LTZ(3)": Instant(1709209815, 123000000),
        "TIMESTAMP_LTZ(9)": Instant(1709209815, 123456000),
        "ROW": Row(p=1, q=NOON.date()),
    }
    assert printed_by(env) == [repr(shown.get(name, value)), "None"]


WRONG: list[tuple[Any, Any]] = [
    (DataTypes.TINYINT(), 300), (DataTypes.INT(), b"1"), (DataTypes.BIGINT(), "5"),
    (DataTypes.BIGINT(), 2**70), (DataTypes.STRING(), 5), (DataTypes.DOUBLE(), "1.5"),
    (DataTypes.BYTES(), 5), (DataTypes.DATE(), 5), (DataTypes.TIME(), 5),
    (DataTypes.TIMESTAMP(3), 5), (DataTypes.DECIMAL(5, 2), "x"),
    (DataTypes.DECIMAL(5, 2), Decimal("12345.6")), (DataTypes.BOOLEAN(), "true"), (NESTED, Row(1)),
    (DataTypes.ARRAY(DataTypes.INT()), ["a"]), (NESTED, Row("x", None)),
]  # fmt: skip


@pytest.mark.parametrize(("type", "value"), WRONG)
def test_a_result_that_is_not_of_the_declared_type_is_refused(type: Any, value: Any) -> None:
    table = table_environment().from_elements([(1,)], ["a"])
    function = udf(lambda _: value, result_type=type)
    with pytest.raises(HeadraceError, match="is no "):
        changes_of(table.select(function(col("a"))))


def test_results_of_numpy_are_plain_values() -> None:
    table = table_environment().from_elements([(1,)], ["a"])
    seen = udf(lambda *values: repr(values), result_type=DataTypes.STRING())
    whole = udf(lambda a: np.int64(a), result_type=DataTypes.BIGINT())
    text = udf(lambda a: np.str_("x"), result_type=DataTypes.STRING())
    made = table.select(seen(whole(col("a")), text(col("a"))))
    assert changes_of(made) == ["+I[(1, 'x')]"]


def test_a_row_with_names_goes_by_its_names() -> None:
    table = table_environment().from_elements([(1,)], ["a"])
    function = udf(lambda _: Row(q=NOON.date(), p=7), result_type=NESTED)
    assert changes_of(table.select(function(col("a")))) == ["+I[+I[7, 2024-02-29]]"]


def test_what_is_finer_than_a_timestamps_digits_is_cut_off() -> None:
    assert as_text("TIMESTAMP(6)") == "+I[2024-02-29T12:30:15.123456]"
    assert changes_of(table_of("TIMESTAMP(3)", NOON)) == ["+I[2024-02-29T12:30:15.123]"]
    assert changes_of(table_of("TIMESTAMP(0)", NOON)) == ["+I[2024-02-29T12:30:15]"]


RESULTS: list[tuple[Any, Any, str]] = [
    (DataTypes.INT(), 1.9, "1"), (DataTypes.INT(), -1.9, "-1"), (DataTypes.INT(), True, "1"),
    (DataTypes.BIGINT(), Decimal("5.5"), "5"), (DataTypes.DOUBLE(), Decimal("1.5"), "1.5"),
    (DataTypes.BOOLEAN(), 2, "true"), (DataTypes.BOOLEAN(), 0, "false"),
    (DataTypes.DECIMAL(5, 2), Decimal("1.005"), "1.00"),
    (DataTypes.DECIMAL(5, 2), Decimal("1.015"), "1.02"),
    (DataTypes.DATE(), NOON, "2024-02-29"),
    (DataTypes.TIMESTAMP(3), NOON.replace(tzinfo=ZoneInfo("Asia/Tokyo")),
     "2024-02-29T12:30:15.123"),
]  # fmt: skip


@pytest.mark.parametrize(("type", "value", "text"), RESULTS)
def test_results_become_the_declared_type_as_in_pyflink(type: Any, value: Any, text: str) -> None:
    table = table_environment().from_elements([(1,)], ["a"])
    function = udf(lambda _: value, result_type=type)
    assert changes_of(table.select(function(col("a")))) == [f"+I[{text}]"]


@pytest.mark.parametrize(
    ("type", "values"),
    [(DataTypes.TINYINT(), [300]), (DataTypes.INT(), [1.5]), (DataTypes.TIMESTAMP(3), [NOON]),
     (DataTypes.STRING(), [5]), (DataTypes.INT(), ["x"])],
)  # fmt: skip
def test_a_column_that_would_lose_something_is_refused(type: Any, values: list[Any]) -> None:
    table = table_environment().from_elements([(1,)], ["a"])
    function = udf(lambda _: pd.Series(values), result_type=type, func_type="pandas")
    with pytest.raises(HeadraceError, match=r"a column of .* is no "):
        changes_of(table.select(function(col("a"))))


def test_what_a_pandas_aggregate_gives_is_of_the_declared_type() -> None:
    table = table_environment().from_elements([(1, None), (2, None)], TWO)

    def given(function: Any, type: Any) -> str:
        aggregate = udaf(function, result_type=type, func_type="pandas")
        return changes_of(table.select(aggregate(col("a"), col("b"))))[-1]

    assert given(lambda a, b: a.max(), DataTypes.TINYINT()) == "+U[2]"
    assert given(lambda a, b: a.sum() / 1.0, DataTypes.INT()) == "+U[3]"
    assert given(lambda a, b: b.mean(), DataTypes.DOUBLE()) == "+I[null]"
    assert given(lambda a, b: (a.max(), NOON.date()), NESTED) == "+U[+I[2, 2024-02-29]]"
    assert given(lambda a, b: Row(q=NOON.date(), p=a.max()), NESTED) == "+U[+I[2, 2024-02-29]]"
    with pytest.raises(HeadraceError, match=r"1\.5\b.* is no INT"):
        given(lambda a, b: a.mean() + (len(a) - 1) * 0.0 + 0.5 * (len(a) == 1), DataTypes.INT())


@pytest.mark.parametrize("name", [name for name in TYPES if name != "ROW"])
def test_native_queries_give_functions_the_same_values(name: str) -> None:
    type, value = TYPES[name]
    table, held = table_of(name, value, None), type.logical()
    given = to_arrow([row[0] for row in table.relation.source._as_rows()], held)  # type: ignore[attr-defined]

    def run(function: Any, result: Any, style: str) -> Any:
        made = table.select(udf(function, result_type=result, func_type=style)(col("c")))
        expression = made.relation.expressions[0]  # type: ignore[attr-defined]
        with session_time_zone("Asia/Tokyo"):
            body = _body(expression, [held], FunctionContext(None))
        (found,) = body(iter([given]))
        return found

    for style in ("general", "pandas", "arrow"):
        same = run(lambda each: each, type, style)
        assert same.type == given.type
        assert from_arrow(same, held) == from_arrow(given, held)
    seen = run(lambda each: pd.Series([str(each.dtype)] * 2), DataTypes.STRING(), "pandas")
    # A NULL among whole numbers makes floats of them.
    assert seen[0].as_py() == {**DTYPES, "TINYINT": "float64"}.get(name, "object")


class Holder:
    """An object of a program: its attributes are the fields of a row."""

    def __init__(self, **fields: Any) -> None:
        vars(self).update(fields)


@pytest.mark.parametrize(
    ("value", "type", "kind"),
    [
        ("abc", DataTypes.VARCHAR(2), ValueError),
        ("ab", DataTypes.CHAR(3), ValueError),
        ("abcd", DataTypes.CHAR(3), ValueError),
        (bytearray(b"ab"), DataTypes.VARBINARY(1), ValueError),
        (bytearray(b"a"), DataTypes.BINARY(2), ValueError),
        (128, DataTypes.TINYINT(), ValueError),
        (None, DataTypes.INT(False), ValueError),
        ([None], DataTypes.ARRAY(DataTypes.INT(False)), ValueError),
        ({"a": None}, DataTypes.MAP(DataTypes.STRING(), DataTypes.INT(False)), ValueError),
        ((1,), TWO, ValueError),
        (Row(a=1), TWO, ValueError),
        (Holder(a=None, b="x"), TWO, TypeError),
        ("1", DataTypes.INT(), TypeError),
        (1.0, DataTypes.DECIMAL(10, 0), TypeError),
    ],
)
def test_elements_that_do_not_fit_are_refused_with_the_kinds_of_errors_of_pyflink(
    value: Any, type: DataType, kind: Any
) -> None:
    row = DataTypes.ROW([DataTypes.FIELD("x", type)])
    with pytest.raises(kind) as caught:
        table_environment().from_elements([(value,)], row)
    assert isinstance(caught.value, TypeMismatch)
    assert isinstance(caught.value, ValueError) == (kind is ValueError)


def test_objects_are_rows_of_their_attributes() -> None:
    env = table_environment()
    declared = env.from_elements(
        [(Holder(a=1, b=1.5),), (Holder(a=2),)], DataTypes.ROW([DataTypes.FIELD("x", TWO)])
    )
    assert changes_of(declared) == ["+I[+I[1, 1.5]]", "+I[+I[2, null]]"]
    assert changes_of(env.from_elements([(1, Holder(b="x", a=2))])) == ["+I[1, +I[2, x]]"]


def test_objects_of_another_user_defined_type_are_refused() -> None:
    class One(UserDefinedType):
        @classmethod
        def sql_type(cls) -> DataType:
            return DataTypes.INT()

        def serialize(self, obj: Any) -> Any:
            return 1

    class Other(One):
        pass

    mine = Holder()
    mine.__UDT__ = One()
    env = table_environment()
    row = DataTypes.ROW([DataTypes.FIELD("x", Other())])
    with pytest.raises(ValueError, match="is no Other"):
        env.from_elements([(mine,)], row)
    assert changes_of(env.from_elements([(mine,)], ["x"])) == ["+I[1]"]


def test_a_time_with_a_zone_has_its_own_offset() -> None:
    zone = datetime.timezone(datetime.timedelta(hours=1))
    midnight = datetime.datetime(1970, 1, 1, tzinfo=zone)
    assert ZonedTimestampType().to_sql_type(midnight) == (0, 3600)
    assert ZonedTimestampType().from_sql_type((0, 3600)) == midnight
