"""From the blobs of a checkpoint to rows of typed columns.

Two passes: the first rebuilds the state of each slot and writes what it finds as Arrow batches, by
state; the second, for each state, gives all slots' batches one type. So each slot is rebuilt once,
however many states it has.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from headrace.runtime.carried_time import ENGINE_UID
from headrace.runtime.packed_changes import unpacked
from headrace.runtime.state_rows import RowForm
from headrace.runtime.state_transfer import SlotState, slot_states, slot_time
from headrace.runtime.subtask_state import SubtaskState
from headrace.spark.failures import reported
from headrace.spark.flow.state_entries import HEAD
from headrace.spark.savepoints.direct_files import write_state
from headrace.spark.worker import ArrowFunction, wall_clock

PIECES = """operator string, scope string, name string, form string, declared string, rows long,
    batch binary"""
_PIECE_SCHEMA = pa.schema([
    ("operator", pa.string()), ("scope", pa.string()), ("name", pa.string()),
    ("form", pa.string()), ("declared", pa.string()), ("rows", pa.int64()), ("batch", pa.binary()),
])  # fmt: skip
TIME = "time"
"""In place of a form: the piece is what a slot knows of time."""


def pieces(
    entries: DataFrame, slots: int, max_parallelism: Mapping[str, int],
    folder: str | None = None,
) -> DataFrame:  # fmt: skip
    """The state of a level's slots, each state in pieces that are Arrow batches.

    With a folder, that all workers reach, the rows go into files of it, and a piece says which.
    """
    by_slot = entries.repartition(slots, "label").sortWithinPartitions("label", "entry")
    return by_slot.mapInArrow(_unload(dict(max_parallelism), folder), PIECES)


def _unload(max_parallelism: dict[str, int], folder: str | None) -> ArrowFunction:
    to_pieces = _in_rows if folder is None else partial(_in_files, Path(folder))

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with reported():
            label, head, state = None, {}, None
            for rows in batches:
                columns = (rows.column(n).to_pylist() for n in range(3))
                for its_label, entry, blob in zip(*columns, strict=True):
                    if its_label != label and state is not None:
                        yield from _pieces(head, state, max_parallelism, to_pieces)
                        state = None
                    label = its_label
                    if state is None:
                        state = SubtaskState(logged=False, clock=lambda: 0)
                    if entry == HEAD:
                        head = pickle.loads(blob)
                        state.reconcile(head["states"], by_others=False)
                    else:
                        state.apply(unpacked(blob))
            if state is not None:
                yield from _pieces(head, state, max_parallelism, to_pieces)

    return run


def _pieces(
    head: dict[str, Any], state: SubtaskState, max_parallelism: dict[str, int],
    to_pieces: Callable[[SlotState, int], Iterator[pa.RecordBatch]],
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    for found in slot_states(state, head["states"], head["slot"]):
        yield from to_pieces(found, max_parallelism.get(found.operator, 1))
    time = pickle.dumps((head["level"], head["slot"], slot_time(state)), 5)
    yield _piece(ENGINE_UID, "", "", TIME, "null", 0, time)


def _in_rows(found: SlotState, max_parallelism: int) -> Iterator[pa.RecordBatch]:
    form = found.form()
    empty = True
    for batch in found.rows(form, max_parallelism):
        empty = False
        yield _piece(*_about(found, form), batch.num_rows, _ipc(batch))
    if empty:
        yield _piece(*_about(found, form), 0, b"")


def _in_files(root: Path, found: SlotState, max_parallelism: int) -> Iterator[pa.RecordBatch]:
    form, rows, file = write_state(found, root, max_parallelism)
    yield _piece(*_about(found, form), rows, json.dumps(file).encode())


def _about(found: SlotState, form: RowForm) -> tuple[str, str, str, str, str]:
    shown = json.dumps(form.to_json(), sort_keys=True)
    declared = json.dumps(found.declared_type)
    return found.operator, found.scope, found.name, shown, declared


def _piece(*values: Any) -> pa.RecordBatch:
    arrays = [pa.array([value], field.type)
              for value, field in zip(values, _PIECE_SCHEMA, strict=True)]  # fmt: skip
    return pa.RecordBatch.from_arrays(arrays, schema=_PIECE_SCHEMA)


def _ipc(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def rows_of(form: RowForm, max_parallelism: int) -> ArrowFunction:
    """The rows of one state out of its pieces, all in one form."""
    wanted = json.dumps(form.to_json(), sort_keys=True)

    def again(shown: str) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        old = RowForm.from_json(json.loads(shown))
        now = wall_clock()
        return lambda batch: form.reencoded(old, batch, max_parallelism, now)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with reported():
            for rows in batches:
                forms, blobs = (rows.column(n).to_pylist() for n in range(2))
                for shown, blob in zip(forms, blobs, strict=True):
                    found = pa.ipc.open_stream(blob) if blob else ()
                    yield from found if shown == wanted else map(again(shown), found)

    return run
