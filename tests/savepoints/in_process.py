"""Savepoints of files and the in-process engine: taking one, and going on from it."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.memory.clock import ManualClock
from headrace.memory.engine import MemoryEngine, MicroBatch
from headrace.memory.inputs import micro_batches
from headrace.memory.snapshot import Snapshot
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.carried_time import CarriedTime
from headrace.runtime.flow.messages import TaskId
from headrace.runtime.pickling import dumps
from headrace.runtime.placement import Placement
from headrace.runtime.state_transfer import SlotState, slot_states, slot_time
from headrace.spark.file_store import LocalStore
from headrace.spark.savepoints.checkpoint import described_operators
from headrace.spark.savepoints.dealing import Dealer
from headrace.spark.savepoints.direct_files import write_state
from headrace.spark.savepoints.matching import require_match
from headrace.spark.savepoints.metadata import SavedState, SavepointMetadata
from headrace.spark.savepoints.writer import merged_states
from headrace.testing import JobOutput

_NOW = 1_000_000_000_000


def metadata_of(folder: Path) -> SavepointMetadata:
    return SavepointMetadata.read(LocalStore(folder))


def snapshot_of(folder: Path, plan: PhysicalPlan) -> Snapshot:
    """What the slots of a plan are to begin with; refused as a job on Spark would refuse it."""
    metadata = metadata_of(folder)
    require_match(metadata, plan, str(folder))
    found = Snapshot.of(plan, batches=metadata.batch, now=_NOW)
    found.begin_with(metadata.time, plan)
    [source] = plan.sources
    found.splits = {source.uid: metadata.time.splits}
    vertices = {vertex.uid: vertex for vertex in plan.vertices.values()}
    was = {each["uid"]: int(each["parallelism"]) for each in metadata.operators}
    for state in metadata.states:
        vertex = vertices[state.operator]
        parallelism = min(vertex.parallelism, plan.parallelism)
        placement = Placement(
            plan.parallelism, parallelism, vertex.max_parallelism, was[state.operator]
        )
        dealer = Dealer(state, placement)
        for slot, changes in dealer.to_all(_rows(folder, state)):
            found.add(TaskId(vertex.level, slot), changes, dealer.about)
    return found


def _rows(folder: Path, state: SavedState) -> Iterator[pa.RecordBatch]:
    for batch in pq.read_table(folder / state.folder).to_batches():
        yield batch.select(state.form.schema.names)


def told_by(plan: PhysicalPlan, *, since: int, snapshot: Snapshot | None = None) -> list[str]:
    """The lines printed after so many micro-batches; those before are skipped if a snapshot has
    them."""
    output = JobOutput(plan)
    state = None if snapshot is None else dumps(snapshot)
    engine = MemoryEngine(plan, output.handle, clock=ManualClock(_NOW), snapshot=state)
    [source] = plan.sources
    for number, records in enumerate(micro_batches(source)):
        if number == since:
            output.printed.clear()
        if number >= since or snapshot is None:
            engine.run(MicroBatch({source.id: records}))
    engine.run(MicroBatch(final=True))
    engine.close()
    output.end()
    return lines(output.printed)


def lines(printed: list[str]) -> list[str]:
    """In order, without the number of the subtask that told them."""
    bare = (re.sub(r"^\d+> ", "", line) for line in printed)
    return sorted(re.sub(r"^(\w+)(:\d+)?> ", r"\1: ", line) for line in bare)


# Taking a savepoint: what writers on Spark do in each worker, for the slots of this process.


def save(plan: PhysicalPlan, batches: int, folder: Path) -> None:
    """Write what a job holds after so many micro-batches."""
    engine = MemoryEngine(plan, JobOutput(plan).handle, clock=ManualClock(_NOW))
    [source] = plan.sources
    for records in islice(micro_batches(source), batches):
        engine.run(MicroBatch({source.id: records}))
    snapshot: Snapshot = pickle.loads(engine.snapshot(compact=True))
    engine.close()
    operators = described_operators(plan)
    time, pieces = CarriedTime(snapshot.splits.get(source.uid, {})), []
    members = {each["id"]: (each["uid"], each["level"], each["parallelism"]) for each in operators}
    for task, files in snapshot.slots.items():
        state = snapshot.state_of(task)
        time.take_in(slot_time(state), task.level, task.number, members)
        found = slot_states(state, files.states, task.number)
        pieces += [_piece(each, plan, folder) for each in found]
    states = merged_states(pieces)
    files = {piece.file[0]: [*piece.file[1:]] for piece in pieces if piece.rows}
    positions = {source.uid: {"splits": {source.uid: [None, batches]}}}
    job = {"id": sha256(plan.name.encode()).hexdigest()[:32], "name": plan.name}
    SavepointMetadata(
        job, batches - 1, plan.parallelism, operators, states, time, positions, files
    ).write(LocalStore(folder))


def _piece(found: SlotState, plan: PhysicalPlan, folder: Path) -> SimpleNamespace:
    limit = {vertex.uid: vertex.max_parallelism for vertex in plan.vertices.values()}
    form, rows, file = write_state(found, folder, limit[found.operator])
    if not rows:
        (folder / file[0]).unlink(missing_ok=True)
    return SimpleNamespace(
        operator=found.operator, scope=found.scope, name=found.name, rows=rows, file=file,
        form=json.dumps(form.to_json()), declared=json.dumps(found.declared_type),
    )  # fmt: skip
