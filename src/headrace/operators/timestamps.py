"""Assigning event time, and the watermarks that follow from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.core.operator import MIN_TIMESTAMP, Batch, Operator
from headrace.core.user_code import RecordFailure, apply_all
from headrace.core.watermarks import WatermarkStrategy
from headrace.errors import TypeMismatch


class TimestampsOperator(Operator):
    """Gives records their event time and reports how far time has come."""

    makes_watermarks = True
    emits_its_input = True

    def __init__(self, strategy: WatermarkStrategy):
        self.strategy = strategy

    def receive(self, side: int, batch: Batch) -> None:
        stamps = batch.timestamps
        assigner = self.strategy.assigner
        if assigner is not None:
            stamps = _extract(assigner.extract_timestamp, batch)
        if stamps and self.strategy.kind != "none":
            newest = max((s for s in stamps if s is not None), default=MIN_TIMESTAMP)
            if newest > MIN_TIMESTAMP:
                # The record that is `out_of_orderness` behind the newest is not yet late.
                self.ctx.report_watermark(newest - self.strategy.out_of_orderness_ms - 1)
        self.ctx.emit(batch.values, stamps)


def _extract(extract: Callable[[Any, int], int], batch: Batch) -> list[int | None]:
    values = batch.values
    previous = batch.timestamps
    if previous is None:
        stamps = apply_all(lambda v: extract(v, MIN_TIMESTAMP), values, "extract_timestamp")
    else:
        pairs = list(zip(values, previous, strict=True))
        stamps = apply_all(
            lambda pair: extract(pair[0], MIN_TIMESTAMP if pair[1] is None else pair[1]),
            pairs, "extract_timestamp",
        )  # fmt: skip
    for value, stamp in zip(values, stamps, strict=True):
        if stamp.__class__ is not int:
            error = TypeMismatch(
                f"extract_timestamp returned {stamp!r}, which is no int",
                hint="Return the event time in milliseconds since the epoch.",
            )
            raise RecordFailure(error, "extract_timestamp", value)
    return stamps
