"""JSON objects and rows, JSON lines, JSON schemas."""

from __future__ import annotations

import datetime
import json
import pickle
from decimal import Decimal

import cloudpickle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Row, Types
from headrace.core.source import TextFilesSpec
from headrace.datastream.connectors import FileSource, StreamFormat
from headrace.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)
from headrace.errors import InvalidArgument, TypeMismatch

KIND = Types.ROW_NAMED(
    ["i", "s", "d", "b", "l", "m", "r", "dt", "tm", "ts", "dec", "by"],
    [
        Types.INT(),
        Types.STRING(),
        Types.DOUBLE(),
        Types.BOOLEAN(),
        Types.OBJECT_ARRAY(Types.INT()),
        Types.MAP(Types.STRING(), Types.LONG()),
        Types.ROW_NAMED(["x"], [Types.INT()]),
        Types.SQL_DATE(),
        Types.SQL_TIME(),
        Types.SQL_TIMESTAMP(),
        Types.BIG_DEC(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
    ],
)
TEXT = (
    '{"i":1,"s":"a\\"é\\n","d":2.5,"b":true,"l":[1,null,3],"m":{"k":3},"r":{"x":5},'
    '"dt":"2020-01-02","tm":"10:11:12Z","ts":"2020-01-02T03:04:05.678Z","dec":1.50,"by":"YWJj"}'
)
ROW = Row(
    i=1,
    s='a"é\n',
    d=2.5,
    b=True,
    l=[1, None, 3],
    m={"k": 3},
    r=Row(x=5),
    dt=datetime.date(2020, 1, 2),
    tm=datetime.time(10, 11, 12),
    ts=datetime.datetime(2020, 1, 2, 3, 4, 5, 678000),
    dec=Decimal("1.50"),
    by=b"abc",
)


def reader(kind=KIND):
    return JsonRowDeserializationSchema.builder().type_info(kind)


def writer(kind=KIND):
    return JsonRowSerializationSchema.builder().with_type_info(kind).build()


def test_every_type_both_ways():
    assert reader().build().deserialize(TEXT.encode()) == ROW
    assert writer().serialize(ROW).decode() == TEXT


# What PyFlink 2.3's own schema gave for these objects.
@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("{}", {}),
        ('{"i":"7","s":5,"d":"1.5","b":"true","l":null}', {"i": 7, "s": "5", "d": 1.5, "b": True}),
        ('{"s":{"a":1},"zz":1}', {"s": '{"a":1}'}),
        ('{"l":[1,null,"3"]}', {"l": [1, None, 3]}),
        ('{"i":2.0}', {"i": 2}),
        ('{"d":3}', {"d": 3.0}),
    ],
)
def test_objects_are_read_as_flink_reads_them(text, fields):
    row = reader().build().deserialize(text.encode())
    assert {name: value for name, value in row.as_dict().items() if value is not None} == fields


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"i":"x"}', "field 'i': 'x' is not a whole number"),
        ('{"i":1.7}', "field 'i': '1.7' is not a whole number"),
        ('{"i":3000000000}', "field 'i': '3000000000' is not within the bounds of INT"),
        ('{"i":true}', "field 'i': True is not of type INT"),
        ('{"b":1}', "field 'b': 1 is not a text"),
        ('{"b":"yes"}', "field 'b': 'yes' is not true or false"),
        ('{"l":5}', "field 'l': 5 is not a JSON array"),
        ('{"m":[1]}', r"field 'm': \[1\] is not a JSON object"),
        ('{"r":{"x":"?"}}', "field 'r': field 'x': '\\?' is not a whole number"),
        ('{"dt":"yesterday"}', "field 'dt': 'yesterday' is not a date"),
        ('{"by":"%"}', "field 'by': '%' is not base64"),
        ('{"d":NaN}', "NaN is not a JSON number"),
        ("[1]", r"\[1\] is not a JSON object"),
        ("{bad", "Expecting property name"),
        ("", "Expecting value"),
    ],
)
def test_bad_objects_name_their_content_and_the_fault(text, reason):
    with pytest.raises(TypeMismatch, match=reason) as caught:
        reader().build().deserialize(text.encode())
    assert f"JSON line {text!r}" in str(caught.value)


def test_null_is_no_row():
    assert reader().build().deserialize(b"null") is None


def test_missing_fields_can_be_errors():
    strict = reader(Types.ROW_NAMED(["a", "b"], [Types.INT()] * 2)).fail_on_missing_field().build()
    assert strict.deserialize(b'{"a":1,"b":null}') == Row(a=1, b=None)
    with pytest.raises(TypeMismatch, match="there is no field 'b'"):
        strict.deserialize(b'{"a":1}')


def test_ignored_errors_become_nulls_and_none():
    read = reader(Types.ROW_NAMED(["a", "b"], [Types.INT()] * 2)).ignore_parse_errors().build()
    assert read.deserialize(b'{"a":"x","b":2}') == Row(a=None, b=2)
    assert read.deserialize(b"{bad") is None
    assert read.deserialize(b"[1]") is None


