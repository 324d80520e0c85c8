"""Joins with an outside table that is asked for each row: JOIN … FOR SYSTEM_TIME AS OF proctime."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.expressions import Expression
from headrace.core.operator import Batch, Context
from headrace.core.user_code import RecordFailure
from headrace.operators.table.compiled import compiled_predicate, compiled_values
from headrace.operators.table.join_condition import JoinCondition
from headrace.operators.table.keyed_changes import Row, TableOperator
from headrace.operators.table.lookup_cache import (
    FullCacheOptions,
    Lookup,
    PartialCacheOptions,
    RetryOptions,
    cached,
)
from headrace.operators.table.opened import close_all, open_all


class LookupJoinOperator(TableOperator):
    """Each row with the rows that `lookup` finds for the values of `keys`. Columns: left, then
    right.

    Rows for which `pre_filter` does not hold, and those with a NULL among their keys, are not
    looked up. `condition` is over left and right columns.
    """

    def __init__(
        self, left_outer: bool, right_width: int, keys: Sequence[Expression], lookup: Lookup, *,
        pre_filter: Expression | None = None, condition: Expression | None = None,
        cache: PartialCacheOptions | FullCacheOptions | None = None,
        retry: RetryOptions | None = None, time: int | None = None,
    ):  # fmt: skip
        self.left_outer = left_outer
        self.keys = compiled_values(tuple(keys))
        self.lookup = lookup
        self.pre_filter = None if pre_filter is None else compiled_predicate(pre_filter)
        self.condition = JoinCondition(condition)
        self.cache = cache
        self.retry = retry
        self.time = time
        self._nulls = (None,) * right_width

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        open_all((self.keys, self.pre_filter), ctx)
        self._condition = self.condition.open(ctx)
        opening = getattr(self.lookup, "open", None)
        if opening is not None:
            opening()
        self._look_up = cached(self.lookup, self.cache, self.retry, ctx.processing_time)

    def close(self) -> None:
        close_all((self.keys, self.pre_filter))
        self.condition.close()
        closing = getattr(self.lookup, "close", None)
        if closing is not None:
            closing()

    def receive(self, side: int, batch: Batch) -> None:
        out: list[Row] = []
        row = None
        try:
            for row in batch.values:
                self._take(row, out)
        except Exception as error:
            raise RecordFailure(error, "lookup join", row) from error
        self.emit_rows(out)

    def _take(self, row: Row, out: list[Row]) -> None:
        keys = self.keys.function(row)
        found = len(out)
        if None not in keys and (self.pre_filter is None or self.pre_filter.function(row)):
            matches = self._condition.seen_from(0, row[1:])
            out += [(*row, *other) for other in self._look_up(keys) if matches(other)]
        if self.left_outer and len(out) == found:
            out.append((*row, *self._nulls))
