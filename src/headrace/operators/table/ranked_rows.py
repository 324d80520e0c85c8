"""The rows of one partition in an order: how they are kept, and which ranks they have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import count, islice
from typing import Any

from headrace.core.expressions import SortKey
from headrace.core.logical_types import LogicalType
from headrace.core.state import MapState, ValueState
from headrace.operators.table.hashable_rows import lookup_form
from headrace.operators.table.keyed_changes import Row, as_insert
from headrace.operators.table.ordering import (
    RowKey,
    order_of_rows,
    order_of_values,
    sort_values,
    sorter_of_values,
)

ROW_NUMBER, RANK, DENSE_RANK = "ROW_NUMBER", "RANK", "DENSE_RANK"
Ranked = tuple[int, Row]
"""A row with its rank."""


def with_ranks(rows: Iterable[Row], function: str, order: RowKey) -> Iterator[Ranked]:
    """Rows that are in order, each with its rank."""
    if function == ROW_NUMBER:
        yield from enumerate(rows, start=1)
        return
    rank, before = 0, None
    for place, row in enumerate(rows, start=1):
        here = order(row)
        if place == 1 or here != before:
            rank, before = place if function == RANK else rank + 1, here
        yield rank, row


class PartitionRows(ABC):
    """The rows of the current key's partition, in order; rows that are equal, as they came."""

    def __init__(self, function: str, order: RowKey):
        self.function = function
        self.order = order

    @abstractmethod
    def load(self, key: Any) -> None:
        """From now on the partition is that of a key, which is the current one."""

    @abstractmethod
    def matters(self, row: Row, last: int | None) -> bool:
        """Whether a change can change rows up to rank `last`."""

    @abstractmethod
    def apply(self, row: Row, last: int | None) -> None: ...

    @abstractmethod
    def in_order(self) -> Iterator[Row]: ...

    def best_of(self, rows: Sequence[Row], last: int | None) -> Sequence[Row]:
        """Those of new rows that can matter, however many there are."""
        return rows

    def save(self) -> None:
        """Write the partition back."""

    def forget_order(self) -> None:
        """State may be replaced from now on."""

    def between(self, first: int, last: int | None) -> list[Ranked]:
        """The rows of these ranks."""
        if self.function == ROW_NUMBER:
            return list(enumerate(islice(self.in_order(), first - 1, last), start=first))
        found = []
        for rank, row in with_ranks(self.in_order(), self.function, self.order):
            if last is not None and rank > last:
                break
            if rank >= first:
                found.append((rank, row))
        return found


class BestRows(PartitionRows):
    """Only the rows that have a rank that counts, for rows that can only be displaced by better
    ones. With a `row_key` a row replaces the one of the same key."""

    def __init__(
        self, state: ValueState[list[Row]], function: str, order: RowKey,
        row_key: Callable[[Row], Any] | None = None,
    ):  # fmt: skip
        super().__init__(function, order)
        self._state = state
        self._row_key = row_key

    def load(self, key: Any) -> None:
        self._rows: list[Row] = self._state.value() or []

    def best_of(self, rows: Sequence[Row], last: int | None) -> Sequence[Row]:
        if last is None or len(rows) <= last or self.function != ROW_NUMBER:
            return rows
        return rows if self._row_key is not None else nsmallest(last, rows, key=self.order)

    def _place_of_same(self, row: Row) -> int | None:
        if self._row_key is None:
            return None
        wanted = self._row_key(row)
        return next((at for at, r in enumerate(self._rows) if self._row_key(r) == wanted), None)

    def matters(self, row: Row, last: int | None) -> bool:
        rows = self._rows
        if last == 0:
            return False
        if last is None or len(rows) < last or self._place_of_same(row) is not None:
            return True
        worst, here = self.order(rows[-1]), self.order(row)
        if here < worst:
            return True
        if self.function == DENSE_RANK:  # many rows may have few ranks
            return bool(here == worst) or len(set(map(self.order, rows))) < last
        return bool(here == worst) and self.function == RANK

    def apply(self, row: Row, last: int | None) -> None:
        rows, same = self._rows, self._place_of_same(row)
        if row[0] & 1:
            if same is not None:
                del rows[same]
            elif self._row_key is None and as_insert(row) in rows:
                rows.remove(as_insert(row))
            return
        if same is not None:
            if self.order(rows[same]) == self.order(row):
                rows[same] = as_insert(row)
                return
            del rows[same]
        insort(rows, as_insert(row), key=self.order)
        if last is not None and len(rows) > last:
            del rows[self._count_up_to(last) :]

    def _count_up_to(self, last: int) -> int:
        if self.function == ROW_NUMBER:
            return last
        ranks = with_ranks(self._rows, self.function, self.order)
        return sum(1 for rank, _ in ranks if rank <= last)

    def in_order(self) -> Iterator[Row]:
        return iter(self._rows)

    def save(self) -> None:
        if self._rows:
            self._state.update(self._rows)
        else:
            self._state.clear()


