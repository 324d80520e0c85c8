"""Sink functions as ends of a job."""

from __future__ import annotations

from typing import Any

import cloudpickle

from headrace.core.functions import RuntimeContext
from headrace.core.operator import Batch, Context, TaskInfo
from headrace.core.sink import Committer, Sink, SinkWriter
from headrace.core.sink_functions import SinkContext, SinkFunction, TwoPhaseCommitSinkFunction
from headrace.core.user_code import RecordFailure
from headrace.errors import NotSerializable
from headrace.operators.base import FunctionOperator
from headrace.operators.sinks import WriteOperator

_NONE = object()


class RecordSinkContext(SinkContext):
    """One object, moved from record to record."""

    def __init__(self, ctx: Context):
        self._ctx = ctx
        self.stamp: int | None = None

    def current_processing_time(self) -> int:
        return self._ctx.processing_time()

    def current_watermark(self) -> int:
        return self._ctx.watermark

    def timestamp(self) -> int | None:
        return self.stamp


class InvokeOperator(FunctionOperator):
    """Calls a sink function with each record."""

    function: SinkFunction[Any]

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._record = RecordSinkContext(ctx)

    def receive(self, side: int, batch: Batch) -> None:
        stamps = batch.timestamps or [None] * len(batch.values)
        invoke, record = self.function.invoke, self._record
        value = None
        try:
            for value, record.stamp in zip(batch.values, stamps, strict=True):
                invoke(value, record)
        except Exception as error:
            raise RecordFailure(error, "invoke", value) from error

    def finish(self) -> None:
        self._lifecycle("finish")


class TransactionOperator(WriteOperator):
    """Writes within transactions of a user's function."""

    def __init__(self, function: TwoPhaseCommitSinkFunction[Any, Any]):
        self._transactions = TransactionSink(function)
        super().__init__(self._transactions)

    @property
    def participant(self) -> Any:
        return self._transactions.function

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._transactions.record = RecordSinkContext(ctx)


class TransactionSink(Sink[Any]):
    """A function with transactions in the form of a sink."""

    record: RecordSinkContext

    def __init__(self, function: TwoPhaseCommitSinkFunction[Any, Any]):
        self.function = function

    def open(self, runtime_context: RuntimeContext) -> None:
        self.function.open(runtime_context)

    def close(self) -> None:
        self.function.close()

    def create_writer(self, task: TaskInfo) -> SinkWriter[Any]:
        return _TransactionWriter(self.function, self.record)

    def create_committer(self) -> Committer[Any]:
        return _TransactionCommitter(self.function)


class _TransactionWriter(SinkWriter[Any]):
    """One transaction, begun with the writer and so with the first record."""

    def __init__(self, function: TwoPhaseCommitSinkFunction[Any, Any], record: RecordSinkContext):
        self._function = function
        self._record = record
        self._transaction = function.begin_transaction()

    def write(self, value: Any, timestamp: int | None) -> None:
        self._record.stamp = timestamp
        self._function.invoke(self._transaction, value, self._record)

    def prepare_commit(self) -> list[Any]:
        transaction = self._transaction
        self._function.pre_commit(transaction)
        try:
            cloudpickle.dumps(transaction)
        except Exception as error:
            raise NotSerializable(
                f"begin_transaction() of {type(self._function).__name__} returned "
                f"{transaction!r}, which cannot be pickled: {error}",
                hint="Return a name by which the transaction is found again, not a connection.",
            ) from None
        self._transaction = _NONE
        return [transaction]

    def close(self) -> None:
        transaction, self._transaction = self._transaction, _NONE
        if transaction is not _NONE:
            self._function.abort(transaction)


class _TransactionCommitter(Committer[Any]):
    def __init__(self, function: TwoPhaseCommitSinkFunction[Any, Any]):
        self._function = function

    def commit(self, committables: list[Any]) -> None:
        for transaction in committables:
            self._function.commit(transaction)

    def recover(self, committables: list[Any]) -> None:
        for transaction in committables:
            self._function.recover_and_commit(transaction)

    def abort(self, committables: list[Any]) -> None:
        for transaction in committables:
            self._function.recover_and_abort(transaction)
