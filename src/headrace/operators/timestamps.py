"""Assigning event time, and the watermarks that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import accumulate, repeat
from typing import Any

from headrace.core.bulk_check import fits
from headrace.core.operator import MAX_TIMESTAMP, MIN_TIMESTAMP, Batch, Context, Operator
from headrace.core.types import Types
from headrace.core.user_code import RecordFailure, apply_all
from headrace.core.watermarks import (
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from headrace.errors import InvalidArgument, TypeMismatch

FAR_FUTURE = "numFarFutureTimestamps"
_FAR_MS = 366 * 24 * 3600 * 1000
"""So far after the clock a timestamp is counted: it moves time on for everything behind it."""

_TIME = Types.LONG()

Stamps = list[int | None]


class TimestampsOperator(Operator):
    """Gives records their event time and reports how far time has come."""

    makes_watermarks = True
    emits_its_input = True

    def __init__(self, strategy: WatermarkStrategy):
        self.strategy = strategy
        self.idle_after_ms = strategy.idle_after_ms
        self.calls_splits_idle = strategy.kind == "generated"

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._far_future = ctx.metrics.counter(FAR_FUTURE)
        self._generators: dict[str, WatermarkGenerator] = {}
        self._output = _Output(ctx)

    def receive(self, side: int, batch: Batch) -> None:
        stamps = batch.timestamps
        assigner = self.strategy.assigner
        if assigner is not None:
            extracted = _extract(assigner.extract_timestamp, batch)
            self._count_far_future(extracted)
            stamps = extracted
        if self.strategy.kind == "generated":
            self._generate(batch.values, stamps)
        elif stamps is None or self.strategy.kind == "none":
            self.ctx.emit(batch.values, stamps)
        elif self.ctx.watermarks_at_once:
            self._emit_in_steps(batch.values, stamps)
        else:
            self.ctx.emit(batch.values, stamps)
            known: Any = stamps if None not in stamps else filter(_is_known, stamps)
            self._report(max(known, default=MIN_TIMESTAMP))

    def _report(self, newest: int) -> None:
        # The record that is `out_of_orderness` behind the newest is not yet late.
        if newest > MIN_TIMESTAMP:
            self.ctx.report_watermark(newest - self.strategy.out_of_orderness_ms - 1)

    def _emit_in_steps(self, values: list[Any], stamps: Stamps) -> None:
        known = (MIN_TIMESTAMP if stamp is None else stamp for stamp in stamps)
        begin, newest = 0, MIN_TIMESTAMP
        for at, so_far in enumerate(accumulate(known, max), start=1):
            if so_far > newest:
                newest = so_far
                self.ctx.emit(values[begin:at], stamps[begin:at])
                begin = at
                self._report(newest)
        if begin < len(values):
            self.ctx.emit(values[begin:], stamps[begin:])

    def _generate(self, values: list[Any], stamps: Stamps | None) -> None:
        generator, output = self._generator(), self._output
        at_once = self.ctx.watermarks_at_once
        begin = 0
        if not at_once:
            self.ctx.emit(values, stamps)
        for at, value in enumerate(values):
            stamp = None if stamps is None else stamps[at]
            try:
                generator.on_event(value, MIN_TIMESTAMP if stamp is None else stamp, output)
                if at_once:
                    generator.on_periodic_emit(output)
            except Exception as error:
                raise RecordFailure(error, "on_event", value) from error
            if at_once and output.newest is not None:
                self.ctx.emit(values[begin : at + 1], stamps and stamps[begin : at + 1])
                begin = at + 1
                output.flush()
        if at_once and begin < len(values):
            self.ctx.emit(values[begin:], stamps and stamps[begin:])
        output.flush()
        self._emit_periodically(generator)

    def _emit_periodically(self, generator: WatermarkGenerator) -> None:
        try:
            generator.on_periodic_emit(self._output)
        except Exception as error:
            raise RecordFailure(error, "on_periodic_emit") from error
        self._output.flush()

    def _generator(self) -> WatermarkGenerator:
        split = self.ctx.split
        if split not in self._generators:
            assert self.strategy.generator is not None
            made: object = self.strategy.generator()
            if not isinstance(made, WatermarkGenerator):
                error = TypeMismatch(
                    f"the watermark strategy made {made!r}, which is no WatermarkGenerator",
                    hint="for_generator() takes the class of a generator or a function.",
                )
                raise RecordFailure(error, "for_generator")
            self._generators[split] = made
        return self._generators[split]

    def _count_far_future(self, stamps: list[Any]) -> None:
        horizon = self.ctx.processing_time() + _FAR_MS
        if max(stamps, default=horizon) > horizon:
            self._far_future.inc(sum(stamp > horizon for stamp in stamps))


class _Output(WatermarkOutput):
    """Collects what a generator emits until the records before it are out."""

    def __init__(self, ctx: Context):
        self._ctx = ctx
        self.newest: int | None = None
        self._idle = False

    def emit_watermark(self, watermark: Watermark) -> None:
        timestamp = watermark.timestamp
        if timestamp.__class__ is not int or not MIN_TIMESTAMP <= timestamp <= MAX_TIMESTAMP:
            raise InvalidArgument(
                f"a watermark is a time in milliseconds, not {timestamp!r}",
                hint="Emit Watermark(timestamp) with an int of 64 bits.",
            )
        if self.newest is None or timestamp > self.newest:
            self.newest = timestamp
        if self._idle:
            self.mark_active()

    def mark_idle(self) -> None:
        self._idle = True
        self._ctx.report_idle()

    def mark_active(self) -> None:
        self._idle = False
        self._ctx.report_idle(False)

    def flush(self) -> None:
        newest, self.newest = self.newest, None
        if newest is not None:
            self._ctx.report_watermark(newest)


def _is_known(stamp: int | None) -> bool:
    return stamp is not None


def _extract(extract: Callable[[Any, int], int], batch: Batch) -> list[Any]:
    before: Iterable[int] = repeat(MIN_TIMESTAMP)
    if batch.timestamps is not None:
        before = (MIN_TIMESTAMP if stamp is None else stamp for stamp in batch.timestamps)
    stamps = apply_all(extract, batch.values, "extract_timestamp", before)
    if not fits(_TIME, stamps):
        for value, stamp in zip(batch.values, stamps, strict=True):
            _check(value, stamp)
    return stamps


def _check(value: Any, stamp: Any) -> None:
    if stamp.__class__ is not int:
        wrong = f"{stamp!r}, which is no int"
    elif not MIN_TIMESTAMP <= stamp <= MAX_TIMESTAMP:
        wrong = f"{stamp}, which does not fit into 64 bits"
    else:
        return
    error = TypeMismatch(
        f"extract_timestamp returned {wrong}",
        hint="Return the event time in milliseconds since the epoch.",
    )
    raise RecordFailure(error, "extract_timestamp", value)
