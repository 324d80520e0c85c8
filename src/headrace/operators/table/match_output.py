"""The rows that a match of a row pattern gives: one with its measures, or all of its own."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.core.operator import Context
from headrace.core.pattern_functions import PatternProcessFunction
from headrace.core.row_pattern_terms import RowsPerMatch
from headrace.core.row_patterns import (
    Classifier,
    MatchNumber,
    MatchTime,
    OverRows,
    RowAt,
    RowPattern,
    Slot,
    Variables,
)
from headrace.core.table_connector import INSERT
from headrace.operators.table.aggregating import AggregateHandler
from headrace.operators.table.compiled import compiled_value, compiled_values
from headrace.operators.table.opened import close_all, open_all
from headrace.operators.table.row_matcher import FoundMatch

_NANOS_PER_MS = 1_000_000
Row = tuple[Any, ...]
_Value = Callable[["_View", int], Any]
"""From a match and the position of one of its rows to the value of a slot there."""


class _View:
    """A match, read row by row from the first one on."""

    def __init__(self, found: FoundMatch):
        self.found = found
        self.totals: dict[int, tuple[Any, int]] = {}
        """For each aggregate what it has kept, and how many rows are in it."""
        self._positions: dict[Variables, list[int]] = {}

    def visible(self, slot: RowAt | Classifier | OverRows, at: int) -> tuple[list[int], int]:
        """The positions of the rows of a slot's variables, and how many of them count at a row."""
        variables = slot.variables
        positions = self._positions.get(variables)
        if positions is None:
            positions = [place for place, row in enumerate(self.found.rows)
                         if variables is None or row.stage in variables]  # fmt: skip
            self._positions[variables] = positions
        return positions, len(positions) if slot.final else bisect_right(positions, at)

    def place(self, slot: RowAt | Classifier, at: int) -> int | None:
        positions, count = self.visible(slot, at)
        place = count - 1 - slot.offset if slot.from_end else slot.offset
        return positions[place] if 0 <= place < count else None


class MatchOutput(PatternProcessFunction[Any, Row]):
    """Makes the rows of matches."""

    def __init__(self, pattern: RowPattern):
        measures = pattern.measures
        self._output = pattern.output
        self._before = [column + 1 for column in (*pattern.partition, *pattern.order_columns)]
        self._after = [column + 1 for column in pattern.other_columns]
        self._slots = [_Slot(at, slot) for at, slot in enumerate(measures.slots)]
        self._measures = compiled_values(measures.expressions, first=0)
        self._nothing = (None,) * len(measures.expressions)

    def prepare(self, ctx: Context) -> None:
        open_all((self._measures,), ctx)
        self._values = [slot.opened(ctx) for slot in self._slots]

    def finish(self) -> None:
        close_all((self._measures,))
        for slot in self._slots:
            slot.close()

    def process_match(self, match: Any, ctx: PatternProcessFunction.Context) -> Iterable[Row]:
        raise AssertionError("matches of row patterns have their rows in order")

    def rows(self, found: FoundMatch) -> Iterable[Row]:
        """The rows of a match, of an empty match, or of a row that is in no match."""
        if found.number == 0:
            shown = self._output is RowsPerMatch.UNMATCHED
            return [self._row(found.start, self._nothing)] if shown else ()
        if not found.rows:
            if self._output is RowsPerMatch.NOT_EMPTY:
                return ()
            return [self._row(found.start, self._measured(found, [-1])[0])]
        if self._output is RowsPerMatch.ONE:
            (measures,) = self._measured(found, [len(found.rows) - 1])
            return [self._row(found.rows[0].event, measures)]
        shown_at = [at for at, row in enumerate(found.rows) if not row.excluded]
        measured = self._measured(found, shown_at)
        return [self._row(found.rows[at].event, each)
                for at, each in zip(shown_at, measured, strict=True)]  # fmt: skip

    def _measured(self, found: FoundMatch, places: Sequence[int]) -> list[Row]:
        view, values = _View(found), self._values
        return self._measures.each([tuple(value(view, at) for value in values) for at in places])

    def _row(self, row: Row, measures: Row) -> Row:
        before = [row[at] for at in self._before]
        return (INSERT, *before, *measures, *(row[at] for at in self._after))


class _Slot:
    """A slot of MEASURES; made with the plan, opened in the worker."""

    def __init__(self, at: int, slot: Slot):
        self._at = at
        self._slot = slot
        self._value = compiled_value(slot.expression) if isinstance(slot, RowAt) else None
        self._handler: AggregateHandler | None = None
        if isinstance(slot, OverRows):
            self._handler = AggregateHandler((slot.call,), retracts=False)

    def opened(self, ctx: Context) -> _Value:
        match self._slot:
            case MatchTime():
                return lambda view, at: view.found.time * _NANOS_PER_MS
            case MatchNumber():
                return lambda view, at: view.found.number
            case Classifier() as named:
                return lambda view, at: _variable(view, view.place(named, at))
            case RowAt() as row:
                return self._of_row(row, ctx)
            case OverRows() as rows:
                return self._over_rows(rows, ctx)

    def close(self) -> None:
        close_all((self._value,))
        if self._handler is not None:
            self._handler.close()

    def _of_row(self, slot: RowAt, ctx: Context) -> _Value:
        holder = self._value
        assert holder is not None
        open_all((holder,), ctx)
        value, shift = holder.function, slot.shift

        def of_row(view: _View, at: int) -> Any:
            place = view.place(slot, at)
            if place is None:
                return None
            row = view.found.rows[place]
            event = row.event if not shift else view.found.context.physical(row.stamp[1] + shift)
            return None if event is None else value(event)

        return of_row

    def _over_rows(self, slot: OverRows, ctx: Context) -> _Value:
        handler, number = self._handler, self._at
        assert handler is not None
        handler.open(ctx)
        create, add_all, results = handler.create, handler.add_all, handler.results

        def over_rows(view: _View, at: int) -> Any:
            positions, count = view.visible(slot, at)
            kept, done = view.totals.get(number) or (create(), 0)
            if done < count or number not in view.totals:
                rows = view.found.rows
                add_all(kept, [rows[place].event for place in positions[done:count]])
                view.totals[number] = kept, count
            return results(kept)[0]

        return over_rows


def _variable(view: _View, place: int | None) -> str | None:
    return None if place is None else view.found.rows[place].stage
