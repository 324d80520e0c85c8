"""State in columns: other tools can read them, and the very same values come back."""

from __future__ import annotations

import datetime
import json
import pickle
from collections import OrderedDict, namedtuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from headrace.core.columnar import (
    column_of,
    observed,
    text_of,
    type_from_json,
    type_to_json,
    unified,
)
from headrace.core.composite_types import ExternalTypeInfo, RowTypeInfo
from headrace.core.rows import Row, RowKind
from headrace.core.time import Instant
from headrace.core.type_information import WrongValue
from headrace.core.type_json import NothingTypeInfo, same_type
from headrace.core.types import LocalTimeTypeInfo, Types
from headrace.errors import InvalidArgument
from tests.unit.core.typed_values import KINDS, PICKLED, TYPED, TYPED_VALUES, exact


@given(TYPED_VALUES)
@settings(max_examples=300, deadline=None)
def test_every_type_gives_its_values_back(typed_values):
    type_, values = typed_values
    column = column_of(type_)
    array = column.encode(values)
    assert array.type == column.arrow
    assert exact(column.decode(array)) == exact(values)
    assert exact(column.decode(array.slice(1, 3))) == exact(values[1:4])
    assert exact(column.decode(pa.chunked_array([array, array]))) == exact(values * 2)


@given(TYPED_VALUES)
@settings(max_examples=100, deadline=None)
def test_parquet_keeps_every_column(typed_values):
    type_, values = typed_values
    column = column_of(type_)
    file = pa.BufferOutputStream()
    pq.write_table(pa.table({"value": column.encode(values)}), file)
    read = pq.read_table(pa.BufferReader(file.getvalue()))["value"]
    assert exact(column.decode(read)) == exact(values)


@given(TYPED_VALUES)
@settings(max_examples=300, deadline=None)
def test_the_observed_type_gives_the_values_back(typed_values):
    _, values = typed_values
    column = column_of(observed(values))
    assert exact(column.decode(column.encode(values))) == exact(values)


@given(TYPED_VALUES, TYPED_VALUES)
@settings(max_examples=300, deadline=None)
def test_the_unified_type_holds_the_values_of_both(one, other):
    type_ = unified(observed(one[1]), observed(other[1]))
    column, values = column_of(type_), one[1] + other[1]
    assert exact(column.decode(column.encode(values))) == exact(values)


@given(TYPED)
def test_a_type_comes_back_from_json(typed):
    type_ = typed[0]
    read = type_from_json(json.loads(json.dumps(type_to_json(type_))))
    assert read == type_
    assert same_type(read, type_)


FROZEN = {
    '"STRING"': Types.STRING(), '"BYTE"': Types.BYTE(), '"BOOLEAN"': Types.BOOLEAN(),
    '"SHORT"': Types.SHORT(), '"INT"': Types.INT(), '"LONG"': Types.LONG(),
    '"FLOAT"': Types.FLOAT(), '"DOUBLE"': Types.DOUBLE(), '"CHAR"': Types.CHAR(),
    '"BIG_INT"': Types.BIG_INT(), '"BIG_DEC"': Types.BIG_DEC(), '"INSTANT"': Types.INSTANT(),
    '"SQL_DATE"': Types.SQL_DATE(), '"SQL_TIME"': Types.SQL_TIME(),
    '"SQL_TIMESTAMP"': Types.SQL_TIMESTAMP(),
    '"LOCAL_DATE"': LocalTimeTypeInfo(KINDS.LOCAL_DATE),
    '"LOCAL_TIME"': LocalTimeTypeInfo(KINDS.LOCAL_TIME),
    '"LOCAL_DATE_TIME"': LocalTimeTypeInfo(KINDS.LOCAL_DATE_TIME),
    '"PICKLED_BYTE_ARRAY"': PICKLED, '"NOTHING"': NothingTypeInfo(),
    '{"row": ["INT", "STRING"]}': Types.ROW([Types.INT(), Types.STRING()]),
    '{"row": [["a", "INT"], ["b", {"list": "STRING"}]]}':
        Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.LIST(Types.STRING())]),
    '{"tuple": ["INT", "STRING"]}': Types.TUPLE([Types.INT(), Types.STRING()]),
    '{"map": ["STRING", "LONG"]}': Types.MAP(Types.STRING(), Types.LONG()),
    '{"primitive_array": "BYTE"}': Types.PRIMITIVE_ARRAY(Types.BYTE()),
    '{"basic_array": "STRING"}': Types.BASIC_ARRAY(Types.STRING()),
    '{"object_array": "SQL_DATE"}': Types.OBJECT_ARRAY(Types.SQL_DATE()),
    '{"external": "INT"}': ExternalTypeInfo(Types.INT()),
}  # fmt: skip


