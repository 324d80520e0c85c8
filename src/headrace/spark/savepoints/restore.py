"""Starting a job from a savepoint: its state becomes the initial state of Spark's operators."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headrace.errors import CorruptState
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.placement import Placement
from headrace.runtime.state_rows import KEYED, WINDOW, as_change
from headrace.runtime.state_transfer import restored_as
from headrace.spark.failures import reported
from headrace.spark.file_store import FileStore, LocalStore
from headrace.spark.savepoints.direct_files import row_groups, rows_in_file
from headrace.spark.savepoints.metadata import SavedState, SavepointMetadata
from headrace.spark.savepoints.writer import checksums
from headrace.spark.shipment import Shipment
from headrace.spark.slot_log import packed, packed_rows
from headrace.spark.slots import slot_labels
from headrace.spark.worker import ArrowFunction

_SCHEMA = "label int, about binary, changes binary"
_ARROW = pa.schema([("label", pa.int32()), ("about", pa.binary()), ("changes", pa.binary())])


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
        vertices = {vertex.uid: vertex for vertex in plan.at(level)}
        frames = [self._times(plan, level)]
        packers = [
            _Packer(state, self._placement(vertices[state.operator], plan))
            for state in self.metadata.states if state.operator in vertices
        ]  # fmt: skip
        if isinstance(self._store, LocalStore) and packers:
            frames.append(self._read_by_workers(self._store, packers, shipment))
        else:
            frames += [self._read_by_spark(packer, shipment) for packer in packers]
        return reduce(DataFrame.unionAll, frames)

    def _times(self, plan: PhysicalPlan, level: int) -> DataFrame:
        labels = slot_labels(plan.parallelism)
        nothing = pickle.dumps({})
        rows = [(label, nothing, packed(self.metadata.time.changes(plan, level, slot))[0])
                for slot, label in enumerate(labels)]  # fmt: skip
        return self._spark.createDataFrame(rows, _SCHEMA)

    def _read_by_workers(
        self, store: LocalStore, packers: list[_Packer], shipment: Shipment
    ) -> DataFrame:
        """Without the JVM between the files and Python."""
        parts = [
            (number, file, group)
            for number, packer in enumerate(packers)
            for file, group in row_groups(store.path, packer.state.folder, whole=packer.whole)
        ]
        frame = self._spark.createDataFrame(parts, "packer int, file string, row_group int")
        return frame.mapInArrow(_packed_files(store.path, packers, shipment), _SCHEMA)

    def _read_by_spark(self, packer: _Packer, shipment: Shipment) -> DataFrame:
        frame = self._spark.read.parquet(f"{self._store.uri}/{packer.state.folder}")
        frame = frame.select(*packer.state.form.schema.names)
        if packer.whole:
            frame = frame.coalesce(1)
        return frame.mapInArrow(_packed(packer, shipment), _SCHEMA)

    def _placement(self, vertex: Vertex, plan: PhysicalPlan) -> Placement:
        parallelism = min(vertex.parallelism, plan.parallelism)
        was = self._was(vertex.uid)
        return Placement(plan.parallelism, parallelism, vertex.max_parallelism, was)

    def _was(self, uid: str) -> int:
        found = next(each for each in self.metadata.operators if each["uid"] == uid)
        return min(int(found["parallelism"]), self.metadata.parallelism)


class _Packer:
    """Makes of the rows of one state the blobs that slots take over."""

    def __init__(self, state: SavedState, placement: Placement):
        self.state = state
        self.whole = state.form.scope not in (KEYED, WINDOW)
        """Whether it is dealt out as a whole, not key by key."""
        self._placement = placement
        self._name, declared = restored_as(state.form, state.name, state.declared)
        self._labels = slot_labels(placement.slots)
        self._about = pickle.dumps({(state.operator, self._name): declared}, 5)

    def pack(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in _whole(batches) if self.whole else batches:
            for slot, blob in self._parts(rows):
                yield _row(self._labels[slot], self._about, blob)

    def _parts(self, rows: pa.RecordBatch) -> Iterator[tuple[int, bytes]]:
        form, operator = self.state.form, self.state.operator
        if form.plain and not self.whole:
            for slot, own in self._placement.rows_by_key(form, rows):
                yield slot, packed_rows(operator, self._name, form, own)
            return
        for slot, items in self._placement.deal(form, rows):
            change = as_change(form.kind, items)
            yield slot, packed([(operator, self._name, form.kind, change)])[0]


def _packed(packer: _Packer, shipment: Shipment) -> ArrowFunction:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with reported():
            if not packer.state.form.plain:
                shipment.plan()  # values name their classes, which come with the program
            yield from packer.pack(batches)

    return run


def _packed_files(root: Path, packers: list[_Packer], shipment: Shipment) -> ArrowFunction:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with reported():
            if not all(packer.state.form.plain for packer in packers):
                shipment.plan()
            for parts in batches:
                columns = (parts.column(n).to_pylist() for n in range(3))
                for number, file, group in zip(*columns, strict=True):
                    packer = packers[number]
                    names = packer.state.form.schema.names
                    yield from packer.pack(rows_in_file(root / file, group, names))

    return run


def _whole(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    everything = list(batches)
    if everything:
        [whole] = pa.Table.from_batches(everything).combine_chunks().to_batches() or [None]
        if whole is not None:
            yield whole


def _row(label: int, about: bytes, changes: bytes) -> pa.RecordBatch:
    arrays = [pa.array([label], pa.int32()), pa.array([about], pa.binary()),
              pa.array([changes], pa.binary())]  # fmt: skip
    return pa.RecordBatch.from_arrays(arrays, schema=_ARROW)
