"""Functions that have a Spark form give there what they give in Python."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice, product
from typing import Any

from pyspark.sql import SparkSession

from headrace.core import logical_types as lt
from headrace.core.expressions import Expression, Literal
from headrace.core.given_values import from_python
from headrace.core.logical_types import BIGINT, BOOLEAN, DATE, DOUBLE, FLOAT, INT, STRING, TINYINT
from headrace.core.table_values import nullable
from headrace.errors import InvalidQuery
from headrace.operators.functions.dates import read_timestamp
from headrace.operators.table.compiled import compiled_value
from headrace.spark.native.expressions import Expressions
from headrace.spark.native.types import NotNative
from headrace.sql import functions
from headrace.sql.functions.conversion import can_cast_explicitly, cast
from headrace.sql.functions.row import Typed
from headrace.sql.literals import literal

VALUES: tuple[tuple[lt.LogicalType, tuple[Any, ...]], ...] = (
    (TINYINT, (-128, 7, None)),
    (INT, (2**31 - 1, -7, 3, 0, None)),
    (BIGINT, (-(2**63), 2**63 - 1, 5, -1, None)),
    (FLOAT, (1.5, -2.25)),
    (DOUBLE, (0.1, -3.5, 0.0, -0.0, 1e300, None)),
    (lt.DecimalType(5, 2), (Decimal("123.45"), Decimal("-0.01"), None)),
    (lt.DecimalType(38, 10), (Decimal("9999999999999999999999999999.5"), Decimal(3))),
    (STRING, ("b", "B", "", "ä", None)),
    (BOOLEAN, (True, False, None)),
    (DATE, (18292, -1, None)),
    (lt.TimestampType(3), (read_timestamp("2020-02-29 13:14:15.167"), -1_000_000, None)),
)
NAMES = (
    "PLUS", "MINUS", "TIMES", "DIVIDE", "MOD", "NEGATE", "ABS", "EQUALS", "NOT_EQUALS", "LESS_THAN",
    "GREATER_THAN_OR_EQUAL", "IS_DISTINCT_FROM", "IS_NULL", "AND", "OR", "NOT", "COALESCE",
    "YEAR", "BETWEEN", "IN",
)  # fmt: skip
TARGETS = (
    TINYINT, INT, BIGINT, FLOAT, DOUBLE, lt.DecimalType(5, 2), STRING, BOOLEAN, DATE,
    lt.TimestampType(3),
)  # fmt: skip


def literals() -> list[Literal]:
    return [
        Literal(kind.with_nullable(value is None), value) for kind, all in VALUES for value in all
    ]


def calls() -> Iterator[Expression]:
    """Each function with all arguments that fit it."""
    known = literals()
    for name in NAMES:
        row = functions.find(name)
        assert row is not None
        count = len(row.signatures[0].parameters)
        choices = known if count < 3 else known[::3]
        for arguments in product(choices, repeat=count):
            try:
                yield row.bind(arguments)
            except InvalidQuery:
                continue
    for value, target in product(known, TARGETS):
        if can_cast_explicitly(value.type, target):
            yield cast(value, target)


def examples() -> Iterator[Expression]:
    for row in functions.all_rows():
        for example in row.examples:
            if row.kind == "scalar" and row.spark is not None and row.deterministic:
                yield row.bind(
                    [
                        Literal(value.type, value.value)
                        if isinstance(value, Typed)
                        else literal(value)
                        for value in example.arguments
                    ]
                )


class OnlyNative(Expressions):
    """Refuses what would run in Python."""

    def _call_of_python(self, expression: Expression) -> str:
        raise NotNative(str(expression))


def native(session: SparkSession, expression: Expression) -> str | None:
    """Its text, if nothing in it runs in Python."""
    try:
        return OnlyNative(session, {}).text(expression)
    except NotNative:
        return None


def same(got: Any, expected: Any) -> bool:
    if isinstance(got, float) and isinstance(expected, float):
        both = math.isnan(got) and math.isnan(expected)
        return both or got == expected
    return bool(got == expected)


def expected_of(expression: Expression) -> tuple[bool, Any]:
    try:
        return True, compiled_value(expression)((0,))
    except ValueError:
        return False, None


def differences(session: SparkSession, expressions: Iterator[Expression]) -> list[str]:
    texts = [(one, text) for one in expressions if (text := native(session, one)) is not None]
    good = [(one, text, value) for one, text in texts for ok, value in [expected_of(one)] if ok]
    assert good
    found: list[str] = []
    for start in range(0, len(good), 400):
        part = good[start : start + 400]
        query = "SELECT " + ", ".join(f"{text} AS c{at}" for at, (_, text, _) in enumerate(part))
        row = session.sql(query).collect()[0]
        for (one, text, expected), got in zip(part, row, strict=True):
            inside = nullable(from_python(one.type))(got)
            if not same(inside, expected):
                found.append(f"{one} of {[str(a.type) for a in one.inputs]}: {inside!r} "
                             f"not {expected!r}: {text}")  # fmt: skip
    return found


def test_examples_of_functions(spark: SparkSession) -> None:
    assert differences(spark, examples()) == []


def test_operators_and_casts_on_edge_values(spark: SparkSession) -> None:
    sampled = islice(calls(), 0, None, 7)  # all of them would take minutes
    assert differences(spark, sampled) == []


def test_text_and_bytes_are_cut_and_filled_up(spark: SparkSession) -> None:
    texts = [Literal(STRING, text) for text in ("", "b", "ü漢字😀x", None)]
    octets = [Literal(lt.VarBinaryType(), value) for value in (b"", b"\1", b"\1\2\3\4", None)]
    characters = (lt.CharType(3), lt.VarCharType(3), lt.CharType(5))
    binaries = (lt.BinaryType(3), lt.VarBinaryType(3))
    casts = [
        *(cast(text, target) for text, target in product(texts, characters)),
        *(cast(value, target) for value, target in product(octets, binaries)),
    ]
    assert all(native(spark, each) is not None for each in casts)
    assert differences(spark, iter(casts)) == []
