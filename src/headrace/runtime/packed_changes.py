"""Changes of state as bytes: what is logged, sent to another slot, or taken from a savepoint."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headrace.runtime.pickling import dumps
from headrace.runtime.state_rows import RowForm
from headrace.runtime.subtask_state import Changes

# What is stored goes through sockets and logs: dearer than compressing.
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="zstd")


def packed(changes: Changes) -> tuple[bytes, dict[str, int]]:
    """Changes as a blob, and how much of it is whose."""
    by_operator: dict[str, Changes] = {}
    for change in changes:
        by_operator.setdefault(change[0], []).append(change)
    parts = {uid: dumps(part) for uid, part in by_operator.items()}
    return pickle.dumps(list(parts.values()), 5), {uid: len(part) for uid, part in parts.items()}


@dataclass(frozen=True)
class Piece:
    """Some of a slot's state, as it is stored and as changes."""

    blob: bytes
    changes: Callable[[], Changes]

    @staticmethod
    def stored(blob: bytes) -> Piece:
        return Piece(blob, lambda: unpacked(blob))

    @staticmethod
    def of_changes(changes: Changes) -> Piece:
        return Piece(packed(changes)[0], lambda: changes)

    @staticmethod
    def of_rows(uid: str, name: str, form: RowForm, rows: pa.RecordBatch) -> Piece:
        """Rows of a savepoint: they need not become Python objects to be stored."""
        rows = rows.drop_columns(["key_group"])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema, options=_COMPRESSED) as writer:
            writer.write_batch(rows)
        stored = (uid, name, form.to_json(), sink.getvalue().to_pybytes())
        return Piece(pickle.dumps([stored], 5), lambda: [(uid, name, form.kind, form.change(rows))])


def unpacked(blob: bytes) -> Changes:
    return [change for part in pickle.loads(blob)
            for change in (pickle.loads(part) if isinstance(part, bytes) else _from_rows(*part))
            ]  # fmt: skip


def _from_rows(uid: str, name: str, form_json: dict[str, Any], ipc: bytes) -> Changes:
    form = RowForm.from_json(form_json)
    return [(uid, name, form.kind, form.change(rows))
            for rows in pa.ipc.open_stream(ipc)]  # fmt: skip
