"""Leaving out -U, for a consumer that takes updates by key."""

from __future__ import annotations

from headrace.core.operator import Batch
from headrace.core.table_connector import UPDATE_BEFORE
from headrace.operators.table.keyed_changes import TableOperator


class DropUpdateBeforeOperator(TableOperator):
    """Lets all changes through but those before updates."""

    emits_its_input = True

    def receive(self, side: int, batch: Batch) -> None:
        rows, stamps = batch.values, batch.timestamps
        kept = [row for row in rows if row[0] != UPDATE_BEFORE]
        if len(kept) == len(rows):
            self.ctx.emit(rows, stamps)
        elif kept:
            if stamps is not None:
                pairs = zip(rows, stamps, strict=True)
                stamps = [stamp for row, stamp in pairs if row[0] != UPDATE_BEFORE]
            self.ctx.emit(kept, stamps)
