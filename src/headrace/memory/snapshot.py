"""The state of a plan between two rounds, and what another plan makes of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import pyarrow as pa

from headrace.errors import IncompatibleState
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.carried_time import CarriedTime
from headrace.runtime.declared_state import Declared
from headrace.runtime.event_time import Progress
from headrace.runtime.flow.messages import SlotFiles, TaskId
from headrace.runtime.flow.snapshots import read_state, seal
from headrace.runtime.packed_changes import packed
from headrace.runtime.placement import Placement
from headrace.runtime.state_rows import RowForm, as_change
from headrace.runtime.state_transfer import SlotState, restored_as, slot_states, slot_time
from headrace.runtime.subtask_state import UNION_PREFIX, Changes, SubtaskState

_CHUNK_KEYS = 1000
Operators = dict[str, tuple[int, int, int]]
"""By uid: the vertex, its level and its parallelism."""


def operators_of(plan: PhysicalPlan) -> Operators:
    return {vertex.uid: (vertex.id, vertex.level, min(vertex.parallelism, plan.parallelism))
            for vertex in plan.vertices.values()}  # fmt: skip


@dataclass
class Snapshot:
    """What is left of an engine that is gone."""

    batches: int
    now: int
    parallelism: int
    operators: Operators
    slots: dict[TaskId, SlotFiles] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    """By name, as in the folder of a job's state."""
    splits: dict[str, dict[str, dict[str, Progress]]] = field(default_factory=dict)
    """By source and by who reports of its time: how far each split had come."""

    @staticmethod
    def of(plan: PhysicalPlan, *, batches: int = 0, now: int = 0) -> Snapshot:
        """Nothing yet."""
        return Snapshot(batches, now, plan.parallelism, operators_of(plan))

    def fitted_to(self, plan: PhysicalPlan) -> Snapshot:
        """What the slots of a plan begin with."""
        return self if self._fits(plan) else self._dealt_out(plan)

    def _fits(self, plan: PhysicalPlan) -> bool:
        """Whether each slot of the plan may go on with what the same slot had.

        Not where there is union list state: every subtask is given all of it.
        """
        union = any(name.startswith(UNION_PREFIX) for files in self.slots.values()
                    for _, name in files.states)  # fmt: skip
        same = (self.parallelism, self.operators) == (plan.parallelism, operators_of(plan))
        return same and not union

    def replace_slot(self, task: TaskId, files: SlotFiles) -> None:
        """A slot's state is in these files now."""
        before = self.slots.get(task, SlotFiles())
        if before.files[:1] != files.files[:1]:  # written anew: before, they only became more
            needed = {file.name for file in files.files}
            for file in before.files:
                if file.name not in needed:
                    del self.files[file.name]
        self.slots[task] = files

    def add(
        self, task: TaskId, changes: Changes, states: Mapping[tuple[str, str], Declared]
    ) -> None:
        """Give a slot more of its state."""
        before = self.slots.get(task, SlotFiles())
        more, written = seal(f"dealt-{task}-{len(before.files)}", [packed(changes, states)[0]])
        self.slots[task] = SlotFiles(
            before.files + more.files, before.snapshot_bytes + more.snapshot_bytes,
            {**before.states, **states},
        )  # fmt: skip
        self.files.update(written)

    def compacted(self, states: Mapping[TaskId, SubtaskState]) -> Snapshot:
        """The same, of no more than there is now in each slot."""
        new = replace(self, slots={}, files={})
        for task, state in states.items():
            if task.level:
                declared = state.described()
                parts = [packed(part, declared)[0] for part in state.snapshot(_CHUNK_KEYS)]
                files, written = seal(f"compact-{task}", parts)
                new.slots[task] = replace(files, states=declared)
                new.files.update(written)
        return new

    def state_of(self, task: TaskId) -> SubtaskState:
        """What a slot has."""
        state = SubtaskState(logged=False, clock=lambda: 0)
        read_state(state, self.slots[task], self.files.__getitem__)
        return state

    def _dealt_out(self, plan: PhysicalPlan) -> Snapshot:
        """The same for the slots of another plan, by way of the rows a savepoint would hold."""
        members = {id: (uid, level, parallelism)
                   for uid, (id, level, parallelism) in self.operators.items()}  # fmt: skip
        time = CarriedTime()
        states: dict[tuple[str, str, str], list[SlotState]] = defaultdict(list)
        for task, files in self.slots.items():
            state = self.state_of(task)
            time.take_in(slot_time(state), task.level, task.number, members)
            for found in slot_states(state, files.states, task.number):
                states[found.operator, found.scope, found.name].append(found)
        new = replace(Snapshot.of(plan, batches=self.batches, now=self.now), splits=self.splits)
        new.begin_with(time, plan)
        for parts in states.values():
            self._deal(parts, plan, new)
        return new

    def begin_with(self, time: CarriedTime, plan: PhysicalPlan) -> None:
        """Let time be in all slots as far as it had come."""
        for level in range(1, plan.last_level + 1):
            for slot in range(plan.parallelism):
                self.add(TaskId(level, slot), time.changes(plan, level, slot), {})

    def _deal(self, parts: list[SlotState], plan: PhysicalPlan, new: Snapshot) -> None:
        """Give the slots of a plan what they are to have of one state."""
        uid, name = parts[0].operator, parts[0].name
        rows = _rows(parts)
        if rows is None:
            return
        vertex = next((each for each in plan.vertices.values() if each.uid == uid), None)
        if vertex is None:
            raise IncompatibleState(
                f"the snapshot has state {name!r} of an operator that this job lacks: uid {uid!r}",
                hint="Bring the operator back, or give the one that takes its place this uid.",
            )
        parallelism = min(vertex.parallelism, plan.parallelism)
        was = self.operators[uid][2]
        placement = Placement(plan.parallelism, parallelism, vertex.max_parallelism, was)
        form, batch, declared_type = rows
        stored, declared = restored_as(form, name, declared_type)
        for slot, items in placement.deal(form, batch):
            changes: Changes = [(uid, stored, form.kind, as_change(form.kind, items))]
            new.add(TaskId(vertex.level, slot), changes, {(uid, stored): declared})


def _rows(parts: list[SlotState]) -> tuple[RowForm, pa.RecordBatch, Any] | None:
    """All slots' rows of one state in one form, with its declared type; None if there are none."""
    full = [part for part in parts if any(True for _ in part.items())]
    if not full:
        return None
    form = reduce(RowForm.unified, [part.form() for part in full])
    batches = [batch for part in full for batch in part.rows(form, 1)]
    [whole] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return form, whole, full[0].declared_type
