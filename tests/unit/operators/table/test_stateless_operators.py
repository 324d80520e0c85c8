"""Projections, filters, table functions, changelogs as tables, and event time of tables."""

from __future__ import annotations

import datetime

import pytest

from headrace.core.expressions import (
    Call,
    Column,
    ScalarFunction,
    TableCall,
    TableFunction,
    UserCall,
    UserFunction,
)
from headrace.core.logical_types import INT, STRING, DateType, Field
from headrace.core.operator import MIN_TIMESTAMP, Batch
from headrace.core.rows import Row
from headrace.errors import HeadraceError
from headrace.operators.functions.clock import current_watermark
from headrace.operators.table.calc import CalcOperator
from headrace.operators.table.correlate import CorrelateOperator
from headrace.operators.table.from_changelog import FromChangelogOperator
from headrace.operators.table.to_changelog import ToChangelogOperator
from headrace.operators.table.values import value_records
from headrace.operators.table.watermark_assigner import WatermarkAssignerOperator
from tests.unit.operators.table.driving import (
    MS,
    TIME,
    UA,
    UB,
    D,
    Driven,
    I,
    at_least,
    plus,
)


def test_projection_and_filter():
    driven = Driven(CalcOperator([plus(1, 10), Column(STRING, 0)], at_least(1, 2)))
    assert driven.send(I("a", 1), I("b", 2), UB("b", 2), UA("b", 1), I("c", None)) == [
        "+I[12, b]", "-U[12, b]",
    ]  # fmt: skip


def test_timestamps_stay_with_their_rows():
    driven = Driven(CalcOperator(None, at_least(1, 2)))
    driven.harness.send_all([I("a", 1), I("b", 2)], [5, 6])
    assert driven.harness.take_records() == [(I("b", 2), 6)]


def test_a_projection_that_changes_nothing_costs_nothing():
    same = CalcOperator([Column(STRING, 0), Column(INT, 1)], width=2)
    assert same._project is None
    assert CalcOperator([Column(STRING, 0)], width=2)._project is not None


def test_a_failing_expression_names_its_row():
    driven = Driven(CalcOperator([plus(1, 10)]))
    with pytest.raises(HeadraceError, match="record: \\(0, 'a', 'x'\\)"):
        driven.send(I("b", 1), I("a", "x"))
    driven = Driven(CalcOperator(None, at_least(1, 10)))
    with pytest.raises(HeadraceError, match="a filter"):
        driven.send(I("a", "x"))


def test_a_function_that_fails_is_called_once_for_each_row_and_named(tmp_path):
    seen = tmp_path / "seen"

    class Strict:
        def eval(self, value):
            with seen.open("a") as file:  # it is a copy that is called
                file.write(f"{value} ")
            return value + 1

    call = UserCall(INT, UserFunction("strict", Strict()), (Column(INT, 1),))
    driven = Driven(CalcOperator([call]))
    with pytest.raises(HeadraceError, match=r"in a projection with strict\(\) of operator"):
        driven.send(I("b", 1), I("a", "x"), I("c", 3))
    assert seen.read_text() == "1 x "


def split(text):
    return [(part,) for part in text.split()]


class Repeat:
    """A table function as PyFlink's users write it."""

    def open(self, function_context):
        self.times = int(function_context.get_job_parameter("times", "2"))

    def eval(self, date, name):
        for number in range(self.times):
            yield Row(date + datetime.timedelta(number), name)


WORDS = TableCall(
    TableFunction(name="SPLIT", meaning=split), (Column(STRING, 0),), (Field("word", STRING),)
)


def test_a_table_function_is_joined():
    driven = Driven(CorrelateOperator(WORDS))
    assert driven.send(I("a b"), I(""), D("c")) == ["+I[a b, a]", "+I[a b, b]", "-D[c, c]"]
    left = Driven(CorrelateOperator(WORDS, keeps_unmatched=True))
    assert left.send(I("a"), I("")) == ["+I[a, a]", "+I[, NULL]"]


def test_a_joined_table_function_with_a_condition():
    condition = at_least(1, "b")  # type: ignore[arg-type]
    driven = Driven(CorrelateOperator(WORDS, keeps_unmatched=True, condition=condition))
    assert driven.send(I("a b"), I("a")) == ["+I[a b, b]", "+I[a, NULL]"]


def test_a_table_function_of_the_user():
    function = UserFunction("repeat", Repeat(), kind="table")
    fields = (Field("day", DateType()), Field("name", STRING))
    call = TableCall(function, (Column(DateType(), 0), Column(STRING, 1)), fields)
    assert Driven(CorrelateOperator(call)).send(I(5, "a")) == ["+I[5, a, 5, a]", "+I[5, a, 6, a]"]


