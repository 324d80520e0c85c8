"""When checkpoints are taken, and when they are complete.

The coordinator knows nothing of files, threads or connections: it is told what happens and what
time it is, and says what follows. So it can be tried in every order of events.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from headrace.runtime.flow.messages import Alignment, TaskId, TaskPart


@dataclass(frozen=True)
class CheckpointSettings:
    """How often, and how patiently; all times in milliseconds."""

    interval: int | None = None
    """None: only when somebody asks for one."""
    timeout: int = 600_000
    min_pause: int = 0
    at_most: int = 1
    """How many may be under way at once."""
    tolerable_failures: int = 0
    alignment: Alignment = field(default_factory=Alignment)


@dataclass
class Pending:
    """A checkpoint that is under way."""

    number: int
    begun: float
    missing: set[TaskId]
    parts: dict[TaskId, TaskPart] = field(default_factory=dict)
    ended: set[TaskId] = field(default_factory=set)
    """Tasks whose last part stands for them: what they had to say is part of one checkpoint only,
    whichever is complete first."""


@dataclass(frozen=True)
class Complete:
    """A checkpoint of which all parts are durable."""

    number: int
    parts: dict[TaskId, TaskPart]
    unclaimed: dict[int, dict[TaskId, TaskPart]]
    """Parts of checkpoints before it that came to nothing: what was prepared for them counts with
    this one."""


class Coordinator:
    """All checkpoints of one attempt at running a job."""

    def __init__(
        self, tasks: Collection[TaskId], settings: CheckpointSettings, *, next_number: int = 1
    ):
        self._tasks = frozenset(tasks)
        self._settings = settings
        self._next = next_number
        self._pending: dict[int, Pending] = {}
        self._unclaimed: dict[int, dict[TaskId, TaskPart]] = {}
        self._ended: dict[TaskId, TaskPart] = {}
        self._sources = {task for task in tasks if task.level == 0}
        self._ready: set[TaskId] = set()
        self._last_begun: float | None = None
        self._last_completed: float | None = None
        self._stops = False

    @property
    def running(self) -> bool:
        """Whether all tasks have begun, so that a barrier would reach every one."""
        return self._ready == self._tasks

    @property
    def all_ended(self) -> bool:
        return self._ended.keys() == self._tasks

    @property
    def ended(self) -> Collection[TaskId]:
        """Tasks that will take part no more."""
        return self._ended.keys()

    @property
    def next_number(self) -> int:
        return self._next

    @property
    def under_way(self) -> list[int]:
        """The checkpoints that are neither complete nor given up."""
        return list(self._pending)

    def ready(self, task: TaskId) -> None:
        self._ready.add(task)

    def next_due(self, now: float) -> float | None:
        """When something is to be done next, by the clock that `now` is of; None: not by itself."""
        times = [
            pending.begun + self._settings.timeout / 1000 for pending in self._pending.values()
        ]
        if self.may_trigger and self._settings.interval is not None:
            times.append(self._trigger_at(now))
        return min(times, default=None)

    @property
    def may_trigger(self) -> bool:
        """Whether another checkpoint may be begun now."""
        reading = self._sources - self._ended.keys()
        has_room = len(self._pending) < self._settings.at_most
        return self.running and bool(reading) and has_room and not self._stops

    def stop(self) -> None:
        """No checkpoint follows the one that was begun last: the job stops with it."""
        self._stops = True

    def _trigger_at(self, now: float) -> float:
        assert self._settings.interval is not None
        at = now if self._last_begun is None else self._last_begun + self._settings.interval / 1000
        if self._last_completed is not None:
            at = max(at, self._last_completed + self._settings.min_pause / 1000)
        return at

    def is_due(self, now: float) -> bool:
        """Whether a checkpoint is to be triggered by the interval."""
        return (
            self._settings.interval is not None
            and self.may_trigger
            and self._trigger_at(now) <= now
        )

    def trigger(self, now: float) -> int:
        """Begin a checkpoint; its number goes to all sources that have not ended."""
        number, self._next = self._next, self._next + 1
        self._last_begun = now
        missing = set(self._tasks - self._ended.keys())
        ended = set(self._ended)
        self._pending[number] = Pending(number, now, missing, dict(self._ended), ended)
        return number

    def acknowledge(self, task: TaskId, number: int, part: TaskPart, now: float) -> Complete | None:
        """A part is durable; tells the checkpoint if it was the last one missing."""
        pending = self._pending.get(number)
        if pending is None:
            if number < self._next:  # given up; what it prepared may still count
                self._unclaimed.setdefault(number, {})[task] = part
            return None
        pending.parts[task] = part
        pending.missing.discard(task)
        return self._completed(pending, now)

    def end(self, task: TaskId, part: TaskPart, now: float) -> list[Complete]:
        """A task will take part no more: its last part stands for it."""
        self._ended[task] = part
        found = []
        for pending in list(self._pending.values()):
            if task in pending.missing:
                pending.missing.discard(task)
                pending.parts[task] = part
                pending.ended.add(task)
                complete = self._completed(pending, now)
                if complete is not None:
                    found.append(complete)
        return found

    def complete_at_end(self, now: float) -> Complete:
        """The last checkpoint, of the last parts of all tasks."""
        assert self.all_ended
        for pending in list(self._pending.values()):
            self._set_aside(pending)
        number = self.trigger(now)
        complete = self._completed(self._pending[number], now)
        assert complete is not None
        return complete

    def _completed(self, pending: Pending, now: float) -> Complete | None:
        if pending.missing:
            return None
        for number in [number for number in self._pending if number < pending.number]:
            self._set_aside(self._pending[number])  # subsumed
        del self._pending[pending.number]
        self._last_completed = now
        unclaimed = {n: self._unclaimed.pop(n) for n in sorted(self._unclaimed)
                     if n < pending.number}  # fmt: skip
        return Complete(pending.number, self._claim(pending), unclaimed)

    def _claim(self, pending: Pending) -> dict[TaskId, TaskPart]:
        """The parts of a checkpoint; what ended tasks had to say only if nobody has heard it."""
        parts = {**pending.parts, **{task: self._ended[task] for task in pending.ended}}
        for task in pending.ended:
            self._ended[task] = replace(self._ended[task], items=())
        return parts

    def _set_aside(self, pending: Pending) -> None:
        own = {task: part for task, part in pending.parts.items() if task not in pending.ended}
        self._unclaimed.setdefault(pending.number, {}).update(own)
        del self._pending[pending.number]

    def decline(self, number: int) -> bool:
        """A checkpoint comes to nothing; says whether it was under way."""
        pending = self._pending.get(number)
        if pending is not None:
            self._set_aside(pending)
        return pending is not None

    def overdue(self, now: float) -> list[int]:
        """Those that have been under way for too long."""
        limit = self._settings.timeout / 1000
        return [n for n, pending in self._pending.items() if now - pending.begun >= limit]
