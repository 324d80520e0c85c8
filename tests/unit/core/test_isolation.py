"""Records are copied exactly where somebody else could still change them."""

import datetime
import decimal
from typing import Any

import numpy as np
import pytest

from headrace.core.functions import MapFunction
from headrace.core.isolation import is_frozen, isolated, isolated_all
from headrace.core.operator import Batch
from headrace.core.output_tag import OutputTag
from headrace.core.process_functions import ProcessFunction
from headrace.core.rows import Row
from headrace.core.types import Types
from headrace.operators.stateless import MapOperator
from headrace.testing import OperatorHarness

FROZEN = [
    1,
    "a",
    1.5,
    True,
    b"b",
    None,
    decimal.Decimal(1),
    datetime.date(2024, 1, 1),
    (),
    (1, "a", None),
    (1, ("a", (2.0, b""))),
    frozenset({1}),
]
MUTABLE = [[], [1], {}, {"a": 1}, {1}, bytearray(b"b"), Row(1), (1, [2]), (1, ("a", {}))]


@pytest.mark.parametrize("value", FROZEN, ids=repr)
def test_what_cannot_change_is_not_copied(value: Any) -> None:
    assert is_frozen(value)
    assert isolated(value) is value
    assert isolated_all([value])[0] is value


@pytest.mark.parametrize("value", MUTABLE, ids=repr)
def test_what_somebody_holds_is_copied(value: Any) -> None:
    held = {"by a function": value}
    assert not is_frozen(value)
    copied = isolated(value)
    assert copied == value
    assert copied is not value
    several = isolated_all([value])
    assert several == [value]
    assert several[0] is not value
    assert held["by a function"] is value


def test_copies_are_deep() -> None:
    inner = [1]
    for outer in ([inner], {"a": inner}, ("a", inner), Row(inner), [{"a": [inner]}]):
        copied = isolated(outer)
        inner.append(2)
        assert copied != outer
        inner.pop()
        assert copied == outer


def test_fields_of_a_copied_row_are_kept() -> None:
    row = Row(name="Alice", tags=["a"])
    copied = isolated(row)
    row.tags.append("b")
    assert copied == Row(name="Alice", tags=["a"])


@pytest.mark.parametrize("make", [lambda: [1, "a"], lambda: {"a": 1}], ids=["list", "dict"])
def test_a_plain_container_nobody_else_holds_is_handed_on(make: Any) -> None:
    record = make()
    identity = id(record)
    assert id(isolated(record)) == identity


class Collecting(MapFunction):
    """Gives out the list it keeps adding to."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def map(self, value: int) -> list[int]:
        self.seen.append(value)
        return self.seen


def test_a_record_emitted_and_changed_later_is_unharmed() -> None:
    function = Collecting()
    emitted = []
    for number in range(3):
        record = function.map(number)
        emitted.append(isolated(record))
    assert emitted == [[0], [0, 1], [0, 1, 2]]


def test_map_emits_what_the_function_returned_then() -> None:
    operator = MapOperator(Collecting())
    assert operator.call(Batch([0, 1, 2, 3])) == [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3]]


class Counting(ProcessFunction):
    """Gives out, in a tuple of plain types, the number it keeps changing; at first a plain one."""

    def __init__(self) -> None:
        self.total = np.zeros((), dtype=np.int64)

    def process_element(self, value: int, ctx: Any) -> Any:
        self.total += value
        yield "sum", self.total if value else 0


def test_a_tuple_holds_what_it_held_when_it_was_yielded() -> None:
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    with OperatorHarness.process(Counting(), output_type=pair) as harness:
        harness.send_all([0])
        harness.send_all([1, 2, 3])
        harness.send_all([4, 5, 6])
        assert [total for _, total in harness.outputs] == [0, 1, 3, 6, 10, 15, 21]


class Telling(ProcessFunction):
    """Tells the main output and a side output of each record."""

    def process_element(self, value: int, ctx: Any) -> Any:
        yield "seen", value
        yield OutputTag("odd" if value % 2 else "even", Types.LONG()), value
        yield "seen again", value


def test_side_outputs_of_a_function_that_yields_plain_tuples() -> None:
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    with OperatorHarness.process(Telling(), output_type=pair) as harness:
        harness.send_all([1, 2])
        harness.send_all([3, 4])
        assert len(harness.outputs) == 8
        assert harness.side_output("odd") == [1, 3]
        assert harness.side_output("even") == [2, 4]