@pytest.mark.parametrize("written", FROZEN)
def test_the_json_of_types_is_frozen(written):
    """Savepoints of every earlier version hold these texts: a change here breaks them."""
    assert json.dumps(type_to_json(FROZEN[written])) == written
    assert same_type(type_from_json(json.loads(written)), FROZEN[written])


@pytest.mark.parametrize("written", ["LATER", {"later": "INT"}, {}, None, 3, {"map": ["INT"]}])
def test_a_type_of_a_later_version_is_refused(written):
    with pytest.raises(InvalidArgument, match="not a type that this version"):
        type_from_json(written)


def test_columns_are_what_other_tools_expect():
    person = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.LONG()])
    assert str(column_of(person).arrow) == "struct<name: string, age: int64, _kind: string>"
    pairs = Types.MAP(Types.STRING(), Types.TUPLE([Types.INT(), Types.SQL_TIMESTAMP()]))
    expected = "map<string, struct<f0: int32, f1: timestamp[us]>>"
    assert str(column_of(pairs).arrow).startswith(expected.rstrip(">"))
    assert column_of(Types.INSTANT()).arrow == pa.timestamp("us", tz="UTC")
    assert column_of(Types.BIG_INT()).arrow == pa.string()


def test_rows_that_another_tool_wrote_are_inserts():
    person = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.LONG()])
    array = pa.array([{"name": "Ann", "age": 3}, None])
    assert column_of(person).decode(array) == [Row(name="Ann", age=3), None]


def test_a_field_may_be_called_like_the_kind():
    type_ = Types.ROW_NAMED(["_kind"], [Types.INT()])
    rows = [Row.of_kind(RowKind.DELETE, _kind=1)]
    column = column_of(type_)
    assert exact(column.decode(column.encode(rows))) == exact(rows)


Point = namedtuple("Point", "x y")
UTC = datetime.UTC
REFUSED = [
    (Types.LONG(), True),
    (Types.LONG(), 1.0),
    (Types.LONG(), 2**63),
    (Types.LONG(), 10**5000),
    (Types.BYTE(), 128),
    (Types.BIG_INT(), 10**5000),
    (Types.DOUBLE(), 1),
    (Types.STRING(), b"x"),
    (Types.STRING(), "\ud800"),
    (Types.CHAR(), "ab"),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), bytearray(b"x")),
    (Types.PRIMITIVE_ARRAY(Types.INT()), [1, None]),
    (Types.SQL_DATE(), datetime.datetime(2020, 1, 1)),
    (Types.SQL_TIMESTAMP(), datetime.datetime(2020, 1, 1, tzinfo=UTC)),
    (Types.SQL_TIMESTAMP(), datetime.datetime(2020, 1, 1, fold=1)),
    (Types.SQL_TIME(), datetime.time(1, tzinfo=UTC)),
    (Types.INSTANT(), Instant(0, 1)),
    (Types.INSTANT(), Instant(10**15, 0)),
    (Types.TUPLE([Types.LONG()]), [1]),
    (Types.TUPLE([Types.LONG()]), (1, 2)),
    (Types.TUPLE([Types.LONG(), Types.LONG()]), Point(1, 2)),
    (Types.ROW([Types.LONG()]), Row(a=1)),
    (Types.ROW_NAMED(["a"], [Types.LONG()]), Row(1)),
    (Types.ROW_NAMED(["a"], [Types.LONG()]), Row(b=1)),
    (Types.LIST(Types.LONG()), (1,)),
    (Types.MAP(Types.STRING(), Types.LONG()), {None: 1}),
    (Types.MAP(Types.STRING(), Types.LONG()), OrderedDict(a=1)),
]


