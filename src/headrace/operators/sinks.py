"""The ends of a job."""

from __future__ import annotations

from typing import Any

from headrace.core.checkpointed import writer_part
from headrace.core.crash_points import reach
from headrace.core.operator import Batch, Context, Operator
from headrace.core.printing import to_text
from headrace.core.sink import Sink, SinkWriter
from headrace.core.types import TypeInformation
from headrace.core.user_code import RecordFailure
from headrace.operators.checkpointing import CheckpointingOperator
from headrace.operators.function_context import FunctionRuntimeContext


class DiscardOperator(Operator):
    """Drops everything, as its name says."""

    def receive(self, side: int, batch: Batch) -> None:
        """Nothing is kept."""


class PrintOperator(Operator):
    """Sends each record's text to the driver, which prints it."""

    def __init__(
        self, type_info: TypeInformation | None, prefix: str | None = None, *,
        to_error: bool = False,
    ):  # fmt: skip
        self.type_info = type_info
        self.prefix = prefix
        self.to_error = to_error
        """Whether the driver prints to standard error."""

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


class WriteOperator(CheckpointingOperator):
    """Writes with a sink's writer, one writer per subtask and checkpoint."""

    def __init__(self, sink: Sink[Any]):
        self.sink = sink
        self._writer: SinkWriter[Any] | None = None

    @property
    def participant(self) -> Any:
        return self.sink

    @property
    def claims(self) -> tuple[str, ...]:
        return self.sink.claims

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        try:
            self.sink.open(FunctionRuntimeContext(ctx, keyed=False))
        except Exception as error:
            raise RecordFailure(error, "open") from error

    def receive(self, side: int, batch: Batch) -> None:
        stamps = batch.timestamps or [None] * len(batch.values)
        try:
            if self._writer is None:
                self._writer = writer_part(self.sink.create_writer(self.ctx.task))
            self._writer.write_all(batch.values, stamps)
        except RecordFailure:
            raise
        except Exception as error:
            raise RecordFailure(error, "write") from error

    def end_batch(self) -> None:
        if self._writer is None:
            return
        reach("sink-pre-commit.before", self.ctx.task.batch_id)
        try:
            committables = self._writer.prepare_commit()
            self._close_writer()
        except Exception as error:
            raise RecordFailure(error, "prepare_commit") from error
        reach("sink-pre-commit.after", self.ctx.task.batch_id)
        if committables:
            self.ctx.to_driver(("commit", committables))

    def _close_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def close(self) -> None:
        try:
            self._close_writer()
        finally:
            self.sink.close()
