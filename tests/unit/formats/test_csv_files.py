"""CSV schemas and whole CSV files."""

from __future__ import annotations

import io
import pickle
from decimal import Decimal

import pytest

from headrace.common import Row, Types
from headrace.core.stream_types import logical_type_of_stream
from headrace.datastream.formats.csv import CsvReaderFormat, CsvSchema
from headrace.errors import InvalidArgument, TypeMismatch
from headrace.table import DataTypes


def people():
    return (
        CsvSchema.builder()
        .add_string_column("name")
        .add_number_column("age")
        .add_boolean_column("on")
    )


def read(schema, text, **settings):
    reader = pickle.loads(pickle.dumps(CsvReaderFormat(schema, **settings)))
    return list(reader.read(io.StringIO(text, newline=""), "people.csv"))


def test_typed_rows():
    rows = read(people().build(), 'Ann,31,true\r\n"Bob, jr.",42,FALSE\r\n\r\n"Cid\nDay",1,true')
    assert rows == [
        Row(name="Ann", age=31, on=True),
        Row(name="Bob, jr.", age=42, on=False),
        Row(name="Cid\nDay", age=1, on=True),
    ]


def test_produced_type():
    schema = people().add_array_column("tags", element_type=Types.INT()).build()
    kind = CsvReaderFormat.for_schema(schema).produced_type()
    assert kind.get_field_names() == ["name", "age", "on", "tags"]
    assert kind.get_field_types() == [
        Types.STRING(),
        Types.LONG(),
        Types.BOOLEAN(),
        Types.LIST(Types.INT()),
    ]


def test_header_is_left_out():
    schema = people().set_use_header().build()
    assert [row.name for row in read(schema, "name,age,on\nAnn,1,true\n")] == ["Ann"]
    assert read(schema, "") == []


def test_strict_header():
    schema = people().set_use_header().set_strict_headers().build()
    assert len(read(schema, "name,age,on\nAnn,1,true\n")) == 1
    with pytest.raises(TypeMismatch, match=r"header of people\.csv is name, on, age, but"):
        read(schema, "name,on,age\nAnn,true,1\n")


def test_first_data_row_can_be_skipped():
    schema = people().set_use_header().set_skip_first_data_row().build()
    assert read(schema, "name,age,on\nunits,years,\nAnn,1,true\n")[0].name == "Ann"


def test_separators_quotes_escapes_nulls_and_comments():
    schema = (
        people()
        .add_array_column("tags", "/")
        .set_column_separator("|")
        .set_quote_char("'")
        .set_escape_char("\\")
        .set_null_value("-")
        .set_allow_comments()
        .build()
    )
    text = "# people\n'A|n''n'|-|true|a/b\n\\|x|5|-|-\n'#\n# no comment'|1|true|z\n"
    assert read(schema, text) == [
        Row(name="A|n'n", age=None, on=True, tags=["a", "b"]),
        Row(name="|x", age=5, on=None, tags=None),
        Row(name="#\n# no comment", age=1, on=True, tags=["z"]),
    ]


def test_without_quotes():
    schema = people().disable_quote_char().disable_escape_char().build()
    assert read(schema, '"Ann",1,true\n')[0].name == '"Ann"'


def test_a_blank_line_is_an_empty_text_in_a_single_column():
    schema = CsvSchema.builder().add_string_column("line").build()
    assert [row.line for row in read(schema, "a\n\nb\n")] == ["a", "", "b"]


@pytest.mark.parametrize(
    ("text", "content", "reason"),
    [
        ("Ann,1,true\nBob,x2,true\n", "'Bob,x2,true'", "field 'age': 'x2' is not a whole number"),
        ("Ann,1,true\nBob,2\n", "'Bob,2'", "it has 2 fields, not 3"),
        ("Ann,1,true\nBob,2,true,\n", "'Bob,2,true,'", "it has 4 fields, not 3"),
        ("Ann,1,true\nBob,,true\n", "'Bob,,true'", "field 'age': '' is not a whole number"),
        (f"Ann,1,true\nBob,{2**63},true\n", f"'Bob,{2**63},true'", "bounds of LONG"),
        ("Ann,1,true\nBob,١,true\n", "'Bob,١,true'", "not a whole number"),
        ("Ann,1,true\nBob,1_0,true\n", "'Bob,1_0,true'", "not a whole number"),
        ('Ann,1,true\n"Bob,1,true\n', "'\"Bob,1,true\\n'", "unexpected end of data"),
    ],
)
def test_bad_lines_name_content_place_and_fault(text, content, reason):
    with pytest.raises(TypeMismatch, match=reason) as caught:
        read(people().build(), text)
    assert content in str(caught.value)
    assert "line 2 of people.csv" in str(caught.value)


