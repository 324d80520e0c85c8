"""The state of a plan between two micro-batches, and what another plan makes of it."""

from __future__ import annotations

import pickle
from collections import defaultdict
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import pyarrow as pa

from headrace.errors import IncompatibleState
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.carried_time import CarriedTime
from headrace.runtime.declared_state import Declared
from headrace.runtime.pickling import dumps
from headrace.runtime.placement import Placement
from headrace.runtime.state_rows import RowForm, as_change
from headrace.runtime.state_transfer import SlotState, restored_as, slot_states, slot_time
from headrace.runtime.subtask_state import UNION_PREFIX, Changes, SubtaskState

Place = tuple[int, int]
"""The level and the slot of a task."""
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
    logs: dict[Place, list[bytes]] = field(default_factory=dict)
    states: dict[Place, dict[tuple[str, str], Declared]] = field(default_factory=dict)
    """How the states of each slot were declared."""

    def fits(self, plan: PhysicalPlan) -> bool:
        """Whether each slot of the plan may go on with what the same slot had.

        Not where there is union list state: every subtask is given all of it.
        """
        union = any(name.startswith(UNION_PREFIX) for states in self.states.values()
                    for _, name in states)  # fmt: skip
        same = (self.parallelism, self.operators) == (plan.parallelism, operators_of(plan))
        return same and not union

    def dealt_out(self, plan: PhysicalPlan) -> Snapshot:
        """The same for the slots of another plan, by way of the rows a savepoint would hold."""
        members = {id: (uid, level, parallelism)
                   for uid, (id, level, parallelism) in self.operators.items()}  # fmt: skip
        time = CarriedTime()
        states: dict[tuple[str, str, str], list[SlotState]] = defaultdict(list)
        for (level, slot), declared in self.states.items():
            state = self._rebuilt((level, slot))
            time.take_in(slot_time(state), level, slot, members)
            for found in slot_states(state, declared, slot):
                states[found.operator, found.scope, found.name].append(found)
        new = _empty(self, plan)
        for (level, slot), log in new.logs.items():
            log.append(dumps(time.changes(plan, level, slot)))
        for parts in states.values():
            self._deal(parts, plan, new)
        return new

    def _rebuilt(self, place: Place) -> SubtaskState:
        state = SubtaskState(logged=False, clock=lambda: 0)
        for blob in self.logs[place]:
            state.apply(pickle.loads(blob))
        return state

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
            place = vertex.level, slot
            changes: Changes = [(uid, stored, form.kind, as_change(form.kind, items))]
            new.logs[place].append(dumps(changes))
            new.states[place][uid, stored] = declared


def _empty(old: Snapshot, plan: PhysicalPlan) -> Snapshot:
    places = [(level, slot) for level in range(1, plan.last_level + 1)
              for slot in range(plan.parallelism)]  # fmt: skip
    return Snapshot(
        old.batches, old.now, plan.parallelism, operators_of(plan),
        {place: [] for place in places}, {place: {} for place in places},
    )  # fmt: skip


def _rows(parts: list[SlotState]) -> tuple[RowForm, pa.RecordBatch, Any] | None:
    """All slots' rows of one state in one form, with its declared type; None if there are none."""
    full = [part for part in parts if any(True for _ in part.items())]
    if not full:
        return None
    form = reduce(RowForm.unified, [part.form() for part in full])
    batches = [batch for part in full for batch in part.rows(form, 1)]
    [whole] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return form, whole, full[0].declared_type
