"""Starting a job from a savepoint: each slot takes over what is its own."""

from __future__ import annotations

import pickle
import re
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from headrace.errors import CorruptState
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.flow.level import FlowingLevel
from headrace.runtime.flow.parcels import Parcel
from headrace.runtime.flow.restoring import OpenFile
from headrace.runtime.placement import Placement
from headrace.runtime.subtask_state import Changes, SubtaskState
from headrace.spark.file_store import FileStore, LocalStore
from headrace.spark.savepoints.dealing import Dealer, SlotFiles
from headrace.spark.savepoints.in_flight import KeptFiles
from headrace.spark.savepoints.metadata import SavepointMetadata
from headrace.spark.savepoints.writer import checksums


@dataclass(frozen=True)
class TakenOver:
    """What a slot is given of a savepoint."""

    files: SlotFiles
    time: Changes
    kept: KeptFiles = field(default_factory=KeptFiles)

    def apply(self, state: SubtaskState, slot: int, open_file: OpenFile) -> None:
        """Make it the state of a slot; `open_file` reaches files that a worker cannot."""
        for changes in self.files.changes(slot, open_file):
            state.apply(changes)
        state.apply(self.time)
        state.reconcile(pickle.loads(self.files.about), by_others=True)

    def in_flight(self, level: FlowingLevel, open_file: OpenFile) -> list[Parcel]:
        """What was on its way, as far as it belongs to the slot."""
        return self.kept.deal_to(level, open_file)


class Restored:
    """A savepoint that a job starts from."""

    def __init__(self, spark: SparkSession, store: FileStore):
        self._spark = spark
        self._store = store
        self.metadata = SavepointMetadata.read(store)

    def check(self) -> None:
        """Refuse it if a file is missing or is not what was written."""
        try:
            found = checksums(self._spark, self._store, self.metadata.states)
        except Exception as error:  # Hadoop keeps checksums of its own beside local files
            file = re.search(r"state/[^/\s]+/[^/\s]+/[^/\s]+\.parquet", str(error))
            raise self._damaged(f"{file[0] if file else 'a file'} cannot be read") from None
        for path, sums in self.metadata.files.items():
            if found.get(path) != sums:
                wrong = "is missing" if path not in found else "is not what was written"
                raise self._damaged(f"{path} {wrong}")
        for path in found.keys() - self.metadata.files.keys():  # it would be read, too
            raise self._damaged(f"{path} is not part of it")

    def _damaged(self, what: str) -> CorruptState:
        return CorruptState(
            f"the savepoint in {self._store.uri} is damaged: {what}",
            hint="Restore the file from a copy, or start from another savepoint.",
        )

    def taken_over(self, plan: PhysicalPlan, level: int, slot: int) -> TakenOver:
        """What one slot begins with."""
        dealers = tuple(self._dealers(plan, level))
        if isinstance(self._store, LocalStore):
            files = SlotFiles(self._store.path, dealers)
        else:
            folders = tuple(f"{dealer.state.folder}/" for dealer in dealers)
            sizes = {name: size for name, (size, _) in self.metadata.files.items()
                     if name.startswith(folders)}  # fmt: skip
            files = SlotFiles(None, dealers, sizes)
        kept = KeptFiles.of(
            self._store, self.metadata.in_flight, self.metadata.operators, plan, level
        )
        return TakenOver(files, self.metadata.time.changes(plan, level, slot), kept)

    def read_part(self, name: str, start: int, size: int) -> bytes:
        """Some bytes of one of its files with state."""
        in_flight = (file.name for file in self.metadata.in_flight.values())
        if name not in self.metadata.files and name not in in_flight:
            raise FileNotFoundError(f"{self._store.uri}/{name}")
        return self._store.read_part(name, start, size)

    def _dealers(self, plan: PhysicalPlan, level: int) -> list[Dealer]:
        vertices = {vertex.uid: vertex for vertex in plan.at(level)}
        return [
            Dealer(state, self._placement(vertices[state.operator], plan))
            for state in self.metadata.states if state.operator in vertices
        ]  # fmt: skip

    def _placement(self, vertex: Vertex, plan: PhysicalPlan) -> Placement:
        parallelism = min(vertex.parallelism, plan.parallelism)
        stored = next(each for each in self.metadata.operators if each["uid"] == vertex.uid)
        was = min(int(stored["parallelism"]), self.metadata.parallelism)
        same = int(stored["max_parallelism"]) == vertex.max_parallelism
        return Placement(plan.parallelism, parallelism, vertex.max_parallelism, was, same)
