"""Functions of the user that take many rows at once, inside of compiled expressions."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import cloudpickle
import pytest

from headrace.core.expressions import Column, Expression, UserCall, UserFunction
from headrace.core.logical_types import BIGINT, BOOLEAN, DOUBLE, STRING, RowType
from headrace.errors import TypeMismatch
from headrace.operators.table.batched_calls import BatchAccumulator, is_batched, stages
from headrace.operators.table.compiled import (
    compiled_predicate,
    compiled_row,
    compiled_value,
    compiled_values,
)

A, B = Column(BIGINT, 0), Column(STRING, 1)
ROWS = [(0, 1, "x"), (3, 2, "yy"), (0, None, None)]


class Recorded:
    """Adds one, and remembers how many rows it was given at a time."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def eval(self, values: Any) -> Any:
        self.sizes.append(len(values))
        return values + 1


def call(
    function: Any, *arguments: Expression, style: str = "pandas", type: Any = BIGINT
) -> UserCall:
    return UserCall(type, UserFunction("f", function, style=style), arguments)


def test_one_call_for_all_rows() -> None:
    function = Recorded()
    compiled = compiled_row([A, call(function, A)])
    assert is_batched(compiled.expressions[1])
    assert compiled.each(ROWS) == [(0, 1, 2), (3, 2, 3), (0, None, None)]
    assert function.sizes == [3]
    assert compiled((0, 5, "x")) == (0, 5, 6)


def test_calls_inside_of_calls_are_stages() -> None:
    inner = call(Recorded(), A)
    outer = call(Recorded(), inner)
    made, last = stages([outer, inner], 2)
    assert [len(step) for step in made] == [1, 1]
    assert last == (Column(BIGINT, 3), Column(BIGINT, 2))
    assert compiled_values([outer, inner]).each(ROWS[:1]) == [(3, 2)]


def test_conditions_keep_the_rows() -> None:
    class Large:
        def eval(self, values: Any) -> Any:
            return values > 1

    holds = compiled_predicate(call(Large(), A, type=BOOLEAN))
    assert holds.each(ROWS) == [(3, 2, "yy")]
    assert holds((0, 2, "x")) is True
    assert holds((0, 1, "x")) is False
    assert holds.each([]) == []


def test_holders_travel() -> None:
    compiled = compiled_value(call(Recorded(), A), first=0)
    again = pickle.loads(cloudpickle.dumps(compiled))
    assert again.each([(1, "x"), (2, "y")]) == [2, 3]


def test_awaited_calls_run_together() -> None:
    class Slow:
        def __init__(self) -> None:
            self.running: list[int] = [0]

        async def eval(self, text: str | None) -> str:
            self.running.append(self.running[-1] + 1)
            await asyncio.sleep(0.001)
            self.running.append(self.running[-1] - 1)
            return f"<{text}>"

    function = Slow()
    values = compiled_value(call(function, B, style="async", type=STRING)).each(ROWS)
    assert values == ["<x>", "<yy>", "<None>"]
    assert max(function.running) == 3


def test_a_failure_is_tried_three_times() -> None:
    class Failing:
        def __init__(self) -> None:
            self.calls = 0

        async def eval(self, _value: Any) -> None:
            self.calls += 1
            raise ConnectionError("down")

    function = Failing()
    with pytest.raises(ConnectionError, match="down"):
        compiled_value(call(function, A, style="async")).each(ROWS[:1])
    assert function.calls == 3


def test_a_column_of_another_length_is_an_error() -> None:
    class Short:
        def eval(self, values: Any) -> Any:
            return values[:1]

    with pytest.raises(TypeMismatch, match="gave 1 values for 3 rows"):
        compiled_value(call(Short(), A)).each(ROWS)


def test_rows_come_as_tuples_of_columns() -> None:
    class Both:
        def eval(self, numbers: Any, texts: Any) -> Any:
            return numbers * 2, texts.str.upper()

    pair = RowType.of(BIGINT, STRING)
    compiled = compiled_value(call(Both(), A, B, type=pair))
    assert compiled.each(ROWS[:2]) == [(2, "X"), (4, "YY")]


def test_an_aggregate_of_columns_keeps_its_rows() -> None:
    class Median:
        def create_accumulator(self) -> list[Any]:
            return []

        def accumulate(self, accumulator: list[Any], values: Any) -> None:
            accumulator.append(values.median())

        def get_value(self, accumulator: list[Any]) -> Any:
            return accumulator[0]

    user = UserFunction("median", Median(), "aggregate", "pandas")
    median = BatchAccumulator(user, [BIGINT], DOUBLE)
    kept = median.create()
    for value in (1, 5, 9):
        kept = median.add(kept, value)
    assert median.result(kept) == 5.0
    assert median.result(median.retract(kept, 9)) == 3.0
    assert median.result(median.merge(kept, [(30,)])) == 5.0
    assert median.result(median.create()) is None
