"""The process function family."""

from __future__ import annotations

from typing import Any

from headrace.core.operator import Batch, Context
from headrace.operators.base import ProducingOperator
from headrace.operators.function_context import BroadcastContext


class ProcessOperator(ProducingOperator):
    """ProcessFunction and KeyedProcessFunction."""

    def receive(self, side: int, batch: Batch) -> None:
        self.produce(self.function.process_element, batch, "process_element")


class CoProcessOperator(ProducingOperator):
    """CoProcessFunction and KeyedCoProcessFunction."""

    def receive(self, side: int, batch: Batch) -> None:
        if side == 0:
            self.produce(self.function.process_element1, batch, "process_element1")
        else:
            self.produce(self.function.process_element2, batch, "process_element2")


class BroadcastProcessOperator(ProducingOperator):
    """BroadcastProcessFunction and KeyedBroadcastProcessFunction; side 1 is broadcast."""

    def __init__(self, function: Any, names: tuple[str, ...], *, keyed: bool = False):
        super().__init__(function, keyed=keyed)
        self._names = names

    def open(self, ctx: Context) -> None:
        self._broadcast = BroadcastContext(ctx, self._names)
        super().open(ctx)
        self._record.broadcast_names = self._names

    def receive(self, side: int, batch: Batch) -> None:
        if side == 0:
            self.produce(self.function.process_element, batch, "process_element")
        else:
            self.ctx.scope.leave()  # the last record's key is none of this one's business
            self.produce(
                self.function.process_broadcast_element, batch, "process_broadcast_element",
                self._broadcast,
            )  # fmt: skip