@pytest.mark.parametrize(("type_", "value"), REFUSED, ids=text_of)
def test_what_only_resembles_the_type_is_refused_and_then_observed(type_, value):
    with pytest.raises(WrongValue):
        column_of(type_).encode([None, value])
    column = column_of(observed([None, value]))
    assert exact(column.decode(column.encode([None, value]))) == exact([None, value])


def test_a_refused_value_is_named_with_its_place():
    column = column_of(Types.ROW_NAMED(["tags"], [Types.LIST(Types.STRING())]))
    with pytest.raises(WrongValue, match="STRING in an element of field 'tags', got 7 of type int"):
        column.encode([Row(tags=["a", 7])])


OBSERVED = [
    ([1, None, 2], Types.LONG()),
    ([1, 2**70], Types.BIG_INT()),
    ([True, False], Types.BOOLEAN()),
    ([1, True], PICKLED),
    ([1, 1.5], PICKLED),
    ([10**5000], PICKLED),
    ([("a", 1), ("b", None)], Types.TUPLE([Types.STRING(), Types.LONG()])),
    ([("a",), ("b", 1)], PICKLED),
    ([("a", 1), ("b", {2})], Types.TUPLE([Types.STRING(), PICKLED])),
    ([[1], [], None], Types.LIST(Types.LONG())),
    ([[1], ["a"]], PICKLED),
    ([[]], Types.LIST(NothingTypeInfo())),
    ([{"a": 1}, {}], Types.MAP(Types.STRING(), Types.LONG())),
    ([{None: 1}], PICKLED),
    ([], NothingTypeInfo()),
    ([None], NothingTypeInfo()),
    ([b"x"], Types.PRIMITIVE_ARRAY(Types.BYTE())),
    ([bytearray(b"x")], PICKLED),
    ([Row(1)], Types.ROW([Types.LONG()])),
    ([Row(1), Row(a=1)], PICKLED),
    ([Row(1), Row(1, 2)], PICKLED),
    ([Point(1, 2)], PICKLED),
    ([object], PICKLED),
]


@pytest.mark.parametrize(("values", "expected"), OBSERVED, ids=text_of)
def test_observed_types(values, expected):
    assert same_type(observed(values), expected)


def test_rows_are_observed_with_their_names():
    seen = observed([Row(name="Ann", age=1), Row(name=None, age=2)])
    expected = RowTypeInfo([Types.STRING(), Types.LONG()], ["name", "age"])
    assert same_type(seen, expected)


def test_a_value_that_contains_itself_is_pickled():
    loop = []
    loop += [loop, loop]
    column = column_of(observed([loop]))
    (read,) = column.decode(column.encode([loop]))
    assert read[0] is read
    assert len(text_of(loop)) < 1000


def test_unified_types():
    pair = Types.TUPLE([Types.LONG(), NothingTypeInfo()])
    other = Types.TUPLE([Types.BIG_INT(), Types.STRING()])
    assert unified(pair, other) == Types.TUPLE([Types.BIG_INT(), Types.STRING()])
    assert unified(NothingTypeInfo(), Types.LONG()) == Types.LONG()
    assert unified(Types.LIST(Types.LONG()), Types.LIST(Types.STRING())) == PICKLED
    named = [Types.LIST(Types.ROW_NAMED([name], [Types.INT()])) for name in "ab"]
    assert unified(*named) == PICKLED


def test_the_caller_chooses_how_to_pickle():
    column = column_of(Types.LIST(PICKLED), dumps=lambda value: pickle.dumps([value]))
    assert column.decode(column.encode([[{1}]])) == [[[{1}]]]


class Rude:
    def __repr__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "text"),
    [("Ann", "Ann"), ({1: "a"}, "{1: 'a'}"), ("\ud800", "\\ud800")],
)
def test_texts_are_readable(value, text):
    assert text_of(value) == text


def test_an_object_that_cannot_be_shown_is_named():
    assert text_of(Rude()).startswith("<Rude")


@given(TYPED_VALUES)
@settings(deadline=None)
def test_texts_are_short(typed_values):
    text_of(typed_values[1]).encode()
    assert len(text_of(typed_values[1] * 1000)) <= 1000
    assert len(text_of("x" * 5000)) == 1000
