"""Reading values off the rows of a match: slots of `headrace.core.row_patterns` as Python code.

In a condition the row in question counts as the last row of the variable it is asked for, and the
rows before it hang on each other; of a whole match there are lists, by variable.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.expressions import Column, Expression
from headrace.core.operator import Context
from headrace.core.row_patterns import (
    Classifier,
    MatchNumber,
    MatchTime,
    OverRows,
    RowAt,
    Slot,
    Variables,
)
from headrace.operators.cep.shared_buffer import Link, chain
from headrace.operators.table.aggregating import AggregateHandler
from headrace.operators.table.compiled import Compiled, compiled_value
from headrace.operators.table.opened import close_all, open_all
from headrace.operators.table.running_totals import first_row, last_row, running_total, total

Row = tuple[Any, ...]
Read = Callable[[Any, Any], tuple[Any, ...]]
_NANOS_PER_MS = 1_000_000


class SlotReader:
    """Gives the values of slots; made with the plan, opened in the worker."""

    arguments: str
    """What the generated function is called with."""

    def __init__(self, slots: Sequence[Slot]):
        self.slots = tuple(slots)
        self._values: dict[int, Compiled[Any]] = {
            at: compiled_value(slot.expression)
            for at, slot in enumerate(self.slots)
            if isinstance(slot, RowAt) and not isinstance(slot.expression, Column)
        }
        self._finders: dict[str, Callable[..., Any]] = {}
        """What looks rows up in a partial match, by the name it has in texts."""
        self._aggregates = {
            at: AggregateHandler((slot.call,), retracts=False)
            for at, slot in enumerate(self.slots)
            if isinstance(slot, OverRows)
        }

    def names(self, ctx: Context) -> dict[str, Any]:
        """What the texts of slots refer to, opened; to be asked for after the texts."""
        open_all(self._values.values(), ctx)
        names: dict[str, Any] = {**_NAMES, **self._finders}
        names |= {f"value{at}": holder.function for at, holder in self._values.items()}
        for at, handler in self._aggregates.items():
            handler.open(ctx)
            names[f"total{at}"] = self.total(handler, self.slots[at])
        return names

    def open(self, ctx: Context) -> Read:
        """The function that reads them."""
        texts = "".join(f"{self.text(at, slot)}, " for at, slot in enumerate(self.slots))
        names = self.names(ctx)
        source = f"def read({self.arguments}):\n    return ({texts})"
        exec(compile(source, "<rows of a match>", "exec"), names)
        made: Read = names["read"]
        return made

    def close(self) -> None:
        close_all(self._values.values())
        for handler in self._aggregates.values():
            handler.close()

    def text(self, at: int, slot: Slot) -> str:
        """Python text that gives the value of a slot."""
        match slot:
            case MatchTime():
                return f"{self.time()} * {_NANOS_PER_MS}"
            case MatchNumber():
                return self.number()
            case Classifier():
                return self.classifier(slot)
            case OverRows():
                return f"total{at}({self.aggregated(slot.variables)})"
            case RowAt():
                row = self.row(slot)
                if row == "row":
                    return self._of_row(at, slot.expression, row)
                value = self._of_row(at, slot.expression, f"r{at}")
                return f"(None if (r{at} := {row}) is None else {value})"

    def _of_row(self, at: int, expression: Expression, row: str) -> str:
        if isinstance(expression, Column):
            return f"{row}[{expression.index + 1}]"
        return f"value{at}({row})"

    def total(self, handler: AggregateHandler, slot: Slot) -> Callable[..., Any]:
        """What computes an aggregate of `aggregated` rows."""
        return total(handler)

    def aggregated(self, variables: Variables) -> str:
        """Text of what an aggregate is computed of."""
        return self.rows(variables)

    @abstractmethod
    def time(self) -> str:
        """Text of the time of the match."""

    def number(self) -> str:
        """Text of the number of the match."""
        raise AssertionError("matches are not counted")

    @abstractmethod
    def classifier(self, slot: Classifier) -> str:
        """Text of the variable of the last row."""

    @abstractmethod
    def rows(self, variables: Variables) -> str:
        """Text of all rows of variables, in order."""

    @abstractmethod
    def row(self, slot: RowAt) -> str:
        """Text of one row, or None; `row` for the one in question."""


class ConditionReader(SlotReader):
    """For the condition of a variable: reads the row in question and those before it."""

    arguments = "row, context"

    def __init__(self, slots: Sequence[Slot], variable: str):
        super().__init__(slots)
        self.variable = variable

    def time(self) -> str:
        return "context.timestamp()"

    def classifier(self, slot: Classifier) -> str:
        return repr(self.variable)

    def total(self, handler: AggregateHandler, slot: Slot) -> Callable[..., Any]:
        assert isinstance(slot, OverRows)
        return running_total(handler, slot.variables)

    def aggregated(self, variables: Variables) -> str:
        return f"context.last, {'row' if _has(variables, self.variable) else None}"

    def rows(self, variables: Variables) -> str:
        own = _has(variables, self.variable)
        return f"events(context.last, {variables!r}, {'row' if own else None})"

    def row(self, slot: RowAt) -> str:
        one = _has(slot.variables, self.variable)
        if not slot.from_end:
            first = self._finder(first_row(slot.variables, slot.offset))
            return f"{first}(context.last, {'row' if one else None})"
        if one and slot.offset == 0:
            return "row"
        last = self._finder(last_row(slot.variables, slot.offset - one))
        if slot.offset == one and slot.variables is not None and len(slot.variables) == 1:
            # Most often it is the last row of all.
            there = f"(link := context.last) is not None and link[1] == {slot.variables[0]!r}"
            return f"(link[3] if {there} else {last}(link))"
        return f"{last}(context.last)"

    def _finder(self, find: Callable[..., Any]) -> str:
        name = f"find{len(self._finders)}"
        self._finders[name] = find
        return name


class MatchReader(SlotReader):
    """For MEASURES: reads the rows of a match, which are given by variable, and its time."""

    arguments = "match, time"

    def time(self) -> str:
        return "time"

    def classifier(self, slot: Classifier) -> str:
        return "next(reversed(match))"

    def rows(self, variables: Variables) -> str:
        if variables is not None and len(variables) == 1:
            return f"match.get({variables[0]!r}, ())"
        return f"together(match, {variables!r})"

    def row(self, slot: RowAt) -> str:
        end = "at_end" if slot.from_end else "at"
        return f"{end}({self.rows(slot.variables)}, {slot.offset})"


def _has(variables: Variables, variable: str) -> bool:
    return variables is None or variable in variables


def reads_one_row(slot: Slot, variable: str) -> bool:
    """Whether a condition of the variable wants nothing but the row in question for a slot."""
    own = isinstance(slot, RowAt) and _has(slot.variables, variable)
    return own and isinstance(slot, RowAt) and slot.from_end and not slot.offset and not slot.shift


def _events(last: Link | None, variables: Variables, row: Any) -> list[Any]:
    found = [link.event for link in chain(last) if variables is None or link.stage in variables]
    return found if row is None else [*found, row]


def _at(rows: Sequence[Row], offset: int) -> Row | None:
    return rows[offset] if offset < len(rows) else None


def _at_end(rows: Sequence[Row], offset: int) -> Row | None:
    return rows[-1 - offset] if offset < len(rows) else None


def _together(match: dict[str, list[Row]], variables: Variables) -> list[Row]:
    """Rows of several variables; those of one follow on each other, in the variables' order."""
    return [
        row
        for variable, rows in match.items()
        if variables is None or variable in variables
        for row in rows
    ]


_NAMES: dict[str, Any] = {
    "events": _events, "at": _at, "at_end": _at_end, "together": _together,
}  # fmt: skip
