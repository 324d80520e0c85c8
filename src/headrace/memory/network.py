"""All tasks of a job that flows, in this process, with everything that happens between them.

The tasks are those that Spark's workers run. What is on its way is in queues: records between
tasks, words between tasks and driver, files to be written. Whoever runs the network decides what
happens next, so that every order of events can be tried, and crashes between any two of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from headrace.core.source import SplitSpec
from headrace.memory.begun_task import begin_task
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.driver_items import DriverItems
from headrace.runtime.flow.assignment import tasks_of
from headrace.runtime.flow.checkpoint import Checkpoint
from headrace.runtime.flow.coordinator import CheckpointSettings
from headrace.runtime.flow.level import FlowingLevel
from headrace.runtime.flow.master import Beginning, Listener, Master, Savepoint, Surroundings
from headrace.runtime.flow.messages import (
    Assign,
    Begin,
    Completed,
    Drain,
    Hello,
    NoMoreSplits,
    Ready,
    Room,
    SplitEnded,
    TaskId,
    Trigger,
)
from headrace.runtime.flow.place import source_tasks
from headrace.runtime.flow.snapshots import Written
from headrace.runtime.flow.splits import Splits
from headrace.runtime.flow.task import FlowTask
from headrace.runtime.outbox import Row
from headrace.runtime.pickled_plan import pickle_plan, unpickle_plan

Event = tuple[str, Any]
"""Something that can happen next, and to whom."""
READ, WORK, OVERTAKE, FLUSH, DELIVER = "read", "work", "overtake", "flush", "deliver"
HEAR, SAY, WRITE = "hear", "say", "write"


@dataclass
class Disk:
    """What outlives a crash: files of state, checkpoints, and who may write them."""

    files: dict[str, bytes] = field(default_factory=dict)
    checkpoints: list[dict[str, Any]] = field(default_factory=list)
    attempts: int = 0
    on_save: Callable[[], None] = lambda: None
    """Called before and after a checkpoint is saved; may raise, as if the driver died there."""

    def last(self) -> Checkpoint | None:
        return Checkpoint.from_json(self.checkpoints[-1]) if self.checkpoints else None


class _Checkpoints:
    """The checkpoints of one attempt."""

    def __init__(self, disk: Disk):
        self._disk = disk
        self._attempt = disk.attempts

    def is_current(self) -> bool:
        return self._disk.attempts == self._attempt

    def save(self, checkpoint: Checkpoint) -> None:
        self._disk.on_save()
        self._disk.checkpoints.append(checkpoint.to_json())
        self._disk.on_save()

    def clean(self) -> None:
        last = self._disk.last()
        assert last is not None
        del self._disk.checkpoints[:-1]
        for name in [name for name in self._disk.files if name not in last.files()]:
            attempt, _, _, number = map(int, name.split("-")[:4])
            if (attempt, number) <= (last.attempt, last.number):
                del self._disk.files[name]


class Network:
    """One attempt at running a job."""

    def __init__(
        self, plan: PhysicalPlan, disk: Disk, listener: Listener, *,
        settings: CheckpointSettings | None = None, clock: Callable[[], int] = lambda: 0,
        begun_with: Savepoint | None = None,
    ):  # fmt: skip
        disk.attempts += 1
        self.plan = plan
        self.disk = disk
        self.now = clock
        self._pickled = pickle_plan(plan)
        self._members: dict[TaskId, _Member] = {}
        self._said: dict[TaskId, deque[Any]] = {}
        self._parcels: dict[tuple[TaskId, TaskId], deque[bytes]] = {}
        self.sources = source_tasks(plan)
        self.master = Master(
            Beginning(plan, disk.attempts, disk.last(), begun_with),
            Surroundings(_Checkpoints(disk), listener, self._tell),
            settings or CheckpointSettings(at_most=2),
        )
        for task in tasks_of(plan):
            self._said[task] = deque([Hello(task)])
            self._members[task] = _Member(self, task)

    # What can happen, and lets it happen.

    def events(self) -> Iterator[Event]:
        """Everything that can happen next."""
        for task, member in self._members.items():
            if member.heard:
                yield HEAR, task
            if member.writes:
                yield WRITE, task
            if self._said[task]:
                yield SAY, task
            if member.may_read:
                yield READ, task
            if member.has_work:
                yield WORK, task
            if member.may_overtake:
                yield OVERTAKE, task
            if member.may_flush:
                yield FLUSH, task
        for channel, parcels in self._parcels.items():
            if parcels and self._members[channel[1]].has_begun:
                yield DELIVER, channel

    def happen(self, event: Event) -> None:
        kind, place = event
        if kind == DELIVER:
            sender, receiver = place
            self._members[receiver].deliver(self._parcels[sender, receiver].popleft())
        elif kind == SAY:
            self.master.take_in(place, self._said[place].popleft(), 0.0)
        else:
            getattr(self._members[place], kind)()

    def run_to_end(self) -> None:
        """Let everything happen that can, in some order, until the job has come to its end."""
        while not self.master.ended:
            self.master.discover()
            happened = False
            for event in list(self.events()):
                if event in set(self.events()):
                    self.happen(event)
                    happened = True
            assert happened, "nothing can happen any more, and the job has not ended"

    def _tell(self, task: TaskId, message: Any) -> None:
        self._members[task].heard.append(message)

    def send(self, sender: TaskId, rows: Iterator[Row]) -> None:
        for slot, blob in rows:
            receiver = TaskId(sender.level + 1, slot)
            self._parcels.setdefault((sender, receiver), deque()).append(blob)

    def say(self, task: TaskId, message: Any) -> None:
        self._said[task].append(message)

    def level_task(self, task: TaskId, items: DriverItems) -> FlowingLevel:
        source, subtask = self.sources[task.number] if task.level == 0 else (None, task.number)
        plan = unpickle_plan(self._pickled)
        return FlowingLevel(plan, task.level, subtask, self.now, tell=items.add, source=source)


class _Member:
    """A task of the network, and what is on its way to it and from it."""

    def __init__(self, network: Network, id: TaskId):
        self._network = network
        self._id = id
        self._task: FlowTask | None = None
        self._splits: Splits | None = None
        self.heard: deque[Any] = deque()
        self.writes: deque[tuple[Written, Callable[[], None]]] = deque()
        self._holds_back = False
        self._is_dry = False

    # What the task asks for.

    def send(self, message: Any) -> None:
        self._network.say(self._id, message)

    def write(self, files: Written | None = None, then: Callable[[], None] | None = None) -> None:
        """Asked by the task: write later. As an event: write now."""
        if files is not None and then is not None:
            self.writes.append((files, then))
            return
        files, then = self.writes.popleft()
        for name, blob in files:
            self._network.disk.files[name] = blob
        then()

    # What happens to it.

    def hear(self) -> None:
        message = self.heard.popleft()
        if isinstance(message, Begin):
            self._begin(message)
            return
        assert self._task is not None
        if isinstance(message, Trigger) and not self._task.ended:
            rows = self._task.checkpoint(message.checkpoint, is_exact=message.is_exact)
            self._network.send(self._id, rows)
        elif isinstance(message, Room):
            self._network.send(self._id, self._task.make_room(message))
        elif isinstance(message, Completed):
            self._task.complete(message.checkpoint)
        elif self._splits is not None:
            self._is_dry = False
            if isinstance(message, Assign):
                for known in self._splits.assign(message.splits):
                    self._feed(known)
                self._task.level.time.know_splits(any_here=bool(message.splits))
                self._network.send(self._id, self._task.end_round())
            elif isinstance(message, NoMoreSplits):
                self._splits.complete()
            elif isinstance(message, Drain):
                self._splits.drain()

    def _begin(self, begin: Begin) -> None:
        items = DriverItems()
        network = self._network
        level = network.level_task(self._id, items)
        if self._id.level == 0:
            spec = level.plan.vertices[network.sources[self._id.number][0]].source
            assert isinstance(spec, SplitSpec)
            self._splits = splits = Splits(spec.source)
            splits.on_end(lambda split: self.send(SplitEnded(self._id, split)))
            level.time.awaits_splits = lambda: splits.are_unknown
        self._task = begin_task(
            self._id, level, begin, self, items, read=network.disk.files.__getitem__,
            splits=self._splits,
        )  # fmt: skip
        self.send(Ready(self._id, level.has_union_state))

    @property
    def has_begun(self) -> bool:
        return self._task is not None

    @property
    def may_read(self) -> bool:
        return (
            self._splits is not None
            and self._task is not None
            and not self._task.ended
            and not self._task.is_blocked
            and not (self._is_dry and not self._splits.ended)
        )

    def read(self) -> None:
        """Read some records; at the end, tell everybody."""
        assert self._splits is not None
        assert self._task is not None
        batch = self._splits.read()
        if batch is not None:
            self._feed(batch)
        elif self._splits.ended:
            self._network.send(self._id, self._task.end())
        else:
            self._is_dry = True

    def _feed(self, batch: Any) -> None:
        assert self._task is not None
        vertex, _ = self._network.sources[self._id.number]
        self._network.send(self._id, self._task.feed(vertex, batch))
        self._holds_back = True

    def deliver(self, blob: bytes) -> None:
        assert self._task is not None
        self._network.send(self._id, self._task.arrive(blob))

    @property
    def has_work(self) -> bool:
        return self._task is not None and self._task.has_work

    def work(self) -> None:
        """Do a piece of what has come."""
        assert self._task is not None
        self._network.send(self._id, self._task.work())
        self._holds_back = True

    @property
    def may_overtake(self) -> bool:
        at = None if self._task is None else self._task.overtakes_at
        return at is not None and at <= self._network.now()

    def overtake(self) -> None:
        """A barrier has waited long enough."""
        assert self._task is not None
        self._network.send(self._id, self._task.overtake_if_due())

    @property
    def may_flush(self) -> bool:
        task = self._task
        return self._holds_back and task is not None and not task.ended and not task.is_blocked

    def flush(self) -> None:
        """Let go of what waits, and move time on."""
        assert self._task is not None
        self._holds_back = False
        self._task.level.time.move()
        self._network.send(self._id, self._task.end_round())
