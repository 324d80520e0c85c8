"""The reading end of a source: from what the engine hands over to batches of records."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from headrace.core.checkpointed import source_part
from headrace.core.isolation import FROZEN, isolated, isolated_all
from headrace.core.operator import Batch, Operator
from headrace.core.source import (
    CollectionSpec,
    FrameSpec,
    LiveReader,
    SocketTextSpec,
    SourceSpec,
    Split,
    SplitReader,
    SplitSpec,
    TextFilesSpec,
)
from headrace.core.table_columns import from_arrow
from headrace.core.table_connector import INSERT
from headrace.core.user_code import RecordFailure, apply_all
from headrace.errors import Unsupported
from headrace.runtime.flow import messages
from headrace.runtime.line_ranges import decoded
from headrace.runtime.pickling import dumps_for_workers

READ_AT_ONCE = 8192

Range = tuple[Split, Any, Any, bool]
"""A split, from where, up to where, and whether that is its end."""

Decoder = Callable[[list[Any]], Iterator[Batch]]
"""Turns the column a source's rows have (lines, pickles or split ranges) into batches."""


class SourceOperator(Operator):
    """Passes on what was read; the source's declared type is applied on the way out."""

    makes_watermarks = True

    def receive(self, side: int, batch: Batch) -> None:
        self.ctx.emit(batch.values, batch.timestamps)


def decoder(spec: SourceSpec) -> Decoder:
    """How to read the rows of a source."""
    match spec:
        case CollectionSpec():
            return _pickles
        case SocketTextSpec():
            return lambda lines: iter((Batch(lines),))
        case TextFilesSpec(decode=decode) if decode is not None:
            return lambda lines: iter((Batch(decoded(decode, lines)),))
        case TextFilesSpec():
            return lambda lines: iter((Batch(lines),))
        case SplitSpec():
            return lambda ranges: _read_splits(spec, ranges)
        case FrameSpec():
            return lambda frames: _rows_of_frames(spec, frames)
        case _:
            raise AssertionError(f"no decoder for {spec!r}")


def read_rows(spec: SourceSpec, rows: pa.RecordBatch) -> Iterator[Batch]:
    """The records of rows that Spark has read: those of a table have all its columns, others are
    one."""
    native = isinstance(spec, FrameSpec)
    return decoder(spec)([rows] if native else column(rows, 0))


def column(rows: pa.RecordBatch, position: int) -> list[Any]:
    """A column as Python values; text that is no valid UTF-8 keeps what can be read of it."""
    values = rows.column(position)
    try:
        return values.to_pylist()  # type: ignore[no-any-return]
    except UnicodeDecodeError:
        raw = values.cast(pa.binary()).to_pylist()
        return [None if line is None else line.decode("utf-8", "replace") for line in raw]


def encode_collection(values: Iterable[Any]) -> Iterator[bytes]:
    """The pickles `_pickles` reads."""
    items = iter(values)
    while part := list(islice(items, READ_AT_ONCE)):
        if len(set(map(id, part))) < len(part):
            # An object that is there twice would be one object for the functions, too.
            part = isolated_all(part)
        yield dumps_for_workers(part)


def _pickles(blobs: list[bytes]) -> Iterator[Batch]:
    for blob in blobs:
        yield Batch(pickle.loads(blob))


def _rows_of_frames(spec: FrameSpec, frames: list[Any]) -> Iterator[Batch]:
    for frame in frames:
        columns = [from_arrow(frame.column(index), type) for index, type in enumerate(spec.types)]
        yield Batch(list(zip([INSERT] * frame.num_rows, *columns, strict=True)))


def encode_ranges(ranges: list[Range]) -> bytes:
    """What a reader is told to read, in this order."""
    return pickle.dumps(ranges, 5)


def _read_splits(spec: SplitSpec, ranges: list[bytes]) -> Iterator[Batch]:
    reader = source_part(spec.source.create_reader())
    if isinstance(reader, LiveReader):
        raise Unsupported(
            f"{type(reader).__name__} reads in real time only",
            hint="Set headrace.stream.mode to real-time.",
        )
    try:
        for blob in ranges:
            parts = [messages.Range(*each) for each in pickle.loads(blob)]
            yield from read_ranges(reader, parts, splits_end=spec.source.splits_end)
    finally:
        reader.close()


def read_ranges(
    reader: SplitReader[Any], ranges: Sequence[messages.Range], *, splits_end: bool
) -> Iterator[Batch]:
    """The records of some ranges, and word of each split that is read or at its end."""
    if not splits_end:
        # There are such splits, for those who keep time: they know it before the first one ends.
        yield from [Batch([], split=each.split.id) for each in ranges]
    for each in ranges:
        name = None if splits_end else each.split.id
        if each.start != each.end:
            parts = read_split(reader, each.split, each.start, each.end)
            for batch in without_first(parts, each.skip):
                batch.split = name
                yield batch
        if each.ends and name is not None:
            yield Batch([], split=name, ends_split=True)


def without_first(parts: Iterator[Batch], count: int) -> Iterator[Batch]:
    """All but so many records."""
    for part in parts:
        size = len(part.values)
        if size <= count:
            count -= size
            continue
        if count:
            stamps = None if part.timestamps is None else list(islice(part.timestamps, count, None))
            part = Batch(part.values[count:], stamps)
            count = 0
        yield part


def read_split(reader: SplitReader[Any], split: Split, start: Any, end: Any) -> Iterator[Batch]:
    """The records of a range, some at a time."""
    batches = reader.read_batches(split, start, end)
    if batches is not None:
        yield from batches
        return
    timed = type(reader).timestamp is not SplitReader.timestamp
    parts = reader.read_lists(split, start, end)
    if parts is None:
        parts = _lists(iter(reader.read(split, start, end)))
    while True:
        try:
            part = next(parts, None)
        except RecordFailure:
            raise
        except Exception as error:
            raise RecordFailure(error, "read", f"split {split.id!r} from {start!r}") from error
        if part is None:
            return
        stamps = apply_all(reader.timestamp, part, "timestamp") if timed else None
        yield Batch(part, stamps)


def _lists(records: Iterator[Any]) -> Iterator[list[Any]]:
    # Isolated, for a reader may fill one object again and again.
    while part := [record if record.__class__ in FROZEN else isolated(record)
                   for record in islice(records, READ_AT_ONCE)]:  # fmt: skip
        yield part
