"""What operators around a user's function share: its life, and running it over a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from operator import length_hint
from typing import Any

from headrace.core.functions import Function
from headrace.core.isolation import FROZEN, isolated
from headrace.core.operator import EVENT_TIME, Batch, Context, KeyScope
from headrace.core.output_tag import OutputTag
from headrace.core.timers import TimeDomain
from headrace.core.user_code import RecordFailure
from headrace.operators.checkpointing import CheckpointingOperator
from headrace.operators.function_context import FunctionRuntimeContext, RecordContext

Stamps = list[int | None]
Process = Callable[[Any, Any], Iterable[Any] | None]


class FunctionOperator(CheckpointingOperator):
    """An operator around one user function, which is a Function or a plain callable."""

    def __init__(self, function: Any, *, keyed: bool = False):
        self.function = function
        self.keyed = keyed

    reuses_objects = False
    """Whether the user promised not to change a record after emitting it."""

    @property
    def participant(self) -> Any:
        return self.function

    def open(self, ctx: Context) -> None:
        super().open(ctx)
        if isinstance(self.function, Function):
            self._lifecycle("open", FunctionRuntimeContext(ctx, self.keyed))

    def close(self) -> None:
        if isinstance(self.function, Function):
            self._lifecycle("close")

    def _lifecycle(self, step: str, *arguments: Any) -> None:
        try:
            getattr(self.function, step)(*arguments)
        except Exception as error:
            raise RecordFailure(error, step) from error

    def method(self, name: str) -> Callable[..., Any]:
        """The named method of a Function, or the callable itself."""
        if isinstance(self.function, Function):
            found: Callable[..., Any] = getattr(self.function, name)
            return found
        return self.function  # type: ignore[no-any-return]


class SideOutputs:
    """Records on their way to tags, until the end of a batch."""

    def __init__(self) -> None:
        self._pending: dict[str, tuple[list[Any], Stamps]] = {}

    def add(self, item: tuple[OutputTag, Any], stamp: int | None) -> None:
        values, stamps = self._pending.setdefault(item[0].tag_id, ([], []))
        values.append(isolated(item[1]))
        stamps.append(stamp)

    def flush(self, ctx: Context) -> None:
        if self._pending:
            for tag, (values, stamps) in self._pending.items():
                ctx.emit_side(tag, values, stamps)
            self._pending.clear()


class ProducingOperator(FunctionOperator):
    """An operator whose function is given a context and yields any number of records."""

    timers_in_rounds = True

    def open(self, ctx: Context) -> None:
        self._sides = SideOutputs()
        self._record = RecordContext(ctx, self.keyed)
        super().open(ctx)

    def produce(self, process: Process, batch: Batch, call: str, context: Any = None) -> None:
        """Run `process` over a batch and emit what it yields."""
        values = iter(batch.values)
        out: list[Any] = []
        out_stamps: Stamps | None = None if batch.timestamps is None else []
        try:
            self._each(process, batch, values, out, out_stamps, context or self._record)
        except Exception as error:
            at = len(batch.values) - length_hint(values) - 1
            key = () if batch.keys is None else (batch.keys[at],)
            raise RecordFailure(error, call, batch.values[at], *key) from error
        if out:
            self.ctx.emit(out, out_stamps)
        self._sides.flush(self.ctx)

    def _each(
        self, process: Process, batch: Batch, values: Iterator[Any], out: list[Any],
        out_stamps: Stamps | None, context: Any,
    ) -> None:  # fmt: skip
        # The hot loop: every name is local, and nothing is called that need not be.
        sides, careful, frozen, tag = self._sides, not self.reuses_objects, FROZEN, OutputTag
        keys, stamps, append = batch.keys, batch.timestamps, out.append
        scope = KeyScope() if keys is None else self.ctx.scope
        for scope.key, value, stamp in zip(
            repeat(None) if keys is None else keys, values,
            repeat(None) if stamps is None else stamps, strict=False,
        ):  # fmt: skip
            context.stamp = stamp
            produced = process(value, context)
            if produced is None:
                continue
            for item in produced:
                kind = item.__class__
                if kind is tuple and len(item) == 2:  # by hand, which is twice as quick
                    first, second = item
                    if first.__class__ is tag:
                        sides.add(item, stamp)
                        continue
                    alone = first.__class__ in frozen and second.__class__ in frozen
                elif kind is tuple:
                    alone = frozen.issuperset(map(type, item))
                else:
                    alone = kind in frozen
                if careful and not alone:
                    item = isolated(item)
                append(item)
                if out_stamps is not None:
                    out_stamps.append(stamp)

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        """Call the function's `on_timer`; results carry the timer's time if it is event time."""
        event = domain == EVENT_TIME
        context = self._record
        context.stamp = timestamp if event else None
        context.domain = TimeDomain.EVENT_TIME if event else TimeDomain.PROCESSING_TIME
        out: list[Any] = []
        stamp = context.stamp
        try:
            for item in self.function.on_timer(timestamp, context) or ():
                if item.__class__ is tuple and len(item) == 2 and (
                    item[0].__class__ is OutputTag
                ):  # fmt: skip
                    self._sides.add(item, stamp)
                else:
                    out.append(item if self.reuses_objects else isolated(item))
        except Exception as error:
            raise RecordFailure(error, "on_timer", f"timer at {timestamp}", key) from error
        if out:
            self.ctx.emit(out, [stamp] * len(out) if event else None)
        self._sides.flush(self.ctx)
