"""Rows that wait for the end of the window they carry, for operators that need them all."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from headrace.core.logical_types import LogicalType
from headrace.core.operator import Context
from headrace.core.state import MapState, MapStateDescriptor
from headrace.core.types import Types
from headrace.operators.table.hashable_rows import Values
from headrace.operators.table.keyed_changes import Row
from headrace.operators.table.state_types import SPAN_STATE_TYPE, values_state_type
from headrace.operators.table.window_firing import WindowedTableOperator
from headrace.operators.table.window_spec import TimeSpan, by_carried_window
from headrace.operators.table.window_table import change_list

_STATES = ("left-rows", "right-rows")


class WindowRowsOperator(WindowedTableOperator):
    """Keeps the rows of each side by window. `window_columns` are, for each side, where a row has
    the start and the end of its window, `types` those of its columns."""

    def __init__(
        self, window_columns: tuple[tuple[int, int], ...],
        types: tuple[Sequence[LogicalType], ...], *, event_time: bool = True,
        zone: str | None = None,
    ):  # fmt: skip
        super().__init__(event_time=event_time, zone=zone)
        self.window_columns = window_columns
        self.types = types

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._rows: list[MapState[TimeSpan, list[Values]]] = [
            ctx.keyed_state(
                MapStateDescriptor(name, SPAN_STATE_TYPE, Types.LIST(values_state_type(types)))
            )
            for name, types in zip(_STATES, self.types, strict=False)
        ]

    def take(self, side: int, key: Any, rows: list[Row], reached: int) -> None:
        state = self._rows[side]
        for span, together in by_carried_window(rows, self.window_columns[side]).items():
            if span[1] - 1 <= reached:
                self.drop_late(len(together))
                continue
            kept = state.get(span)
            if kept is None:
                kept = []
                self.wake_at_end(span[1])
            self.keep(kept, together)
            state.put(span, kept)

    def keep(self, kept: list[Values], rows: list[Row]) -> None:
        """Add rows to those of a window."""
        for row in rows:
            change_list(kept, row)

    def fire(self, key: Any, first_end: int, last_end: int) -> None:
        spans = {
            span for state in self._rows for span in state.keys()  # noqa: SIM118
            if first_end <= span[1] <= last_end
        }  # fmt: skip
        for span in sorted(spans):
            self.answer(key, span, *(state.get(span) or [] for state in self._rows))
            for state in self._rows:
                state.remove(span)

    @abstractmethod
    def answer(self, key: Any, span: TimeSpan, *rows: list[Values]) -> None:
        """Emit what comes of a window's rows, of each side."""
