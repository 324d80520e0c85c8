"""Records of a DataStream as rows of a table."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from headrace.core.operator import Batch, Operator
from headrace.core.user_code import RecordFailure

Converter = Callable[[Any, int | None], tuple[Any, ...]]


class StreamRows(Operator):
    """Converts each record and its timestamp to a row; keeps the timestamp."""

    def __init__(self, convert: Converter):
        self.convert = convert

    def receive(self, side: int, batch: Batch) -> None:
        convert, value = self.convert, None
        stamps = repeat(None) if batch.timestamps is None else batch.timestamps
        rows = []
        try:
            for value, stamp in zip(batch.values, stamps, strict=False):
                rows.append(convert(value, stamp))
        except Exception as error:  # a record may be anything, and a converter fail with anything
            raise RecordFailure(error, "the conversion to a row", value) from error
        self.ctx.emit(rows, batch.timestamps)
