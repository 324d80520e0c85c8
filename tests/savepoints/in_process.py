"""A savepoint of files in the in-process engine, and what a job tells that goes on from it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.memory.clock import ManualClock
from headrace.memory.engine import MemoryEngine, MicroBatch
from headrace.memory.inputs import micro_batches
from headrace.memory.snapshot import Snapshot, operators_of
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.pickling import dumps
from headrace.runtime.placement import Placement
from headrace.spark.file_store import LocalStore
from headrace.spark.savepoints.dealing import Dealer
from headrace.spark.savepoints.matching import require_match
from headrace.spark.savepoints.metadata import SavedState, SavepointMetadata
from headrace.spark.slot_log import unpacked
from headrace.testing import JobOutput

_NOW = 1_000_000_000_000


def metadata_of(folder: Path) -> SavepointMetadata:
    return SavepointMetadata.read(LocalStore(folder))


def snapshot_of(folder: Path, plan: PhysicalPlan) -> Snapshot:
    """What the slots of a plan are to begin with; refused as a job on Spark would refuse it."""
    metadata = metadata_of(folder)
    require_match(metadata, plan, str(folder))
    places = [(level, slot) for level in range(1, plan.last_level + 1)
              for slot in range(plan.parallelism)]  # fmt: skip
    found = Snapshot(metadata.batch, _NOW, plan.parallelism, operators_of(plan))
    for level, slot in places:
        found.logs[level, slot] = [dumps(metadata.time.changes(plan, level, slot))]
        found.states[level, slot] = {}
    vertices = {vertex.uid: vertex for vertex in plan.vertices.values()}
    was = {each["uid"]: int(each["parallelism"]) for each in metadata.operators}
    for state in metadata.states:
        vertex = vertices[state.operator]
        parallelism = min(vertex.parallelism, plan.parallelism)
        placement = Placement(
            plan.parallelism, parallelism, vertex.max_parallelism, was[state.operator]
        )
        dealer = Dealer(state, placement)
        for slot, piece in dealer.to_all(_rows(folder, state)):
            found.logs[vertex.level, slot].append(dumps(unpacked(piece.blob)))
            found.states[vertex.level, slot].update(dealer.about)
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
