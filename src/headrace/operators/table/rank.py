"""Top-N: the first rows of each partition in an order, and how they change.

ORDER BY … LIMIT is the same with one partition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.core.expressions import SortKey
from headrace.core.logical_types import LogicalType
from headrace.core.operator import Context
from headrace.core.state import (
    MapStateDescriptor,
    S,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from headrace.core.table_connector import DELETE, UPDATE_AFTER, UPDATE_BEFORE
from headrace.core.types import Types
from headrace.operators.table.hashable_rows import lookup_form, selector
from headrace.operators.table.keyed_changes import KeyedChangesOperator, Row, of_kind, with_ttl
from headrace.operators.table.ordering import order_of_rows
from headrace.operators.table.ranked_rows import (
    ROW_NUMBER,
    AllRows,
    BestRows,
    PartitionRows,
    Ranked,
    RowsByKey,
)
from headrace.operators.table.state_types import row_state_type, values_state_type

APPEND, UPSERT, RETRACT = "append", "upsert", "retract"


class RankOperator(KeyedChangesOperator):
    """Emits the rows of ranks `first` to `last` of each partition, the key of the exchange.

    `input` says how rows change: "append": they never do; "upsert": a row replaces the one with
    the same values at `row_key`; "retract": any change, -U and -D repeat the row. Of upserts that
    only `move_up`, such as counts in descending order, no more rows are kept than are shown.
    `last_column` is the column that holds `last`; of a partition's rows the first one's counts.
    With `with_rank` the rank is the last column.
    """

    step = "Top-N"

    def __init__(
        self, order: Sequence[SortKey], types: Sequence[LogicalType], *,
        function: str = ROW_NUMBER, first: int = 1, last: int | None = None,
        last_column: int | None = None, with_rank: bool = False, input: str = RETRACT,
        row_key: Sequence[int] | None = None, move_up: bool = False, **options: Any,
    ):  # fmt: skip
        super().__init__(**options)
        self.order = tuple(order)
        self.types = tuple(types)
        self.function = function
        self.first = first
        self.last = last
        self.last_column = last_column
        self.with_rank = with_rank
        self.input = input
        self.row_key = None if row_key is None else tuple(row_key)
        self.move_up = move_up

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._rows = self._partition(ctx)
        self._key_of_row = None if self.row_key is None else _row_selector(self.row_key)
        self._lasts: ValueState[int] = ctx.keyed_state(
            with_ttl(ValueStateDescriptor("last-rank", Types.LONG()), self.ttl_ms)
        )
        by_number = self.function == ROW_NUMBER
        numbered = self.with_rank and self.first != self.last  # else all have the same number
        self._by_place = by_number and (numbered or self.first > 1)
        top_one = by_number and self.first == 1 and self.last == 1
        # A retracted row goes as -D and its successor comes as +I, unless both happen at once.
        self._pairs = top_one and not (self.per_record and self.input == RETRACT)

    def _partition(self, ctx: Context) -> PartitionRows:
        function, order = self.function, order_of_rows(self.order, self.types)
        row_type = row_state_type(self.types)

        def state(descriptor: StateDescriptor[S]) -> S:
            return ctx.keyed_state(with_ttl(descriptor, self.ttl_ms))

        if self.input == RETRACT:
            sorted_by = values_state_type([self.types[key.column] for key in self.order])
            rows = state(MapStateDescriptor("rows", sorted_by, Types.LIST(row_type)))
            return AllRows(rows, function, self.order, self.types)
        row_key = None if self.row_key is None else _row_selector(self.row_key)
        if self.input == UPSERT and row_key is not None and not self.move_up:
            numbered = Types.TUPLE([row_type, Types.LONG()])
            names = values_state_type([self.types[column] for column in self.row_key or ()])
            by_key = state(MapStateDescriptor("rows-by-key", names, numbered))
            return RowsByKey(by_key, function, order, row_key)
        best = state(ValueStateDescriptor("best-rows", Types.LIST(row_type)))
        return BestRows(best, function, order, row_key if self.input == UPSERT else None)

    def end_round(self) -> None:
        super().end_round()
        self._rows.forget_order()

    def change(self, key: Any, rows: Sequence[Row], out: list[Row]) -> None:
        last = self.last if self.last_column is None else self._last_of_partition(rows[0])
        kept = self._rows
        kept.load(key)
        rows = kept.best_of(rows, last)
        if not any(kept.matters(row, last) for row in rows):
            return
        before = kept.between(self.first, last)
        beyond = self._all_beyond(rows, before, last)
        for row in rows:
            if kept.matters(row, last):
                kept.apply(row, last)
        kept.save()
        if beyond:
            return
        after = kept.between(self.first, last)
        if self._by_place:
            self._tell_places(before, after, out)
        else:
            self._tell_rows(self._shown(before), self._shown(after), out)

    def _all_beyond(self, rows: Sequence[Row], shown: list[Ranked], last: int | None) -> bool:
        """Whether no row is before the last one that is shown, and no place is free."""
        if last is None or not shown or shown[-1][0] < last or self.input == UPSERT:
            return False
        order = self._rows.order
        worst = order(shown[-1][1])
        return all(order(row) > worst for row in rows)

    def _last_of_partition(self, row: Row) -> int:
        assert self.last_column is not None
        last = self._lasts.value()
        if last is None:
            last = max(0, row[self.last_column + 1] or 0)
            self._lasts.update(last)
        return last

    def _shown(self, ranked: list[Ranked]) -> list[Row]:
        if self.with_rank:
            return [(*row, rank) for rank, row in ranked]
        return [row for _, row in ranked]

    def _tell_places(self, before: list[Ranked], after: list[Ranked], out: list[Row]) -> None:
        """Each place has a row of its own, which is another one now."""
        old_rows, new_rows = self._shown(before), self._shown(after)
        for old, new in zip(old_rows, new_rows, strict=False):
            if old != new:
                self._update(old, new, out)
        out += (of_kind(DELETE, row) for row in old_rows[len(new_rows) :])
        out += new_rows[len(old_rows) :]

    def _tell_rows(self, before: list[Row], after: list[Row], out: list[Row]) -> None:
        """Which rows are not there any more, and which ones are new."""
        gone, new = _difference(before, after), _difference(after, before)
        if self._pairs and gone and new:
            self._update(gone[0], new[0], out)
            return
        key = self._key_of_row
        if key is None and self.with_rank:
            key = _without_rank
        if key is None:
            out += (of_kind(DELETE, row) for row in gone)
            out += new
            return
        old: dict[Any, list[Row]] = {}
        for row in gone:
            old.setdefault(lookup_form(key(row)), []).append(row)
        updates: list[Row] = []
        for row in new:
            replaced = old.get(lookup_form(key(row)))
            if replaced:
                self._update(replaced.pop(0), row, updates)
            else:
                updates.append(row)
        out += (of_kind(DELETE, row) for rows in old.values() for row in rows)
        out += updates

    def _update(self, old: Row, new: Row, out: list[Row]) -> None:
        if self.emits_before:
            out.append(of_kind(UPDATE_BEFORE, old))
        out.append(of_kind(UPDATE_AFTER, new))


def _row_selector(columns: tuple[int, ...]) -> Callable[[Row], Any]:
    return selector(column + 1 for column in columns)


def _without_rank(row: Row) -> Row:
    return row[:-1]


def _difference(rows: list[Row], others: list[Row]) -> list[Row]:
    """The rows that are not among the others, counting how often they are there."""
    counts: dict[Any, int] = {}
    for row in others:
        name = lookup_form(row)
        counts[name] = counts.get(name, 0) + 1
    left = []
    for row in rows:
        name = lookup_form(row)
        if counts.get(name, 0):
            counts[name] -= 1
        else:
            left.append(row)
    return left
