"""Driving one table operator in process: rows in, changes out, time in the test's hands."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import AggregateCall, AggregateFunction, Call, Column, ScalarFunction
from headrace.core.logical_types import (
    BIGINT,
    BOOLEAN,
    INT,
    ROWTIME,
    STRING,
    LogicalType,
    TimestampType,
)
from headrace.core.operator import Operator
from headrace.core.table_connector import KIND_TEXTS
from headrace.operators.functions.collecting_aggregates import lag
from headrace.testing import OperatorHarness

MS = 1_000_000
TIME = TimestampType(precision=3, kind=ROWTIME)
Row = tuple[Any, ...]


def I(*values: Any) -> Row:  # noqa: E743 - reads like Flink's +I
    return (0, *values)


def UB(*values: Any) -> Row:
    return (1, *values)


def UA(*values: Any) -> Row:
    return (2, *values)


def D(*values: Any) -> Row:
    return (3, *values)


class Driven:
    """A harness around one operator; what comes out is text such as `+I[a, 1]`."""

    def __init__(self, operator: Operator, key: Sequence[int] | None = None, **options: Any):
        def build(stream: Any) -> Any:
            if key is not None:
                stream = stream.key_by(lambda row: tuple(row[column + 1] for column in key))
            return stream._then("table operator", operator)

        self.harness = OperatorHarness(build, **options)

    def send(self, *rows: Row) -> list[str]:
        """One micro-batch; gives the changes it made."""
        self.harness.send_all(rows)
        return self.take()

    def each(self, *rows: Row) -> list[list[str]]:
        """A micro-batch for each row."""
        return [self.send(row) for row in rows]

    def watermark(self, time: int) -> list[str]:
        self.harness.advance_watermark(time)
        return self.take()

    def clock(self, time: int) -> list[str]:
        self.harness.advance_processing_time(time)
        return self.take()

    def finish(self) -> list[str]:
        self.harness.finish()
        return self.take()

    def take(self) -> list[str]:
        return [text(row) for row in self.harness.take_outputs()]

    def crash(self) -> None:
        self.harness.crash()

    def counter(self, name: str) -> int:
        engine: Any = self.harness._engine
        return sum(
            task.metrics.snapshot().get(name, {}).get("count", 0)
            for level in engine.tasks() for task in level.tasks.values()
        )  # fmt: skip


def text(row: Row) -> str:
    return f"{KIND_TEXTS[row[0]]}[{', '.join('NULL' if v is None else str(v) for v in row[1:])}]"


def materialised(changes: Sequence[Row]) -> Counter[Row]:
    """The rows a changelog leaves; a row must be there before it can go."""
    rows: Counter[Row] = Counter()
    for change in changes:
        if change[0] & 1:
            assert rows[change[1:]] > 0, f"{text(change)} takes back what is not there"
            rows[change[1:]] -= 1
        else:
            rows[change[1:]] += 1
    return +rows


def in_batches(rows: Sequence[Row], seed: int) -> list[list[Row]]:
    """The rows cut into micro-batches at random."""
    chosen = random.Random(seed)
    batches: list[list[Row]] = []
    left = list(rows)
    while left:
        size = chosen.randint(1, 5)
        batches.append(left[:size])
        left = left[size:]
    return batches


def run(operator: Operator, key: Sequence[int], batches: Sequence[Sequence[Row]]) -> list[Row]:
    """All changes an operator makes of micro-batches."""
    driven = Driven(operator, key)
    for batch in batches:
        driven.harness.send_all(batch)
    driven.harness.finish()
    return list(driven.harness.take_outputs())


def changelog(steps: Sequence[tuple[int, Row]]) -> list[Row]:
    """A changelog that never takes back what is not there, from (choice, columns): even choices
    add a row, odd ones take back one that is there."""
    there: list[Row] = []
    rows: list[Row] = []
    for choice, columns in steps:
        if choice % 2 and there:
            gone = there.pop(choice % len(there))
            rows.append((3 if choice % 4 == 1 else 1, *gone))
        else:
            there.append(columns)
            rows.append((0 if choice % 4 == 0 else 2, *columns))
    return rows


# Aggregates that are simple enough to see through.


class Sum:
    """NULL when no value is left."""

    def create(self) -> list[int]:
        return [0, 0]

    def add(self, kept: list[int], value: int) -> list[int]:
        return [kept[0] + value, kept[1] + 1]

    def retract(self, kept: list[int], value: int) -> list[int]:
        return [kept[0] - value, kept[1] - 1]

    def merge(self, kept: list[int], other: list[int]) -> list[int]:
        return [kept[0] + other[0], kept[1] + other[1]]

    def result(self, kept: list[int]) -> int | None:
        return kept[0] if kept[1] else None


class Count:
    def create(self) -> int:
        return 0

    def add(self, kept: int, *values: Any) -> int:
        return kept + 1

    def retract(self, kept: int, *values: Any) -> int:
        return kept - 1

    def merge(self, kept: int, other: int) -> int:
        return kept + other

    def result(self, kept: int) -> int:
        return kept


class Largest:
    """Keeps all values, in place."""

    def create(self) -> dict[Any, int]:
        return {}

    def add(self, kept: dict[Any, int], value: Any) -> dict[Any, int]:
        kept[value] = kept.get(value, 0) + 1
        return kept

    def retract(self, kept: dict[Any, int], value: Any) -> dict[Any, int]:
        kept[value] -= 1
        if not kept[value]:
            del kept[value]
        return kept

    def merge(self, kept: dict[Any, int], other: dict[Any, int]) -> dict[Any, int]:
        for value, count in other.items():
            kept[value] = kept.get(value, 0) + count
        return kept

    def result(self, kept: dict[Any, int]) -> Any:
        return max(kept, default=None)


_KINDS = {"SUM": Sum, "COUNT": Count, "MAX": Largest}


def aggregate(name: str, column: int | None = None, **options: Any) -> AggregateCall:
    """SUM, COUNT or MAX of a column; COUNT of none counts rows."""
    made = _KINDS[name]
    function = AggregateFunction(name=name, accumulator=lambda types, result, retracts: made())
    arguments = () if column is None else (Column(INT, column),)
    return AggregateCall(BIGINT, function, arguments, **options)


def special(name: str, kind: str, *arguments: Any) -> AggregateCall:
    """A call that operators know by its name, such as ROW_NUMBER."""
    function = AggregateFunction(name=name, accumulator=lag, kind=kind)
    return AggregateCall(BIGINT, function, arguments)


def at_least(column: int, limit: int) -> Call:
    """column >= limit"""
    function = ScalarFunction(name=f"AT_LEAST_{limit}", meaning=lambda value: value >= limit)
    return Call(BOOLEAN, function, (Column(INT, column),))


def plus(column: int, number: int, type: LogicalType = INT) -> Call:
    function = ScalarFunction(name=f"PLUS_{number}", meaning=lambda value: value + number)
    return Call(type, function, (Column(type, column),))


NAMES_AND_NUMBERS = (STRING, INT)
