"""Conditions of variables in row patterns, which may also look at rows around the match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.operator import Context
from headrace.core.row_patterns import (
    Classifier,
    MatchNumber,
    MatchTime,
    OverMatch,
    RowAt,
    RowPattern,
    Slot,
    Variables,
)
from headrace.operators.table.match_rows import ConditionReader
from headrace.operators.table.row_threads import RowContext, TakenRow


class RowConditionReader(ConditionReader):
    """Reads the row in question, those the match has before it, and those around them."""

    def names(self, ctx: Context) -> dict[str, Any]:
        return {**super().names(ctx), "link_of": _link_of, "around": _around}

    def number(self) -> str:
        return "context.match_number"

    def classifier(self, slot: Classifier) -> str:
        if self._is_own(slot):
            return repr(self.variable)
        own = repr(self.variable) if self._has(slot.variables) else None
        return f"link_of(context, {self._place(slot)}, {own})[1]"

    def row(self, slot: RowAt) -> str:
        if not slot.shift:
            return super().row(slot)
        if self._is_own(slot):
            return f"context.physical(context.number + {slot.shift})"
        own = repr(self.variable) if self._has(slot.variables) else None
        return f"around(context, link_of(context, {self._place(slot)}, {own}), {slot.shift})"

    def _place(self, slot: RowAt | Classifier) -> str:
        return f"{slot.variables!r}, {slot.from_end}, {slot.offset}"

    def _has(self, variables: Variables) -> bool:
        return variables is None or self.variable in variables

    def _is_own(self, slot: RowAt | Classifier) -> bool:
        return self._has(slot.variables) and slot.from_end and slot.offset == 0


def _link_of(
    context: RowContext, variables: Variables, from_end: bool, offset: int, own: str | None
) -> tuple[int | None, str | None]:
    """The number and the variable of a row; the one in question counts if it has `own` name."""
    found: list[tuple[int | None, str | None]] = []
    last: TakenRow | None = context.last  # type: ignore[assignment]
    if own is not None:
        found.append((context.number, own))
    while last is not None and (not from_end or len(found) <= offset):
        if variables is None or last.stage in variables:
            found.append((last.stamp[1], last.stage))
        last = last.before
    if not from_end:
        found.reverse()
    return found[offset] if offset < len(found) else (None, None)


def _around(context: RowContext, link: tuple[int | None, str | None], shift: int) -> Any:
    return None if link[0] is None else context.physical(link[0] + shift)


def is_plain(variable: str, over: OverMatch) -> bool:
    """Whether a condition does not look at the rows the match has."""
    return all(_is_plain(variable, slot) for slot in over.slots)


def _is_plain(variable: str, slot: Slot) -> bool:
    if isinstance(slot, MatchTime | MatchNumber):
        return True
    if not isinstance(slot, RowAt | Classifier):
        return False
    own = slot.variables is None or variable in slot.variables
    return own and slot.from_end and slot.offset == 0


def shifts_of(pattern: RowPattern) -> tuple[int, int]:
    """How many rows before a match, and after a row of it, expressions look at."""
    overs = [pattern.measures, *(over for _, over in pattern.definitions)]
    shifts = [slot.shift for over in overs for slot in over.slots if isinstance(slot, RowAt)]
    return max((-shift for shift in shifts if shift < 0), default=0), max((0, *shifts))


def counts_matches(overs: Sequence[OverMatch]) -> bool:
    return any(isinstance(slot, MatchNumber) for over in overs for slot in over.slots)