def test_written_numbers():
    kind = Types.ROW_NAMED(["d", "f", "n"], [Types.DOUBLE(), Types.FLOAT(), Types.DOUBLE()])
    row = Row(1e20, 0.1, float("nan"))
    assert writer(kind).serialize(row) == b'{"d":1.0E20,"f":0.1,"n":"NaN"}'
    assert writer(kind).serialize((None, None, None)) == b'{"d":null,"f":null,"n":null}'


def test_a_row_of_another_width():
    with pytest.raises(TypeMismatch, match="has 1 fields, the JSON schema 12"):
        writer().serialize(Row(1))


@given(
    st.fixed_dictionaries(
        {
            "i": st.none() | st.integers(-(2**31), 2**31 - 1),
            "s": st.none() | st.text(st.characters(codec="utf-8")),
            "d": st.none() | st.floats(allow_nan=False, allow_infinity=False),
            "l": st.none() | st.lists(st.none() | st.integers(-5, 5)),
        }
    )
)
def test_what_is_written_is_read_back(fields):
    kind = Types.ROW_NAMED(
        list("isdl"), [Types.INT(), Types.STRING(), Types.DOUBLE(), Types.LIST(Types.INT())]
    )
    text = writer(kind).serialize(Row(**fields))
    assert json.loads(text) == fields
    assert reader(kind).build().deserialize(text) == Row(**fields)


def test_schemas_travel():
    schema = reader().build()
    schema.deserialize(b"{}")
    assert pickle.loads(pickle.dumps(schema)).deserialize(b'{"i":4}').i == 4
    assert schema.get_produced_type() == KIND


def test_a_row_type_is_needed():
    for build in (JsonRowDeserializationSchema.builder(), JsonRowSerializationSchema.builder()):
        with pytest.raises(TypeMismatch, match="needs a row type, not None"):
            build.build()
    with pytest.raises(TypeMismatch, match="needs a row type, not String"):
        reader(Types.STRING())


class TestLines:
    def spec(self, *arguments, **settings) -> TextFilesSpec:
        lines = StreamFormat.json_lines_format(*arguments, **settings)
        source = FileSource.for_record_stream_format(lines, "a.jsonl").build()
        return cloudpickle.loads(cloudpickle.dumps(source.spec()))

    def test_without_a_type_values_are_pythons(self):
        decode = self.spec().decode
        assert decode(['{"a":[1,2.5]}', "", "7", '"x"', "null"]) == [{"a": [1, 2.5]}, 7, "x"]
        assert isinstance(decode(["2.5"])[0], float)
        assert StreamFormat.json_lines_format().produced_type() is None

    def test_with_a_row_type_values_are_rows(self):
        kind = Types.ROW_NAMED(["a"], [Types.LONG()])
        assert self.spec(kind).decode(['{"a":1,"b":2}']) == [Row(a=1)]
        assert StreamFormat.json_lines_format(kind).produced_type() == kind

    @pytest.mark.parametrize("kind", [None, Types.ROW_NAMED(["a"], [Types.LONG()])])
    def test_bad_lines(self, kind):
        lines = ['{"a":1}', '{"a":', '{"a":3}']
        with pytest.raises(TypeMismatch, match=r"""cannot read the JSON line '\{"a":'"""):
            self.spec(kind).decode(lines)
        assert len(self.spec(kind, ignore_parse_errors=True).decode(lines)) == 2


class TestJsonSchema:
    def test_types(self):
        document = {
            "type": "object",
            "definitions": {"point": {"type": "array", "items": {"type": "number"}}},
            "properties": {
                "a": {"type": "integer"},
                "b": {"type": ["string", "null"]},
                "c": {"$ref": "#/definitions/point"},
                "d": {"type": "boolean"},
                "e": {"type": "string", "format": "date-time"},
                "f": {"type": "object", "properties": {"g": {"type": "string"}}},
                "h": {"type": "string", "contentEncoding": "base64"},
            },
        }
        schema = JsonRowDeserializationSchema.builder().json_schema(json.dumps(document)).build()
        kind = schema.get_produced_type()
        assert kind.get_field_names() == list("abcdefh")
        assert kind.get_field_types() == [
            Types.BIG_DEC(),
            Types.STRING(),
            Types.OBJECT_ARRAY(Types.BIG_DEC()),
            Types.BOOLEAN(),
            Types.SQL_TIMESTAMP(),
            Types.ROW_NAMED(["g"], [Types.STRING()]),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
        ]
        row = schema.deserialize(b'{"a":10000000000000000000000,"c":[0.1]}')
        assert (row.a, row.c) == (10**22, [Decimal("0.1")])

    @pytest.mark.parametrize(
        ("document", "reason"),
        [
            ("{", "is not JSON"),
            (None, "is not JSON"),
            ('{"type":"string"}', "must describe an object"),
            ('{"type":"object"}', "no type headrace can read"),
            ('{"type":"object","properties":{"a":{"type":"any"}}}', "property 'a' has no type"),
            ('{"type":"object","properties":{"a":{"$ref":"#/no"}}}', "'#/no' leads nowhere"),
        ],
    )
    def test_refusals(self, document, reason):
        with pytest.raises(InvalidArgument, match=reason):
            JsonRowDeserializationSchema.builder().json_schema(document)
