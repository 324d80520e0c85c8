"""CAST and TRY_CAST between all types that can be cast."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from headrace.core import logical_types as lt
from headrace.core.expressions import Column, Literal
from headrace.core.logical_types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    LogicalType,
)
from headrace.errors import InvalidArgument, InvalidQuery
from headrace.operators.functions.dates import read_timestamp
from headrace.operators.functions.session import session_time_zone
from headrace.operators.table.compiled import compiled_value
from headrace.sql.functions.conversion import cast, common_type

MICRO, MILLI = lt.TimestampType(6), lt.TimestampType(3)
INSTANT = lt.LocalZonedTimestampType(3)
MONTHS, MILLIS = lt.YearMonthIntervalType("MONTH"), lt.DayTimeIntervalType("SECOND(3)")
NEW_YEAR = read_timestamp("2020-01-01 00:00:00.123456")


def converted(value: Any, source: LogicalType, target: LogicalType, *, safe: bool = False) -> Any:
    return compiled_value(cast(Column(source, 0), target, safe=safe))((0, value))


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (300, INT, TINYINT, 44),
        (123456789012, BIGINT, INT, -1097262572),
        (9.87, DOUBLE, INT, 9),
        (1e20, DOUBLE, BIGINT, 2**63 - 1),
        (123456.78, DOUBLE, SMALLINT, -7616),
        (float("nan"), DOUBLE, INT, 0),
        (Decimal("9123.87"), lt.DecimalType(10, 3), TINYINT, -93),
        (" 12 ", STRING, INT, 12),
        ("1.234", STRING, TINYINT, 1),
        ("1e3", STRING, DOUBLE, 1000.0),
        ("1.1", STRING, FLOAT, 1.100000023841858),
        ("Yes", STRING, BOOLEAN, True),
        (5, INT, BOOLEAN, True),
        (True, BOOLEAN, DOUBLE, 1.0),
        (True, BOOLEAN, lt.DecimalType(5, 2), Decimal("1.00")),
        ("1.235", STRING, lt.DecimalType(5, 2), Decimal("1.24")),
        (3.123456, DOUBLE, lt.DecimalType(8, 4), Decimal("3.1235")),
        (12345, INT, lt.DecimalType(8, 4), None),
        ("2021-09-27 12:34:56.123", STRING, DATE, 18897),
        ("123", STRING, DATE, (date(123, 1, 1) - date(1970, 1, 1)).days),
        ("12:34:56.789", STRING, lt.TimeType(2), 45296780),
        ("2020-01-01 00:00:00.123456", STRING, MICRO, NEW_YEAR),
        (NEW_YEAR, MICRO, MILLI, NEW_YEAR // 10**6 * 10**6),
        (NEW_YEAR, MICRO, DATE, 18262),
        (18262, DATE, MILLI, NEW_YEAR // 10**9 * 10**9),
        (5, INT, lt.DayTimeIntervalType("DAY(2)"), 432_000_000),
        ("a", STRING, lt.BinaryType(2), b"a\0"),
        (b"abc", BYTES, lt.VarBinaryType(2), b"ab"),
        (("1", None), lt.ArrayType(STRING), lt.ArrayType(INT), (1, None)),
        ({"1": 2}, lt.MapType(STRING, INT), lt.MapType(INT, STRING), {1: "2"}),
        ((1, "2"), lt.RowType.of(INT, STRING), lt.RowType.of(STRING, INT), ("1", 2)),
    ],
)
def test_cast(value: Any, source: LogicalType, target: LogicalType, expected: Any) -> None:
    assert converted(value, source, target) == expected


@pytest.mark.parametrize(
    ("value", "source", "expected"),
    [
        (True, BOOLEAN, "TRUE"),
        (1e10, DOUBLE, "1.0E10"),
        (0.00001, DOUBLE, "1.0E-5"),
        (0.001, DOUBLE, "0.001"),
        (1.100000023841858, FLOAT, "1.1"),
        (123456792.0, FLOAT, "1.23456792E8"),
        (float("inf"), DOUBLE, "Infinity"),
        (Decimal("9.870"), lt.DecimalType(4, 3), "9.870"),
        (Decimal("0E-7"), lt.DecimalType(8, 7), "0.0000000"),
        (18262, DATE, "2020-01-01"),
        (45296789, lt.TimeType(1), "12:34:56.7"),
        (NEW_YEAR, MICRO, "2020-01-01 00:00:00.123456"),
        (NEW_YEAR, lt.TimestampType(0), "2020-01-01 00:00:00"),
        (-1, MILLI, "1969-12-31 23:59:59.999"),
        (123, MONTHS, "+10-03"),
        (-123456789, MILLIS, "-1 10:17:36.789"),
        (b"\0\1", BYTES, "\0\1"),
        ((None, 456), lt.ArrayType(INT), "[NULL, 456]"),
        ({"a": -123}, lt.MapType(STRING, MONTHS), "{a=-10-03}"),
        ({"a": 2}, lt.MultisetType(STRING), "{a=2}"),
        ((None, "abc"), lt.RowType.of(INT, STRING), "(NULL, abc)"),
        (None, INT, None),
    ],
)
def test_cast_to_text(value: Any, source: LogicalType, expected: str | None) -> None:
    assert converted(value, source, STRING) == expected


def test_text_is_cut_and_padded() -> None:
    assert converted(12345, INT, lt.VarCharType(3)) == "123"
    assert converted(12, INT, lt.CharType(4)) == "12  "


def test_zoned_timestamps_go_through_the_session_time_zone() -> None:
    with session_time_zone("Asia/Shanghai"):
        assert converted(0, INSTANT, STRING) == "1970-01-01 08:00:00.000"
        assert converted(0, INSTANT, MILLI) == 8 * 3600 * 10**9
        assert converted("1970-01-01 08:00:00", STRING, INSTANT) == 0
        assert converted(0, DATE, INSTANT) == -8 * 3600 * 10**9


@pytest.mark.parametrize(
    ("value", "source", "target"),
    [
        ("foo", STRING, INT),
        ("-130", STRING, TINYINT),
        ("12345.6789", STRING, lt.DecimalType(8, 4)),
        (" true ", STRING, BOOLEAN),
        ("2021/09/27", STRING, DATE),
        ("2021-02-30", STRING, DATE),
        ("2021-01-01T00:00:00", STRING, MILLI),
        ("25:00:00", STRING, lt.TimeType()),
        (float("nan"), DOUBLE, lt.DecimalType(5, 2)),
    ],
)
def test_what_cannot_be_cast_fails_or_is_null(
    value: Any, source: LogicalType, target: LogicalType
) -> None:
    with pytest.raises(InvalidArgument, match="TRY_CAST"):
        converted(value, source, target)
    assert converted(value, source, target, safe=True) is None


@pytest.mark.parametrize(
    ("source", "target"),
    [(INT, DATE), (BYTES, INT), (MICRO, BIGINT), (BOOLEAN, DATE), (lt.ArrayType(INT), INT)],
)
def test_casts_without_a_meaning_are_refused(source: LogicalType, target: LogicalType) -> None:
    with pytest.raises(InvalidQuery, match="cannot be cast"):
        cast(Column(source, 0), target)


def test_nullability_of_casts() -> None:
    column = Column(INT.not_null(), 0)
    assert cast(column, STRING).type == STRING.not_null()
    assert cast(column, STRING, safe=True).type == STRING
    assert cast(Literal(lt.NULL, None), INT) == Literal(INT, None)


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ((INT, BIGINT.not_null()), BIGINT),
        ((INT, lt.DecimalType(3, 2)), lt.DecimalType(12, 2)),
        ((FLOAT, lt.DecimalType(3, 2)), DOUBLE),
        ((BIGINT, FLOAT), FLOAT),
        ((lt.CharType(1), lt.CharType(3)), lt.VarCharType(3)),
        ((lt.CharType(3), STRING), STRING),
        ((MILLI, MICRO), MICRO),
        ((MILLI, INSTANT), INSTANT),
        ((lt.NULL, INT.not_null()), INT),
        ((lt.ArrayType(INT), lt.ArrayType(BIGINT)), lt.ArrayType(BIGINT)),
        ((INT, STRING), None),
        ((lt.NULL, lt.NULL), None),
    ],
)
def test_common_type(types: tuple[LogicalType, ...], expected: LogicalType | None) -> None:
    assert common_type(types) == expected
