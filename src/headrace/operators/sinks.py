"""The ends of a job."""

from __future__ import annotations

from typing import Any

from headrace.core.operator import Batch, Context, Operator
from headrace.core.printing import to_text
from headrace.core.sink import Sink, SinkWriter
from headrace.core.types import TypeInformation
from headrace.core.user_code import RecordFailure


class DiscardOperator(Operator):
    """Drops everything, as its name says."""

    def receive(self, side: int, batch: Batch) -> None:
        """Nothing is kept."""


class PrintOperator(Operator):
    """Sends each record's text to the driver, which prints it."""

    def __init__(self, type_info: TypeInformation | None, prefix: str | None = None):
        self.type_info = type_info
        self.prefix = prefix

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        subtask = str(ctx.task.subtask + 1) if ctx.task.parallelism > 1 else ""
        parts = [part for part in (self.prefix, subtask) if part]
        self._start = ":".join(parts) + "> " if parts else ""

    def receive(self, side: int, batch: Batch) -> None:
        start, kind = self._start, self.type_info
        self.ctx.to_driver(("print", [start + to_text(value, kind) for value in batch.values]))


class CollectOperator(Operator):
    """Sends the records to the driver."""

    def receive(self, side: int, batch: Batch) -> None:
        self.ctx.to_driver(("collect", batch.values))


class WriteOperator(Operator):
    """Writes with a sink's writer, one writer per subtask and micro-batch."""

    def __init__(self, sink: Sink[Any]):
        self.sink = sink
        self._writer: SinkWriter[Any] | None = None

    def receive(self, side: int, batch: Batch) -> None:
        stamps = batch.timestamps or [None] * len(batch.values)
        value = None
        try:
            if self._writer is None:
                self._writer = self.sink.create_writer(self.ctx.task)
            write = self._writer.write
            for value, stamp in zip(batch.values, stamps, strict=True):
                write(value, stamp)
        except Exception as error:
            raise RecordFailure(error, "write", value) from error

    def end_batch(self) -> None:
        writer, self._writer = self._writer, None
        if writer is None:
            return
        try:
            committables = writer.prepare_commit()
            writer.close()
        except Exception as error:
            raise RecordFailure(error, "prepare_commit") from error
        if committables:
            self.ctx.to_driver(("commit", committables))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
