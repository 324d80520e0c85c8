"""OVER windows in the order of any columns, over rows that come and go.

A row that comes, goes or changes also changes the results of others, so all rows of a partition are
remembered with the results they were last given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import AggregateCall, Distance, SortKey
from headrace.core.logical_types import LogicalType
from headrace.core.operator import Context
from headrace.core.state import MapStateDescriptor
from headrace.core.table_connector import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.core.types import Types
from headrace.operators.table.keyed_changes import KeyedChangesOperator, Row, as_insert, with_ttl
from headrace.operators.table.partition_frames import PartitionFrames
from headrace.operators.table.state_types import row_state_type

_NEW: Any = None
Entry = tuple[Row, Any]
"""A row and the results it was last emitted with; None: it was not yet."""


class ChangelogOverOperator(KeyedChangesOperator):
    """Any frame over any changelog; `preceding` and `following` are those of PartitionFrames."""

    step = "OVER"

    def __init__(
        self, types: Sequence[LogicalType], calls: Sequence[AggregateCall], *,
        order: Sequence[SortKey], unit: str = "range", preceding: Distance | None = None,
        following: Distance | None = 0, **options: Any,
    ):  # fmt: skip
        super().__init__(**options)
        self.types = tuple(types)
        self._frames = PartitionFrames(
            types, calls, order=order, unit=unit, preceding=preceding, following=following
        )

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._frames.open(ctx)
        entry = Types.TUPLE([row_state_type(self.types), Types.PICKLED_BYTE_ARRAY()])
        rows: MapStateDescriptor[int, Entry] = MapStateDescriptor("rows", Types.LONG(), entry)
        self._rows = ctx.keyed_state(with_ttl(rows, self.ttl_ms))

    def close(self) -> None:
        self._frames.close()

    def change(self, key: Any, rows: Sequence[Row], out: list[Row]) -> None:
        entries: dict[int, Entry] = dict(self._rows.items())
        gone: dict[int, Entry] = {}
        first_new = max(entries, default=-1) + 1
        for number, row in enumerate(rows, start=first_new):
            if row[0] & 1:
                self._remove(as_insert(row), entries, gone)
            else:
                entries[number] = as_insert(row), _NEW
        order = self._frames.order_of

        def place(number: int) -> Any:
            found = entries.get(number) or gone[number]
            return order(found[0]), number

        numbers = sorted(entries, key=place)
        results_now = self._frames.results([entries[number][0] for number in numbers])
        now = dict(zip(numbers, results_now, strict=True))
        told = sorted([*entries, *gone], key=place)
        if not self.per_record:
            # A row that moves to another place must be gone from its old one first.
            told.sort(key=lambda number: number not in gone)
        for number in told:
            if number in gone:
                row, results = gone[number]
                self._rows.remove(number)
                out.append((DELETE, *row[1:], *results))
            else:
                # Record by record, the row of an update is told of as one.
                as_update = self.per_record and number >= first_new
                kind = rows[number - first_new][0] if as_update else INSERT
                self._tell(number, entries[number], now[number], kind, out)

    def _remove(self, row: Row, entries: dict[int, Entry], gone: dict[int, Entry]) -> None:
        number = next((each for each, (kept, _) in entries.items() if kept == row), None)
        if number is None:
            return  # it has expired
        entry = entries.pop(number)
        if entry[1] is not _NEW:
            gone[number] = entry

    def _tell(
        self, number: int, entry: Entry, now: tuple[Any, ...], kind: int, out: list[Row]
    ) -> None:
        row, before = entry
        if before == now and before is not _NEW:
            return
        self._rows.put(number, (row, now))
        if before is _NEW:
            out.append((kind, *row[1:], *now))
            return
        if self.emits_before:
            out.append((UPDATE_BEFORE, *row[1:], *before))
        out.append((UPDATE_AFTER, *row[1:], *now))
