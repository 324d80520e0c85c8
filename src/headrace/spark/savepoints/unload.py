"""From the blobs of a checkpoint to rows of typed columns.

Two passes: the first rebuilds the state of each slot and writes what it finds as Arrow batches, by
state; the second, for each state, gives all slots' batches one type. So each slot is rebuilt once,
however many states it has.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from headrace.runtime.carried_time import ENGINE_UID, engine_entries
from headrace.runtime.declared_state import Declared
from headrace.runtime.state_rows import (
    LIST,
    UNION,
    Item,
    RowForm,
    chunked,
    items_of,
    scope_and_name,
)
from headrace.runtime.subtask_state import TIMERS, SubtaskState
from headrace.runtime.tables import Table
from headrace.spark.failures import reported
from headrace.spark.slot_log import HEAD, unpacked
from headrace.spark.worker import ArrowFunction

PIECES = "operator string, name string, form string, declared string, rows long, batch binary"
_PIECE_SCHEMA = pa.schema([
    ("operator", pa.string()), ("name", pa.string()), ("form", pa.string()),
    ("declared", pa.string()), ("rows", pa.int64()), ("batch", pa.binary()),
])  # fmt: skip
TIME = "time"
"""In place of a form: the piece is what a slot knows of time."""
_CHUNK = 50_000


def pieces(
    entries: DataFrame, slots: int, level: int, max_parallelism: Mapping[str, int]
) -> DataFrame:
    """The state of a level's slots, each state in pieces that are Arrow batches."""
    by_slot = entries.repartition(slots, "label").sortWithinPartitions("label", "entry")
    return by_slot.mapInArrow(_unload(level, dict(max_parallelism)), PIECES)


def _unload(level: int, max_parallelism: dict[str, int]) -> ArrowFunction:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with reported():
            label, head, state = None, {}, None
            for rows in batches:
                columns = (rows.column(n).to_pylist() for n in range(3))
                for its_label, entry, blob in zip(*columns, strict=True):
                    if its_label != label and state is not None:
                        yield from _pieces(level, head, state, max_parallelism)
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
                yield from _pieces(level, head, state, max_parallelism)

    return run


def _pieces(
    level: int, head: dict[str, Any], state: SubtaskState, max_parallelism: dict[str, int]
) -> Iterator[pa.RecordBatch]:
    declared: dict[tuple[str, str], Declared] = head["states"]
    engine = []
    for uid, name, table in state.contents_by_state():
        if uid == ENGINE_UID:
            if isinstance(table, Table):
                engine.append((uid, name, table.data))
            continue
        known = declared.get((uid, name))
        scope, plain = scope_and_name(name)
        if table.kind == TIMERS:
            scope, plain = str(known.type if known else "keyed"), name
        ttl = known is not None and known.ttl
        slot = head["slot"]
        form = RowForm.observe(table.kind, scope, ttl, chunked(_items(table, scope, slot), _CHUNK))
        shown = json.dumps(form.to_json(), sort_keys=True)
        declared_type = json.dumps(known.type if known and table.kind != TIMERS else None)
        first = 0
        for items in chunked(_items(table, scope, slot), _CHUNK):
            batch = form.encode(items, max_parallelism.get(uid, 1), first)
            first += len(items)
            yield _piece(uid, plain, shown, declared_type, len(items), _ipc(batch))
        if not first:
            yield _piece(uid, plain, shown, declared_type, 0, b"")
    time = pickle.dumps((level, engine_entries(engine)), 5)
    yield _piece(ENGINE_UID, "", TIME, "null", 0, time)


def _items(table: Any, scope: str, slot: int) -> Iterator[Item]:
    if scope not in (LIST, UNION):
        return items_of(table)
    return ((slot, values) for _, values in items_of(table))


def _piece(
    uid: str, name: str, form: str, declared: str, rows: int, batch: bytes
) -> pa.RecordBatch:
    values = [[uid], [name], [form], [declared], [rows], [batch]]
    arrays = [pa.array(value, field.type)
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
        return lambda batch: form.encode(old.decode(batch), max_parallelism, 0)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with reported():
            for rows in batches:
                forms, blobs = (rows.column(n).to_pylist() for n in range(2))
                for shown, blob in zip(forms, blobs, strict=True):
                    found = pa.ipc.open_stream(blob) if blob else ()
                    yield from found if shown == wanted else map(again(shown), found)

    return run
