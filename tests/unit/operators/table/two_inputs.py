"""Driving a table operator with two inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import Call, Column, Expression, ScalarFunction
from headrace.core.logical_types import BOOLEAN, INT
from headrace.core.operator import Operator
from headrace.datastream.connected_streams import _together
from headrace.testing import OperatorHarness
from tests.unit.operators.table.driving import Driven, Row

LEFT, RIGHT = 0, 1


class Paired(Driven):
    """A harness around one operator over two inputs, each keyed by some of its columns."""

    def __init__(
        self, operator: Operator, left_key: Sequence[int] = (0,), right_key: Sequence[int] = (0,),
        **options: Any,
    ):  # fmt: skip
        def build(left: Any, right: Any) -> Any:
            left = left.key_by(lambda row: tuple(row[column + 1] for column in left_key))
            right = right.key_by(lambda row: tuple(row[column + 1] for column in right_key))
            return _together(left, right.node_id, "table operator", operator, None)

        self.harness = OperatorHarness(build, inputs=2, **options)

    def left(self, *rows: Row) -> list[str]:
        self.harness.send_all(rows)
        return self.take()

    def right(self, *rows: Row) -> list[str]:
        self.harness.send_all(rows, side=RIGHT)
        return self.take()

    def run(self, steps: Sequence[tuple[int, Row]]) -> list[Row]:
        """All changes made of rows, each with its side, in one micro-batch per run of a side."""
        at = 0
        while at < len(steps):
            side, after = steps[at][0], at
            while after < len(steps) and steps[after][0] == side:
                after += 1
            self.harness.send_all([row for _, row in steps[at:after]], side=side)
            at = after
        self.harness.finish()
        return list(self.harness.take_outputs())


def less_than(first: int, second: int) -> Expression:
    """column < column"""
    function = ScalarFunction(name="LESS_THAN", meaning=lambda one, other: one < other)
    return Call(BOOLEAN, function, (Column(INT, first), Column(INT, second)))


def equals(first: int, second: int) -> Expression:
    """column = column"""
    function = ScalarFunction(name="EQUALS", meaning=lambda one, other: one == other)
    return Call(BOOLEAN, function, (Column(INT, first), Column(INT, second)))
