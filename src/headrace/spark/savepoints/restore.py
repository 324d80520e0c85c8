"""Starting a job from a savepoint: its state becomes the initial state of Spark's operators."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headrace.errors import CorruptState
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.packed_changes import packed
from headrace.runtime.placement import Placement
from headrace.runtime.subtask_state import Changes, SubtaskState
from headrace.spark.failures import reported
from headrace.spark.file_store import FileStore, LocalStore
from headrace.spark.savepoints.dealing import Dealer, OpenFile, SlotFiles
from headrace.spark.savepoints.metadata import SavepointMetadata
from headrace.spark.savepoints.writer import checksums
from headrace.spark.shipment import Shipment
from headrace.spark.slots import slot_labels
from headrace.spark.worker import ArrowFunction

_SCHEMA = "label int, about binary, changes binary, files binary"
_ARROW = pa.schema([("label", pa.int32()), ("about", pa.binary()), ("changes", pa.binary()),
                    ("files", pa.binary())])  # fmt: skip


@dataclass(frozen=True)
class TakenOver:
    """What a slot is given of a savepoint."""

    files: SlotFiles
    time: Changes

    def apply(self, state: SubtaskState, slot: int, open_file: OpenFile) -> None:
        """Make it the state of a slot; `open_file` reaches files that a worker cannot."""
        for piece in self.files.pieces(slot, open_file):
            state.apply(piece.changes())
        state.apply(self.time)
        state.reconcile(pickle.loads(self.files.about), by_others=True)


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

    def initial_state(self, shipment: Shipment, plan: PhysicalPlan, level: int) -> DataFrame:
        """What the slots of a level begin with."""
        dealers = self._dealers(plan, level)
        if isinstance(self._store, LocalStore):
            return self._beginnings(plan, level, SlotFiles(self._store.path, tuple(dealers)))
        frames = [self._beginnings(plan, level, None)]
        frames += [self._read_by_spark(dealer, plan.parallelism, shipment) for dealer in dealers]
        return reduce(DataFrame.unionAll, frames)

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
        return TakenOver(files, self.metadata.time.changes(plan, level, slot))

    def read_part(self, name: str, start: int, size: int) -> bytes:
        """Some bytes of one of its files with state."""
        if name not in self.metadata.files:
            raise FileNotFoundError(f"{self._store.uri}/{name}")
        return self._store.read_part(name, start, size)

    def _dealers(self, plan: PhysicalPlan, level: int) -> list[Dealer]:
        vertices = {vertex.uid: vertex for vertex in plan.at(level)}
        return [
            Dealer(state, self._placement(vertices[state.operator], plan))
            for state in self.metadata.states if state.operator in vertices
        ]  # fmt: skip

    def _beginnings(self, plan: PhysicalPlan, level: int, files: SlotFiles | None) -> DataFrame:
        """A row for each slot: what it is to know of time, and where its state is, if in files.

        Only that travels: the state itself would have to go through the JVM and a shuffle.
        """
        written = None if files is None else pickle.dumps(files, 5)
        about = pickle.dumps({}) if files is None else files.about
        rows = [
            (label, about, packed(self.metadata.time.changes(plan, level, slot))[0], written)
            for slot, label in enumerate(slot_labels(plan.parallelism))
        ]
        return self._spark.createDataFrame(rows, _SCHEMA)

    def _read_by_spark(self, dealer: Dealer, slots: int, shipment: Shipment) -> DataFrame:
        frame = self._spark.read.parquet(f"{self._store.uri}/{dealer.state.folder}")
        frame = frame.select(*dealer.state.form.schema.names)
        if dealer.whole:
            frame = frame.coalesce(1)
        return frame.mapInArrow(_dealt(dealer, slot_labels(slots), shipment), _SCHEMA)

    def _placement(self, vertex: Vertex, plan: PhysicalPlan) -> Placement:
        parallelism = min(vertex.parallelism, plan.parallelism)
        stored = next(each for each in self.metadata.operators if each["uid"] == vertex.uid)
        was = min(int(stored["parallelism"]), self.metadata.parallelism)
        same = int(stored["max_parallelism"]) == vertex.max_parallelism
        return Placement(plan.parallelism, parallelism, vertex.max_parallelism, was, same)


def _dealt(dealer: Dealer, labels: list[int], shipment: Shipment) -> ArrowFunction:
    about = pickle.dumps(dealer.about, 5)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with reported():
            if not dealer.state.form.plain:
                shipment.plan()  # values name their classes, which come with the program
            for slot, piece in dealer.to_all(batches):
                values = labels[slot], about, piece.blob, None
                arrays = [pa.array([value], field.type)
                          for value, field in zip(values, _ARROW, strict=True)]  # fmt: skip
                yield pa.RecordBatch.from_arrays(arrays, schema=_ARROW)

    return run
