"""What a driver does while a job flows: begins its tasks, takes checkpoints, hears of its end.

It is told what the tasks say and what time it is, by whatever engine carries the words; it knows
neither threads nor Spark.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from headrace.core.crash_points import reach
from headrace.core.source import SplitEnumerator
from headrace.errors import JobFailed
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.driver_items import NO_VERTEX, WRITTEN, DriverItem
from headrace.runtime.flow.assignment import assign_sources, tasks_of
from headrace.runtime.flow.checkpoint import Checkpoint
from headrace.runtime.flow.coordinator import CheckpointSettings, Complete, Coordinator
from headrace.runtime.flow.messages import (
    Acknowledged,
    Begin,
    Completed,
    Declined,
    Drain,
    Ended,
    Hello,
    Ready,
    Room,
    SplitEnded,
    TaskId,
    TaskPart,
    Told,
    Trigger,
    WorkedOff,
)

_LOG = logging.getLogger("headrace")
_ON_FAILURES = (
    "Raise execution.checkpointing.timeout or "
    "execution.checkpointing.tolerable-failed-checkpoints; let a micro-batch read less. Where "
    "records wait for a slow function in real time, execution.checkpointing.unaligned.enabled lets "
    "barriers overtake them."
)


class Superseded(JobFailed):
    """Somebody has started the job once more: who was there before must leave it alone."""

    def __init__(self) -> None:
        super().__init__(
            "the job was started once more meanwhile, and this start no longer counts",
            hint="Nothing is lost: what this one had not completed is done by the other.",
        )


class Listener(Protocol):
    """Whoever wants to know how a job goes on."""

    def begun(self, number: int) -> None:
        """A checkpoint is under way."""

    def failed(self, number: int, reason: str) -> None:
        """A checkpoint came to nothing, or has taken too long."""

    def arrived(self, number: int, items: list[DriverItem]) -> None:
        """All parts of a checkpoint are durable; it is not complete yet."""

    def committed(self, number: int) -> None:
        """A checkpoint is complete: what was prepared for it can be shown."""

    def told(self, items: list[DriverItem]) -> None:
        """What need not wait for a checkpoint."""


class CheckpointStore(Protocol):
    """Where completed checkpoints are written down."""

    def is_current(self) -> bool:
        """Whether no other attempt at the job has begun since this one."""

    def save(self, checkpoint: Checkpoint) -> None:
        """Make it a checkpoint: before, it is none; afterwards it is complete, if no other attempt
        had begun by then."""

    def clean(self) -> None:
        """Remove what no checkpoint needs any more."""


class Savepoint(Protocol):
    """State from elsewhere that a job begins with."""

    @property
    def number(self) -> int: ...

    @property
    def positions(self) -> dict[str, dict[str, Any]]:
        """By the uid of a source and the id of a split, as in a checkpoint."""

    def given_to(self, task: TaskId) -> bytes | None:
        """What a task takes over of it."""


@dataclass(frozen=True)
class Beginning:
    """An attempt at running a job, and what it goes on from."""

    plan: PhysicalPlan
    attempt: int
    restored: Checkpoint | None = None
    begun_with: Savepoint | None = None
    """What a job without a checkpoint of its own begins with."""
    first: int | None = None
    """The number of its first checkpoint, if others were lost after the one it goes on from."""

    @property
    def next_number(self) -> int:
        follows = 1 if self.restored is None else self.restored.number + 1
        return self.first or follows


@dataclass(frozen=True)
class Surroundings:
    """What a driver has around it."""

    store: CheckpointStore
    listener: Listener
    send: Callable[[TaskId, Any], None]
    """Says something to a task."""
    enumerators: Mapping[int, SplitEnumerator] = field(default_factory=dict)
    """Who knows the splits of a source, where the source alone does not."""


class Ledger:
    """Hears of the parts of checkpoints, and writes down those that are complete."""

    def __init__(self, begins: Beginning, around: Surroundings, settings: CheckpointSettings):
        self.tasks = tasks_of(begins.plan)
        self._attempt = begins.attempt
        self._latest = begins.restored
        self._begun_with = begins.begun_with if begins.restored is None else None
        self._store = around.store
        self._listener = around.listener
        self._send = around.send
        self._settings = settings
        self.coordinator = Coordinator(self.tasks, settings, next_number=begins.next_number)
        self._failed: list[int] = []
        """The checkpoints that have failed in a row."""
        self.ended = False

    @property
    def last(self) -> int | None:
        """The last checkpoint that is complete."""
        return None if self._latest is None else self._latest.number

    def _saved_positions(self) -> dict[str, dict[str, Any]]:
        if self._latest is not None:
            return self._latest.positions
        return {} if self._begun_with is None else self._begun_with.positions

    def _begin_with_state(self, task: TaskId, begin: Begin) -> Begin:
        """What a task begins with: the last checkpoint, or a savepoint."""
        if self._latest is not None:
            state = self._latest.slots.get(task)
            return replace(
                begin,
                restored=self._latest.number,
                state=state,
                is_resumed=self._latest.attempt != self._attempt,
            )
        if self._begun_with is not None:
            given = self._begun_with.given_to(task)
            return replace(begin, restored=self._begun_with.number, taken_over=given)
        return begin

    def take_in(self, task: TaskId, message: Any, now: float) -> None:
        """What a task says."""
        match message:
            case Told(items=items):
                self._listener.told(list(items))
            case Acknowledged(checkpoint=number, part=part, figures=figures):
                part = _with_figures(task, part, figures)
                complete = self.coordinator.acknowledge(task, number, part, now)
                if complete is not None:
                    self._complete(complete)
            case Declined(checkpoint=number, reason=reason):
                if self.coordinator.decline(number):
                    self._fail(number, reason)
            case Ended(part=part, figures=figures):
                part = _with_figures(task, part, figures)
                for complete in self.coordinator.end(task, part, now):
                    self._complete(complete)
                if self.coordinator.all_ended and not self.ended:
                    self._complete(self.coordinator.complete_at_end(now))
                    self.ended = True

    def _fail(self, number: int, reason: str) -> None:
        """Count a checkpoint as failed: with too many in a row the job fails."""
        _LOG.warning("checkpoint %d %s", number, reason)
        self._listener.failed(number, reason)
        self._failed.append(number)
        tolerable = self._settings.tolerable_failures
        if len(self._failed) > tolerable:
            what = "a checkpoint"
            if len(self._failed) > 1:
                what = f"{len(self._failed)} checkpoints in a row have failed: the last one"
            raise JobFailed(f"{what} {reason}, and {tolerable} are tolerated", hint=_ON_FAILURES)

    @property
    def _too_long(self) -> str:
        return f"took longer than {self._settings.timeout / 1000:g} s"

    def _complete(self, complete: Complete) -> None:
        """All parts of a checkpoint are durable: now it is written down, and committed.

        It may have slept before any line, and others may have gone on since. Whoever follows says
        so before it looks for the last checkpoint: of one that was written when nobody had said
        anything it knows; of any other nobody must be told.
        """
        self._require_current()
        if complete.number not in self._failed:
            self._failed.clear()
        before = {n: _items(parts) for n, parts in complete.unclaimed.items()}
        for number in before:
            self._listener.failed(number, "was overtaken by a later one")
        for number in range(0 if self.last is None else self.last + 1, complete.number):
            self._listener.arrived(number, before.get(number, []))
        self._listener.arrived(complete.number, _items(complete.parts))
        checkpoint = Checkpoint(
            complete.number,
            self._attempt,
            {task: part.state for task, part in complete.parts.items() if part.state is not None},
            self._positions(complete),
        )
        reach("metadata.before", complete.number)
        self._store.save(checkpoint)
        reach("metadata.after", complete.number)
        self._require_current()
        self._latest = checkpoint
        self._listener.committed(complete.number)
        self._require_current()  # it slept meanwhile: to sources this would be news of old
        self._tell_completed(complete)
        self._tell_sources(checkpoint.positions)
        self._store.clean()

    def _require_current(self) -> None:
        if not self._store.is_current():
            raise Superseded

    @abstractmethod
    def _positions(self, complete: Complete) -> dict[str, dict[str, Any]]:
        """Where the sources stood, by uid and split."""

    def _tell_completed(self, complete: Complete) -> None:
        """Let the tasks know that a checkpoint is durable."""

    @abstractmethod
    def _tell_sources(self, positions: dict[str, dict[str, Any]]) -> None:
        """Let the sources know how far everything is durable, by uid and split."""


class Master(Ledger):
    """One attempt at running a job whose tasks go on and on."""

    def __init__(self, begins: Beginning, around: Surroundings, settings: CheckpointSettings):
        super().__init__(begins, around, settings)
        self._has_union_state = False
        self._begun_at = self._saved_positions()
        self._sources = assign_sources(begins.plan, around.enumerators)

    def discover(self) -> None:
        """Look for splits that nobody reads yet."""
        if not self.coordinator.running or self.ended:
            return
        for source in self._sources:
            saved = self._begun_at.get(source.vertex.uid, {})
            for task, words in source.discover(saved).items():
                for word in words:
                    self._send(task, word)

    def look_at_clock(self, now: float) -> None:
        """Give up what takes too long, and begin what is due."""
        for number in self.coordinator.overdue(now):
            self.coordinator.decline(number)
            self._fail(number, self._too_long)
        if self.coordinator.is_due(now):
            self.trigger(now)

    def trigger(self, now: float, *, stops: bool = False, is_exact: bool = False) -> int:
        """Begin a checkpoint; if the job `stops` with it, nothing after it is read.

        `is_exact`: for a savepoint, whatever way the job takes its other checkpoints.
        """
        number = self.coordinator.trigger(now)
        if stops:
            self.coordinator.stop()
        # Union state is dealt out anew at a start, and with it goes no record that was on its way.
        is_exact = is_exact or self._has_union_state
        self._listener.begun(number)
        reach("checkpoint-triggered", number)
        for source in self._sources:
            for task in source.tasks:
                self._send(task, Trigger(number, stops, is_exact))
        return number

    def drain(self) -> None:
        """Let all sources end where they are."""
        for source in self._sources:
            for task in source.tasks:
                self._send(task, Drain())

    def take_in(self, task: TaskId, message: Any, now: float) -> None:
        """What a task says."""
        match message:
            case Hello():
                begin = Begin(
                    self._attempt, self.coordinator.next_number, alignment=self._settings.alignment
                )
                self._send(task, self._begin_with_state(task, begin))
            case Ready(has_union_state=has_union_state):
                self._has_union_state = self._has_union_state or has_union_state
                self.coordinator.ready(task)
                self.discover()
            case SplitEnded(split=split):
                source = next(each for each in self._sources if task in each.tasks)
                if source.split_ended(split):
                    self.discover()
            case WorkedOff(sender=sender, size=size, window=window):
                self._send(TaskId(task.level - 1, sender), Room(task.number, size, window))
            case _:
                super().take_in(task, message, now)

    def _positions(self, complete: Complete) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for source in self._sources:
            known = found.setdefault(source.vertex.uid, {})
            for task in source.tasks:
                positions = complete.parts[task].positions
                known.update({id: list(at) for id, at in positions.items()})
        return found

    def _tell_completed(self, complete: Complete) -> None:
        for task in self.tasks:
            self._send(task, Completed(complete.number))

    def _tell_sources(self, positions: dict[str, dict[str, Any]]) -> None:
        for source in self._sources:
            source.checkpoint_completed(positions.get(source.vertex.uid, {}))

    def close(self) -> None:
        with ExitStack() as all_of_them:
            for source in reversed(self._sources):
                all_of_them.callback(source.close)


def _items(parts: dict[TaskId, TaskPart]) -> list[DriverItem]:
    return [item for part in parts.values() for item in part.items]


def _with_figures(task: TaskId, part: TaskPart, figures: dict[str, Any]) -> TaskPart:
    if not figures:
        return part
    return replace(part, items=(*part.items, (NO_VERTEX, task.number, WRITTEN, figures)))
