"""All tasks of a job that works in rounds, in this process: what workers run, and the driver.

A round goes level by level, as Spark's stages do. Whoever runs it decides which worker begins a
task, whose turn it is and when the driver hears of it, so that every order can be tried, and a
crash between any two events.
"""

from __future__ import annotations

import pickle
import random
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from headrace.core.source import LiveReader, SplitSpec
from headrace.memory.network import Disk, _Checkpoints
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.flow.assignment import tasks_by_source
from headrace.runtime.flow.coordinator import CheckpointSettings
from headrace.runtime.flow.master import Beginning, Listener, Savepoint, Surroundings
from headrace.runtime.flow.messages import Begin, Hello, TaskId
from headrace.runtime.flow.place import source_tasks
from headrace.runtime.flow.round_sources import LiveRounds, Portion, RoundSource, SplitRounds
from headrace.runtime.flow.rounds import Rounds
from headrace.spark.failures import Reporting
from headrace.spark.flow import round_worker
from headrace.spark.flow.channel import Address
from headrace.spark.flow.worker import FlowPlan
from headrace.spark.shipment import pack

Event = tuple[str, TaskId]
"""Something that can happen next, and to whom."""
BEGIN, STEP, SAY = "begin", "step", "say"


@dataclass
class Workers:
    """Processes that outlive rounds and attempts: what each of them keeps of tasks."""

    kept: list[dict[Any, Any]] = field(default_factory=lambda: [{}, {}, {}])

    def forget(self, worker: int) -> None:
        """A process is gone."""
        self.kept[worker].clear()


class RoundNetwork:
    """One attempt at running a job in rounds."""

    def __init__(
        self,
        plan: PhysicalPlan,
        disk: Disk,
        listener: Listener,
        workers: Workers,
        *,
        run_id: str = "run",
        begun_with: Savepoint | None = None,
    ):
        disk.attempts += 1
        self.plan = plan
        self.disk = disk
        self.workers = workers
        sources = source_tasks(plan)
        self._flow = FlowPlan(
            pack(plan, run_id), Address("", 0, b""), None, sources, None, 0, checkpoints=True
        )
        self._heard: dict[TaskId, Any] = {}
        self._said: dict[TaskId, deque[bytes]] = {}
        self.rounds = Rounds(
            Beginning(plan, disk.attempts, disk.last(), begun_with),
            Surroundings(_Checkpoints(disk), listener, self._tell),
            CheckpointSettings(),
            self._make_sources,
        )
        self._has_begun = False
        self._level = 0
        self._waiting: list[TaskId] = []
        """Those of the level that have not begun."""
        self._running: dict[TaskId, _Running] = {}
        self._sent: list[tuple[TaskId, list[pa.RecordBatch]]] = []
        """What the level has made, by task."""

    def _tell(self, task: TaskId, message: Any) -> None:
        self._heard[task] = pickle.loads(pickle.dumps(message))

    def _make_sources(self, saved: Mapping[str, dict[str, Any]]) -> list[RoundSource]:
        found: list[RoundSource] = []
        for vertex, tasks in tasks_by_source(self.plan):
            assert isinstance(vertex.source, SplitSpec)
            source = vertex.source.source
            live = isinstance(source.create_reader(), LiveReader)
            make = LiveRounds if live else SplitRounds
            found.append(make(vertex, tasks, source, saved.get(vertex.uid, {})))
        return found

    # Rounds.

    def begin_round(self, portions: Mapping[TaskId, Portion]) -> None:
        """Let Spark begin the tasks of a round."""
        self.rounds.begin_round(0.0, portions)
        self._has_begun = True
        self._level = 0
        self._waiting = self.rounds.reading

    @property
    def is_complete(self) -> bool:
        """Whether the last round is a checkpoint, or none was begun."""
        return not self._has_begun or self.rounds.is_complete

    def events(self) -> Iterator[Event]:
        """Everything that can happen next."""
        for task in self._waiting:
            yield BEGIN, task
        for task in self._running:
            yield STEP, task
        for task, said in self._said.items():
            if said:
                yield SAY, task

    def happen(self, event: Event, chance: random.Random) -> None:
        kind, task = event
        if kind == SAY:
            message = pickle.loads(self._said[task].popleft())
            self.rounds.take_in(task, message, 0.0)
        elif kind == BEGIN:
            self.begin(task, chance.randrange(len(self.workers.kept)), chance)
        else:
            self._step(task)

    def begin(self, task: TaskId, worker: int, chance: random.Random) -> None:
        """Spark has a worker run a task."""
        self._waiting.remove(task)
        rows = _interleave(self._rows_for(task), chance)
        if task.level:
            run = round_worker.work_in_round(self._flow, task.level)
        else:
            run = round_worker.read_in_round(self._flow, (task.number,), task.number)
        self._running[task] = _Running(self, task, self.workers.kept[worker], run(rows))

    def lose(self, task: TaskId) -> None:
        """A worker is gone in the middle of a task, which Spark begins once more."""
        self._running.pop(task).steps.close()
        self._waiting.append(task)

    def _rows_for(self, task: TaskId) -> list[list[pa.RecordBatch]]:
        if task.level == 0:
            return []
        return [
            [row for row in rows if row.column(0)[0].as_py() == task.number]
            for _, rows in self._before
        ]

    def _step(self, task: TaskId) -> None:
        running = self._running[task]
        if not running.step():
            del self._running[task]
            self._sent.append((task, running.rows))
            if not self._running and not self._waiting:
                self._next_level()

    def _next_level(self) -> None:
        self._before, self._sent = self._sent, []
        if self._level < self.plan.last_level:
            self._level += 1
            slots = range(self.plan.parallelism)
            self._waiting = [TaskId(self._level, slot) for slot in slots]

    def say(self, task: TaskId, message: Any) -> None:
        self._said.setdefault(task, deque()).append(pickle.dumps(message))

    def hello(self, task: TaskId) -> Begin:
        """A task says that it is there, and hears what to do."""
        self.rounds.take_in(task, Hello(task), 0.0)
        begin = self._heard.pop(task)
        assert isinstance(begin, Begin)
        return begin

    @property
    def flow(self) -> FlowPlan:
        return self._flow


