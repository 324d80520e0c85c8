"""What a window of one key keeps: its aggregates' accumulators, and how many rows it has."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from headrace.core.expressions import AggregateCall
from headrace.core.isolation import FROZEN, is_frozen
from headrace.core.operator import Context
from headrace.operators.table.aggregating import AggregateHandler
from headrace.operators.table.keyed_changes import Row

Contents = list[Any]
"""What the handler keeps, then the number of rows: one flat list, which is quickly copied. A
window whose rows were all taken back again is empty, and gives no result."""


class WindowContents:
    """Adds rows to contents, and makes results of them; opened in the worker."""

    def __init__(self, calls: Sequence[AggregateCall], *, retracts: bool):
        self.handler = AggregateHandler(calls, retracts=retracts)
        self._retracts = retracts

    def open(self, ctx: Context) -> None:
        self.handler.open(ctx)

    def create(self) -> Contents:
        return [*self.handler.create(), 0]

    def add(self, contents: Contents, rows: Sequence[Row]) -> None:
        handler = self.handler
        if not self._retracts:
            contents[-1] += len(rows)
            handler.add_all(contents, rows)
            return
        for row in rows:
            if row[0] & 1:
                contents[-1] -= 1
                handler.retract(contents, row)
            else:
                contents[-1] += 1
                handler.add(contents, row)

    def merge(self, one: Contents, other: Contents) -> Contents:
        """What both hold; the first of them is changed."""
        one[-1] += other[-1]
        return self.handler.merge(one, other)

    def results(self, contents: Contents) -> Row | None:
        """The aggregates' values; None if there is no row."""
        return self.handler.results(contents[:-1]) if contents[-1] > 0 else None

    @staticmethod
    def copied(contents: Contents | None) -> Contents | None:
        """Contents that may be changed while those they are a copy of stay as they are."""
        if contents is None:
            return None
        return [part if part.__class__ in FROZEN else _copied(part) for part in contents]

    def close(self) -> None:
        self.handler.close()


def _copied(part: Any) -> Any:
    """A copy of what one aggregate keeps; most keep a short list of numbers."""
    kind = part.__class__
    if kind is list and FROZEN.issuperset(map(type, part)):
        return part.copy()
    if kind is dict and all(map(is_frozen, part.values())):
        return part.copy()
    return part if is_frozen(part) else copy.deepcopy(part)
