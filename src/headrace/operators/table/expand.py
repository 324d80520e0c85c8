"""GROUPING SETS: each row once for each set of keys.

A row grows by a copy of the keys, those outside the set NULL, and by the number of the set, so
that groups of two sets never meet. It is then grouped by these columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.core.expressions import AggregateCall, Column
from headrace.core.operator import Batch
from headrace.core.user_code import apply_all
from headrace.operators.stateless import emit_flat
from headrace.operators.table.keyed_changes import Row, TableOperator


@dataclass(frozen=True)
class GroupingSets:
    """`keys` are columns of the input, `sets` tuples of positions in them."""

    keys: tuple[int, ...]
    sets: tuple[tuple[int, ...], ...]

    def value(self, call: AggregateCall, number: int) -> int:
        """What GROUPING, GROUPING_ID or GROUP_ID says in the groups of a set."""
        chosen = self.sets[number]
        if call.function.name.upper() == "GROUP_ID":
            return sum(set(earlier) == set(chosen) for earlier in self.sets[:number])
        grouped = {self.keys[place] for place in chosen}
        bits = 0
        for argument in call.arguments:
            # A constant stands for a column that is part of every set, as those of a window are.
            outside = isinstance(argument, Column) and argument.index not in grouped
            bits = bits * 2 + outside
        return bits

    @property
    def added(self) -> int:
        """How many columns rows grow by."""
        return len(self.keys) + 1


class ExpandOperator(TableOperator):
    """Emits (kind, the input's columns, keys or NULL, number of the set) for every set."""

    def __init__(self, grouping: GroupingSets):
        self.grouping = grouping

    def receive(self, side: int, batch: Batch) -> None:
        emit_flat(self.ctx.emit, apply_all(self._copies, batch.values, "GROUPING SETS"),
                  batch.timestamps)  # fmt: skip

    def _copies(self, row: Row) -> Sequence[Row]:
        keys = self.grouping.keys
        return [
            (*row, *[row[key + 1] if place in chosen else None for place, key in enumerate(keys)],
             number)
            for number, chosen in enumerate(self.grouping.sets)
        ]  # fmt: skip
