"""Spark's checkpoint of a stream, read from outside: what was committed, where sources stood."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lit

from headrace.errors import CorruptState
from headrace.plan.physical import PhysicalPlan
from headrace.spark.checked_json import dumped, loaded
from headrace.spark.file_store import FileStore
from headrace.spark.flow.checkpoint_files import (
    last_checkpoint,
    last_checkpoint_name,
    read_checkpoint,
)
from headrace.spark.flow.state_entries import entries_of
from headrace.spark.savepoints.metadata import described_operators
from headrace.spark.slot_log import STATE
from headrace.spark.slots import slot_labels

PLAN = "plan.json"
POSITIONS = "positions.json"
"""Where the sources of a run began, if it was started from a savepoint."""
_FILES_BELOW_FOLDER = "sources"


def note_plan(store: FileStore, plan: PhysicalPlan, job: dict[str, str]) -> None:
    """Write down beside a checkpoint what its state belongs to."""
    sources = [{"uid": v.uid, "kind": type(v.source).__name__} for v in plan.sources]
    content = {"job": job, "parallelism": plan.parallelism, "levels": plan.last_level,
               "operators": described_operators(plan), "sources": sources}  # fmt: skip
    store.write(PLAN, dumped(content))


class Checkpoint:
    """The run of a job in a folder, as of its last committed micro-batch."""

    def __init__(self, spark: SparkSession, store: FileStore, batch: int | None = None):
        self._spark = spark
        self._store = store
        self.plan: dict[str, Any] = _plan(store)
        self._flowing = last_checkpoint(store) if batch is None else read_checkpoint(store, batch)
        if self._flowing is not None:
            batch = self._flowing.number
        self.batch = self._last_committed() if batch is None else batch

    @property
    def parallelism(self) -> int:
        return int(self.plan["parallelism"])

    @property
    def levels(self) -> int:
        return int(self.plan["levels"])

    def _last_committed(self) -> int:
        last = last_committed(self._store)
        if last is None:
            raise CorruptState(
                f"the checkpoint in {self._store.uri} has no completed micro-batch",
                hint="Nothing was processed yet: start without it.",
            )
        return last

    @property
    def has_records_in_flight(self) -> bool:
        slots = {} if self._flowing is None else self._flowing.slots
        return any(files.in_flight is not None for files in slots.values())

    def entries(self, level: int) -> DataFrame:
        """The state of a level's slots: label, entry number and blob."""
        if self._flowing is not None:
            return entries_of(self._spark, self._store, self._flowing, level)
        reader = self._spark.read.format("statestore").option("stateVarName", STATE)
        # Spark numbers its stateful operators from the last one on.
        frame = reader.option("operatorId", self.levels - level).option("batchId", self.batch)
        return frame.load(f"{self._store.uri}/checkpoint").select(
            col("key.label").alias("label"),
            col("user_map_key.entry").alias("entry"),
            col("user_map_value.blob").alias("blob"),
        )

    def entries_of(self, level: int, slot: int) -> DataFrame:
        """The state of one slot."""
        label = slot if self._flowing is not None else slot_labels(self.parallelism)[slot]
        return self.entries(level).filter(col("label") == lit(label))

    def positions(self) -> dict[str, Any]:
        """Where each source stood after the batch, by its uid."""
        if self._flowing is not None:
            return {uid: {"splits": at} for uid, at in self._flowing.positions.items()}
        offsets = self._offsets()
        began = self._began()
        found: dict[str, Any] = {}
        for number, source in enumerate(self.plan["sources"]):
            offset = offsets[number] if number < len(offsets) else None
            if source["kind"] == "SplitSpec" and offset is not None:
                found[source["uid"]] = {"splits": json.loads(offset["splits"])}
            elif source["kind"] == "TextFilesSpec":
                before = began.get(source["uid"], {}).get("files", ())
                files = dict.fromkeys([*before, *self._seen_files(number, offset)])
                found[source["uid"]] = {"files": list(files)}
            elif source["uid"] in began:
                found[source["uid"]] = began[source["uid"]]
        return found

    def _began(self) -> dict[str, Any]:
        """Where the run itself began, in what was saved before it."""
        try:
            return loaded(self._store.read(POSITIONS))
        except FileNotFoundError:
            return {}

    def _offsets(self) -> list[Any]:
        try:
            lines = self._store.read(f"checkpoint/offsets/{self.batch}").decode().splitlines()
            return [None if line in ("-", "") else json.loads(line) for line in lines[2:]]
        except (FileNotFoundError, ValueError, IndexError):
            raise CorruptState(
                f"the offsets of micro-batch {self.batch} in {self._store.uri} are damaged "
                "or missing", hint="Start from an older savepoint.",
            ) from None  # fmt: skip

    def _seen_files(self, number: int, offset: Any) -> list[str]:
        """The files a source that Spark reads has been through: its log has one entry a batch."""
        upto = -1 if offset is None else int(offset["logOffset"])
        folder = f"checkpoint/sources/{number}"
        numbers = {name: int(name.removesuffix(".compact")) for name in self._store.names(folder)
                   if name.removesuffix(".compact").isdigit()}  # fmt: skip
        wanted = {name: n for name, n in numbers.items() if n <= upto}
        compact = max((n for name, n in wanted.items() if name.endswith(".compact")), default=-1)
        seen: dict[str, None] = {}
        for name, at in sorted(wanted.items(), key=lambda pair: pair[1]):
            if at < compact or (at == compact and not name.endswith(".compact")):
                continue  # the compact one has them all
            lines = self._store.read(f"{folder}/{name}").decode().splitlines()[1:]
            seen.update(dict.fromkeys(json.loads(line)["path"] for line in lines if line))
        return list(seen)


def _plan(store: FileStore) -> dict[str, Any]:
    try:
        return loaded(store.read(PLAN))
    except (FileNotFoundError, ValueError):
        raise CorruptState(
            f"the checkpoint in {store.uri} is damaged: its {PLAN} is missing or not what was "
            "written", hint="Restore it from a copy, or start from a savepoint.",
        ) from None  # fmt: skip


def last_committed(store: FileStore) -> int | None:
    """The last checkpoint below a run's folder; of micro-batches, the last that Spark committed."""
    flowing = last_checkpoint_name(store)
    if flowing is not None:
        return int(flowing.partition("-")[0])
    return max((int(name) for name in store.names("checkpoint/commits") if name.isdigit()),
               default=None)  # fmt: skip
