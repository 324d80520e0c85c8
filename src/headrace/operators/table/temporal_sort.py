"""ORDER BY without LIMIT: rows wait until none can come that belongs before them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import SortKey
from headrace.core.logical_types import LogicalType
from headrace.core.operator import EVENT_TIME, MAX_TIMESTAMP, PROCESSING_TIME, Batch, Context
from headrace.core.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from headrace.core.types import Types
from headrace.core.user_code import RecordFailure
from headrace.operators.interval_join import LATE_RECORDS
from headrace.operators.table.keyed_changes import NANOS_PER_MS, Row, TableOperator
from headrace.operators.table.left_over import left_over
from headrace.operators.table.ordering import order_of_rows
from headrace.operators.table.state_types import row_state_type


class RowtimeSortOperator(TableOperator):
    """Emits rows in the order of event time, those of the same time by the other sort keys.

    Keyed by the empty tuple. Rows not after those that were emitted are dropped and counted.
    """

    keyed = True

    def __init__(
        self, types: Sequence[LogicalType], *, rowtime: int, then_by: Sequence[SortKey] = ()
    ):
        self.types = tuple(types)
        self.time = self.rowtime = rowtime
        self.then_by = tuple(then_by)

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._dropped = ctx.metrics.counter(LATE_RECORDS)
        rows: MapStateDescriptor[int, list[Row]] = MapStateDescriptor(
            "waiting-rows", Types.LONG(), Types.LIST(row_state_type(self.types))
        )
        self._rows = ctx.keyed_state(rows)
        self._reached: ValueState[int] = ctx.keyed_state(
            ValueStateDescriptor("sorted-up-to", Types.LONG())
        )
        # Rows of one millisecond may still differ in their nanoseconds.
        by_time = SortKey(self.rowtime)
        self._order = order_of_rows((by_time, *self.then_by), self.types)

    def receive(self, side: int, batch: Batch) -> None:
        assert batch.keys is not None
        at, scope = self.rowtime + 1, self.ctx.scope
        for key, row in zip(batch.keys, batch.values, strict=True):
            scope.key = key
            reached = self._reached.value()
            try:
                stamp = row[at] // NANOS_PER_MS
            except TypeError as error:
                raise RecordFailure(error, "ORDER BY", row) from error
            if reached is not None and stamp <= reached:
                self._dropped.inc()
                continue
            rows = self._rows.get(stamp)
            if rows is None:
                rows = []
                self.ctx.timers.register(EVENT_TIME, stamp)
            rows.append(row)
            self._rows.put(stamp, rows)

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        rows = self._rows.get(timestamp)
        if rows:
            self._rows.remove(timestamp)
            self._reached.update(timestamp)
            self.emit_rows(sorted(rows, key=self._order))


class ProctimeSortOperator(TableOperator):
    """Emits the rows that came in the same instant in the order of the other sort keys."""

    keyed = True

    def __init__(self, types: Sequence[LogicalType], *, then_by: Sequence[SortKey] = ()):
        self.types = tuple(types)
        self.then_by = tuple(then_by)

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        rows: ListStateDescriptor[Row] = ListStateDescriptor(
            "waiting-rows", row_state_type(self.types)
        )
        self._rows = ctx.keyed_state(rows)
        self._order = order_of_rows(self.then_by, self.types)

    def receive(self, side: int, batch: Batch) -> None:
        if not batch.values:
            return
        assert batch.keys is not None
        self.ctx.scope.key = batch.keys[0]
        self._rows.add_all(batch.values)
        due = self.ctx.processing_time() + 1
        self.ctx.timers.register(PROCESSING_TIME, due)
        self.ctx.timers.register(EVENT_TIME, MAX_TIMESTAMP)

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        rows = list(self._rows)
        if rows:
            self._rows.clear()
            self.emit_rows(sorted(rows, key=self._order))


class EndSortOperator(TableOperator):
    """Emits all rows of bounded input in any order, when it ends. Keyed by the empty tuple."""

    keyed = True

    def __init__(
        self, types: Sequence[LogicalType], *, order: Sequence[SortKey], time: int | None = None
    ):
        self.types = tuple(types)
        self.order = tuple(order)
        self.time = time

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        rows: ListStateDescriptor[Row] = ListStateDescriptor("rows", row_state_type(self.types))
        self._rows = ctx.keyed_state(rows)
        self._order = order_of_rows(self.order, self.types)

    def receive(self, side: int, batch: Batch) -> None:
        if batch.values:
            assert batch.keys is not None
            self.ctx.scope.key = batch.keys[0]
            self._rows.add_all(batch.values)
            self.ctx.timers.register(EVENT_TIME, MAX_TIMESTAMP)

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        rows = left_over(self._rows)
        self._rows.clear()
        self.emit_rows(sorted(rows, key=self._order))
