"""Functions of the user that take many rows at once, inside of compiled expressions."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import cloudpickle
import pytest

from headrace.core.expressions import Column, Expression, UserCall, UserFunction
from headrace.core.logical_types import BIGINT, BOOLEAN, DOUBLE, STRING, RowType
from headrace.core.user_code import RecordFailure
from headrace.errors import TypeMismatch, UserFunctionFailed
from headrace.operators.table.awaited_calls import AwaitedCalls, session_awaited_calls
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


class Slow:
    def __init__(self) -> None:
        self.running: list[int] = [0]

    async def eval(self, text: str | None) -> str:
        self.running.append(self.running[-1] + 1)
        await asyncio.sleep(0.001)
        self.running.append(self.running[-1] - 1)
        return f"<{text}>"


def test_awaited_calls_run_together() -> None:
    function = Slow()
    values = compiled_value(call(function, B, style="async", type=STRING)).each(ROWS)
    assert values == ["<x>", "<yy>", "<None>"]
    assert max(function.running) == 3


class Failing:
    def __init__(self) -> None:
        self.calls = 0

    async def eval(self, _value: Any) -> None:
        self.calls += 1
        raise ConnectionError("down")


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_call_that_fails_is_made_again(retries: int) -> None:
    function = Failing()
    with session_awaited_calls(AwaitedCalls(retries=retries, delay_ms=1)):
        compiled = compiled_value(call(function, A, style="async"))
    with pytest.raises(RecordFailure, match="down") as raised:
        compiled.each(ROWS[:1])
    assert isinstance(raised.value.error, ConnectionError)
    assert raised.value.record == ROWS[0][1:2]
    assert function.calls == 1 + retries


def test_a_call_has_its_time_with_all_attempts() -> None:
    with session_awaited_calls(AwaitedCalls(timeout_ms=20, retries=1000, delay_ms=1)):
        compiled = compiled_value(call(Failing(), A, style="async"))
    with pytest.raises(RecordFailure, match=r"took longer than 0\.02 seconds") as raised:
        compiled.each(ROWS[:1])
    assert isinstance(raised.value.error, UserFunctionFailed)


def test_settings_of_calls_travel() -> None:
    with session_awaited_calls(AwaitedCalls(concurrent=1)):
        compiled = compiled_value(call(Slow(), B, style="async", type=STRING))
    again = pickle.loads(cloudpickle.dumps(compiled))
    assert again.each(ROWS) == ["<x>", "<yy>", "<None>"]
    assert again.awaited == AwaitedCalls(concurrent=1)


def test_no_more_calls_at_a_time_than_allowed() -> None:
    function = Slow()
    with session_awaited_calls(AwaitedCalls(concurrent=1)):
        compiled = compiled_value(call(function, B, style="async", type=STRING))
    compiled.each(ROWS)
    assert max(function.running) == 1


def test_after_a_failure_no_call_goes_on() -> None:
    class Mixed:
        def __init__(self) -> None:
            self.ended: list[int] = []

        async def eval(self, value: int) -> None:
            try:
                await asyncio.sleep(0 if value == ROWS[0][1] else 60)
                raise ConnectionError("down")
            finally:
                self.ended.append(value)

    function = Mixed()
    with session_awaited_calls(AwaitedCalls(retries=0)):
        compiled = compiled_value(call(function, A, style="async"))
    with pytest.raises(RecordFailure, match="down"):
        compiled.each(ROWS)
    assert len(function.ended) == len(ROWS)


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