def test_a_table_function_may_give_single_values_or_nothing():
    fields = (Field("x", INT),)
    for given, expected in ((7, ["+I[1, 7]"]), ([7, 8], ["+I[1, 7]", "+I[1, 8]"]), (None, []),
                            ((7,), ["+I[1, 7]"])):  # fmt: skip
        function = UserFunction("f", type("F", (), {"eval": lambda self, x, g=given: g})(), "table")
        call = TableCall(function, (Column(INT, 0),), fields)
        assert Driven(CorrelateOperator(call)).send(I(1)) == expected


def test_changes_as_rows():
    driven = Driven(ToChangelogOperator(2))
    assert driven.send(I("a", 1), UB("a", 1), UA("a", 2), D("a", 2)) == [
        "+I[INSERT, a, 1]", "+I[UPDATE_BEFORE, a, 1]", "+I[UPDATE_AFTER, a, 2]", "+I[DELETE, a, 2]",
    ]  # fmt: skip
    some = Driven(ToChangelogOperator(2, [("INSERT, UPDATE_AFTER", "u"), ("DELETE", "d")], (1,)))
    assert some.send(I("a", 1), UB("a", 1), UA("a", 2), D("a", 2)) == [
        "+I[1, u, a]", "+I[2, u, a]", "+I[2, d, a]",
    ]  # fmt: skip
    with pytest.raises(HeadraceError, match="no kind of change"):
        ToChangelogOperator(2, [("UPSERT", "u")])


def test_rows_as_changes():
    operations = [("INSERT", "c, r"), ("UPDATE_BEFORE", "ub"), ("UPDATE_AFTER", "ua")]
    driven = Driven(FromChangelogOperator(3, 1, operations, (2,), "SKIP"))
    assert driven.send(I("a", "c", 1), I("a", "ub", 1), I("a", "ua", 2), I("a", "?", 2)) == [
        "+I[1, a]", "-U[1, a]", "+U[2, a]",
    ]  # fmt: skip
    strict = Driven(FromChangelogOperator(2, 0))
    assert strict.send(I("DELETE", "a")) == ["-D[a]"]
    with pytest.raises(HeadraceError, match="stands for no change"):
        strict.send(I("delete", "a"))


def test_values():
    assert value_records([(1, "a")]) == [I(1, "a")]


BEHIND = plus(1, -5 * MS, TIME)


def test_rows_get_their_time_and_a_watermark_follows():
    driven = Driven(WatermarkAssignerOperator(1, BEHIND))
    driven.harness.send_all([I("a", 20 * MS), I("b", 10 * MS)])
    assert driven.harness.take_records() == [(I("a", 20 * MS), 20), (I("b", 10 * MS), 10)]
    reader, *_ = driven.harness._engine.tasks()
    (task,) = [task for task in reader.tasks.values() if task.vertex.name == "table operator"]
    assert max(task.reported.values()) == 15
    with pytest.raises(HeadraceError, match="NULL in its column of event time"):
        driven.send(I("c", None))


class _Heard:
    """A context that notes what is emitted and reported, in order."""

    watermarks_at_once = True
    processing_time = staticmethod(lambda: 0)

    def __init__(self):
        self.said = []

    def emit(self, values, stamps):
        self.said.append((list(values), list(stamps)))

    def report_watermark(self, watermark):
        self.said.append(watermark)


def test_with_an_interval_of_zero_a_watermark_follows_its_row():
    operator, heard = WatermarkAssignerOperator(1, BEHIND), _Heard()
    operator.open(heard)  # type: ignore[arg-type]
    rows = [I("a", 20 * MS), I("b", 10 * MS), I("c", 30 * MS), I("d", 1 * MS)]
    operator.receive(0, Batch(rows))
    assert heard.said == [
        ([rows[0]], [20]), 15, (rows[1:3], [10, 30]), 25, ([rows[3]], [1]),
    ]  # fmt: skip


def test_a_watermark_of_1970_or_before_is_only_told_by_a_source():
    rows = [I("a", -20 * MS), I("b", 5 * MS), I("c", 6 * MS)]
    for by_source, told in ((False, [1]), (True, [-25, 0, 1])):
        for at_once in (False, True):
            operator = WatermarkAssignerOperator(1, BEHIND, by_source=by_source)
            heard = _Heard()
            heard.watermarks_at_once = at_once
            operator.open(heard)  # type: ignore[arg-type]
            for row in rows:
                operator.receive(0, Batch([row]))
            assert [said for said in heard.said if isinstance(said, int)] == told


def test_current_watermark():
    function = ScalarFunction(
        name="CURRENT_WATERMARK", meaning=current_watermark, strict=False, deterministic=False
    )
    operator, heard = CalcOperator([Call(TIME, function, (Column(TIME, 1),))]), _Heard()
    heard.watermark = MIN_TIMESTAMP
    operator.open(heard)
    operator.receive(0, Batch([I("a", 1)], [0]))
    heard.watermark = 7
    operator.receive(0, Batch([I("a", 1)], [0]))
    assert heard.said == [([I(None)], [0]), ([I(7 * MS)], [0])]
