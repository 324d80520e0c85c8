"""What a subtask writes up to a checkpoint: hidden files, closed and on disk when it is taken."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from headrace.connectors.durable import sync_folders
from headrace.connectors.output_files import BucketAssigner
from headrace.connectors.part_names import Segment
from headrace.core.bulk_writing import BulkWriter, BulkWriterFactory
from headrace.core.sink import SinkWriter
from headrace.errors import InvalidArgument, TypeMismatch

__all__ = ["Committable", "PartFileWriter", "SegmentNames"]

BUFFER_BYTES = 1 << 18

Committable = tuple[str, str]
"""The path a segment was written to, and the one it gets."""


@dataclass(frozen=True, slots=True)
class SegmentNames:
    """How the files of one writer are called."""

    prefix: str
    owner: str
    partition: int
    batch: int
    attempt: str
    suffix: str
    finish_at_once: bool
    """Whether a segment becomes a finished part with its commit."""

    def segment(self, folder: Path, number: int) -> Segment:
        return Segment(
            folder, self.prefix, self.owner, self.partition, self.batch, number, self.attempt,
            self.suffix,
        )  # fmt: skip

    def target(self, segment: Segment) -> Path:
        return segment.finished if self.finish_at_once else segment.pending


@dataclass(slots=True)
class _Open:
    """A segment that is being written."""

    segment: Segment
    file: BinaryIO
    writer: BulkWriter[Any]

    def finish(self) -> None:
        try:
            self.writer.finish()
            self.file.flush()
            os.fsync(self.file.fileno())
        except Exception:
            self.abandon()
            raise
        self.file.close()

    def abandon(self) -> None:
        self.writer.abandon()
        with suppress(OSError):  # what was not written need not be
            self.file.close()


class PartFileWriter(SinkWriter[Any]):
    """Writes to one open segment per bucket."""

    def __init__(
        self, base_path: Path, factory: BulkWriterFactory[Any], assigner: BucketAssigner,
        part_size: int | None, names: SegmentNames,
    ):  # fmt: skip
        self._base_path = base_path
        self._create = factory.create
        self._bucket_id = assigner.bucket_id
        self._part_size = part_size
        self._names = names
        self._open: dict[str, _Open] = {}
        self._closed: list[Segment] = []
        self._counts: dict[str, int] = {}

    def write(self, value: Any, timestamp: int | None) -> None:
        bucket = self._bucket_id(value, timestamp)
        part = self._open.get(bucket)
        if part is None:
            part = self._start(bucket)
        elif self._part_size is not None and part.writer.written > self._part_size:
            self._finish(self._open.pop(bucket))
            part = self._start(bucket)
        part.writer.add_element(value)

    def prepare_commit(self) -> list[Any]:
        while self._open:
            self._finish(self._open.pop(next(iter(self._open))))
        sync_folders(segment.folder for segment in self._closed)
        prepared, self._closed = self._closed, []
        return [(str(segment.in_progress), str(self._names.target(segment)))
                for segment in prepared]  # fmt: skip

    def close(self) -> None:
        """What was not prepared belongs to a failed attempt: remove it."""
        for part in self._open.values():
            part.abandon()
        for segment in (*(part.segment for part in self._open.values()), *self._closed):
            segment.in_progress.unlink(missing_ok=True)
        self._open.clear()
        self._closed.clear()

    def _start(self, bucket: str) -> _Open:
        folder = _bucket_folder(self._base_path, bucket)
        number = self._counts.get(bucket, 0)
        self._counts[bucket] = number + 1
        segment = self._names.segment(folder, number)
        file = segment.in_progress.open("wb", BUFFER_BYTES)
        try:
            part = _Open(segment, file, self._create(file))
        except Exception:
            file.close()
            segment.in_progress.unlink(missing_ok=True)
            raise
        self._open[bucket] = part
        return part

    def _finish(self, part: _Open) -> None:
        self._closed.append(part.segment)
        part.finish()


def _bucket_folder(base_path: Path, bucket: str) -> Path:
    if not isinstance(bucket, str):
        raise TypeMismatch(f"a bucket id must be a string, not {bucket!r}")
    if bucket.startswith("/") or ".." in bucket.split("/"):
        raise InvalidArgument(
            f"the bucket id {bucket!r} leads out of the base path {base_path}",
            hint="Return a relative folder from bucket_id().",
        )
    folder = base_path / bucket
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InvalidArgument(
            f"the file sink cannot write to {folder}: it, or a folder above it, is a file",
            hint="Choose a base path that is a folder.",
        ) from None
    return folder
