"""INTERSECT and EXCEPT of two changelogs, keyed by the whole row."""

from __future__ import annotations

from typing import Any

from headrace.core.operator import Batch, Context
from headrace.core.state import ValueStateDescriptor
from headrace.core.table_connector import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.core.types import Types
from headrace.operators.table.changes import ChangingOperator
from headrace.operators.table.hashable_rows import Values
from headrace.operators.table.keyed_changes import Row, with_ttl


class SetOperator(ChangingOperator):
    """How often a row is there: of INTERSECT as often as in both inputs, of EXCEPT as often as it
    is more often in the left one than in the right one; not `all`: once at most.

    Record by record, ALL is told as Flink does: each change of the counts takes all copies of the
    row back and adds them again.
    """

    def __init__(
        self, kind: str, *, all: bool, per_record: bool = False, emits_before: bool = True,
        ttl_ms: int = 0,
    ):  # fmt: skip
        super().__init__(per_record=per_record, emits_before=emits_before or all)
        self.intersects = kind == "intersect"
        self.all = all
        self.ttl_ms = ttl_ms

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        counts: ValueStateDescriptor[tuple[int, int]] = ValueStateDescriptor(
            "counts", Types.TUPLE([Types.LONG(), Types.LONG()])
        )
        self._counts = ctx.keyed_state(with_ttl(counts, self.ttl_ms))

    def _copies(self, left: int, right: int) -> int:
        if self.all:
            return max(0, min(left, right) if self.intersects else left - right)
        return int(left > 0 and (right > 0) is self.intersects)

    def receive(self, side: int, batch: Batch) -> None:
        out: list[Row] = []
        scope = self.ctx.scope
        assert batch.keys is not None
        for key, row in zip(batch.keys, batch.values, strict=True):
            scope.key = key
            self._take(side, -1 if row[0] & 1 else 1, row[1:], out)
        self.give(out)

    def _take(self, side: int, step: int, values: Values, out: list[Row]) -> None:
        old = self._counts.value() or (0, 0)
        new = (old[0] + step, old[1]) if side == 0 else (old[0], old[1] + step)
        self._counts.update(new if new != (0, 0) else _NOTHING)
        before, after = self._copies(*old), self._copies(*new)
        if not self.all:
            if before != after:
                out.append((INSERT if after else DELETE, *values))
        elif not self.per_record:
            kind = INSERT if after > before else DELETE
            out += [(kind, *values)] * abs(after - before)
        elif old == (0, 0) or new == (0, 0):
            out += [(DELETE, *values)] * before + [(INSERT, *values)] * after
        else:
            out += [(UPDATE_BEFORE, *values)] * before + [(UPDATE_AFTER, *values)] * after


_NOTHING: Any = None
