"""The job of the simulation in rounds, where anything may happen next.

Tasks run in workers that keep or forget them, rounds are cut at random, workers are lost in the
middle of a task, and the driver dies between any two events. In between the job may run in real
time, on the same disk, or be begun at another parallelism.
"""

from __future__ import annotations

import pickle
import random
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headrace.errors import JobFailed
from headrace.memory.network import Disk
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.carried_time import CarriedTime
from headrace.runtime.flow.messages import Alignment, StateFile, TaskId
from headrace.runtime.flow.parcels import Parcel
from headrace.runtime.flow.round_sources import Portion, SplitRounds
from headrace.runtime.flow.snapshots import read_in_flight
from headrace.runtime.packed_changes import unpacked
from headrace.runtime.placement import Placement
from headrace.runtime.state_transfer import slot_states, slot_time
from headrace.runtime.subtask_state import SubtaskState
from headrace.spark.file_store import LocalStore
from headrace.spark.savepoints.dealing import Dealer, SlotFiles
from headrace.spark.savepoints.direct_files import write_state
from headrace.spark.savepoints.in_flight import KeptFiles, SlotTime, write_in_flight
from headrace.spark.savepoints.metadata import SavedState, described_operators, state_folder
from headrace.spark.savepoints.restore import TakenOver
from tests.unit.flow.round_network import STEP, RoundNetwork, Workers, run_round
from tests.unit.flow.simulation import (
    DEFAULT,
    Died,
    Outside,
    Shape,
    counting,
    flow_until_crash,
    little_room,
    perhaps_die,
)

_LIMITS = (None, None, 1, 2, 5)
_ENOUGH = 100
"""More rounds than it takes to read all there is."""


@dataclass
class Moved:
    """A job's last checkpoint as a savepoint that a plan of another parallelism begins with."""

    number: int
    positions: dict[str, dict[str, Any]]
    plan: PhysicalPlan
    root: Path
    old: PhysicalPlan
    states: dict[tuple[str, str, str], SavedState] = field(default_factory=dict)
    time: CarriedTime = field(default_factory=CarriedTime)
    in_flight: dict[TaskId, StateFile] = field(default_factory=dict)

    def given_to(self, task: TaskId) -> bytes | None:
        if task.level == 0:
            return None
        vertices = {vertex.uid: vertex for vertex in self.plan.at(task.level)}
        slots = self.plan.parallelism
        dealers = [
            Dealer(
                state,
                Placement(
                    slots,
                    slots,
                    vertices[uid].max_parallelism,
                    self.old.parallelism,
                    same_groups=True,
                ),
            )
            for (uid, _, _), state in self.states.items()
            if uid in vertices
        ]
        time = self.time.changes(self.plan, task.level, task.number)
        kept = KeptFiles.of(
            LocalStore(self.root), self.in_flight, described_operators(self.old), self.plan,
            task.level,
        )  # fmt: skip
        return pickle.dumps(TakenOver(SlotFiles(self.root, tuple(dealers)), time, kept))


def move(disk: Disk, old: PhysicalPlan, new: PhysicalPlan, root: Path) -> Moved:
    """Make a savepoint of the last checkpoint."""
    last = disk.last()
    assert last is not None
    moved = Moved(last.number, last.positions, new, root, old)
    vertices = {vertex.uid: vertex for vertex in old.vertices.values()}
    members = {
        vertex.id: (vertex.uid, vertex.level, vertex.parallelism) for vertex in vertices.values()
    }
    times: list[SlotTime] = []
    kept: dict[TaskId, list[Parcel]] = {}
    for task, files in last.slots.items():
        if files.in_flight is not None:
            kept[task] = read_in_flight(files, disk.files.__getitem__)
        state = SubtaskState(logged=False, clock=lambda: 0)
        for file in files.files:
            state.apply(unpacked(disk.files[file.name]))
        times.append((task.level, task.number, slot_time(state)))
        moved.time.take_in(slot_time(state), task.level, task.number, members)
        for found in slot_states(state, files.states, task.number):
            form, rows, _ = write_state(found, root, vertices[found.operator].max_parallelism)
            if rows:
                key = found.operator, found.scope, found.name
                folder = state_folder(*key)
                moved.states[key] = SavedState(
                    found.operator, found.name, form, found.declared_type, folder
                )
    moved.in_flight = write_in_flight(kept, times, LocalStore(root))
    return moved


