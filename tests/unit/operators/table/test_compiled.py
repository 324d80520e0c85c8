"""Expressions as generated Python."""

from __future__ import annotations

from itertools import product
from typing import Any

import cloudpickle
import pytest

from headrace.core.expressions import Call, Column, Expression, Literal, UserCall, UserFunction
from headrace.core.logical_types import BIGINT, BOOLEAN, DATE, INT, NULL, STRING
from headrace.core.logical_types import LocalZonedTimestampType as Zoned
from headrace.errors import InvalidArgument
from headrace.operators.functions.comparison import conjunction, disjunction
from headrace.operators.functions.session import session_time_zone
from headrace.operators.table.compiled import (
    compiled_predicate,
    compiled_row,
    compiled_value,
    compiled_values,
)
from headrace.sql import functions
from headrace.sql.functions.conversion import cast

A, B, TEXT = Column(INT, 0), Column(INT, 1), Column(STRING, 2)
ROW = (3, 4, 2, "x")


def call(name: str, *arguments: Expression) -> Call:
    row = functions.find(name)
    assert row is not None
    return row.bind(arguments)


def number(value: int | None) -> Literal:
    return Literal(INT.with_nullable(value is None), value)


def test_row_keeps_its_kind() -> None:
    project = compiled_row([call("PLUS", A, B), TEXT])
    assert project(ROW) == (3, 6, "x")
    assert project((1, None, 2, None)) == (1, None, None)


def test_values_have_no_kind() -> None:
    assert compiled_values([A])(ROW) == (4,)
    assert compiled_values([A], first=0)((9, 8)) == (9,)
    assert compiled_values([])(ROW) == ()


def test_each_is_the_same_for_many_rows() -> None:
    project = compiled_row([call("TIMES", A, B)])
    rows = [(0, 2, 3), (1, None, 3)]
    assert project.each(rows) == [project(row) for row in rows]
    keep = compiled_predicate(call("GREATER_THAN", A, number(1)))
    assert keep.each(rows) == rows[:1]


@pytest.mark.parametrize(("left", "right"), list(product([True, False, None], repeat=2)))
def test_logic_of_three_values(left: bool | None, right: bool | None) -> None:
    one, other = Column(BOOLEAN, 0), Column(BOOLEAN, 1)
    row = (0, left, right)
    both, either = call("AND", one, other), call("OR", one, other)
    assert compiled_value(both)(row) is conjunction(left, right)
    assert compiled_value(either)(row) is disjunction(left, right)
    assert compiled_predicate(both)(row) is (conjunction(left, right) is True)
    assert compiled_predicate(either)(row) is (disjunction(left, right) is True)
    assert compiled_predicate(call("NOT", both))(row) is (conjunction(left, right) is False)
    assert compiled_value(call("IS_NOT_TRUE", either))(row) is (not disjunction(left, right))


def test_what_is_not_needed_is_not_evaluated() -> None:
    failing = call("DIVIDE", A, number(0))
    never = call("LESS_THAN", A, number(0))
    assert compiled_value(call("CASE", never, failing, B))(ROW) == 2
    assert compiled_value(call("IF", never, failing, B))(ROW) == 2
    assert compiled_value(call("COALESCE", B, failing))(ROW) == 2
    assert compiled_value(call("AND", never, call("EQUALS", failing, B)))(ROW) is False
    with pytest.raises(InvalidArgument, match="division by zero"):
        compiled_value(failing)(ROW)


def test_constants_are_folded_once() -> None:
    source = compiled_value(call("PLUS", A, call("TIMES", number(6), number(7)))).source
    assert "42" in source
    assert "*" not in source


def test_a_failing_constant_fails_only_where_it_is_reached() -> None:
    failing = call("DIVIDE", number(1), number(0))
    guarded = call("CASE", call("IS_NULL", A), failing, B)
    assert compiled_value(guarded)(ROW) == 2
    with pytest.raises(InvalidArgument):
        compiled_value(guarded)((0, None, 2, "x"))


def test_integers_wrap_around() -> None:
    assert compiled_value(call("PLUS", A, number(1)))((0, 2**31 - 1)) == -(2**31)
    big = Column(BIGINT, 0)
    assert compiled_value(call("TIMES", big, big))((0, 2**62)) == 0


def test_membership_and_ranges() -> None:
    listed = call("IN", A, number(1), number(4))
    assert compiled_value(listed)(ROW) is True
    assert compiled_value(listed)((0, None)) is None
    assert compiled_value(call("NOT_IN", A, number(1), Literal(NULL, None)))(ROW) is None
    assert compiled_predicate(call("BETWEEN", A, number(4), number(5)))(ROW) is True
    assert compiled_value(call("BETWEEN", A, number(5), B))((0, 4, None)) is False


def test_tall_expressions_are_split() -> None:
    tall: Expression = A
    for value in range(150):
        tall = call("PLUS", tall, number(value))
    assert compiled_value(tall)(ROW) == 4 + sum(range(150))
    wide: Expression = call("EQUALS", A, number(0))
    for value in range(1, 120):
        wide = call("OR", wide, call("EQUALS", A, number(value)))
    assert compiled_predicate(wide)(ROW) is True


def test_holders_travel_with_their_time_zone() -> None:
    with session_time_zone("Asia/Tokyo"):
        written = compiled_value(cast(Column(Zoned(0), 0), STRING))
    moved = cloudpickle.loads(cloudpickle.dumps(written))
    assert moved((0, 0)) == "1970-01-01 09:00:00"


class Doubling:
    def __init__(self) -> None:
        self.opened: list[Any] = []

    def open(self, context: Any) -> None:
        self.opened.append(context)

    def eval(self, value: int | None) -> int | None:
        return None if value is None else value * 2

    def close(self) -> None:
        self.opened.append("closed")


def test_functions_of_the_user_are_opened_and_closed() -> None:
    function = Doubling()
    user = UserFunction("doubling", function, result_type=INT)
    doubled = compiled_value(UserCall(INT, user, (A,)))
    doubled.open("context")
    assert doubled(ROW) == 8
    assert doubled((0, None)) is None
    doubled.close()
    assert function.opened == ["context", "closed"]


def test_functions_of_the_user_see_python_values() -> None:
    class Year:
        def eval(self, day: Any) -> Any:
            return day.replace(day=1)

    first = UserCall(DATE, UserFunction("first", Year()), (Column(DATE, 0),))
    assert compiled_value(first)((0, 18292)) == 18262
