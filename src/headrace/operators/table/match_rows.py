"""Reading values off the rows of a match: slots of `headrace.core.row_patterns` as Python code.

In a condition the row in question counts as the last row of the variable it is asked for, and the
rows before it hang on each other; of a whole match there are lists, by variable.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from headrace.core.expressions import Column, Expression
from headrace.core.operator import Context
from headrace.core.row_patterns import (
    Classifier,
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
        self._aggregates = {
            at: AggregateHandler((slot.call,), retracts=False)
            for at, slot in enumerate(self.slots)
            if isinstance(slot, OverRows)
        }

    def open(self, ctx: Context) -> Read:
        """The function that reads them."""
        open_all(self._values.values(), ctx)
        names: dict[str, Any] = dict(_NAMES)
        names |= {f"value{at}": holder.function for at, holder in self._values.items()}
        for at, handler in self._aggregates.items():
            handler.open(ctx)
            names[f"total{at}"] = _total(handler)
        texts = "".join(f"{self._text(at, slot)}, " for at, slot in enumerate(self.slots))
        source = f"def read({self.arguments}):\n    return ({texts})"
        exec(compile(source, "<rows of a match>", "exec"), names)
        made: Read = names["read"]
        return made

    def close(self) -> None:
        close_all(self._values.values())
        for handler in self._aggregates.values():
            handler.close()

    def _text(self, at: int, slot: Slot) -> str:
        match slot:
            case MatchTime():
                return f"{self.time()} * {_NANOS_PER_MS}"
            case Classifier():
                return self.classifier()
            case OverRows():
                return f"total{at}({self.rows(slot.variables)})"
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

    @abstractmethod
    def time(self) -> str:
        """Text of the time of the match."""

    @abstractmethod
    def classifier(self) -> str:
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
        self._variable = variable

    def time(self) -> str:
        return "context.timestamp()"

    def classifier(self) -> str:
        return repr(self._variable)

    def rows(self, variables: Variables) -> str:
        found = _before(variables)
        return f"(*{found}, row)" if _has(variables, self._variable) else found

    def row(self, slot: RowAt) -> str:
        one = _has(slot.variables, self._variable)
        if not slot.from_end:
            return f"at({self.rows(slot.variables)}, {slot.offset})"
        if one and slot.offset == 0:
            return "row"
        offset = slot.offset - one
        if slot.variables is None:
            return f"back(context.last, {offset})"
        return f"back_to(context.last, {slot.variables!r}, {offset})"


class MatchReader(SlotReader):
    """For MEASURES: reads the rows of a match, which are given by variable, and its time."""

    arguments = "match, time"

    def time(self) -> str:
        return "time"

    def classifier(self) -> str:
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
    return own and isinstance(slot, RowAt) and slot.from_end and slot.offset == 0


def _before(variables: Variables) -> str:
    if variables is not None and len(variables) == 1:
        return f"context.get_events_for_pattern({variables[0]!r})"
    return f"events(context.last, {variables!r})"


def _back(link: Link | None, offset: int) -> Any:
    while link is not None and offset:
        link, offset = link.before, offset - 1
    return None if link is None else link.event


def _back_to(link: Link | None, variables: tuple[str, ...], offset: int) -> Any:
    while link is not None:
        before, stage, _, event = link
        if stage in variables:
            if not offset:
                return event
            offset -= 1
        link = before
    return None


def _events(last: Link | None, variables: Variables) -> list[Any]:
    return [link.event for link in chain(last) if variables is None or link.stage in variables]


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


def _total(handler: AggregateHandler) -> Callable[[Iterable[Row]], Any]:
    create, add_all, results = handler.create, handler.add_all, handler.results

    def total(rows: Any) -> Any:
        kept = create()
        add_all(kept, rows)
        return results(kept)[0]

    return total


_NAMES: dict[str, Any] = {
    "back": _back, "back_to": _back_to, "events": _events, "at": _at, "at_end": _at_end,
    "together": _together,
}  # fmt: skip
