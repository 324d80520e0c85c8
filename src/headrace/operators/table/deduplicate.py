"""The first or last row of each key, by processing time or by a column of event time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.logical_types import LogicalType
from headrace.core.operator import EVENT_TIME, Batch, Context
from headrace.core.state import ValueStateDescriptor
from headrace.core.table_connector import INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.core.types import Types
from headrace.core.user_code import RecordFailure
from headrace.errors import InvalidArgument
from headrace.operators.interval_join import LATE_RECORDS
from headrace.operators.table.keyed_changes import (
    NANOS_PER_MS,
    KeyedChangesOperator,
    Row,
    TableOperator,
    as_insert,
    is_retraction,
    of_kind,
    with_ttl,
)
from headrace.operators.table.state_types import row_state_type


class DeduplicateOperator(KeyedChangesOperator):
    """Keeps one row per key of an input without retractions.

    `rowtime` None: by processing time, which is the order of arrival; then the first row of a key
    is never replaced. By event time an earlier first row, or a later last row, replaces the one
    before it.
    """

    step = "deduplication"

    def __init__(
        self, types: Sequence[LogicalType], *, keep_last: bool, rowtime: int | None = None,
        with_rank: bool = False, **options: Any,
    ):  # fmt: skip
        super().__init__(**options)
        self.types = tuple(types)
        self.keep_last = keep_last
        self.rowtime = rowtime
        self.with_rank = with_rank

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        kept: ValueStateDescriptor[Row] = ValueStateDescriptor(
            "kept-row", row_state_type(self.types)
        )
        self._kept = ctx.keyed_state(with_ttl(kept, self.ttl_ms))

    def change(self, key: Any, rows: Sequence[Row], out: list[Row]) -> None:
        before = self._kept.value()
        kept = before
        for row in rows:
            check_addition(row)
            if kept is None or self._replaces(row, kept):
                kept = row
        if kept is None or kept is before:
            return
        kept = as_insert(kept)
        self._kept.update(kept)
        tail = (1,) if self.with_rank else ()
        if before is None:
            out.append((*kept, *tail))
        elif before != kept or self.ttl_ms or self.rowtime is not None:
            if self.emits_before:
                out.append((UPDATE_BEFORE, *before[1:], *tail))
            out.append((UPDATE_AFTER, *kept[1:], *tail))

    def _replaces(self, row: Row, kept: Row) -> bool:
        if self.rowtime is None:
            return self.keep_last
        at = self.rowtime + 1
        return bool(row[at] >= kept[at] if self.keep_last else row[at] < kept[at])


class FirstRowOperator(TableOperator):
    """The first row of each key by event time, emitted once it is certain: when the watermark has
    passed it. Emits inserts only; rows behind the watermark are dropped and counted."""

    keyed = True

    def __init__(
        self, types: Sequence[LogicalType], *, rowtime: int, with_rank: bool = False,
        ttl_ms: int | None = None,
    ):  # fmt: skip
        self.types = tuple(types)
        self.time = self.rowtime = rowtime
        self.with_rank = with_rank
        self.ttl_ms = ttl_ms

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._dropped = ctx.metrics.counter(LATE_RECORDS)
        # What waits for the watermark must not expire before it comes.
        waiting: ValueStateDescriptor[Row] = ValueStateDescriptor(
            "waiting-row", row_state_type(self.types)
        )
        self._waiting = ctx.keyed_state(waiting)
        emitted: ValueStateDescriptor[bool] = ValueStateDescriptor("emitted", Types.BOOLEAN())
        self._emitted = ctx.keyed_state(with_ttl(emitted, self.ttl_ms))

    def receive(self, side: int, batch: Batch) -> None:
        assert batch.keys is not None
        scope, timers, at = self.ctx.scope, self.ctx.timers, self.rowtime + 1
        for key, row in zip(batch.keys, batch.values, strict=True):
            try:
                check_addition(row)
                stamp = row[at] // NANOS_PER_MS
            except Exception as error:
                raise RecordFailure(error, "deduplication", row, key) from error
            if stamp < self.ctx.watermark:
                self._dropped.inc()
                continue
            scope.key = key
            if self._emitted.value():
                continue
            waiting = self._waiting.value()
            if waiting is None or row[at] < waiting[at]:
                if waiting is not None:
                    timers.delete(EVENT_TIME, waiting[at] // NANOS_PER_MS)
                timers.register(EVENT_TIME, stamp)
                self._waiting.update(as_insert(row))

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        row = self._waiting.value()
        if row is None:
            return
        self._waiting.clear()
        self._emitted.update(True)
        self.emit_rows([(*row, 1) if self.with_rank else of_kind(INSERT, row)])


def check_addition(row: Row) -> None:
    """Refuse a retraction where only additions can be."""
    if is_retraction(row):
        raise InvalidArgument(
            "a row is taken back before an operator that only takes rows that stay",
            hint="Use ROW_NUMBER() with a limit above 1, or an input without updates.",
        )
