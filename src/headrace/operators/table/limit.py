"""LIMIT and OFFSET without an order: which rows are let through follows from when they come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import SortKey
from headrace.core.logical_types import LogicalType
from headrace.core.operator import Batch, Context, Operator
from headrace.core.state import ValueState, ValueStateDescriptor
from headrace.core.types import Types
from headrace.operators.table.keyed_changes import TableOperator
from headrace.operators.table.rank import APPEND, RETRACT, RankOperator


class LimitOperator(TableOperator):
    """Lets rows through that are only ever added, after the first `offset`, up to `fetch`.

    Keyed by the empty tuple, so that one subtask counts.
    """

    keyed = True

    def __init__(self, offset: int = 0, fetch: int | None = None):
        self.offset = offset
        self.fetch = fetch

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._seen: ValueState[int] = ctx.keyed_state(
            ValueStateDescriptor("rows-seen", Types.LONG())
        )

    def receive(self, side: int, batch: Batch) -> None:
        if not batch.values:
            return
        assert batch.keys is not None
        self.ctx.scope.key = batch.keys[0]
        seen = self._seen.value() or 0
        end = len(batch) if self.fetch is None else self.offset + self.fetch - seen
        begin = max(0, self.offset - seen)
        if end <= 0:
            return
        self._seen.update(seen + min(end, len(batch)))
        rows = batch.values[begin:end]
        if rows:
            stamps = batch.timestamps
            self.ctx.emit(rows, None if stamps is None else stamps[begin:end])


def limit_operator(
    offset: int, fetch: int | None, types: Sequence[LogicalType], *,
    order: Sequence[SortKey] = (), append_only: bool, **options: Any,
) -> Operator:  # fmt: skip
    """For LIMIT and OFFSET, with or without ORDER BY; keyed by the empty tuple.

    `options` are those of RankOperator."""
    if append_only and not order:
        return LimitOperator(offset, fetch)
    last = None if fetch is None else offset + fetch
    kind = APPEND if append_only else RETRACT
    return RankOperator(order, types, first=offset + 1, last=last, input=kind, **options)
