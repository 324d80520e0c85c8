"""The seam between semantics and engines.

An operator sees batches of records and a Context; it never sees Spark, files or wall clocks.
Records travel in batches of parallel lists because that is what makes Python fast; an operator
still handles them one by one, in order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from headrace.core.metrics import MetricGroup
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

MIN_TIMESTAMP = -(2**63)
MAX_TIMESTAMP = 2**63 - 1
EVENT_TIME = "event"
PROCESSING_TIME = "processing"


@dataclass(slots=True)
class Batch:
    """Records in arrival order; `timestamps` is None when no record has one."""

    values: list[Any]
    timestamps: list[int | None] | None = None
    keys: list[Any] | None = None
    split: str | None = None
    """At a source: which of its splits the records are from."""
    ends_split: bool = False
    """At a source: the split has been read to its end."""
    plain: bool = False
    """Whether the values are known to be numbers and texts, or tuples of them: exactly of Python's
    own classes, and of one kind."""

    def __len__(self) -> int:
        return len(self.values)

    def part(self, start: int, end: int | None = None) -> Batch:
        """Some of the records."""
        stamps, keys = self.timestamps, self.keys
        return replace(
            self,
            values=self.values[start:end],
            timestamps=None if stamps is None else stamps[start:end],
            keys=None if keys is None else keys[start:end],
        )


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """What one parallel instance of an operator may know of itself."""

    name: str
    uid: str
    subtask: int = 0
    parallelism: int = 1
    max_parallelism: int = 128
    attempt: int = 0
    job_parameters: Mapping[str, str] = field(default_factory=dict)
    cached_files: Mapping[str, str] = field(default_factory=dict)
    batch_id: int = 0
    partition: int = 0
    """The number of the physical task; several may share a subtask's number."""
    output_id: str = ""
    """Names this job's output; the same when a job is resumed and its checkpoints go on being
    counted. With the number of one it names what was written for that."""
    lineage: str = ""
    """Names the job; the same also when it is resumed with another parallelism or another graph,
    and counts its checkpoints from 1 again."""
    kept_folder: str = ""
    """Where sinks may keep files that all workers and the driver reach, as long as the job's state
    is kept; empty: there is no such place."""
    driver_host: str = "127.0.0.1"
    """Where the driver is."""


class KeyScope:
    """Holds the current key; reading it where there is none raises AttributeError."""

    __slots__ = ("key",)

    key: Any

    def leave(self) -> None:
        """From now on there is no current key."""
        if hasattr(self, "key"):
            del self.key


class Timers(Protocol):
    """Timers of the current key."""

    def register(self, domain: str, timestamp: int) -> None: ...

    def delete(self, domain: str, timestamp: int) -> None: ...


class Context(Protocol):
    """All an operator may ask of an engine."""

    task: TaskInfo
    scope: KeyScope
    window_scope: KeyScope
    """Its key is a pair of a key and a window; the scope of `window_state`."""
    timers: Timers
    """Timers of the current key; of the current pair where the operator is `windowed`."""
    watermark: int
    watermarks_at_once: bool
    """Whether a watermark goes out right after the record it follows from, not with the batch."""
    clock_stopped: bool
    """Whether the clock has come to its end with a bounded input, as in BATCH mode: a timer of
    processing time that a function sets then is never due."""
    answers_later: bool
    """Whether the engine comes back for answers, so that nobody need wait for them; see
    `LateAnswers`."""
    split: str
    """At a source: which of its splits records are from."""
    metrics: MetricGroup
    accumulators: dict[str, Any]

    def processing_time(self) -> int: ...

    def keyed_state(self, descriptor: StateDescriptor[S]) -> S: ...

    def window_state(self, descriptor: StateDescriptor[S]) -> S: ...

    def broadcast_state(self, descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]: ...

    def operator_list(self, descriptor: ListStateDescriptor[T], *, union: bool) -> ListState[T]: ...

    def operator_state_names(self, *, broadcast: bool) -> set[str]: ...

    def emit(self, values: list[Any], timestamps: list[int | None] | None) -> None: ...

    def emit_side(
        self, tag: str, values: list[Any], timestamps: list[int | None] | None
    ) -> None: ...

    def to_driver(self, payload: Any) -> None: ...

    def report_watermark(self, watermark: int) -> None: ...

    def report_idle(self, idle: bool = True) -> None: ...

    def wake(self) -> None:
        """Called by any thread: there are answers to come for."""


