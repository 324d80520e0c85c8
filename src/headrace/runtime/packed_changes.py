"""Changes of state as bytes: what the files of a checkpoint hold.

A line that names the form, then an Arrow stream for each state that has changed, one behind the
other. Nothing of headrace is needed to read them. Files of the first form, one pickle, are still
read.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator, Mapping

import pyarrow as pa

from headrace.errors import CorruptState
from headrace.runtime.change_tables import decode_table, encode_table, read_metadata
from headrace.runtime.declared_state import Declared
from headrace.runtime.subtask_state import TIMERS, TIMERS_NAME, Changes
from headrace.runtime.tables import Change

HEAD = b"headrace state 2: Arrow\n"
"""What a file begins with, with the number of its form; Arrow wants a multiple of eight bytes."""
_FIRST_HEAD = b"headrace state 1\n"


def packed(
    changes: Changes, declared: Mapping[tuple[str, str], Declared]
) -> tuple[bytes, dict[str, int]]:
    """Changes as a blob, and how much of it is whose; `declared` as `SubtaskState.described`."""
    sink = pa.BufferOutputStream()
    sink.write(HEAD)
    sizes: Counter[str] = Counter()
    for uid, name, kind, change in changes:
        begin = sink.tell()
        known = declared.get((uid, TIMERS_NAME if kind == TIMERS else name))
        batch = encode_table(uid, name, kind, change, known)
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        sizes[uid] += sink.tell() - begin
    return sink.getvalue().to_pybytes(), sizes


def unpacked(blob: bytes, operator: str | None = None) -> Changes:
    """The changes, all of them or an operator's."""
    if blob.startswith(_FIRST_HEAD):
        parts = pickle.loads(memoryview(blob)[len(_FIRST_HEAD) :])
        found = (change for part in parts for change in pickle.loads(part))
        return [change for change in found if operator in (None, change[0])]
    if not blob.startswith(HEAD):
        raise CorruptState(
            "a state file is of a form that this headrace does not know: it begins with "
            f"{blob[: len(HEAD)]!r}",
            hint="Go on with the version that wrote it, and move on by a savepoint.",
        )
    return list(_read(blob, operator))


def _read(blob: bytes, operator: str | None) -> Iterator[tuple[str, str, str, Change]]:
    source = pa.BufferReader(blob)
    source.seek(len(HEAD))
    while source.tell() < len(blob):
        stream = pa.ipc.open_stream(source)
        table = read_metadata(stream.schema)
        for batch in stream:
            if operator in (None, table["operator"]):
                yield decode_table(table, batch)
