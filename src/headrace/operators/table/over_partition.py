"""OVER windows of bounded input: a partition is complete when the input ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import AggregateCall, Distance, SortKey
from headrace.core.logical_types import LogicalType
from headrace.core.operator import EVENT_TIME, MAX_TIMESTAMP, Batch, Context
from headrace.core.state import ListStateDescriptor
from headrace.core.table_connector import INSERT
from headrace.core.user_code import RecordFailure
from headrace.operators.table.keyed_changes import Row, TableOperator
from headrace.operators.table.left_over import left_over
from headrace.operators.table.partition_frames import PartitionFrames
from headrace.operators.table.state_types import row_state_type


class PartitionOverOperator(TableOperator):
    """Any frame over bounded input; rows may be taken back before it ends. Emits inserts.

    `preceding` and `following` are those of PartitionFrames.
    """

    keyed = True

    def __init__(
        self, types: Sequence[LogicalType], calls: Sequence[AggregateCall], *,
        order: Sequence[SortKey], unit: str = "range", preceding: Distance | None = None,
        following: Distance | None = 0, time: int | None = None,
    ):  # fmt: skip
        self.types = tuple(types)
        self.time = time
        self._frames = PartitionFrames(
            types, calls, order=order, unit=unit, preceding=preceding, following=following
        )

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._frames.open(ctx)
        rows: ListStateDescriptor[Row] = ListStateDescriptor("rows", row_state_type(self.types))
        self._rows = ctx.keyed_state(rows)

    def close(self) -> None:
        self._frames.close()

    def receive(self, side: int, batch: Batch) -> None:
        assert batch.keys is not None
        of_key: dict[Any, list[Row]] = {}
        for key, row in zip(batch.keys, batch.values, strict=True):
            of_key.setdefault(key, []).append(row)
        for key, rows in of_key.items():
            self.ctx.scope.key = key
            self._rows.add_all(rows)
            self.ctx.timers.register(EVENT_TIME, MAX_TIMESTAMP)

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        rows = sorted(left_over(self._rows), key=self._frames.order_of)
        self._rows.clear()
        try:
            results = self._frames.results(rows)
        except Exception as error:
            raise RecordFailure(error, "OVER", key=key) from error
        self.emit_rows([(INSERT, *row[1:], *more) for row, more in zip(rows, results, strict=True)])
