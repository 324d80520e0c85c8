"""JSON objects read and written in one step mean what they mean field by field."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.common import Row, Types
from headrace.core.logical_types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    STRING,
    TINYINT,
    ArrayType,
    DecimalType,
    Field,
    RowType,
)
from headrace.errors import TypeMismatch
from headrace.formats.json_objects import ReadField, object_reader, object_writer, whole_number
from headrace.formats.json_rows import JsonRowDeserializationSchema, JsonRowSerializationSchema
from headrace.formats.json_values import JsonReading, object_text, parse_json, value_reader
from headrace.formats.messages.json_values import JsonStrictness, parse_objects, row_reader
from headrace.formats.messages.message_format import BadMessage
from headrace.formats.messages.plain_formats import JsonMessages
from headrace.formats.table_texts import JsonForm, json_text

NAMES = ("a", "Ünï", "small", "ok", "x", "f", "price", "list")
TABLE = RowType(
    tuple(
        map(
            Field,
            NAMES,
            (BIGINT, STRING, TINYINT, BOOLEAN, DOUBLE, FLOAT, DecimalType(9, 2), ArrayType(BIGINT)),
        )
    )
)
STREAM = Types.ROW_NAMED(
    list(NAMES),
    [
        Types.LONG(),
        Types.STRING(),
        Types.BYTE(),
        Types.BOOLEAN(),
        Types.DOUBLE(),
        Types.FLOAT(),
        Types.BIG_DEC(),
        Types.LIST(Types.LONG()),
    ],
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-300, 300),
    st.integers(-(2**64), 2**64),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.integers(-300, 300).map(str),
)
VALUES = SCALARS | st.lists(SCALARS, max_size=2)
OBJECTS = st.dictionaries(st.sampled_from((*NAMES, "other")), VALUES)
MESSAGES = st.one_of(
    OBJECTS.map(json.dumps),
    OBJECTS.map(lambda fields: json.dumps(fields, ensure_ascii=False)),
    st.lists(OBJECTS, max_size=2).map(json.dumps),
    OBJECTS.map(json.dumps).map(lambda text: text[:-1]),
    st.text(max_size=10),
)
ODD = (
    '\ufeff{"a": 1}',
    ' {"a": 1} ',
    '{"a": 1, "a": 2}',
    '{"a": 9007199254740993.0}',
    '{"x": 1e400}',
    '{"x": NaN}',
    '{"Ünï": "\\ud800"}',
    '{"\\u0061": 3}',
    '{"list": [1, 2], "price": 1.005}',
    "null",
)


def outcome(read: Any, message: bytes) -> Any:
    try:
        return repr(read(message))
    except BadMessage as error:
        return str(error)


def with_oddities(test: Any) -> Any:
    for text in ODD:
        test = example(text)(test)
    return given(MESSAGES)(test)


@pytest.mark.parametrize(
    "how",
    [JsonStrictness(), JsonStrictness(missing_fields_fail=True), JsonStrictness(False, True)],
    ids=["plain", "all fields", "no errors"],
)
@with_oddities
def test_messages_of_tables(how: JsonStrictness, text: str) -> None:
    read = row_reader(TABLE.fields, how)

    def by_field(message: bytes) -> list[Any]:
        if not how.bad_fields_are_null:
            return [(0, *read(each)) for each in parse_objects(message)]
        try:
            found = parse_objects(message)
        except BadMessage:
            return []
        return [(0, *read(each)) for each in found if isinstance(each, dict)]

    message = text.encode("utf-8", "surrogatepass")
    assert outcome(JsonMessages(reading=how).decoder(TABLE), message) == outcome(by_field, message)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("ignores", [False, True])
@with_oddities
def test_rows_of_streams(strict: bool, ignores: bool, text: str) -> None:
    reading = JsonReading(strict, ignores)
    schema, read = JsonRowDeserializationSchema(STREAM, reading), value_reader(STREAM, reading)
    message = text.encode("utf-8", "surrogatepass")
    try:
        expected = read(parse_json(message))
    except ValueError as error:
        expected, fault = None, str(error)
    else:
        fault = ""
    if fault and not ignores:
        with pytest.raises(TypeMismatch, match=re.escape(fault[:20])):
            schema.deserialize(message)
    else:
        assert repr(schema.deserialize(message)) == repr(expected)


def test_messages_that_are_too_deep() -> None:
    message = b"[" * 100_000
    with pytest.raises(TypeMismatch, match="recursion"):
        JsonRowDeserializationSchema(STREAM, JsonReading()).deserialize(message)
    lenient = JsonRowDeserializationSchema(STREAM, JsonReading(ignore_parse_errors=True))
    assert lenient.deserialize(message) is None
    with pytest.raises(BadMessage, match="recursion"):
        JsonMessages().decoder(TABLE)(message)


SIMPLE = RowType(tuple(map(Field, NAMES[:4], (BIGINT, STRING, TINYINT, BOOLEAN))))
FITTING = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.text(),
    st.none() | st.integers(-128, 127),
    st.none() | st.booleans(),
)


@given(FITTING, st.booleans())
def test_rows_of_tables_are_written(values: tuple[Any, ...], skips_nulls: bool) -> None:
    form = JsonForm(ignores_null_fields=skips_nulls)
    written = JsonMessages(form=form).encoder(SIMPLE)((0, *values))
    assert written.decode() == json_text(SIMPLE, form)(values)


@given(FITTING)
def test_rows_of_streams_are_written(values: tuple[Any, ...]) -> None:
    kind = Types.ROW_NAMED(list(NAMES[:4]), list(STREAM.field_types[:4]))
    written = JsonRowSerializationSchema(kind).serialize(Row(*values))
    assert written.decode() == object_text(values, kind)


def test_values_of_other_classes_are_written_by_their_types() -> None:
    kind = Types.ROW_NAMED(["text", "big"], [Types.STRING(), Types.LONG()])
    write = JsonRowSerializationSchema(kind).serialize
    assert write(Row(5, 6)) == b'{"text":"5","big":6}'
    assert write(Row("5", 2**70)) == f'{{"text":"5","big":{2**70}}}'.encode()


@pytest.mark.parametrize("name", ['"', "\\", "\n", ""])
def test_fields_may_have_any_name(name: str) -> None:
    row = RowType((Field(name, BIGINT),))
    message = JsonMessages().encoder(row)((0, 5))
    assert json.loads(message) == {name: 5}
    assert JsonMessages().decoder(row)(message) == [(0, 5)]


def test_what_does_not_fit_is_left_to_others() -> None:
    read = object_reader([ReadField("n", whole_number(0, 9))])
    assert read(b'{"n": 9, "m": []}') == (9,)
    for message in (b'{"n": 10}', b'{"n": "1"}', b"[]", b"", b'{"n": 1.0}'):
        with pytest.raises(ValueError, match=r"\S"):
            read(message)
    write = object_writer(["n"], [int], lambda values: f"by parts: {values[0]}")
    assert write([1]) == b'{"n":1}'
    assert write(["1"]) == b"by parts: 1"
