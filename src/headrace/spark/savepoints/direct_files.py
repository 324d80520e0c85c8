"""Writing a slot's state as Parquet in the worker that has it, where all share a file system.

Through Spark's own writer every row would travel to the JVM and back, and once more for each state.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import RawIOBase
from itertools import chain
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.core.type_information import WrongValue
from headrace.runtime.state_rows import RowForm
from headrace.runtime.state_transfer import SlotState
from headrace.spark.savepoints.metadata import state_folder
from headrace.spark.worker import wall_clock

_ROWS_AT_ONCE = 500_000
"""Rows of a row group: enough to compress well, few enough to read in parts."""

_READ_AT_ONCE = 4

FileNote = tuple[str, int, int]
"""Path below the savepoint, size and checksum."""


def write_state(
    found: SlotState, root: Path, max_parallelism: int
) -> tuple[RowForm, int, FileNote]:
    """Write all that a slot has of a state; returns its form, its rows and the file."""
    below = f"{state_folder(found.operator, found.scope, found.name)}/part-{found.slot:05d}.parquet"
    try:
        # Mostly the first values tell what all are; if not, all are looked at.
        form = found.form(sample=True)
        rows, size, checksum = _write(root / below, form, found.rows(form, max_parallelism))
    except WrongValue:
        form = found.form()
        rows, size, checksum = _write(root / below, form, found.rows(form, max_parallelism))
    return form, rows, (below, size, checksum)


def rewrite(root: Path, below: str, old: RowForm, new: RowForm, max_parallelism: int) -> FileNote:
    """Give a file that was written in one form another one."""
    with pq.ParquetFile(root / below) as file:
        now = wall_clock()
        batches = (new.reencoded(old, batch, max_parallelism, now)
                   for batch in file.iter_batches(_ROWS_AT_ONCE))  # fmt: skip
        _, size, checksum = _write(root / below, new, batches)
    return below, size, checksum


def rows_in_folder(
    folder: Path, columns: list[str], groups: range | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows in all files of a folder; of keyed state those parts that may be of key groups."""
    yield from rows_in_files(files_in(folder), columns, groups)


def files_in(folder: Path) -> list[Path]:
    """The files with rows that a folder has."""
    return sorted(folder.glob("*.parquet"))


def rows_in_files(
    files: Iterable[Path | RawIOBase], columns: list[str], groups: range | None = None
) -> Iterator[pa.RecordBatch]:
    """The same, of files from wherever."""
    for file in files:
        with pq.ParquetFile(file) as parquet:
            for part in range(parquet.num_row_groups):
                if groups is None or _may_hold(parquet.metadata.row_group(part), groups):
                    rows = parquet.read_row_group(part, columns=columns).combine_chunks()
                    yield from rows.to_batches(max_chunksize=_ROWS_AT_ONCE)


def _may_hold(part: Any, groups: range) -> bool:
    """Whether a row group may have rows of key groups, as its statistics say."""
    found = [part.column(n) for n in range(part.num_columns)]
    found = [column for column in found if column.path_in_schema == "key_group"]
    known = found[0].statistics if found else None
    if known is None or not known.has_min_max:
        return True
    return bool(known.min < groups.stop and known.max >= groups.start)


def checksums_below(root: Path, folders: list[str]) -> dict[str, list[int]]:
    """Size and checksum of the Parquet files in folders of a savepoint, by their paths in it."""
    files = [file for folder in folders for file in sorted((root / folder).glob("*.parquet"))]
    with ThreadPoolExecutor(_READ_AT_ONCE) as pool:  # the sum is made without Python's lock
        sums = list(pool.map(_checksum, files))
    return {str(file.relative_to(root)): found for file, found in zip(files, sums, strict=True)}


def _checksum(file: Path) -> list[int]:
    size = checksum = 0
    with file.open("rb") as content:
        while part := content.read(1 << 22):
            size += len(part)
            checksum = crc32(part, checksum)
    return [size, checksum]


def _write(path: Path, form: RowForm, batches: Iterator[pa.RecordBatch]) -> tuple[int, int, int]:
    first = next(batches, None)
    if first is None:
        return 0, 0, 0
    path.parent.mkdir(parents=True, exist_ok=True)
    # Under a name of its own until it is whole: a task may run twice.
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    count = 0
    try:
        with unfinished.open("wb") as file:
            summed = _Summing(file)
            sink = pa.PythonFile(summed, "w")
            with pq.ParquetWriter(sink, form.schema, use_dictionary=False) as to:
                for group in _groups(chain([first], batches)):
                    count += group.num_rows
                    to.write_table(group, _ROWS_AT_ONCE)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return count, summed.size, summed.checksum


def _groups(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= _ROWS_AT_ONCE:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


class _Summing:
    """A file that knows the checksum of what was written to it."""

    def __init__(self, file: Any):
        self._file = file
        self.size = self.checksum = 0
        self.closed = False

    def write(self, content: Any) -> int:
        self.checksum = crc32(content, self.checksum)
        self.size += len(content)
        self._file.write(content)
        return len(content)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self.closed = True
