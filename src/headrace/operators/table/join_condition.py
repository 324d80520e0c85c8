"""When two rows of a join match: equal keys and whatever else the condition asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import Expression
from headrace.core.logical_types import LogicalType
from headrace.core.operator import Context
from headrace.operators.table.compiled import Compiled, compiled_predicate, compiled_value
from headrace.operators.table.hashable_rows import Values
from headrace.operators.table.join_state import Matches
from headrace.operators.table.opened import close_all, open_all

SideTypes = tuple[Sequence[LogicalType], Sequence[LogicalType]]
"""The types of the left side's columns, and of the right one's."""


def _always(values: Values) -> bool:
    return True


class JoinCondition:
    """What must hold besides that both rows have the same key, over left and right columns.

    `null_safe` says for each key column whether NULL equals NULL there; by default in none. With
    `unknown_matches` a condition that is NULL counts as a match, as for NOT IN.
    """

    def __init__(
        self, residual: Expression | None = None, null_safe: tuple[bool, ...] = (), *,
        unknown_matches: bool = False,
    ):  # fmt: skip
        self.null_safe = null_safe
        self.unknown_matches = unknown_matches
        # Made here, not in the worker: it must know the session's time zone.
        self._value: Compiled[Any] | None = None
        if residual is not None:
            compiled = compiled_value if unknown_matches else compiled_predicate
            self._value = compiled(residual, first=0)

    def open(self, ctx: Context) -> CompiledJoinCondition:
        if self._value is None:
            return CompiledJoinCondition(None, self.null_safe)
        open_all((self._value,), ctx)
        value = self._value.function
        if self.unknown_matches:
            return CompiledJoinCondition(lambda row: value(row) is not False, self.null_safe)
        return CompiledJoinCondition(value, self.null_safe)

    def close(self) -> None:
        close_all((self._value,))


class CompiledJoinCondition:
    """A join condition at work."""

    def __init__(self, holds: Matches | None, null_safe: tuple[bool, ...]):
        self._holds = holds
        self._null_safe = null_safe

    def key_matches(self, key: Any) -> bool:
        """Whether rows with this key can have partners at all: NULL equals nothing."""
        if key.__class__ is not tuple or None not in key:
            return key is not None
        safe = self._null_safe
        return all(
            value is not None or (at < len(safe) and safe[at]) for at, value in enumerate(key)
        )

    def seen_from(self, side: int, values: Values) -> Matches:
        """A function that says whether a row of the other side matches this row of a side."""
        holds = self._holds
        if holds is None:
            return _always
        if side == 0:
            return lambda other: holds(values + other)
        return lambda other: holds(other + values)

    def holds(self, left: Values, right: Values) -> bool:
        return self._holds is None or self._holds(left + right)