def test_bad_lines_are_left_out_only_when_asked():
    text = 'Ann,1,true\nBob,x,true\nCid,3\n"Dan"n,4,true\nEve,5,true\n'
    rows = read(people().build(), text, ignore_parse_errors=True)
    assert [row.name for row in rows] == ["Ann", "Eve"]
    lenient = CsvReaderFormat.for_schema(people().build()).with_ignore_parse_errors()
    assert lenient.ignore_parse_errors


def test_many_rows():
    rows = read(people().build(), "".join(f"p{n},{n},true\n" for n in range(5000)))
    assert [row.age for row in rows] == list(range(5000))


def test_long_fields():
    assert len(read(people().build(), f'"{"x" * 300_000}",1,true\n')[0].name) == 300_000


class TestSchema:
    def test_columns(self):
        builder = people()
        assert (builder.size(), len(builder)) == (3, 3)
        schema = CsvSchema.builder().add_columns_from(builder.build()).build()
        assert (schema.size(), len(schema)) == (3, 3)
        assert str(schema) == "CsvSchema(name: STRING, age: LONG, on: BOOLEAN)"
        assert len(builder.clear_columns()) == 0

    def test_array_separators(self):
        builder = CsvSchema.builder().add_array_column("a", "/").add_array_column("b")
        assert read(builder.build(), "1/2,3;4\n") == [Row(a=["1", "2"], b=["3", "4"])]
        builder.set_array_element_separator(":")
        assert read(builder.build(), "1:2,3:4\n") == [Row(a=["1", "2"], b=["3", "4"])]
        builder.remove_array_element_separator(0)
        assert read(builder.build(), "1:2,3:4\n") == [Row(a=["1:2"], b=["3", "4"])]
        builder.disable_array_element_separator()
        assert read(builder.build(), "1:2,3:4\n") == [Row(a=["1:2"], b=["3:4"])]

    def test_number_types(self):
        schema = CsvSchema.builder().add_number_column("d", Types.DOUBLE()).build()
        assert [row.d for row in read(schema, "1.5\n2\nNaN\n")][:2] == [1.5, 2.0]
        with pytest.raises(TypeMismatch, match="number column 'd' cannot have the type String"):
            CsvSchema.builder().add_number_column("d", Types.STRING())

    def test_types_of_tables_are_taken_as_in_pyflink(self):
        schema = (
            CsvSchema.builder()
            .add_number_column("i", number_type=DataTypes.INT())
            .add_number_column("d", DataTypes.DECIMAL(38, 0))
            .add_array_column("a", "#", element_type=DataTypes.DOUBLE())
            .build()
        )
        assert read(schema, "1,12,1.5#2\n") == [Row(i=1, d=Decimal(12), a=[1.5, 2.0])]
        with pytest.raises(TypeMismatch, match="'s' cannot have the type") as refused:
            CsvSchema.builder().add_number_column("s", DataTypes.STRING())
        assert refused.value.origin.file == __file__
        with pytest.raises(TypeMismatch, match="elements of column 'a'") as refused:
            CsvSchema.builder().add_array_column("a", element_type=int)
        assert refused.value.origin.file == __file__

    def test_refusals(self):
        with pytest.raises(InvalidArgument, match="at least one column"):
            CsvSchema.builder().build()
        with pytest.raises(InvalidArgument, match="already has a column 'name'"):
            people().add_string_column("name")
        with pytest.raises(InvalidArgument, match="single character, not ''"):
            people().set_column_separator("")
        with pytest.raises(TypeMismatch, match="further fields is a text, not 7"):
            people().set_any_property_name(7)
        with pytest.raises(InvalidArgument, match="no column 9"):
            people().remove_array_element_separator(9)
        with pytest.raises(TypeMismatch, match="reads with a CsvSchema"):
            CsvReaderFormat.for_schema("name,age")


def test_a_name_for_further_fields_lets_no_line_have_them():
    schema = people().set_any_property_name("rest").build()
    assert [row.name for row in read(schema, "Ann,31,true\n")] == ["Ann"]
    with pytest.raises(TypeMismatch, match="it has 4 fields, not 3"):
        read(schema, "Ann,31,true,more\n")


def test_decimals_have_the_digits_that_were_declared():
    schema = (
        CsvSchema.builder()
        .add_number_column("whole", DataTypes.DECIMAL(2, 0))
        .add_array_column("parts", element_type=DataTypes.DECIMAL(4, 1))
        .add_number_column("any", Types.BIG_DEC())
        .build()
    )
    copied = CsvSchema.builder().add_columns_from(schema).build()
    for each in (schema, copied):
        (one, other) = read(each, "1.5,1.25;2,1.25\n999,-0.05,7\n")
        assert one == Row(
            whole=Decimal(2), parts=[Decimal("1.3"), Decimal("2.0")], any=Decimal("1.25")
        )
        assert other == Row(whole=None, parts=[Decimal("-0.1")], any=Decimal(7))
        assert str(logical_type_of_stream(each.row_type())).startswith(
            "ROW<`whole` DECIMAL(2, 0), `parts` ARRAY<DECIMAL(4, 1)>"
        )
