"""Sinks as one function: called for each record, or with transactions around them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from headrace.core.functions import Function
from headrace.errors import TypeMismatch, Unsupported
from headrace.origin import calling_origin

__all__ = ["RichSinkFunction", "SinkFunction", "TwoPhaseCommitSinkFunction"]

T = TypeVar("T")
X = TypeVar("X")


class SinkContext(ABC):
    """What a sink function may know of the record it is given."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """The time of the clock, in milliseconds."""

    @abstractmethod
    def current_watermark(self) -> int:
        """How far event time has come."""

    @abstractmethod
    def timestamp(self) -> int | None:
        """The time of the record, if it has one."""


class SinkFunction(Function, Generic[T]):
    """Does something with each record; subclass it and override `invoke`.

    After a failure the records since the last checkpoint come again: what is done twice must do
    no harm. Where it would, use a `TwoPhaseCommitSinkFunction`.
    """

    Context = SinkContext

    def __init__(self, sink_func: object = None) -> None:
        if sink_func is not None:
            raise Unsupported(
                "SinkFunction wraps a Java class, and headrace runs no Flink classes",
                origin=calling_origin(),
                hint="Use a headrace connector, or write the sink in Python.",
            )

    def invoke(self, value: T, context: SinkContext) -> None:
        """Take in a record."""
        raise TypeMismatch(f"{type(self).__name__} does not override invoke(value, context)")

    def finish(self) -> None:
        """Called when no record will come any more."""


class RichSinkFunction(SinkFunction[T]):
    """A sink function that is opened and closed, which every one is here."""


class TwoPhaseCommitSinkFunction(Function, Generic[T, X]):
    """A sink whose records appear exactly once, in a system that has transactions.

    In the workers, for each subtask and checkpoint that has records:
    `begin_transaction`, `invoke` for each record, `pre_commit`; `abort` if that fails.

    Beside the driver, on another copy of the function, on which `open` is not called:
    `commit` once the checkpoint is complete. After a restart, `recover_and_commit` for what
    was checkpointed and perhaps not committed, `recover_and_abort` for what was not checkpointed.

    What `begin_transaction` returns is the transaction's handle. It is pickled, journaled and
    handed from the workers to the driver, so it should be a name by which the transaction is found
    again, not a connection. A worker that is killed takes the handle of its open transaction with
    it: let the other system end transactions that are never pre-committed.
    """

    @abstractmethod
    def begin_transaction(self) -> X:
        """Begin a transaction and return its handle."""

    @abstractmethod
    def invoke(self, transaction: X, value: T, context: SinkContext) -> None:
        """Write a record within the transaction."""

    @abstractmethod
    def pre_commit(self, transaction: X) -> None:
        """Make what was written durable, so that from now on a commit cannot fail for good."""

    @abstractmethod
    def commit(self, transaction: X) -> None:
        """Make it visible. May be called more than once for a transaction, by this process and
        after a restart by another: the second time must change nothing and raise nothing."""

    @abstractmethod
    def abort(self, transaction: X) -> None:
        """Throw it away. May be called more than once."""

    def recover_and_commit(self, transaction: X) -> None:
        """Commit after a restart; the transaction may have been committed before it."""
        self.commit(transaction)

    def recover_and_abort(self, transaction: X) -> None:
        """Abort after a restart."""
        self.abort(transaction)


def own_invoke(function: Any) -> bool:
    """Whether a sink function says what to do with a record."""
    return type(function).invoke is not SinkFunction.invoke
