"""Joins of rows that are in the same window."""

from __future__ import annotations

from typing import Any

from headrace.core.expressions import Expression
from headrace.core.operator import Context
from headrace.core.table_connector import INSERT
from headrace.operators.table.hashable_rows import Values
from headrace.operators.table.join_condition import JoinCondition, SideTypes
from headrace.operators.table.window_rows import WindowRowsOperator
from headrace.operators.table.window_spec import TimeSpan


class WindowJoinOperator(WindowRowsOperator):
    """Pairs of rows with the same key and window, when the window is over.

    `kind` is "inner", "left", "right", "full", "semi" or "anti". Columns: left, then right (not
    for semi and anti). `types` of columns and `window_columns`, (start, end), are those of the left
    side and of the right one.
    """

    step = "window join"

    def __init__(
        self, kind: str, types: SideTypes,
        window_columns: tuple[tuple[int, int], tuple[int, int]],
        condition: Expression | None = None, *, null_safe: tuple[bool, ...] = (),
        event_time: bool = True, zone: str | None = None,
    ):  # fmt: skip
        super().__init__(window_columns, types, event_time=event_time, zone=zone)
        self.kind = kind
        self.condition = JoinCondition(condition, null_safe)
        self._nulls = ((None,) * len(types[0]), (None,) * len(types[1]))

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._condition = self.condition.open(ctx)

    def close(self) -> None:
        self.condition.close()

    def answer(self, key: Any, span: TimeSpan, *rows: list[Values]) -> None:
        left, right = rows
        if not self._condition.key_matches(key):
            self._answer(span, left, [], [])
            self._answer(span, [], right, [False] * len(right))
        else:
            self._answer(span, left, right, [False] * len(right))

    def _answer(
        self, span: TimeSpan, left: list[Values], right: list[Values], met: list[bool]
    ) -> None:
        for values in left:
            matches = self._condition.seen_from(0, values)
            partners = [at for at, other in enumerate(right) if matches(other)]
            for at in partners:
                met[at] = True
            self._answer_left(span, values, [right[at] for at in partners])
        if self.kind in ("right", "full"):
            for other, has_met in zip(right, met, strict=True):
                if not has_met:
                    self.emit_at((INSERT, *self._nulls[0], *other), span)

    def _answer_left(self, span: TimeSpan, values: Values, partners: list[Values]) -> None:
        if self.kind in ("semi", "anti"):
            if bool(partners) is (self.kind == "semi"):
                self.emit_at((INSERT, *values), span)
            return
        for other in partners:
            self.emit_at((INSERT, *values, *other), span)
        if not partners and self.kind in ("left", "full"):
            self.emit_at((INSERT, *values, *self._nulls[1]), span)
