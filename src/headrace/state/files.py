"""A savepoint's files read with Arrow alone: Spark is not started, and nothing is unpickled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import CorruptState
from headrace.spark.file_store import FileStore, LocalStore
from headrace.spark.savepoints.metadata import METADATA, SavedState, SavepointMetadata
from headrace.state.catalog import find_state

__all__ = ["SavepointFiles", "download"]

_BATCH = 10_000


class SavepointFiles:
    """A savepoint in a folder of this machine."""

    def __init__(self, path: Path):
        self.path = path
        self.metadata = SavepointMetadata.read(LocalStore(path))
        for name, (size, _) in self.metadata.files.items():
            file = path / name
            if not file.is_file():
                raise _damaged(path, f"{name} is missing")
            if file.stat().st_size != size:
                raise _damaged(path, f"{name} is not what was written")

    def find(self, uid: str, name: str, scope: str | None = None) -> SavedState:
        return find_state(self.metadata, uid, name, scope)

    def batches(self, state: SavedState) -> Iterator[pa.RecordBatch]:
        """The rows of a state, file by file; each file is checked before it is read."""
        names = state.form.schema.names
        for name, (_, checksum) in sorted(self.metadata.files.items()):
            if name.rpartition("/")[0] != state.folder:
                continue
            content = (self.path / name).read_bytes()
            if crc32(content) != checksum:
                raise _damaged(self.path, f"{name} is not what was written")
            file = pq.ParquetFile(pa.BufferReader(content))
            yield from file.iter_batches(_BATCH, columns=names)

    def rows(self, state: SavedState) -> Iterator[dict[str, Any]]:
        """The rows of a state in readable form."""
        for batch in self.batches(state):
            yield from readable_rows(batch)


def _damaged(path: Path, what: str) -> CorruptState:
    return CorruptState(
        f"the savepoint in {path} is damaged: {what}",
        hint="Restore the file from a copy, or use another savepoint.",
    )


def download(store: FileStore, target: LocalStore) -> None:
    """Copy a savepoint from elsewhere into a folder of this machine."""
    for name in SavepointMetadata.read(store).files:
        target.write(name, store.read(name))
    target.write(METADATA, store.read(METADATA))


def readable_rows(rows: pa.RecordBatch | pa.Table) -> Iterator[dict[str, Any]]:
    """Rows of values that can be shown and written as JSON.

    A pickled column is shown by the text beside it.
    """
    names = [name for name in rows.schema.names if not _is_text_of_other(name, rows.schema)]
    columns = {name: _column(name, rows) for name in names}
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(names, values, strict=True))


def _is_text_of_other(name: str, schema: pa.Schema) -> bool:
    plain = name.removesuffix("_text")
    return plain != name and plain in schema.names and pa.types.is_binary(schema.field(plain).type)


def _column(name: str, rows: pa.RecordBatch | pa.Table) -> list[Any]:
    if f"{name}_text" in rows.schema.names and _is_text_of_other(f"{name}_text", rows.schema):
        name = f"{name}_text"
    kind = rows.schema.field(name).type
    return [readable(value, kind) for value in rows.column(name).to_pylist()]


def readable(value: Any, kind: pa.DataType) -> Any:
    """A value of an Arrow type as strings, numbers, lists and dicts."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return _readable_struct(value, kind)
    if pa.types.is_map(kind):
        return {str(readable(key, kind.key_type)): readable(item, kind.item_type)
                for key, item in value}  # fmt: skip
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [readable(each, kind.value_type) for each in value]
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, bool | int | float | str):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _readable_struct(value: dict[str, Any], kind: pa.StructType) -> Any:
    fields = {field.name: readable(value[field.name], field.type) for field in kind}
    if fields.get("_kind", "") is None:
        del fields["_kind"]  # an ordinary row
    fields.pop("_empty", None)
    is_tuple = list(fields) == [f"f{place}" for place in range(len(fields))]
    return list(fields.values()) if is_tuple and "_kind" not in value else fields
