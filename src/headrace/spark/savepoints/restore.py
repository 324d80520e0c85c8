"""Starting a job from a savepoint: its state becomes the initial state of Spark's operators."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headrace.errors import CorruptState
from headrace.plan.physical import PhysicalPlan, Vertex
from headrace.runtime.placement import Placement
from headrace.runtime.state_rows import KEYED, WINDOW, as_change
from headrace.runtime.state_transfer import restored_as
from headrace.spark.failures import reported
from headrace.spark.file_store import FileStore
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
        frames += [self._rows(state, vertices[state.operator], plan, shipment)
                   for state in self.metadata.states if state.operator in vertices]  # fmt: skip
        return reduce(DataFrame.unionAll, frames)

    def _times(self, plan: PhysicalPlan, level: int) -> DataFrame:
        labels = slot_labels(plan.parallelism)
        nothing = pickle.dumps({})
        rows = [(label, nothing, packed(self.metadata.time.changes(plan, level, slot))[0])
                for slot, label in enumerate(labels)]  # fmt: skip
        return self._spark.createDataFrame(rows, _SCHEMA)

    def _rows(
        self, state: SavedState, vertex: Vertex, plan: PhysicalPlan, shipment: Shipment
    ) -> DataFrame:
        frame = self._spark.read.parquet(f"{self._store.uri}/{state.folder}")
        frame = frame.select(*state.form.schema.names)
        if state.form.scope not in (KEYED, WINDOW):
            frame = frame.coalesce(1)  # it is dealt out as a whole
        parallelism = min(vertex.parallelism, plan.parallelism)
        placement = Placement(
            plan.parallelism, parallelism, vertex.max_parallelism, self._was(vertex.uid)
        )
        return frame.mapInArrow(_packed(state, placement, shipment), _SCHEMA)

    def _was(self, uid: str) -> int:
        found = next(each for each in self.metadata.operators if each["uid"] == uid)
        return min(int(found["parallelism"]), self.metadata.parallelism)


def _packed(state: SavedState, placement: Placement, shipment: Shipment) -> ArrowFunction:
    form = state.form
    name, declared = restored_as(form, state.name, state.declared)
    labels = slot_labels(placement.slots)
    about = pickle.dumps({(state.operator, name): declared}, 5)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with reported():
            if not form.plain:
                shipment.plan()  # values name their classes, which come with the program
            for rows in batches if form.scope in (KEYED, WINDOW) else _whole(batches):
                for slot, blob in parts(rows):
                    yield _row(labels[slot], about, blob)

    def parts(rows: pa.RecordBatch) -> Iterator[tuple[int, bytes]]:
        if form.plain and form.scope in (KEYED, WINDOW):
            for slot, own in placement.rows_by_key(form, rows):
                yield slot, packed_rows(state.operator, name, form, own)
            return
        for slot, items in placement.deal(form, rows):
            change = as_change(form.kind, items)
            yield slot, packed([(state.operator, name, form.kind, change)])[0]

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
