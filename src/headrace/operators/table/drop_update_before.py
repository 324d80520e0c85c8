"""Leaving out -U, for a consumer that takes updates by key."""

from __future__ import annotations

from headrace.core.operator import Batch
from headrace.core.table_connector import DELETE, UPDATE_AFTER, UPDATE_BEFORE
from headrace.operators.table.keyed_changes import Row, TableOperator, of_kind


class DropUpdateBeforeOperator(TableOperator):
    """Lets all changes through but those before updates.

    With a key, a -U that no +U of the same key follows becomes -D: a condition held for the row
    before the update and does not hold for the row after it.
    """

    emits_its_input = True

    def __init__(self, key: tuple[int, ...] | None = None):
        self.key = key

    def receive(self, side: int, batch: Batch) -> None:
        rows, stamps = batch.values, batch.timestamps
        if not any(row[0] == UPDATE_BEFORE for row in rows):
            self.ctx.emit(rows, stamps)
            return
        kept = [
            (of_kind(DELETE, row) if row[0] == UPDATE_BEFORE else row, at)
            for at, row in enumerate(rows)
            if row[0] != UPDATE_BEFORE or not self._is_replaced(rows, at)
        ]
        if kept:
            times = None if stamps is None else [stamps[at] for _, at in kept]
            self.ctx.emit([row for row, _ in kept], times)

    def _is_replaced(self, rows: list[Row], at: int) -> bool:
        """Whether the row after the update follows the row before it."""
        if self.key is None:
            return True
        after = rows[at + 1] if at + 1 < len(rows) else None
        if after is None or after[0] != UPDATE_AFTER:
            return False
        before = rows[at]
        return all(before[column + 1] == after[column + 1] for column in self.key)
