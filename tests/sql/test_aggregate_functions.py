"""Built-in aggregates: their examples, taking rows back, and putting groups together."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from headrace.core import logical_types as lt
from headrace.core.expressions import Accumulator, Column, Expression, Literal
from headrace.core.logical_types import BIGINT, DOUBLE, FLOAT, INT, STRING, LogicalType
from headrace.errors import HeadraceError, InvalidQuery
from headrace.sql import functions
from headrace.sql.functions.row import Example, FunctionRow, Typed


def rows_with_examples() -> list[Any]:
    return [
        pytest.param(row, example, id=row.names[0])
        for row in functions.all_rows()
        if row.kind == "aggregate"
        for example in row.examples
    ]


def columns_of(example: Example) -> tuple[list[Expression], list[tuple[Any, ...]]]:
    """The arguments, and their values for each row."""
    arguments: list[Expression] = []
    columns: list[Sequence[Any] | None] = []
    for position, given in enumerate(example.arguments):
        if isinstance(given, Typed):
            arguments.append(Column(given.type, position))
            columns.append(given.value)
        else:
            type = DOUBLE.not_null() if isinstance(given, float) else STRING.not_null()
            arguments.append(Literal(type, given))
            columns.append(None)
    count = max(len(column) for column in columns if column is not None)
    rows = [
        tuple(
            example.arguments[at] if column is None else column[row]
            for at, column in enumerate(columns)
        )
        for row in range(count)
    ]
    return arguments, rows


def made(row: FunctionRow, example: Example, retracts: bool) -> tuple[Accumulator, list[Any]]:
    arguments, rows = columns_of(example)
    function, fitted, type = row.bind_aggregate(arguments)
    return function.accumulator([each.type for each in fitted], type, retracts), rows


@pytest.mark.parametrize(("row", "example"), rows_with_examples())
@pytest.mark.parametrize("retracts", [False, True], ids=["growing", "retracting"])
def test_example(row: FunctionRow, example: Example, retracts: bool) -> None:
    accumulator, rows = made(row, example, retracts)
    kept = accumulator.create()
    for values in rows:
        kept = pickle.loads(pickle.dumps(accumulator.add(kept, *values)))
    assert accumulator.result(kept) == example.gives


@pytest.mark.parametrize(("row", "example"), rows_with_examples())
def test_rows_that_are_taken_back_leave_no_trace(row: FunctionRow, example: Example) -> None:
    accumulator, rows = made(row, example, True)
    if not rows:
        return
    kept = accumulator.add(accumulator.create(), *rows[0])
    before = accumulator.result(kept)
    for values in rows[1:]:
        kept = accumulator.add(kept, *values)
    for values in rows[1:]:
        kept = accumulator.retract(kept, *values)
    assert accumulator.result(kept) == before


@pytest.mark.parametrize(("row", "example"), rows_with_examples())
@pytest.mark.parametrize("retracts", [False, True], ids=["growing", "retracting"])
def test_groups_put_together(row: FunctionRow, example: Example, retracts: bool) -> None:
    accumulator, rows = made(row, example, retracts)
    groups = [accumulator.create(), accumulator.create()]
    for at, values in enumerate(rows):
        group = 0 if at < len(rows) // 2 else 1
        groups[group] = accumulator.add(groups[group], *values)
    assert accumulator.result(accumulator.merge(*groups)) == example.gives


def aggregated(name: str, type: LogicalType, *values: Any) -> tuple[Any, LogicalType]:
    row = functions.find(name)
    assert row is not None
    function, fitted, result = row.bind_aggregate([Column(type, 0)])
    accumulator = function.accumulator([each.type for each in fitted], result, True)
    kept = accumulator.create()
    for value in values:
        if value is not None or not function.skips_null:
            kept = accumulator.add(kept, value)
    return accumulator.result(kept), result


@pytest.mark.parametrize(
    ("name", "type", "values", "expected", "result"),
    [
        ("AVG", INT, (1, 2, 4), 2, "INT"),
        ("AVG", INT, (-1, -2, -4), -2, "INT"),
        ("AVG", BIGINT, (2**62, 2**62, 2**62), 2**62, "BIGINT"),
        ("AVG", FLOAT, (1.0, 2.5), 1.75, "FLOAT"),
        ("SUM", INT, (2**31 - 1, 1), -(2**31), "INT"),
        ("SUM", INT, (), None, "INT"),
        ("SUM0", INT, (), 0, "INT NOT NULL"),
        ("COUNT", INT.not_null(), (1, 2), 2, "BIGINT NOT NULL"),
        ("SUM", lt.DecimalType(5, 2), (Decimal("1.25"), Decimal("2.50")), Decimal("3.75"),
         "DECIMAL(38, 2)"),
        ("AVG", lt.DecimalType(5, 2), (Decimal("1.00"), Decimal("1.01"), Decimal("1.01")),
         Decimal("1.006667"), "DECIMAL(38, 6)"),
        ("VAR_SAMP", DOUBLE, (1.0,), None, "DOUBLE"),
        ("VAR_SAMP", DOUBLE, (1.5, 2.5, 7.0), 8.583333333333332, "DOUBLE"),
        ("STDDEV_POP", DOUBLE, (1.5, 2.5, 7.0), 2.3921166824012206, "DOUBLE"),
        ("STDDEV_POP", INT, (1, 4, 10), 3, "INT"),
        ("STDDEV", INT, (1, 4, 10), 4, "INT"),
        ("VAR_SAMP", BIGINT, (2, 3, 9), 14, "BIGINT"),
        ("STDDEV_SAMP", lt.DecimalType(5, 2), (Decimal("1.25"), Decimal("2.50"), Decimal("0.01")),
         Decimal("1.245003"), "DECIMAL(38, 6)"),
        ("VAR_POP", DOUBLE, (1.0, 3.0), 1.0, "DOUBLE"),
        ("VAR_POP", INT, (-(2**31), 2**31 - 1), 2**31 - 1, "INT"),
        ("VAR_SAMP", BIGINT, (-(2**63), 2**63 - 1), 2**63 - 1, "BIGINT"),
        ("ARRAY_AGG", INT, (1, None), (1, None), "ARRAY<INT>"),
        ("ARRAY_AGG", INT, (), None, "ARRAY<INT>"),
        ("MAX", STRING, ("b", "a"), "b", "STRING"),
        ("COLLECT", STRING, (), {}, "MULTISET<STRING> NOT NULL"),
        ("FIRST_VALUE", INT, (None, 3, 4), 3, "INT"),
        ("JSON_ARRAYAGG", INT, (1, None), "[1]", "VARCHAR(2000) NOT NULL"),
    ],
)  # fmt: skip
def test_values_and_types(
    name: str, type: LogicalType, values: tuple[Any, ...], expected: Any, result: str
) -> None:
    got, got_type = aggregated(name, type, *values)
    assert (got, str(got_type)) == (expected, result)


def test_extreme_that_is_taken_back_gives_way_to_the_next() -> None:
    row = functions.find("MAX")
    assert row is not None
    function, _arguments, type = row.bind_aggregate([Column(INT, 0)])
    accumulator = function.accumulator([INT], type, True)
    kept = accumulator.create()
    for value in (1, 5, 3, 5):
        kept = accumulator.add(kept, value)
    results = []
    for value in (5, 5, 3, 1):
        kept = accumulator.retract(kept, value)
        results.append(accumulator.result(kept))
    assert results == [5, 3, 1, None]


def test_first_and_last_values_give_way_to_their_neighbours() -> None:
    for name, expected in (("FIRST_VALUE", ["b", "c"]), ("LAST_VALUE", ["c", "c"])):
        row = functions.find(name)
        assert row is not None
        function, _arguments, type = row.bind_aggregate([Column(STRING, 0)])
        accumulator = function.accumulator([STRING], type, True)
        kept = accumulator.create()
        for value in ("a", "b", "c"):
            kept = accumulator.add(kept, value)
        results = []
        for value in ("a", "b"):
            kept = accumulator.retract(kept, value)
            results.append(accumulator.result(kept))
        assert results == expected


def test_lag_looks_back_and_has_a_default() -> None:
    row = functions.find("LAG")
    assert row is not None
    arguments = [Column(INT, 0), Literal(INT.not_null(), 2), Literal(INT.not_null(), 0)]
    function, fitted, type = row.bind_aggregate(arguments)
    accumulator = function.accumulator([each.type for each in fitted], type, False)
    kept, results = accumulator.create(), []
    for value in (1, None, 3, 4):
        kept = accumulator.add(kept, value, 2, 0)
        results.append(accumulator.result(kept))
    assert results == [0, 0, 1, None]
    assert (function.kind, str(type)) == ("offset", "INT NOT NULL")


def test_keys_of_json_objects_come_once() -> None:
    row = functions.find("JSON_OBJECTAGG")
    assert row is not None
    function, fitted, type = row.bind_aggregate([Column(STRING, 0), Column(INT, 1)])
    accumulator = function.accumulator([each.type for each in fitted], type, False)
    kept = accumulator.add(accumulator.create(), "a", 1)
    with pytest.raises(HeadraceError, match="'a' twice"):
        accumulator.add(kept, "a", 2)


@pytest.mark.parametrize("name", ["SUM", "AVG", "VAR_POP"])
def test_sums_of_texts_are_refused(name: str) -> None:
    row = functions.find(name)
    assert row is not None
    with pytest.raises(InvalidQuery, match=name):
        row.bind_aggregate([Column(STRING, 0)])