class LateAnswers(Protocol):
    """What an operator still owes that goes on with other records before it has all answers."""

    @property
    def capacity(self) -> int:
        """How many records it takes on at a time; those beyond wait inside of it."""

    @property
    def unanswered(self) -> int:
        """How many records it has been given whose answers are not out."""

    @property
    def has_answers(self) -> bool:
        """Whether it may be that there is something to emit."""

    def emit_answers(self) -> None:
        """Emit what can be emitted by now."""

    def settle(self) -> None:
        """Wait for all answers, and emit them."""


class Operator(ABC):
    """What one node of the job does with its records, in one subtask.

    Pickled unopened, opened in the worker, then fed: `receive` for records, `on_timer` for due
    timers, `end_round` now and then, `end_batch` at each consistent cut, which ends a round, too,
    `finish` once at the end of bounded input.
    One that is `checkpointed` is given its state by `initialize_state` before it is opened.
    """

    ctx: Context
    keyed = False
    """Whether every input is partitioned by key, so that state and timers may be used."""
    windowed = False
    """Whether timers are those of a key and a window: `on_timer` is given such a pair as key."""
    makes_watermarks = False
    idle_after_ms: int | None = None
    """For one that makes watermarks: how long a split may be silent and still hold time back."""
    calls_splits_idle = False
    """For one that makes watermarks: whether it may itself say that a split is idle."""
    watermark_delay_ms = 0
    """How far behind the watermark the times of what it emits may lie: for those after it, time is
    so much behind."""
    timers_in_rounds = False
    """Whether what a timer sets or deletes takes effect only when all that are due have fired, as
    with functions in Python in Flink; otherwise at once, as with its own operators."""
    fires_together = False
    """Whether timers that are due at the same time are handed over together, to `on_timers`; only
    for one whose timers neither set nor delete any."""
    emits_its_input = False
    """Whether it emits only records it received, whose type has been seen to already."""

    @property
    def late_answers(self) -> LateAnswers | None:
        """Of one that may answer records later: what it still owes."""
        return None

    @property
    def participant(self) -> Any:
        """The user's object it calls, which may take part in checkpoints; None if there is none."""
        return None

    @property
    def claims(self) -> tuple[str, ...]:
        """What it uses outside that no other operator of the job may use, each in words."""
        return ()

    @property
    def checkpointed(self) -> bool:
        """Whether it keeps operator state, which only a slot can make durable."""
        return False

    def initialize_state(self, ctx: Context, restored: bool, checkpoint_id: int | None) -> None:
        """All state is there, of the checkpoint before if there was one."""

    def snapshot_state(self, ctx: Context, checkpoint_id: int) -> None:
        """Called after `end_batch`: what the user's code wants to keep must be in state now."""

    def checkpoint_completed(self, checkpoint_id: int) -> None:
        """The batch of that number is durable."""

    def open(self, ctx: Context) -> None:
        self.ctx = ctx

    @abstractmethod
    def receive(self, side: int, batch: Batch) -> None:
        """Handle the records of input number `side`."""

    def on_timer(self, domain: str, timestamp: int, key: Any) -> None:
        """Handle a due timer; the key is already that of the timers' scope."""

    def on_timers(self, domain: str, timestamp: int, keys: list[Any]) -> None:
        """Handle timers of these keys, for one that `fires_together`."""

    def end_round(self) -> None:
        """Some records have come in a row: what was held back to answer them together goes out."""

    def end_batch(self) -> None:
        """Everything received so far is about to become durable together."""

    def finish(self) -> None:
        """No record will come any more."""

    def close(self) -> None:
        """Release what `open` acquired."""


OperatorFactory = Callable[[], Operator]
