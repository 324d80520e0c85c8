"""One operator at work in one subtask: its context, its receivers, its counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from headrace.core.bulk_check import fits
from headrace.core.isolation import isolated_all
from headrace.core.metrics import MetricGroup
from headrace.core.operator import (
    EVENT_TIME,
    MAX_TIMESTAMP,
    MIN_TIMESTAMP,
    PROCESSING_TIME,
    Batch,
    Operator,
    TaskInfo,
)
from headrace.core.state import (
    BroadcastState,
    K,
    ListState,
    ListStateDescriptor,
    MapStateDescriptor,
    S,
    StateDescriptor,
    T,
    V,
)
from headrace.core.types import TypeInformation
from headrace.core.user_code import RecordFailure, apply_all, report
from headrace.errors import StateAccessError
from headrace.plan.physical import Vertex
from headrace.runtime.driver_items import DriverItem
from headrace.runtime.event_time import ANY_SPLIT, Progress
from headrace.runtime.subtask_state import (
    BROADCAST_PREFIX,
    LIST_PREFIX,
    UNION_PREFIX,
    SubtaskState,
)
from headrace.runtime.waiting_input import WaitingInput

Receiver = Callable[[Batch], None]
Stamps = list[int | None]
Shaper = Callable[[list[Any]], tuple[list[Any], bool]]
"""Makes records of a type out of what a function returned, and says whether they are plain."""


class VertexTask:
    """Implements the operator's Context and drives the operator."""

    FIRED_AT_ONCE = 512
    waiting: WaitingInput | None = None
    """Input that is processed when all other input has been."""
    answers_later = False
    on_answers: Callable[[], None] | None = None
    """Called by any thread when the operator has answers to come for."""

    def __init__(
        self, vertex: Vertex, operator: Operator, task: TaskInfo, state: SubtaskState,
        clock: Callable[[], int], send_to_driver: Callable[[DriverItem], None],
    ):  # fmt: skip
        self.vertex = vertex
        self.operator = operator
        self._info = task
        self._epoch = task.batch_id, task.attempt
        self.scope = state.scope(vertex.uid)
        self.window_scope = state.window_scope(vertex.uid)
        self.timers = state.timers(
            vertex.uid, self.window_scope if operator.windowed else self.scope
        )
        self.watermark = MIN_TIMESTAMP
        self.clock_stopped = False
        self.split = ANY_SPLIT
        self.reported: dict[str, int] = {}
        """For each split, how far the operator says time has come."""
        self.heard: dict[str, int] = {}
        """For each split, when it last had records; negative when it was said to be idle then."""
        self.on_watermark: Callable[[VertexTask], None] | None = None
        """Called when the operator reports a watermark, where that must not wait."""
        self._owed = operator.late_answers
        self.metrics = MetricGroup()
        self.accumulators: dict[str, Any] = {}
        self.records_in = self.records_out = 0
        self.processing_time = clock
        self._state = state
        self._send_to_driver = send_to_driver
        self._main: list[Receiver] = []
        self._sides: dict[str, list[Receiver]] = {}
        self._shape = None if operator.emits_its_input else _shaper(vertex.type)
        self._passes_plain = False
        """Whether what goes out now is what came in, and that is known to be plain."""
        self._shape_side = {tag: _shaper(kind) for tag, kind in vertex.tag_types.items()}
        self._broadcasts: dict[str, BroadcastState[Any, Any]] = {}
        surplus = vertex.level > 0 and task.partition >= vertex.parallelism
        # A slot beyond the operator's parallelism gets no records; nor may it leave any state.
        self._own_state = SubtaskState(logged=False, clock=clock) if surplus else state
        self._initialized = False
        self._held: tuple[list[Any], Stamps] | None = None

    def connect(self, receiver: Receiver, tag: str | None) -> None:
        (self._main if tag is None else self._sides.setdefault(tag, [])).append(receiver)

    @property
    def watermarks_at_once(self) -> bool:
        return self.on_watermark is not None

    # What the operator asks for.

    @property
    def task(self) -> TaskInfo:
        checkpoint, attempt = self._epoch
        if self._info.batch_id != checkpoint or self._info.attempt != attempt:
            self._info = replace(self._info, batch_id=checkpoint, attempt=attempt)
        return self._info

    def keyed_state(self, descriptor: StateDescriptor[S]) -> S:
        if not self.operator.keyed:
            raise StateAccessError(f"operator {self.vertex.name!r} has no keyed input")
        return self._state.keyed(self.vertex.uid, descriptor)

    def window_state(self, descriptor: StateDescriptor[S]) -> S:
        return self._state.windowed(self.vertex.uid, descriptor)

    def broadcast_state(self, descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
        name = descriptor.name
        if name not in self._broadcasts:  # asked for with every record
            self._broadcasts[name] = self._state.broadcast(self.vertex.uid, descriptor)
        return self._broadcasts[name]

    def operator_list(self, descriptor: ListStateDescriptor[T], *, union: bool) -> ListState[T]:
        return self._own_state.operator_list(self.vertex.uid, descriptor, union=union)

    def operator_state_names(self, *, broadcast: bool) -> set[str]:
        if broadcast:
            return self._state.names(self.vertex.uid, BROADCAST_PREFIX)
        return self._own_state.names(self.vertex.uid, LIST_PREFIX, UNION_PREFIX)

    def emit(self, values: list[Any], timestamps: Stamps | None) -> None:
        if self._held is not None:
            self._held[0].extend(values)
            self._held[1].extend(timestamps or [None] * len(values))
            return
        self._deliver(self._main, self._shape, values, timestamps, plain=self._passes_plain)

    def emit_side(self, tag: str, values: list[Any], timestamps: Stamps | None) -> None:
        self._deliver(self._sides.get(tag, []), self._shape_side.get(tag), values, timestamps)

    def _deliver(
        self, receivers: list[Receiver], shape: Shaper | None,
        values: list[Any], timestamps: Stamps | None, *, plain: bool = False,
    ) -> None:  # fmt: skip
        self.records_out += len(values)
        if not receivers:
            return
        if shape is not None:
            values, plain = shape(values)
        # One receiver may change a record in place; the others must not see it.
        copies = [Batch(isolated_all(values), timestamps, plain=plain) for _ in receivers[1:]]
        batches = [Batch(values, timestamps, plain=plain), *copies]
        for receive, batch in zip(receivers, batches, strict=True):
            receive(batch)

    def to_driver(self, payload: tuple[str, Any]) -> None:
        kind, items = payload
        self._send_to_driver((self.vertex.id, self._info.subtask, kind, items))

    def report_watermark(self, watermark: int) -> None:
        if watermark > self.reported.get(self.split, MIN_TIMESTAMP):
            self.reported[self.split] = watermark
            if self.on_watermark is not None:
                self.on_watermark(self)

    def report_idle(self, idle: bool = True) -> None:
        before = self.heard.get(self.split, 0)
        if idle:
            # Of two reports the later one counts, even if the clock has not moved between them.
            self.heard[self.split] = -max(1, self.processing_time(), before + 1, -before)
        else:
            self.heard[self.split] = max(1, self.processing_time(), abs(before))

    def wake(self) -> None:
        if self.on_answers is not None:
            self.on_answers()

    def progress(self, split: str) -> Progress:
        """What a split reports."""
        return self.reported.get(split, MIN_TIMESTAMP), self.heard.get(split, 0)

    # What the engine tells the operator.

    def open(self) -> None:
        """Open the operator, unless it is to find its state first; see `initialize`."""
        if not self.operator.checkpointed:
            self._guarded(self.operator.open, self)

    def initialize(self, restored: bool, checkpoint_id: int | None) -> None:
        """State is as the checkpoint before left it: the first records may come."""
        if self.operator.checkpointed and not self._initialized:
            self._initialized = True
            self._guarded(self.operator.initialize_state, self, restored, checkpoint_id)
            self._guarded(self.operator.open, self)

    def receive(self, side: int, batch: Batch) -> None:
        if self.waiting is not None and side in self.waiting.sides:
            self.waiting.add(side, batch)
        else:
            self._process(side, batch)

    def release(self) -> Iterator[None]:
        """Process what has waited, part by part: the rest of the input has been read."""
        if self.waiting is not None:
            for side, batch in self.waiting.take():
                self._process(side, batch)
                yield

    def _process(self, side: int, batch: Batch) -> None:
        self.records_in += len(batch.values)
        if self.operator.makes_watermarks and batch.values:
            self.report_idle(False)
        self._passes_plain = batch.plain and self.operator.emits_its_input
        self._guarded(self.operator.receive, side, batch)
        self._passes_plain = False

    def receiver(self, side: int) -> Receiver:
        return lambda batch: self.receive(side, batch)

    def advance_watermark(self, watermark: int) -> None:
        """Event time has come to `watermark`: fire what is due, in order."""
        if watermark > self.watermark:
            self.settle_answers()
            self.watermark = watermark
            self._fire(EVENT_TIME, watermark)

    def advance_processing_time(self, now: int) -> None:
        self._fire(PROCESSING_TIME, now)

    def stop_clock(self) -> None:
        """Fire all timers of processing time; functions may set no more, or it would never end."""
        self.clock_stopped = True
        self._fire(PROCESSING_TIME, MAX_TIMESTAMP)

    def _fire(self, domain: str, upto: int) -> None:
        due = self.timers.next_time(domain)
        if due is None or due > upto:
            return
        queue = self.timers
        if self.operator.fires_together:
            self._fire_together(domain, upto)
            return
        take = queue.due_in_rounds if self.operator.timers_in_rounds else queue.due
        timers = take(domain, upto)
        more = True
        while more:
            self._held = ([], [])
            more = self._guarded(self._fire_some, domain, timers)
            (values, stamps), self._held = self._held, None
            if values:
                self._guarded(self.emit, values, stamps)

    def _fire_some(self, domain: str, timers: Iterator[tuple[int, Any]]) -> bool:
        held = self._held
        assert held is not None
        for timestamp, key in timers:
            self.operator.on_timer(domain, timestamp, key)
            if len(held[0]) >= self.FIRED_AT_ONCE:
                return True
        return False

    def _fire_together(self, domain: str, upto: int) -> None:
        for time, due in self.timers.take_due(domain, upto):
            keys = list(due)
            for at in range(0, len(keys), self.FIRED_AT_ONCE):
                some = keys[at : at + self.FIRED_AT_ONCE]
                self._guarded(self.operator.on_timers, domain, time, some)

    def finish(self) -> None:
        self.settle_answers()
        self._guarded(self.operator.finish)

    def end_round(self) -> None:
        self._guarded(self.operator.end_round)

    def settle(self) -> None:
        """Something follows that nothing may be held back from, nor be open."""
        self.settle_answers()
        self.end_round()

    def settle_answers(self) -> None:
        """What follows must not overtake what the operator still owes."""
        if self._owed is not None:
            self._guarded(self._owed.settle)

    def emit_answers(self) -> None:
        """Emit what an operator can answer by now."""
        if self._owed is not None:
            self._guarded(self._owed.emit_answers)

    def end_batch(self, *, snapshot: bool) -> None:
        self.settle()
        self._guarded(self.operator.end_batch)
        if snapshot:
            self._guarded(self.operator.snapshot_state, self, self._epoch[0])

    def close(self) -> None:
        if self._initialized or not self.operator.checkpointed:
            self._guarded(self.operator.close)

    def _guarded(self, call: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return call(*arguments)
        except RecordFailure as failure:
            error = report(failure, self.vertex.name, self.vertex.uid)
            error.came_from(self.vertex.origin)
            raise error from failure.error

    def begin_epoch(self, checkpoint: int, attempt: int) -> None:
        """What comes now will be part of that checkpoint."""
        self._epoch = checkpoint, attempt

    def complete(self, checkpoint: int) -> None:
        """A checkpoint is durable."""
        self._guarded(self.operator.checkpoint_completed, checkpoint)

    def counts(self) -> dict[str, Any]:
        """What this subtask has counted since it was made."""
        return {
            "records_in": self.records_in,
            "records_out": self.records_out,
            "watermark": self.watermark,
            "metrics": self.metrics.snapshot(),
            "accumulators": dict(self.accumulators),
        }


def _shaper(kind: TypeInformation | None) -> Shaper | None:
    coerce = kind.coercer() if kind is not None else None
    if kind is None or coerce is None:
        return None

    def shape(values: list[Any]) -> tuple[list[Any], bool]:
        if fits(kind, values):
            return values, True
        return apply_all(coerce, values, "the output"), False

    return shape