class RoundSimulation:
    """A job that is started again and again until it has come to its end."""

    def __init__(
        self,
        chance: random.Random,
        shape: Shape = DEFAULT,
        *,
        real_time: Alignment | None = None,
        savepoints: Path | None = None,
    ):
        """`real_time`: how barriers align when it runs in real time; None: it never does.
        `savepoints`: where to keep them; None: the parallelism stays what it is."""
        self._chance = chance
        self._shape = shape
        self._real_time = real_time
        self._savepoints = savepoints
        self._plan = counting(shape)
        self._disk, self._workers = Disk(), Workers()
        self._outside = Outside(self._plan)
        self._begun_with: Moved | None = None
        self._runs = 0

    def run(self, crashes: int) -> Counter[Any]:
        """What was shown in the end."""
        for _ in range(crashes):
            self._perhaps_begin_elsewhere()
            real_time = self._real_time if self._chance.random() < 0.5 else None
            if real_time is not None:
                flow_until_crash(
                    self._plan, self._disk, self._outside, real_time, self._chance,
                    self._begun_with,
                )  # fmt: skip
            else:
                self._run_until_crash()
        self._disk.on_save = lambda: None
        network = self._start()
        for _ in range(_ENOUGH):
            if network.rounds.ended:
                return Counter(self._outside.shown)
            run_round(network)
        raise AssertionError("the job does not come to its end")

    def _perhaps_begin_elsewhere(self) -> None:
        """A driver that is started anew has workers of its own, and perhaps another plan."""
        if self._chance.random() < 0.5:
            return  # the same driver tries once more
        self._runs += 1
        if self._savepoints is None or self._disk.last() is None:
            return
        self._recover()
        old, root = self._plan, self._savepoints / str(self._runs)
        self._plan = counting(self._shape, self._chance.randrange(1, 4))
        self._begun_with = move(self._disk, old, self._plan, root)
        self._disk = Disk()

    def _start(self) -> RoundNetwork:
        self._recover()
        return RoundNetwork(
            self._plan,
            self._disk,
            self._outside,
            self._workers,
            run_id=f"run-{self._runs}",
            begun_with=self._begun_with,
        )

    def _recover(self) -> None:
        last = self._disk.last()
        self._outside.recover(None if last is None else last.number)

    def _run_until_crash(self) -> None:
        network = self._start()
        self._disk.on_save = lambda: perhaps_die(self._chance)
        with suppress(Died, JobFailed):
            for _ in range(self._chance.randrange(5, 400)):
                if network.rounds.ended:
                    break
                self._step(network)

    def _step(self, network: RoundNetwork) -> None:
        chance = self._chance
        events = list(network.events())
        if not events:
            assert network.is_complete, "nothing can happen any more, and the round is none"
            network.begin_round(self._hand_over(network))
            return
        kind, task = event = chance.choice(events)
        if chance.random() < 0.03:
            self._workers.forget(chance.randrange(len(self._workers.kept)))
        if kind == STEP and chance.random() < 0.005:
            network.lose(task)
        else:
            network.happen(event, chance)

    def _hand_over(self, network: RoundNetwork) -> dict[TaskId, Portion]:
        """Some of what there is: there are limits, and splits that wait for others."""
        portions: dict[TaskId, Portion] = {}
        for source in network.rounds.sources:
            if source.over or self._chance.random() < 0.1:
                continue
            assert isinstance(source, SplitRounds)
            # Whoever lets a split wait has heard how far it has come.
            known = [split for split in source.positions() if split in source._announced]
            waiting = {split for split in known if self._chance.random() < 0.2}
            portions.update(source.hand_over(self._chance.choice(_LIMITS), waiting))
        return portions


def simulate_rounds(
    seed: int,
    shape: Shape = DEFAULT,
    *,
    crashes: int = 3,
    real_time: Alignment | None = None,
    savepoints: Path | None = None,
) -> Counter[Any]:
    """Run the job in rounds in a random order of events; what was shown in the end."""
    with little_room(120):
        job = RoundSimulation(
            random.Random(seed), shape, real_time=real_time, savepoints=savepoints
        )
        return job.run(crashes)
