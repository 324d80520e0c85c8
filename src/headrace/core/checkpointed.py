"""Functions that take part in checkpoints: state of an instance, not of a key.

In a stream every micro-batch is a checkpoint. A function that keeps things in its own fields
writes them to operator state when a checkpoint is taken and reads them when it starts again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, TypeVar

from headrace.errors import Unsupported
from headrace.origin import Origin

if TYPE_CHECKING:
    from headrace.core.functions import KeyedStateStore
    from headrace.core.state import OperatorStateStore

__all__ = [
    "CheckpointListener",
    "CheckpointedFunction",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
]

P = TypeVar("P")


class FunctionInitializationContext(ABC):
    """What a function is given to find or make its state."""

    @abstractmethod
    def is_restored(self) -> bool:
        """Whether there was an instance before this one, whose state is there now."""

    @abstractmethod
    def get_restored_checkpoint_id(self) -> int | None:
        """The checkpoint the state is from; None when nothing was restored."""

    @abstractmethod
    def get_operator_state_store(self) -> OperatorStateStore:
        """Gives out the state of this instance."""

    @abstractmethod
    def get_keyed_state_store(self) -> KeyedStateStore:
        """Gives out the state of the current key; only for a function on a keyed stream."""


class FunctionSnapshotContext(ABC):
    """The checkpoint that is being taken."""

    @abstractmethod
    def get_checkpoint_id(self) -> int:
        """The number of the checkpoint; later ones have greater numbers."""

    @abstractmethod
    def get_checkpoint_timestamp(self) -> int:
        """When it is taken, in milliseconds."""


class CheckpointedFunction(ABC):
    """Mixed into a function or a sink, lets it keep operator state."""

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Called once for each instance, before `open` and before the first record."""

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Called before each checkpoint: write to state what must survive."""


class CheckpointListener:
    """Mixed into a function or a sink, lets it hear what became of checkpoints.

    Hints, not promises: an instance that is lost in between never hears of its last checkpoint.
    """

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Everything up to this checkpoint is durable; called before the records after it."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """A checkpoint failed. Here the instance goes with it, so this is not called."""


def source_part(part: P, origin: Origin | None = None) -> P:
    """A source, its enumerator or its reader, which cannot keep operator state."""
    return _without_state(
        part, "Positions of splits are kept with every checkpoint already: put what a source must "
        "remember into the positions its enumerator and reader use.", origin,
    )  # fmt: skip


def writer_part(part: P) -> P:
    """A sink's writer, which lives until a checkpoint."""
    return _without_state(
        part, "A writer lives until the next checkpoint: let the Sink that makes it be the "
        "CheckpointedFunction.",
    )  # fmt: skip


def _without_state(part: P, hint: str, origin: Origin | None = None) -> P:
    if isinstance(part, CheckpointedFunction):
        raise Unsupported(
            f"{type(part).__name__} is a CheckpointedFunction where none can be",
            origin=origin, hint=hint,
        )  # fmt: skip
    return part
