"""What a program gets from collect() for values of every type: found by running PyFlink 2.3.

Where PyFlink itself fails (TIMESTAMP_LTZ, intervals, NULL inside a collection, years before 2,
FLOATs that are no numbers) or loses digits (microseconds), it is what the value is.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from headrace.core.rows import Row
from headrace.core.time import Instant

_NAN, _INFINITY = "CAST('NaN' AS DOUBLE)", "CAST('Infinity' AS DOUBLE)"
_DAY = datetime.date(2020, 1, 1)
_NOON = datetime.datetime(2020, 2, 29, 12, 34, 56, 123456)
_LATEST = datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)

VALUES: Mapping[str, Any] = {
    "TRUE": True,
    "FALSE": False,
    "CAST(-128 AS TINYINT)": -128,
    "CAST(127 AS TINYINT)": 127,
    "CAST(-32768 AS SMALLINT)": -32768,
    "-2147483648": -2147483648,
    "2147483647": 2147483647,
    "CAST('-9223372036854775808' AS BIGINT)": -9223372036854775808,
    "9223372036854775807": 9223372036854775807,
    "CAST(1.23 AS FLOAT)": 1.23,
    "CAST(0.1 AS FLOAT)": 0.1,
    "CAST(123456.789 AS FLOAT)": 123456.79,
    "CAST(16777217 AS FLOAT)": 16777216.0,
    "CAST('1.4E-45' AS FLOAT)": 1.4e-45,
    "CAST('1e10' AS FLOAT)": 1e10,
    f"CAST({_NAN} AS FLOAT)": math.nan,
    f"CAST({_INFINITY} AS FLOAT)": math.inf,
    "CAST(1.23 AS FLOAT) + CAST(1.23 AS FLOAT)": 2.46,
    "CAST(CAST(1.23 AS FLOAT) AS DOUBLE)": 1.2300000190734863,
    "1.23E0": 1.23,
    _NAN: math.nan,
    _INFINITY: math.inf,
    f"-{_INFINITY}": -math.inf,
    "-CAST('0' AS DOUBLE)": -0.0,
    "1.7976931348623157E308": 1.7976931348623157e308,
    "4.9E-324": 5e-324,
    f"CAST('{'9' * 38}' AS DECIMAL(38, 0))": Decimal("9" * 38),
    f"CAST('-{'9' * 38}' AS DECIMAL(38, 0))": Decimal("-" + "9" * 38),
    "CAST('-0.000000000000000001' AS DECIMAL(38, 18))": Decimal("-0.000000000000000001"),
    "CAST(0 AS DECIMAL(38, 18))": Decimal("0.000000000000000000"),
    "CAST(100 AS DECIMAL(5, 2))": Decimal("100.00"),
    "CAST('a' AS CHAR(3))": "a  ",
    "CAST('漢字' AS CHAR(3))": "漢字 ",
    "CAST('abcd' AS VARCHAR(3))": "abc",
    "'ü漢字😀'": "ü漢字😀",
    "'a''b\\'": "a'b\\",
    "''": "",
    "CAST(X'01' AS BINARY(3))": bytearray(b"\1\0\0"),
    "CAST(X'01' AS VARBINARY(3))": bytearray(b"\1"),
    "CAST(X'00ff7f80' AS BYTES)": bytearray(b"\x00\xff\x7f\x80"),
    "DATE '0001-01-01'": datetime.date(1, 1, 1),
    "DATE '9999-12-31'": datetime.date(9999, 12, 31),
    "DATE '1969-12-31'": datetime.date(1969, 12, 31),
    "TIME '23:59:59'": datetime.time(23, 59, 59),
    "CAST('12:34:56.789' AS TIME(3))": datetime.time(12, 34, 56, 789000),
    "TIMESTAMP '0001-01-01 00:00:00'": datetime.datetime(1, 1, 1),
    "TIMESTAMP '1969-12-31 23:59:59.999'": datetime.datetime(1969, 12, 31, 23, 59, 59, 999000),
    "TIMESTAMP '2020-02-29 12:34:56.123456'": _NOON,
    "CAST('2020-02-29 12:34:56.123456789' AS TIMESTAMP(9))": _NOON,
    "TIMESTAMP '9999-12-31 23:59:59.999999'": _LATEST,
    "CAST('9999-12-31 23:59:59.999999999' AS TIMESTAMP(9))": _LATEST,
    "TO_TIMESTAMP_LTZ(-1, 3)": Instant(-1, 999000000),
    "CAST(TIMESTAMP '2020-02-29 12:34:56.123456' AS TIMESTAMP_LTZ(6))": Instant(
        1582979696, 123456000
    ),
    "CAST(CAST('2020-02-29 12:34:56.123456789' AS TIMESTAMP(9)) AS TIMESTAMP_LTZ(9))": Instant(
        1582979696, 123456789
    ),
    "INTERVAL '1-2' YEAR TO MONTH": 14,
    "INTERVAL '1 02:03:04.567' DAY TO SECOND": datetime.timedelta(1, 7384, 567000),
    "INTERVAL '-1' SECOND": datetime.timedelta(seconds=-1),
    "ARRAY[1, 2]": [1, 2],
    "ARRAY[CAST(NULL AS INT), 1]": [None, 1],
    "ARRAY[CAST(1.23 AS FLOAT)]": [1.23],
    "ARRAY[ARRAY['a'], ARRAY[CAST(NULL AS STRING)]]": [["a"], [None]],
    "ARRAY[X'01']": [bytearray(b"\1")],
    "ARRAY[1.25, 3.50]": [Decimal("1.25"), Decimal("3.50")],
    "ARRAY[DATE '2020-01-01']": [_DAY],
    "ARRAY[TIME '12:00:00']": [datetime.time(12)],
    "ARRAY[TIMESTAMP '2020-02-29 12:34:56.123456']": [_NOON],
    "ARRAY[TO_TIMESTAMP_LTZ(1, 3)]": [Instant(0, 1000000)],
    "ARRAY[INTERVAL '1' DAY]": [datetime.timedelta(1)],
    "MAP['a', 1, 'b', CAST(NULL AS INT)]": {"a": 1, "b": None},
    "MAP[1, CAST(1.23 AS FLOAT)]": {1: 1.23},
    "MAP[DATE '2020-01-01', X'01']": {_DAY: bytearray(b"\1")},
    "ROW(1, 'a', CAST(1.23 AS FLOAT))": Row(1, "a", 1.23),
    "ROW(ROW(1, CAST(NULL AS STRING)), ARRAY[ROW(X'01')])": Row(
        Row(1, None), [Row(bytearray(b"\1"))]
    ),
    "MAP['k', ROW(CAST(0.1 AS FLOAT), TIME '01:02:03')]": {"k": Row(0.1, datetime.time(1, 2, 3))},
    "CAST(NULL AS FLOAT)": None,
    "CAST(NULL AS BYTES)": None,
    "CAST(NULL AS DECIMAL(38, 18))": None,
    "CAST(NULL AS TIME(0))": None,
    "CAST(NULL AS TIMESTAMP(9))": None,
    "CAST(NULL AS TIMESTAMP_LTZ(3))": None,
    "CAST(NULL AS INTERVAL DAY TO SECOND(3))": None,
    "CAST(NULL AS ARRAY<FLOAT>)": None,
    "CAST(NULL AS MAP<STRING, BYTES>)": None,
    "CAST(NULL AS ROW<a INT>)": None,
}
GATHERED: Mapping[str, Any] = {
    "SUM(f)": 2.46,
    "MAX(f)": 1.23,
    "AVG(f)": 1.23,
    "ARRAY_AGG(f)": [1.23, 1.23],
    "COLLECT(i)": {1: 2},
    "COLLECT(f)": {1.2300000190734863: 2},
    "COLLECT(d)": {_DAY: 2},
}
"""Aggregates of two equal rows of `i` INT, `f` FLOAT, `d` DATE."""
QUERY = f"SELECT {', '.join(VALUES)} FROM (VALUES (1)) AS t(z)"
GATHERING = (
    f"SELECT {', '.join(GATHERED)} FROM (VALUES (1, CAST(1.23 AS FLOAT), DATE '2020-01-01'), "
    "(1, CAST(1.23 AS FLOAT), DATE '2020-01-01')) AS t(i, f, d)"
)


def shape(value: Any) -> Any:
    """A value with its type, all the way down; 0.0 and -0.0 differ, NaN equals itself."""
    name = type(value).__name__
    match value:
        case Row() | list():
            return name, [shape(part) for part in value]
        case dict():
            return name, [(shape(key), shape(part)) for key, part in value.items()]
    return name, repr(value)


_HIGHEST, _LOWEST = 2**63 - 1, -(2**63)
WRAPPED: Mapping[str, Any] = {
    "t - CAST(1 AS TINYINT)": 127,
    "s - CAST(1 AS SMALLINT)": 32767,
    "i - 1": 2147483647,
    "b - 1": _HIGHEST,
    "b * 2": 0,
    "b * b": 0,
    "b + b": 0,
    "i * i": 0,
    "b / -1": _LOWEST,
    "b / CAST(-1 AS TINYINT)": _LOWEST,
    "i / -1": -2147483648,
    "b % -1": 0,
    "-b": _LOWEST,
    "-i": -2147483648,
    "ABS(b)": _LOWEST,
    "ABS(t)": -128,
    "CAST(b AS INT)": 0,
    "CAST(b - 1 AS INT)": -1,
    "CAST(i - 1 AS TINYINT)": -1,
    "CAST(1E20 AS BIGINT)": _HIGHEST,
    "CAST(-1E20 AS INT)": -2147483648,
    "m + m": None,
    "m - 1": Decimal("9" * 37 + "8"),
    "-m": Decimal("-" + "9" * 38),
    "ABS(-m)": Decimal("9" * 38),
    "CAST(m AS DECIMAL(5, 2))": None,
}
WRAPPING = (
    f"SELECT {', '.join(WRAPPED)} FROM (VALUES (CAST(-128 AS TINYINT), CAST(-32768 AS SMALLINT), "
    f"-2147483648, CAST('{_LOWEST}' AS BIGINT), CAST('{'9' * 38}' AS DECIMAL(38, 0)))) "
    "AS r(t, s, i, b, m)"
)
WRAPPED_SUMS: Mapping[str, Any] = {
    "SUM(t)": -2,
    "SUM(i)": -2,
    "SUM(b)": -2,
    "SUM(DISTINCT b)": _HIGHEST,
    "SUM(b) FILTER (WHERE i > 0)": -2,
    "SUM(i) + 1": -1,
    "AVG(t)": 127,
    "AVG(i)": 2147483647,
    "SUM(m)": None,
    "MAX(m)": Decimal("9" * 38),
    "COUNT(*)": 2,
}
_LARGEST = f"(CAST(127 AS TINYINT), 2147483647, {_HIGHEST}, CAST('{'9' * 38}' AS DECIMAL(38, 0)))"
WRAPPING_SUMS = (
    f"SELECT {', '.join(WRAPPED_SUMS)} FROM (VALUES {_LARGEST}, {_LARGEST}) AS r(t, i, b, m)"
)
QUERIES: tuple[tuple[str, Mapping[str, Any]], ...] = (
    (QUERY, VALUES),
    (GATHERING, GATHERED),
    (WRAPPING, WRAPPED),
    (WRAPPING_SUMS, WRAPPED_SUMS),
)
