"""Aggregating before rows are exchanged, so that a group crosses to its slot once per micro-batch.

Only for rows that are never taken back, and calls whose accumulators can be merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import AggregateCall
from headrace.core.operator import Batch, Context
from headrace.core.table_connector import INSERT
from headrace.core.user_code import RecordFailure
from headrace.operators.table.aggregating import AggregateHandler, Kept
from headrace.operators.table.hashable_rows import selector
from headrace.operators.table.keyed_changes import Row, TableOperator

_MOST_GROUPS = 100_000


class LocalAggregateOperator(TableOperator):
    """Emits (+I, *key, number of rows, what the calls keep) for each group it has seen.

    A GroupAggregateOperator with `partial`, keyed by the first columns, takes these.
    """

    def __init__(self, keys: Sequence[int], calls: Sequence[AggregateCall]):
        self.keys = tuple(keys)
        of_rows = [call for call in calls if call.function.kind != "grouping"]
        self._handler = AggregateHandler(of_rows, retracts=False)

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._handler.open(ctx)
        self._key_of = selector(key + 1 for key in self.keys)
        self._groups: dict[Any, tuple[Kept, list[int]]] = {}

    def close(self) -> None:
        self._handler.close()

    def receive(self, side: int, batch: Batch) -> None:
        rows_of: dict[Any, list[Row]] = {}
        key_of = self._key_of
        for row in batch.values:
            key = key_of(row)
            rows = rows_of.get(key)
            if rows is None:
                rows_of[key] = [row]
            else:
                rows.append(row)
        groups, handler = self._groups, self._handler
        for key, rows in rows_of.items():
            group = groups.get(key)
            if group is None:
                group = groups[key] = handler.create(), [0]
            try:
                handler.add_all(group[0], rows)
            except Exception as error:
                raise RecordFailure(error, "an aggregation", rows[-1], key) from error
            group[1][0] += len(rows)
        if len(groups) > _MOST_GROUPS:
            self.flush()

    def flush(self) -> None:
        groups, self._groups = self._groups, {}
        self.emit_rows([(INSERT, *key, count[0], kept) for key, (kept, count) in groups.items()])

    def end_round(self) -> None:
        self.flush()

    def finish(self) -> None:
        self.flush()
