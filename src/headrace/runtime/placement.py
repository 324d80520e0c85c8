"""Which slots restored state belongs to, at whatever parallelism it was stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.runtime.state_rows import KEYED, LIST, UNION, WINDOW, Item, RowForm


@dataclass(frozen=True)
class Placement:
    """Deals the rows of one operator's state out to slots."""

    slots: int
    parallelism: int
    max_parallelism: int
    was: int
    """The parallelism the operator had."""
    same_groups: bool = False
    """Whether keys are in the groups they were stored with."""

    def deal(self, form: RowForm, rows: pa.RecordBatch) -> Iterator[tuple[int, list[Item]]]:
        """The items for each slot. Of state without keys `rows` must be all there is."""
        if form.scope in (KEYED, WINDOW):
            yield from self._by_key(form, rows)
            return
        items = form.decode(rows)
        if form.scope not in (LIST, UNION):  # broadcast: all subtasks had the same, so may any
            for slot in range(self.parallelism):
                yield slot, items
            return
        subtasks = max((subtask + 1 for subtask, _ in items), default=0)
        parts: list[list[Any]] = [[] for _ in range(max(self.was, subtasks))]
        for subtask, values in items:
            parts[subtask] = values
        if form.scope == UNION:  # every subtask is given all elements, and takes what it wants
            parts = [[value for part in parts for value in part]] * self.parallelism
        else:
            parts = split_list(parts, self.parallelism)
        for slot, values in enumerate(parts):
            if values:
                yield slot, [(None, values)]

    def _by_key(self, form: RowForm, rows: pa.RecordBatch) -> Iterator[tuple[int, list[Item]]]:
        for subtask, own in self.rows_by_key(form, rows):
            yield subtask, form.decode(own)

    def rows_by_key(
        self, form: RowForm, rows: pa.RecordBatch
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The rows of keyed state that belong to each slot."""
        groups = form.key_groups(rows, self.max_parallelism).cast(pa.int64())
        # As core.keys.subtask_of, for all rows at once.
        subtasks = pc.divide(pc.multiply(groups, self.parallelism), self.max_parallelism)
        for subtask in pc.unique(subtasks).to_pylist():
            yield subtask, rows.filter(pc.equal(subtasks, subtask))

    def groups_of(self, slot: int) -> range | None:
        """The key groups of a slot; None if those that are stored say nothing."""
        if not self.same_groups:
            return None
        first, end = (-(-each * self.max_parallelism // self.parallelism)
                      for each in (slot, slot + 1))  # fmt: skip
        return range(first, end) if slot < self.parallelism else range(0)

    def rows_of(self, form: RowForm, rows: pa.RecordBatch, slot: int) -> pa.RecordBatch:
        """The rows of keyed state that belong to one slot."""
        groups = self.groups_of(slot)
        if groups is None:
            own = [own for subtask, own in self.rows_by_key(form, rows) if subtask == slot]
            return own[0] if own else rows.slice(0, 0)
        stored = rows.column("key_group")
        ends = pc.min_max(stored).as_py()
        if rows.num_rows and ends["min"] in groups and ends["max"] in groups:
            return rows
        return rows.filter(
            pc.and_(pc.greater_equal(stored, groups.start), pc.less(stored, groups.stop))
        )


def split_list(parts: list[list[Any]], parallelism: int) -> list[list[Any]]:
    """List state: the elements, in the order of the old subtasks, in runs of equal length.

    The first runs are one longer where the elements do not divide evenly. With as many subtasks as
    before each keeps its own part.
    """
    if len(parts) == parallelism:
        return parts
    elements = [element for part in parts for element in part]
    length, longer = divmod(len(elements), parallelism)
    starts = [number * length + min(number, longer) for number in range(parallelism + 1)]
    return [elements[start:end] for start, end in pairwise(starts)]
