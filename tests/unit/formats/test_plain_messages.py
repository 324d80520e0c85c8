"""json, csv and raw as single messages."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.tables.message_formats import message_format
from headrace.connectors.tables.options import Options
from headrace.core.logical_types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TINYINT,
    ArrayType,
    DecimalType,
    Field,
    LocalZonedTimestampType,
    LogicalType,
    MapType,
    RowType,
    TimestampType,
    TimeType,
)
from headrace.errors import TypeMismatch, Unsupported
from headrace.formats.messages.message_format import BadMessage, MessageFormat, bad_message

INNER = RowType((Field("x", INT), Field("y", ArrayType(STRING))))
FLAT = (
    Field("id", BIGINT),
    Field("ok", BOOLEAN),
    Field("name", STRING),
    Field("data", BYTES),
    Field("small", FLOAT),
    Field("ratio", DOUBLE),
    Field("price", DecimalType(20, 3)),
    Field("day", DATE),
    Field("time", TimeType(0)),
    Field("millis", TimestampType(3)),
    Field("nanos", TimestampType(9)),
    Field("instant", LocalZonedTimestampType(6)),
)
ROW = RowType((*FLAT, Field("part", INNER), Field("counts", MapType(STRING, BIGINT))))
MOMENTS = st.integers(-60_000_000_000, 250_000_000_000)
FLAT_VALUES = (
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.text(st.characters(codec="utf-8", exclude_characters="\x00")),
    st.binary(),
    st.floats(width=32),
    st.floats(),
    st.integers(-(10**20) + 1, 10**20 - 1).map(lambda n: Decimal(n).scaleb(-3)),
    st.integers(-700_000, 2_900_000),
    st.integers(0, 86_399).map(lambda s: s * 1000),
    MOMENTS.map(lambda s: s * 10**9 + 120_000_000),
    MOMENTS.map(lambda s: s * 10**9 + 7),
    MOMENTS.map(lambda s: s * 10**9 + 999_999_000),
)
VALUES = st.tuples(
    *(st.none() | each for each in FLAT_VALUES),
    st.none() | st.tuples(st.integers(-5, 5), st.lists(st.none() | st.text()).map(tuple)),
    st.none() | st.dictionaries(st.text(), st.none() | st.integers(-9, 9)),
)


def make(name: str, row: RowType = ROW, **options: str) -> MessageFormat:
    own = {f"{name}.{key.replace('__', '.').replace('_', '-')}": v for key, v in options.items()}
    return message_format(Options("test", {"format": name, **own}), row)


@given(VALUES, st.sampled_from(["SQL", "ISO-8601"]))
def test_rows_survive_json(values, standard):
    made = make("json", timestamp_format__standard=standard)
    message = made.encoder(ROW)((0, *values))
    assert repr(made.decoder(ROW)(message)) == repr([(0, *values)])


@given(st.tuples(*(st.none() | each for each in FLAT_VALUES)))
def test_rows_survive_csv(values):
    row = RowType(FLAT)
    made = make("csv", row, null_literal="<nothing>")
    message = made.encoder(row)((0, *values))
    assert repr(made.decoder(row)(message)) == repr([(0, *values)])


def one(type: LogicalType) -> RowType:
    return RowType((Field("a", type),))


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (INT, "1.9", 1),
        (INT, '" 7 "', 7),
        (TINYINT, "-128", -128),
        (BOOLEAN, '"TRUE"', True),
        (BOOLEAN, '"no"', False),
        (STRING, "1.50", "1.50"),
        (STRING, '{"b": [1]}', '{"b":[1]}'),
        (DOUBLE, '"NaN"', float("nan")),
        (DOUBLE, "-0.0", -0.0),
        (DecimalType(4, 2), "1.005", Decimal("1.01")),
        (TimestampType(3), '"2020-01-01 00:00:00.1239"', 1577836800123000000),
        (LocalZonedTimestampType(3), '"2020-01-01T02:00:00+02:00"', 1577836800000000000),
        (ArrayType(INT), "[1, null]", (1, None)),
    ],
)
def test_values_that_json_may_have(type, text, value):
    found = make("json", one(type)).decoder(one(type))(f'{{"a": {text}}}'.encode())
    assert repr(found) == repr([(0, value)])


@pytest.mark.parametrize(
    ("type", "text", "reason"),
    [
        (TINYINT, "128", "column a: 128 is no TINYINT"),
        (INT, "[1]", "is no INT"),
        (INT, "1e400", "is no INT"),
        (DecimalType(4, 2), "100", r"'100' is no DECIMAL\(4, 2\)"),
        (DATE, '"2020-02-30"', "'2020-02-30' is no DATE"),
        (TimestampType(3), '"2020-01-01 00:00:00Z"', "is no TIMESTAMP"),
        (LocalZonedTimestampType(3), '"2020-01-01 00:00:00"', "is no TIMESTAMP_LTZ"),
        (BYTES, '"*"', "is no BYTES"),
        (ArrayType(INT), "{}", "is no ARRAY<INT>"),
        (INNER, '{"x": "y"}', "column a: field x: 'y' is no INT"),
    ],
)
def test_values_that_are_none_are_named_or_null(type, text, reason):
    message = f'{{"a": {text}}}'.encode()
    with pytest.raises(BadMessage, match=reason):
        make("json", one(type)).decoder(one(type))(message)
    ignoring = make("json", one(type), ignore_parse_errors="true").decoder(one(type))
    assert ignoring(message)[0][1] in (None, (None, None))
    assert ignoring(b"no json") == []


def test_a_field_that_must_be_there():
    with pytest.raises(BadMessage, match="field a is missing"):
        make("json", one(INT), fail_on_missing_field="true").decoder(one(INT))(b"{}")
    assert make("json", one(INT)).decoder(one(INT))(b"{}") == [(0, None)]


def test_an_array_of_json_objects_is_a_row_for_each():
    row = one(INT)
    decode = make("json", row).decoder(row)
    assert decode(b'[{"a": 1}, {"a": 2}]') == [(0, 1), (0, 2)]
    assert decode(b"[]") == []
    with pytest.raises(BadMessage, match="7 is no JSON object"):
        decode(b'[{"a": 1}, 7]')
    ignoring = make("json", row, ignore_parse_errors="true").decoder(row)
    assert ignoring(b'[{"a": 1}, 7, {"a": "x"}]') == [(0, 1), (0, None)]


def test_keys_that_are_null():
    row = one(MapType(STRING, INT))
    change = (0, {None: 1, "b": 2})
    with pytest.raises(TypeMismatch, match="key that is NULL"):
        make("json", row).encoder(row)(change)
    dropped = make("json", row, map_null_key__mode="DROP").encoder(row)(change)
    assert dropped == b'{"a":{"b":2}}'
    literal = make("json", row, map_null_key__mode="LITERAL", map_null_key__literal="none")
    assert literal.encoder(row)(change) == b'{"a":{"none":1,"b":2}}'


def test_csv_lines_with_too_much_or_too_little():
    row = RowType((Field("a", INT), Field("b", STRING)))
    decode = make("csv", row).decoder(row)
    assert decode(b'1,"x,""y"""') == [(0, 1, 'x,"y"')]
    for bad, reason in (
        (b"1", "2 fields"),
        (b"1,2,3", "2 fields"),
        (b"x,y", "column a: 'x' is no"),
    ):
        with pytest.raises(BadMessage, match=reason):
            decode(bad)
    ignoring = make("csv", row, ignore_parse_errors="true").decoder(row)
    assert [ignoring(each) for each in (b"1", b"1,2,3", b"x,y")] == [
        [(0, 1, None)],
        [],
        [(0, None, "y")],
    ]


def test_raw_values():
    for type, value, message in (
        (STRING, "ü", "ü".encode()),
        (BYTES, b"\xff", b"\xff"),
        (INT, 258, b"\x00\x00\x01\x02"),
        (DOUBLE, 1.0, b"\x3f\xf0" + bytes(6)),
        (BOOLEAN, True, b"\x01"),
    ):
        made = make("raw", one(type))
        assert made.encoder(one(type))((0, value)) == message
        assert made.decoder(one(type))(message) == [(0, value)]
    little = make("raw", one(INT), endianness="little-endian")
    assert little.decoder(one(INT))(b"\x02\x01\x00\x00") == [(0, 258)]
    with pytest.raises(BadMessage, match="3 bytes"):
        little.decoder(one(INT))(b"abc")
    with pytest.raises(Unsupported, match="one column"):
        make("raw", ROW).decoder(ROW)


def test_the_error_that_ends_a_job_says_where():
    error = bad_message("json", "topic orders, partition 0, offset 7", "it is no JSON", b"\xff" * 9)
    assert str(error).startswith(
        "[type-mismatch] cannot read JSON of topic orders, partition 0, offset 7: it is no JSON: "
        "ff ff ff"
    )
