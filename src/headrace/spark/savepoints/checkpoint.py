"""A job's checkpoint, read from outside: its plan, its state, where sources stood."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lit

from headrace.errors import CorruptState
from headrace.plan.physical import PhysicalPlan
from headrace.runtime.flow.messages import TaskId
from headrace.runtime.flow.parcels import Parcel
from headrace.runtime.flow.snapshots import read_in_flight
from headrace.spark.checked_json import dumped, loaded
from headrace.spark.file_store import FileStore
from headrace.spark.flow.checkpoint_files import (
    STATE,
    last_checkpoint,
    last_checkpoint_id,
    read_checkpoint,
)
from headrace.spark.flow.state_entries import entries_of
from headrace.spark.savepoints.metadata import described_operators

PLAN = "plan.json"


def note_plan(store: FileStore, plan: PhysicalPlan, job: dict[str, str]) -> None:
    """Write down beside a job's checkpoints what their state belongs to."""
    sources = [{"uid": v.uid, "kind": type(v.source).__name__} for v in plan.sources]
    content = {
        "job": job,
        "parallelism": plan.parallelism,
        "levels": plan.last_level,
        "operators": described_operators(plan),
        "sources": sources,
    }
    store.write(PLAN, dumped(content))


class Checkpoint:
    """The run of a job in a folder, as of one of its checkpoints."""

    def __init__(self, spark: SparkSession, store: FileStore, number: int | None = None):
        """`number`: None for the last one."""
        self._spark = spark
        self._store = store
        self.plan: dict[str, Any] = _plan(store)
        found = last_checkpoint(store) if number is None else read_checkpoint(store, number)
        if found is None:
            raise CorruptState(
                f"the folder {store.uri} has no complete checkpoint",
                hint="Nothing was processed yet: start without it.",
            )
        self._found = found
        self.batch = found.number

    @property
    def parallelism(self) -> int:
        return int(self.plan["parallelism"])

    @property
    def levels(self) -> int:
        return int(self.plan["levels"])

    @property
    def has_records_in_flight(self) -> bool:
        return any(files.in_flight is not None for files in self._found.slots.values())

    def in_flight(self) -> dict[TaskId, list[Parcel]]:
        """What was on its way, by the slots that have kept any."""
        read = self._store.child(STATE).read
        found = {task: read_in_flight(files, read) for task, files in self._found.slots.items()}
        return {task: parcels for task, parcels in found.items() if parcels}

    def entries(self, level: int) -> DataFrame:
        """The state of a level's slots: slot (as `label`), entry number and blob."""
        return entries_of(self._spark, self._store, self._found, level)

    def entries_of(self, level: int, slot: int) -> DataFrame:
        """The state of one slot."""
        return self.entries(level).filter(col("label") == lit(slot))

    def positions(self) -> dict[str, Any]:
        """Where each source stood, by its uid."""
        return {uid: {"splits": at} for uid, at in self._found.positions.items()}


def _plan(store: FileStore) -> dict[str, Any]:
    try:
        return loaded(store.read(PLAN))
    except (FileNotFoundError, ValueError):
        raise CorruptState(
            f"the checkpoint in {store.uri} is damaged: its {PLAN} is missing or not what was "
            "written",
            hint="Restore it from a copy, or start from a savepoint.",
        ) from None


def last_committed(store: FileStore) -> int | None:
    """The number of the last checkpoint below a run's folder."""
    last = last_checkpoint_id(store)
    return None if last is None else last.number
