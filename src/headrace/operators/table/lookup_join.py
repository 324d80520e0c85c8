"""Joins with an outside table that is asked for each row: JOIN … FOR SYSTEM_TIME AS OF proctime."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.core.expressions import Expression
from headrace.core.operator import Batch, Context
from headrace.core.user_code import RecordFailure, apply_all
from headrace.operators.table.awaited_calls import USUAL, AwaitedCalls, is_awaited
from headrace.operators.table.compiled import compiled_predicate, compiled_values
from headrace.operators.table.hashable_rows import Values, lookup_form
from headrace.operators.table.join_condition import JoinCondition
from headrace.operators.table.keyed_changes import Row, TableOperator
from headrace.operators.table.lookup_cache import (
    FetchedInOneQuery,
    FetchedTogether,
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
    looked up. `condition` is over left and right columns. A `lookup` that is awaited is asked for
    all keys of a batch together.
    """

    def __init__(
        self, left_outer: bool, right_width: int, keys: Sequence[Expression], lookup: Lookup, *,
        pre_filter: Expression | None = None, condition: Expression | None = None,
        cache: PartialCacheOptions | None = None,
        retry: RetryOptions | None = None, time: int | None = None,
        awaited: AwaitedCalls = USUAL,
    ):  # fmt: skip
        self.left_outer = left_outer
        self.keys = compiled_values(tuple(keys))
        self.lookup = lookup
        self.pre_filter = None if pre_filter is None else compiled_predicate(pre_filter)
        self.condition = JoinCondition(condition)
        self._always = condition is None
        self.cache = cache
        self.retry = retry
        self.time = time
        self.awaited = awaited
        self._nulls = (None,) * right_width

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        open_all((self.keys, self.pre_filter), ctx)
        self._condition = self.condition.open(ctx)
        opening = getattr(self.lookup, "open", None)
        if opening is not None:
            opening()
        self._fetched: FetchedTogether | FetchedInOneQuery | None = None
        if is_awaited(self.lookup):
            self._fetched = FetchedTogether(self.lookup, self.awaited, self.retry)
            self._look_up = cached(self._fetched, self.cache, None, ctx.processing_time)
        elif getattr(self.lookup, "asks_together", False):
            self._fetched = FetchedInOneQuery(self.lookup, self.retry)
            self._look_up = cached(self._fetched, self.cache, None, ctx.processing_time)
        else:
            self._look_up = cached(self.lookup, self.cache, self.retry, ctx.processing_time)

    def close(self) -> None:
        close_all((self.keys, self.pre_filter))
        self.condition.close()
        closing = getattr(self.lookup, "close", None)
        if closing is not None:
            closing()

    def receive(self, side: int, batch: Batch) -> None:
        out: list[Row] = []
        rows = batch.values
        keys = apply_all(self.keys.function, rows, "lookup join")
        if self._fetched is not None:
            self._fetch(self._fetched, rows, keys)
        row = None
        try:
            for row, own in zip(rows, keys, strict=True):
                self._take(row, own, out)
        except Exception as error:
            raise RecordFailure(error, "lookup join", row) from error
        self.emit_rows(out)

    def _is_asked(self, row: Row, keys: Values) -> bool:
        return None not in keys and (self.pre_filter is None or self.pre_filter.function(row))

    def _fetch(
        self,
        fetched: FetchedTogether | FetchedInOneQuery,
        rows: Sequence[Row],
        keys: Sequence[Values],
    ) -> None:
        try:
            fetched.fetch(self._asked(rows, keys))
        except Exception as error:
            raise RecordFailure(error, "lookup join") from error

    def _asked(self, rows: Sequence[Row], keys: Sequence[Values]) -> list[Values]:
        """The keys of these rows that no cache knows, each once."""
        pairs = zip(rows, keys, strict=True)
        asked = {lookup_form(own): own for row, own in pairs if self._is_asked(row, own)}
        knows = getattr(self._look_up, "knows", None)
        return [own for own in asked.values() if knows is None or not knows(own)]

    def _take(self, row: Row, keys: Values, out: list[Row]) -> None:
        found = len(out)
        if self._is_asked(row, keys):
            others = self._look_up(keys)
            if self._always:
                out += [(*row, *other) for other in others]
            else:
                matches = self._condition.seen_from(0, row[1:])
                out += [(*row, *other) for other in others if matches(other)]
        if self.left_outer and len(out) == found:
            out.append((*row, *self._nulls))
