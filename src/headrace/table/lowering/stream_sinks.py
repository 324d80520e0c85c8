"""Rows of a table as records of a DataStream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.logical_types import RowType
from headrace.core.operator import Batch, Operator
from headrace.core.table_values import IN_STREAMS, changed_row_maker, nullable, row_maker, to_python

ROWS, TUPLES, CHANGES, RETRACTIONS, VALUES = "rows", "tuples", "changes", "retractions", "values"
_NANOS_PER_MS = 1_000_000
_ADDED = (True, False, True, False)
"""Whether a change of a kind adds its row, or takes it back."""


class StreamRecords(Operator):
    """Converts each change to a record; `time` is the column of event time, if there is one.

    One that is `apart` becomes the record's time and is no field of `row`.
    """

    def __init__(self, row: RowType, form: str, time: int | None = None, *, apart: bool = False):
        self.row = row
        self.form = form
        self.time = time
        self.apart = apart

    def receive(self, side: int, batch: Batch) -> None:
        convert = self._converter()
        stamps, rows = batch.timestamps, batch.values
        if self.time is not None:
            at = self.time + 1
            stamps = [None if row[at] is None else row[at] // _NANOS_PER_MS for row in rows]
            if self.apart:
                rows = [row[:at] + row[at + 1 :] for row in rows]
        self.ctx.emit([convert(row) for row in rows], stamps)

    def _converter(self) -> Callable[[tuple[Any, ...]], Any]:
        if self.form == CHANGES:
            return changed_row_maker(self.row, IN_STREAMS)
        make = row_maker(self.row, IN_STREAMS)
        if self.form == ROWS:
            return lambda row: make(row[1:])
        if self.form == RETRACTIONS:
            return lambda row: (_ADDED[row[0]], make(row[1:]))
        parts = [nullable(to_python(type, IN_STREAMS)) for type in self.row.types]
        if self.form == VALUES:
            return lambda row: parts[0](row[1])
        return lambda row: tuple([part(value) for part, value in zip(parts, row[1:], strict=True)])