class _Running:
    """A task at work in a worker."""

    def __init__(
        self, network: RoundNetwork, id: TaskId, kept: dict[Any, Any], steps: Iterator[Any]
    ):
        self._network = network
        self._id = id
        self._kept = kept
        self.steps: Any = steps
        self.rows: list[pa.RecordBatch] = []

    def step(self) -> bool:
        """Go on until it gives something out; whether it has."""
        with patch.multiple(
            round_worker, _KEPT=self._kept, _begun=self._begun, partition=lambda: self._id.number
        ):
            row = next(self.steps, None)
        if row is not None:
            self.rows.append(row)
        return row is not None

    @contextmanager
    def _begun(self, plan: FlowPlan, id: TaskId) -> Iterator[Any]:
        link: Any = _Line(self._network, id)
        files: Any = _Files(self._network.disk)
        yield round_worker._AtWork(plan, link, self._network.hello(id), Reporting(), files)


class _Line:
    """A task's way to the driver."""

    def __init__(self, network: RoundNetwork, id: TaskId):
        self._network = network
        self._id = id
        self.over = threading.Event()

    def send(self, message: Any) -> None:
        self._network.say(self._id, message)


class _Files:
    def __init__(self, disk: Disk):
        self._disk = disk

    def state_files(self, mounted: Any) -> _Files:
        return self

    def open_saved(self, name: str, size: int) -> Any:
        raise FileNotFoundError(name)  # savepoints are in folders here

    def read(self, name: str) -> bytes:
        return self._disk.files[name]

    def write(self, name: str, content: bytes) -> None:
        self._disk.files[name] = content


def _interleave(rows: list[list[Any]], chance: random.Random) -> Iterator[Any]:
    """What several senders have sent, each in its order."""
    left = [deque(each) for each in rows if each]
    while left:
        each = chance.choice(left)
        yield each.popleft()
        left = [each for each in left if each]


def hand_over_all(network: RoundNetwork) -> dict[TaskId, Portion]:
    """All that the sources have."""
    portions: dict[TaskId, Portion] = {}
    for source in network.rounds.sources:
        if not source.over and source.has_news(()):
            portions.update(source.hand_over(None, ()))
    return portions


def run_round(
    network: RoundNetwork,
    portions: Mapping[TaskId, Portion] | None = None,
    worker: Callable[[TaskId], int] = lambda task: 0,
) -> None:
    """A round in which things happen one after the other; `worker`: where each task runs."""
    chance = random.Random(0)
    network.begin_round(hand_over_all(network) if portions is None else portions)
    while event := next(network.events(), None):
        kind, task = event
        if kind == BEGIN:
            network.begin(task, worker(task), chance)
        else:
            network.happen(event, chance)


class Printed:
    """Whoever listens: what was printed since it was asked last."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def begun(self, number: int) -> None:
        """Nobody has to know."""

    def failed(self, number: int, reason: str) -> None:
        """Nobody has to know."""

    def told(self, items: list[Any]) -> None:
        self._lines += [line for _, _, kind, lines in items if kind == "print" for line in lines]

    def arrived(self, number: int, items: list[Any]) -> None:
        self.told(items)

    def committed(self, number: int) -> None:
        """Nobody has to know."""

    def take(self) -> list[str]:
        lines, self._lines = self._lines, []
        return lines
