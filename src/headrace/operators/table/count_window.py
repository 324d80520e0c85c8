"""Windows of so many rows of a key, as the Table API has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import AggregateCall
from headrace.core.operator import Batch, Context
from headrace.core.state import MapStateDescriptor, ValueStateDescriptor
from headrace.core.table_connector import INSERT
from headrace.core.types import Types
from headrace.core.user_code import RecordFailure
from headrace.operators.table.keyed_changes import Row, TableOperator
from headrace.operators.table.window_contents import Contents, WindowContents
from headrace.operators.table.window_spec import WindowSpec

_SEEN: ValueStateDescriptor[int] = ValueStateDescriptor("rows-seen", Types.LONG())
_OPEN: MapStateDescriptor[int, Contents] = MapStateDescriptor("open-windows", Types.LONG())
"""By the number of the window: its contents."""


class CountWindowOperator(TableOperator):
    """A result for every window that has become full. Columns: the key's, then the calls'.

    Windows start every `slide` rows (of "count_tumble": every `size`), the first with the first
    row.
    """

    keyed = True

    def __init__(self, calls: Sequence[AggregateCall], window: WindowSpec):
        self.contents = WindowContents(calls, retracts=False)
        self.size = window.size
        self.slide = window.slide if window.kind == "count_slide" else window.size

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self.contents.open(ctx)
        self._seen = ctx.keyed_state(_SEEN)
        self._open = ctx.keyed_state(_OPEN)

    def close(self) -> None:
        self.contents.close()

    def receive(self, side: int, batch: Batch) -> None:
        out: list[Row] = []
        key = row = None
        assert batch.keys is not None
        try:
            for key, row in zip(batch.keys, batch.values, strict=True):
                self.ctx.scope.key = key
                self._take(key, row, out)
        except Exception as error:
            raise RecordFailure(error, "count window", row, key) from error
        self.emit_rows(out)

    def _take(self, key: Any, row: Row, out: list[Row]) -> None:
        number = self._seen.value() or 0
        self._seen.update(number + 1)
        first = max(0, (number - self.size) // self.slide + 1)
        for window in range(first, number // self.slide + 1):
            contents = self._open.get(window) or self.contents.create()
            self.contents.add(contents, (row,))
            if number + 1 < window * self.slide + self.size:
                self._open.put(window, contents)
                continue
            self._open.remove(window)
            out.append((INSERT, *key, *(self.contents.results(contents) or ())))
