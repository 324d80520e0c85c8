"""MATCH_RECOGNIZE: rows that follow a pattern become one row with the measures of their match."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from headrace.core.expressions import Column, Expression, SortKey, rewritten
from headrace.core.logical_types import LogicalType, is_proctime
from headrace.core.operator import Batch, Context
from headrace.core.pattern_functions import Match, PatternProcessFunction
from headrace.core.patterns import Always, Condition, Stage, Test
from headrace.core.row_patterns import OverMatch, RowAt, RowPattern
from headrace.core.table_connector import INSERT
from headrace.core.user_code import RecordFailure
from headrace.errors import InvalidQuery
from headrace.operators.cep.boolean import both
from headrace.operators.cep.operator import PatternOperator
from headrace.operators.table.compiled import compiled_predicate, compiled_values
from headrace.operators.table.match_conditions import fused
from headrace.operators.table.match_rows import ConditionReader, MatchReader, Row, reads_one_row
from headrace.operators.table.opened import close_all, open_all
from headrace.operators.table.ordering import order_of_rows

_NANOS_PER_MS = 1_000_000


class MatchRecognizeOperator(PatternOperator):
    """Finds a pattern in the rows of each partition.

    Rows wait until the watermark has come to the time in their first column of order; by
    processing time they are matched as they come.
    """

    reuses_objects = True  # rows are never changed
    reader: type[ConditionReader] = ConditionReader

    def __init__(self, pattern: RowPattern, types: Sequence[LogicalType]):
        by_clock = is_proctime(pattern.time_type)
        self._measures = self.output_of(pattern)
        super().__init__(
            self._measures, pattern.events, event_time=not by_clock,
            comparator=_comparator(pattern.order[1:], types),
        )  # fmt: skip
        self._written = pattern
        self._time = pattern.order[0].column + 1
        self._tests = {
            name: [_ConditionPart(self.reader, name, over.chosen([at]))
                   for at in range(len(over.expressions))]
            for name, over in pattern.definitions
        }  # fmt: skip

    def output_of(self, pattern: RowPattern) -> Any:
        """What makes rows of matches."""
        return _Measures(pattern)

    def open(self, ctx: Context) -> None:
        events = self._written.events
        parts = tuple(
            replace(part, condition=self._condition(part.name, ctx))
            for part in events.parts
            if isinstance(part, Stage)
        )
        self._pattern = replace(events, parts=parts)
        self._measures.prepare(ctx)
        super().open(ctx)

    def tests(self, variable: str, ctx: Context) -> list[Test]:
        """Conditions that must all hold; what needs only the row in question is asked first."""
        tests = [part.opened(ctx) for part in self._tests.get(variable, ())]
        return sorted(tests, key=lambda test: test.iterative)

    def _condition(self, variable: str, ctx: Context) -> Condition:
        condition: Condition = Always()
        for test in self.tests(variable, ctx):
            condition = both(condition, test)
        return condition

    def close(self) -> None:
        for parts in self._tests.values():
            for part in parts:
                part.close()
        self._measures.finish()
        super().close()

    def receive(self, side: int, batch: Batch) -> None:
        if self._event_time:
            batch = replace(batch, timestamps=self._stamps(batch))
        super().receive(side, batch)

    def _stamps(self, batch: Batch) -> list[int | None]:
        at = self._time
        try:
            return [row[at] // _NANOS_PER_MS for row in batch.values]
        except TypeError as error:
            row = next(row for row in batch.values if row[at] is None)
            problem = InvalidQuery(
                "a row has no time: the first column of MATCH_RECOGNIZE's ORDER BY is NULL",
                origin=self._written.at,
                hint="Leave such rows out in a query before it: WHERE time IS NOT NULL.",
            )
            raise RecordFailure(problem, "MATCH_RECOGNIZE", row) from error


class _ConditionPart:
    """One of the conditions of a variable that must all hold."""

    def __init__(self, reader: type[ConditionReader], variable: str, over: OverMatch):
        (expression,) = over.expressions
        self._reader: ConditionReader | None = None
        if all(reads_one_row(slot, variable) for slot in over.slots):
            self._predicate = compiled_predicate(_of_one_row(expression, over))
        else:
            self._reader = reader(over.slots, variable)
            self._predicate = compiled_predicate(expression, first=0)

    def opened(self, ctx: Context) -> Test:
        open_all((self._predicate,), ctx)
        if self._reader is None:
            return Test(self._predicate.function)
        return Test(fused(self._reader, self._predicate, ctx), iterative=True)

    def close(self) -> None:
        close_all((self._predicate,))
        if self._reader is not None:
            self._reader.close()


def _of_one_row(expression: Expression, over: OverMatch) -> Expression:
    """A condition over slots that all are of the row in question, as one over that row."""

    def replacement(part: Expression) -> Expression:
        slot = over.slots[part.index] if isinstance(part, Column) else None
        return slot.expression if isinstance(slot, RowAt) else part

    return rewritten(expression, replacement)


class _Measures(PatternProcessFunction[Row, Row]):
    """The row of a match: the columns of its partition, then its measures."""

    def __init__(self, pattern: RowPattern):
        self._partition = tuple(column + 1 for column in pattern.partition)
        self._reader = MatchReader(pattern.measures.slots)
        self._values = compiled_values(pattern.measures.expressions, first=0)

    def prepare(self, ctx: Context) -> None:
        open_all((self._values,), ctx)
        self._read = self._reader.open(ctx)
        self._measured = self._values.function

    def finish(self) -> None:
        close_all((self._values,))
        self._reader.close()

    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterable[Row]:
        first = next(iter(match.values()))[0]
        keys = [first[at] for at in self._partition]
        return ((INSERT, *keys, *self._measured(self._read(match, ctx.timestamp()))),)


def _comparator(
    keys: Sequence[SortKey], types: Sequence[LogicalType]
) -> Callable[[Row, Row], int] | None:
    return _Comparator(tuple(keys), tuple(types)) if keys else None


class _Comparator:
    """Compares rows of the same time by the further columns of the order."""

    def __init__(self, keys: tuple[SortKey, ...], types: tuple[LogicalType, ...]):
        self._given = keys, types
        self._place = order_of_rows(keys, types)

    def __call__(self, first: Row, second: Row) -> int:
        one, other = self._place(first), self._place(second)
        return int(one > other) - int(one < other)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Comparator, self._given
