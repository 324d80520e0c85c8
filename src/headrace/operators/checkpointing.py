"""Operators whose user code takes part in checkpoints, and what it is given to do so."""

from __future__ import annotations

from typing import Any

from headrace.core.checkpointed import (
    CheckpointedFunction,
    CheckpointListener,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from headrace.core.functions import KeyedStateStore
from headrace.core.operator import Context, Operator
from headrace.core.state import (
    BroadcastState,
    K,
    ListState,
    ListStateDescriptor,
    MapStateDescriptor,
    OperatorStateStore,
    StateDescriptor,
    T,
    V,
)
from headrace.core.user_code import RecordFailure
from headrace.errors import TypeMismatch, Unsupported
from headrace.operators.function_context import FunctionRuntimeContext
from headrace.origin import calling_origin


class CheckpointingOperator(Operator):
    """Tells the user's object, a CheckpointedFunction or a CheckpointListener, of checkpoints."""

    @property
    def checkpointed(self) -> bool:
        return isinstance(self.participant, CheckpointedFunction)

    def initialize_state(self, ctx: Context, restored: bool, checkpoint_id: int | None) -> None:
        context = _Initialization(ctx, self.keyed, restored, checkpoint_id)
        self._tell("initialize_state", context)

    def snapshot_state(self, ctx: Context, checkpoint_id: int) -> None:
        if self.checkpointed:
            ctx.scope.leave()  # no record is being processed
            self._tell("snapshot_state", _Snapshot(checkpoint_id, ctx.processing_time()))

    def checkpoint_completed(self, checkpoint_id: int) -> None:
        if isinstance(self.participant, CheckpointListener):
            self._tell("notify_checkpoint_complete", checkpoint_id)

    def _tell(self, call: str, *arguments: Any) -> None:
        try:
            getattr(self.participant, call)(*arguments)
        except Exception as error:
            raise RecordFailure(error, call) from error


class _Initialization(FunctionInitializationContext):
    def __init__(self, ctx: Context, keyed: bool, restored: bool, checkpoint_id: int | None):
        self._ctx = ctx
        self._keyed = keyed
        self._restored = restored
        self._checkpoint_id = checkpoint_id

    def is_restored(self) -> bool:
        return self._restored

    def get_restored_checkpoint_id(self) -> int | None:
        return self._checkpoint_id

    def get_operator_state_store(self) -> OperatorStateStore:
        return _StateStore(self._ctx)

    def get_keyed_state_store(self) -> KeyedStateStore:
        return FunctionRuntimeContext(self._ctx, self._keyed)


class _Snapshot(FunctionSnapshotContext):
    def __init__(self, checkpoint_id: int, timestamp: int):
        self._checkpoint_id = checkpoint_id
        self._timestamp = timestamp

    def get_checkpoint_id(self) -> int:
        return self._checkpoint_id

    def get_checkpoint_timestamp(self) -> int:
        return self._timestamp


class _StateStore(OperatorStateStore):
    """The operator state of one instance."""

    def __init__(self, ctx: Context):
        self._ctx = ctx

    def get_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        _check(state_descriptor, ListStateDescriptor)
        return self._ctx.operator_list(state_descriptor, union=False)

    def get_union_list_state(self, state_descriptor: ListStateDescriptor[T]) -> ListState[T]:
        _check(state_descriptor, ListStateDescriptor)
        return self._ctx.operator_list(state_descriptor, union=True)

    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor[K, V]
    ) -> BroadcastState[K, V]:
        _check(state_descriptor, MapStateDescriptor)
        return self._ctx.broadcast_state(state_descriptor)

    def get_registered_state_names(self) -> set[str]:
        return self._ctx.operator_state_names(broadcast=False)

    def get_registered_broadcast_state_names(self) -> set[str]:
        return self._ctx.operator_state_names(broadcast=True)


def _check(descriptor: Any, expected: type[StateDescriptor]) -> None:
    if not isinstance(descriptor, expected):
        raise TypeMismatch(
            f"a {expected.__name__} was expected, not {descriptor!r}", origin=calling_origin()
        )
    if descriptor.ttl is not None:
        raise Unsupported(
            f"operator state {descriptor.name!r} cannot have a time to live",
            origin=calling_origin(),
            hint="Only keyed state expires; drop enable_time_to_live or keep the times yourself.",
        )
