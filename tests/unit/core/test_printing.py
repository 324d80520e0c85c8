"""Text of records; the expected lines were printed or written by PyFlink 2.3."""

import datetime
from decimal import Decimal
from typing import Any

import pytest

from headrace.core.printing import java_text, to_text
from headrace.core.rows import Row, RowKind
from headrace.core.serialization import Encoder
from headrace.core.time import Instant
from headrace.core.types import ExternalTypeInfo, LocalTimeTypeInfo, TypeInformation, Types

MOMENT = datetime.datetime(2020, 1, 2, 3, 4, 5, 678000)
WORDS = Types.TUPLE([Types.STRING(), Types.INT()])
RICH = Types.ROW(
    [
        Types.PRIMITIVE_ARRAY(Types.INT()),
        Types.BASIC_ARRAY(Types.STRING()),
        Types.MAP(Types.STRING(), Types.DOUBLE()),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.SQL_DATE(),
        Types.BIG_DEC(),
        Types.SQL_TIMESTAMP(),
    ]
)
RICH_VALUE = Row([1, 2], ["p"], {"k": 1.0}, b"ab", MOMENT.date(), Decimal("2.50"), MOMENT)

PRINTED = [
    (Types.STRING(), "a", "a"),
    (Types.INT(), 5, "5"),
    (Types.BOOLEAN(), True, "true"),
    (Types.FLOAT(), 1.100000023841858, "1.1"),
    (Types.FLOAT(), 100.0, "100.0"),
    (Types.FLOAT(), float("inf"), "Infinity"),
    (Types.DOUBLE(), 1e10, "1.0E10"),
    (Types.DOUBLE(), 1.5, "1.5"),
    (Types.DOUBLE(), 1e-5, "1.0E-5"),
    (Types.DOUBLE(), float("nan"), "NaN"),
    (Types.DOUBLE(), 1234567.0, "1234567.0"),
    (Types.DOUBLE(), 12345678.9, "1.23456789E7"),
    (Types.DOUBLE(), 0.001, "0.001"),
    (Types.DOUBLE(), -0.0, "-0.0"),
    (Types.DOUBLE(), -120.0, "-120.0"),
    (Types.BIG_DEC(), Decimal("1.50"), "1.50"),
    (Types.SQL_DATE(), MOMENT.date(), "2020-01-02"),
    (Types.SQL_TIME(), datetime.time(1, 2, 3, 456000), "01:02:03"),
    (Types.SQL_TIMESTAMP(), MOMENT, "2020-01-02 03:04:05.678"),
    (Types.SQL_TIMESTAMP(), MOMENT.replace(microsecond=0), "2020-01-02 03:04:05.0"),
    (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE), MOMENT.date(), "2020-01-02"),
    (Types.INSTANT(), Instant.of_epoch_milli(1234), "1970-01-01T00:00:01.234Z"),
    (Types.INSTANT(), Instant(1, 0), "1970-01-01T00:00:01Z"),
    (Types.ROW([Types.INT(), Types.STRING(), Types.STRING()]), Row(1, "a", None), "+I[1,a,None]"),
    (Types.ROW([Types.INT()]), Row.of_kind(RowKind.DELETE, 1), "-D[1]"),
    (Types.ROW([]), Row(), "+I[]"),
    (ExternalTypeInfo(Types.ROW([Types.INT()])), Row(f0=1), "+I[1]"),
    (
        Types.ROW([Types.INT(), Types.ROW([Types.STRING()])]),
        Row(f0=1, f1=Row(f0="x")),
        "+I[1,Row(f0='x')]",
    ),
    (WORDS, ("a", 5), "(a,5)"),
    (WORDS, ("a", None), "(a,null)"),
    (
        Types.TUPLE([Types.STRING(), Types.TUPLE([Types.INT(), Types.FLOAT()]), Types.BOOLEAN()]),
        ("a", (1, 2.5), True),
        "(a,(1,2.5),true)",
    ),
    (
        Types.TUPLE([Types.INT(), Types.ROW([Types.STRING(), Types.STRING()])]),
        (1, Row("a", None)),
        "(1,+I[a, null])",
    ),
    (
        Types.TUPLE([Types.PRIMITIVE_ARRAY(Types.BYTE()), Types.OBJECT_ARRAY(Types.ROW([]))]),
        (b"ab", [Row()]),
        "([97, 98],[+I[]])",
    ),
    (Types.LIST(Types.INT()), [1, 2, 3], "[1, 2, 3]"),
    (Types.MAP(Types.STRING(), Types.INT()), {"a": 1, "b": 2}, "{a=1, b=2}"),
    (None, ("Germany", 123), "('Germany', 123)"),
    (None, Row(a=1, b="x"), "Row(a=1, b='x')"),
    (None, "s", "s"),
    (Types.PICKLED_BYTE_ARRAY(), True, "True"),
]


@pytest.mark.parametrize(("type_info", "value", "text"), PRINTED)
def test_print(type_info: TypeInformation | None, value: Any, text: str) -> None:
    assert to_text(value, type_info) == text


WRITTEN = [
    (
        Types.ROW([Types.INT(), Types.STRING(), Types.DOUBLE(), Types.BOOLEAN()]),
        Row(1, None, 2.5, True),
        "+I[1, null, 2.5, true]",
    ),
    (
        RICH,
        RICH_VALUE,
        "+I[[1, 2], [p], {k=1.0}, [97, 98], 2020-01-02, 2.50, 2020-01-02 03:04:05.678]",
    ),
    (
        Types.MAP(Types.STRING(), Types.ROW([Types.INT(), Types.STRING()])),
        {"a": Row(1, "x")},
        "{a=+I[1, x]}",
    ),
    (WORDS, ("a", 5), "(a,5)"),
    (Types.STRING(), "hello", "hello"),
    (Types.FLOAT(), 1.100000023841858, "1.1"),
    (ExternalTypeInfo(Types.ROW([Types.BOOLEAN()])), Row(True), "+I[true]"),
]


@pytest.mark.parametrize(("type_info", "value", "text"), WRITTEN)
def test_simple_string_encoder(type_info: TypeInformation, value: Any, text: str) -> None:
    assert Encoder.simple_string_encoder().encode(value, type_info) == text
    assert java_text(value, type_info) == text


def test_values_without_a_type_are_written_as_python_writes_them() -> None:
    assert Encoder.simple_string_encoder().encode(("a", 1)) == "('a', 1)"
    assert Encoder.simple_string_encoder().encode({"a"}, Types.PICKLED_BYTE_ARRAY()) == "{'a'}"