class AllRows(PartitionRows):
    """Every row, since a row may be taken back and another one then takes its place.

    State holds the rows by the values they are sorted by; the order of these is kept beside it
    until the end of the micro-batch.
    """

    def __init__(
        self, state: MapState[Any, list[Row]], function: str, keys: Sequence[SortKey],
        types: Sequence[LogicalType],
    ):  # fmt: skip
        super().__init__(function, order_of_rows(keys, types))
        self._state = state
        self._values = sort_values(keys)
        self._order_of_values = order_of_values(keys, types)
        self._sorted = sorter_of_values(keys, types)
        self._ordered: dict[Any, tuple[list[Any], set[Any]]] = {}

    def load(self, key: Any) -> None:
        found = self._ordered.get(key)
        if found is None:
            here = self._sorted(self._state.keys())
            found = self._ordered[key] = here, set(here)
        self._here, self._known = found

    def matters(self, row: Row, last: int | None) -> bool:
        return True

    def apply(self, row: Row, last: int | None) -> None:
        values = lookup_form(self._values(row))
        rows = self._state.get(values)
        if row[0] & 1:
            self._take_back(values, rows, as_insert(row))
            return
        if rows is None:
            rows = []
            if values not in self._known:  # it may be, if its rows have expired
                self._known.add(values)
                insort(self._here, values, key=self._order_of_values)
        rows.append(as_insert(row))
        self._state.put(values, rows)

    def _take_back(self, values: Any, rows: list[Row] | None, row: Row) -> None:
        if rows is None or row not in rows:
            return  # it has expired
        rows.remove(row)
        if rows:
            self._state.put(values, rows)
            return
        self._state.remove(values)
        self._known.discard(values)
        here, order = self._here, self._order_of_values
        at = bisect_left(here, order(values), key=order)
        while here[at] != values:  # equal in the order, such as 0.0 and -0.0
            at += 1
        del here[at]

    def in_order(self) -> Iterator[Row]:
        for values in self._here:
            yield from self._state.get(values) or ()

    def forget_order(self) -> None:
        self._ordered.clear()


class RowsByKey(PartitionRows):
    """Every row by its own key, for updates and deletions that only name it.

    State holds each row with the number it came with: rows that are equal stay in that order.
    """

    def __init__(
        self, state: MapState[Any, tuple[Row, int]], function: str, order: RowKey,
        row_key: Callable[[Row], Any],
    ):  # fmt: skip
        super().__init__(function, order)
        self._state = state
        self._row_key = row_key
        self._ordered: dict[Any, tuple[list[tuple[Row, int]], Iterator[int]]] = {}

    def _place(self, entry: tuple[Row, int]) -> tuple[Any, int]:
        return self.order(entry[0]), entry[1]

    def load(self, key: Any) -> None:
        found = self._ordered.get(key)
        if found is None:
            rows = sorted(self._state.values(), key=self._place)
            next_number = max((number for _, number in rows), default=-1) + 1
            found = self._ordered[key] = rows, count(next_number)
        self._here, self._numbers = found

    def matters(self, row: Row, last: int | None) -> bool:
        return True

    def apply(self, row: Row, last: int | None) -> None:
        name, here = lookup_form(self._row_key(row)), self._here
        old = self._state.get(name)
        if old is not None:
            del here[bisect_left(here, self._place(old), key=self._place)]
        if row[0] & 1:
            self._state.remove(name)
            return
        entry = as_insert(row), self._number(row, old)
        self._state.put(name, entry)
        insort(here, entry, key=self._place)

    def _number(self, row: Row, old: tuple[Row, int] | None) -> int:
        if old is not None and self.order(old[0]) == self.order(row):
            return old[1]
        return next(self._numbers)

    def in_order(self) -> Iterator[Row]:
        return (row for row, _ in self._here)

    def forget_order(self) -> None:
        self._ordered.clear()
