"""Aggregate and table aggregate functions of the user, with PyFlink's methods."""

from __future__ import annotations

import datetime

import pytest

from headrace.core.expressions import AggregateCall, AggregateFunction, Column, UserFunction
from headrace.core.logical_types import BIGINT, INT, DateType, Field, RowType
from headrace.core.rows import Row
from headrace.errors import HeadraceError
from headrace.operators.table.group_aggregate import GroupAggregateOperator
from headrace.operators.table.table_aggregate import TableAggregateOperator
from headrace.operators.table.user_functions import (
    FunctionContext,
    UserAccumulator,
    arguments_to_python,
)
from tests.unit.operators.table.driving import D, Driven, I


class Average:
    """Sum and count in a list that is changed in place."""

    def open(self, function_context):
        self.opened = function_context.get_index_of_this_subtask() == 0

    def close(self):
        self.opened = False

    def create_accumulator(self):
        return [0, 0]

    def accumulate(self, accumulator, value, weight=1):
        assert self.opened
        accumulator[0] += value * weight
        accumulator[1] += weight

    def retract(self, accumulator, value, weight=1):
        accumulator[0] -= value * weight
        accumulator[1] -= weight

    def merge(self, accumulator, accumulators):
        for other in accumulators:
            accumulator[0] += other[0]
            accumulator[1] += other[1]

    def get_value(self, accumulator):
        return accumulator[0] // accumulator[1] if accumulator[1] else None


class TopTwo:
    def create_accumulator(self):
        return []

    def accumulate(self, accumulator, value):
        accumulator.append(value)
        accumulator.sort(reverse=True)

    def retract(self, accumulator, value):
        accumulator.remove(value)

    def emit_value(self, accumulator):
        for rank, value in enumerate(accumulator[:2]):
            yield Row(value, rank)


class TopTwoUpdating(TopTwo):
    def create_accumulator(self):
        return [[], []]

    def accumulate(self, accumulator, value):
        super().accumulate(accumulator[0], value)

    def emit_update_with_retract(self, accumulator, out):
        now = accumulator[0][:2]
        for rank, value in enumerate(accumulator[1]):
            if rank >= len(now) or now[rank] != value:
                out.retract(Row(value, rank))
        for rank, value in enumerate(now):
            if rank >= len(accumulator[1]) or accumulator[1][rank] != value:
                out.collect(Row(value, rank))
        accumulator[1][:] = now


def user_call(function, *columns, kind="user", **options):
    user = UserFunction(type(function).__name__, function, kind="aggregate")
    made = AggregateFunction(name="f", accumulator=lambda *_: None, skips_null=False, kind=kind)
    arguments = tuple(Column(INT, column) for column in columns)
    return AggregateCall(BIGINT, made, arguments, user=user, **options)


def test_an_aggregate_of_the_user():
    driven = Driven(GroupAggregateOperator([user_call(Average(), 1)], per_record=True), [0])
    assert driven.send(I("a", 4), I("a", 2), D("a", 4)) == [
        "+I[a, 4]", "-U[a, 4]", "+U[a, 3]", "-U[a, 3]", "+U[a, 2]",
    ]  # fmt: skip
    driven.crash()
    assert driven.send(I("a", 4)) == ["-U[a, 2]", "+U[a, 3]"]
    driven.harness.close()


def test_without_retract_a_retraction_is_refused():
    class OnlyForward(Average):
        retract = None

    driven = Driven(GroupAggregateOperator([user_call(OnlyForward(), 1)]), [0])
    with pytest.raises(HeadraceError, match="no method retract"):
        driven.send(I("a", 1), D("a", 1))


def test_two_accumulators_become_one():
    made = UserAccumulator(UserFunction("f", Average()), [INT], BIGINT)
    assert made.result(made.merge(made.add(made.create(), 4), made.add(made.create(), 2))) == 3


def test_a_failing_function_names_its_record():
    driven = Driven(GroupAggregateOperator([user_call(Average(), 1)]), [0])
    with pytest.raises(HeadraceError, match="an aggregation"):
        driven.send(I("a", None))


FIELDS = (Field("value", BIGINT), Field("rank", INT))


def test_a_table_aggregate_replaces_its_rows():
    call = user_call(TopTwo(), 1, kind="table")
    driven = Driven(TableAggregateOperator(call, FIELDS, per_record=True), [0])
    assert driven.send(I("a", 1), I("a", 3)) == [
        "+I[a, 1, 0]", "-D[a, 1, 0]", "+I[a, 3, 0]", "+I[a, 1, 1]",
    ]  # fmt: skip
    assert driven.send(D("a", 3), D("a", 1)) == [
        "-D[a, 3, 0]", "-D[a, 1, 1]", "+I[a, 1, 0]", "-D[a, 1, 0]",
    ]  # fmt: skip
    assert driven.send(D("a", 9)) == []


def test_a_table_aggregate_per_micro_batch():
    driven = Driven(TableAggregateOperator(user_call(TopTwo(), 1, kind="table"), FIELDS), [0])
    assert driven.send(I("a", 1), I("a", 3)) == ["+I[a, 3, 0]", "+I[a, 1, 1]"]
    assert driven.send(I("a", 0)) == []


def test_a_table_aggregate_that_says_what_changed():
    call = user_call(TopTwoUpdating(), 1, kind="table")
    driven = Driven(TableAggregateOperator(call, FIELDS, per_record=True), [0])
    assert driven.send(I("a", 1), I("a", 3), I("a", 2)) == [
        "+I[a, 1, 0]", "-D[a, 1, 0]", "+I[a, 3, 0]", "+I[a, 1, 1]", "-D[a, 1, 1]", "+I[a, 2, 1]",
    ]  # fmt: skip


def test_arguments_are_python_values():
    user = UserFunction("f", None)
    day = datetime.date(1970, 1, 3)
    assert arguments_to_python(user, [DateType(), INT])((2, 5)) == (day, 5)
    whole = UserFunction("f", None, takes_row=True, settings={"row_names": ("d", "n")})
    assert arguments_to_python(whole, [DateType(), INT])((2, 5)) == (Row(d=day, n=5),)
    row_type = RowType((Field("d", DateType()),))
    assert arguments_to_python(whole, [row_type])(((2,),)) == (Row(d=day),)


def test_a_context_without_a_task_is_usable():
    context = FunctionContext(None)
    assert context.get_job_parameter("x", "default") == "default"
    assert context.get_number_of_parallel_subtasks() == 1
    assert context.get_max_number_of_parallel_subtasks() == 1
    assert (context.get_task_name(), context.get_attempt_number()) == ("", 0)
    assert context.get_task_name_with_subtasks() == ""
    context.get_metric_group().counter("c").inc()
