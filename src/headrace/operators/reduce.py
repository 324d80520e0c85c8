"""Rolling reduction of a keyed stream."""

from __future__ import annotations

from typing import Any

from headrace.core.isolation import FROZEN, isolated
from headrace.core.operator import EVENT_TIME, MAX_TIMESTAMP, Batch, Context
from headrace.core.state import ValueStateDescriptor
from headrace.core.user_code import RecordFailure
from headrace.operators.base import FunctionOperator

_STATE = ValueStateDescriptor("reduced")


class ReduceOperator(FunctionOperator):
    """Combines each record with what came before it for its key.

    In a stream every combination is a result; in BATCH mode only the last one of each key, which
    a timer at the end of time emits.
    """

    def __init__(self, function: Any, *, only_final: bool = False):
        super().__init__(function, keyed=True)
        self.only_final = only_final

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        self._state = ctx.keyed_state(_STATE)

    def receive(self, side: int, batch: Batch) -> None:
        reduce = self.method("reduce")
        scope, state = self.ctx.scope, self._state
        out: list[Any] = []
        key: Any = None
        value: Any = None
        assert batch.keys is not None
        try:
            for key, value in zip(batch.keys, batch.values, strict=True):
                scope.key = key
                old = state.value()
                if old is None:
                    new = value
                    if self.only_final:
                        self.ctx.timers.register(EVENT_TIME, MAX_TIMESTAMP)
                else:
                    new = reduce(old, value)
                state.update(new)
                if not self.only_final:
                    # The state keeps the object, and the next reduce may change it.
                    out.append(new if new.__class__ in FROZEN else isolated(new))
        except Exception as error:
            raise RecordFailure(error, "reduce", value, key) from error
        if not self.only_final:
            self.ctx.emit(out, batch.timestamps)

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        self.ctx.emit([self._state.value()], [MAX_TIMESTAMP])
